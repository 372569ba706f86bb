//! With which odds an access of a recorded histogram faults, and where.
//!
//! Problem: visits are not even, so the next fault depends on which parts of the span have pending pages; and a run
//! asks at every fault.
//! Approach: every 2 MiB of the span has the odds that an access goes there and faults: its share of the visits, times
//! the share of its pages that are pending. They stand in a tree of sums (P. M. Fenwick, "A new data structure for
//! cumulative frequency tables", 1994), so a draw and a change take logarithmic time. They are taken anew once an
//! epoch,
//! as [`PendingCounts`](super::pending_counts::PendingCounts) are, and kept up with the faults handled in between.
//! Units: shares from 0 to 1. Invariants: nothing is allocated once a span was looked at.

use numalab_base::rng::Rng;
use numalab_kernel::mm::{PendingKind, Vma};
use numalab_nouns::access::Histogram;

/// A span with the pages in which faults are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedSpan<'a> {
    /// Its number among all spans that are accessed at random.
    pub number: u32,
    pub vma: &'a Vma,
    /// First address, and that behind the last page.
    pub range: (u64, u64),
    /// Which pages are drawn.
    pub kind: PendingKind,
}

impl RecordedSpan<'_> {
    /// The place of a chunk in the span: shares of its length.
    fn place(&self, chunk: usize) -> (f64, f64) {
        let (from, to) = self.range;
        let base = self.vma.chunk_base(chunk);
        let share = |addr: u64| (addr.clamp(from, to) - from) as f64 / (to - from) as f64;
        (share(base), share(base + self.vma.chunk_bytes()))
    }
    /// Pages of a chunk inside the span.
    fn pages(&self, chunk: usize) -> f64 {
        let (from, to) = self.range;
        let base = self.vma.chunk_base(chunk);
        self.vma.grain.count((base + self.vma.chunk_bytes()).min(to) - base.max(from)) as f64
    }
}

/// The odds of one span.
#[derive(Clone, Debug, Default)]
struct Odds {
    until_ns: u64,
    /// Chunk of the first odds.
    first: usize,
    /// For each chunk the share of the visits to one of its pages.
    visits: Vec<f64>,
    /// The odds of each chunk, and their tree of sums.
    odds: Vec<f64>,
    tree: Vec<f64>,
}

impl Odds {
    /// Sets the odds of the chunk that is number `at` here.
    fn set(&mut self, at: usize, odds: f64) {
        let more = odds - self.odds[at];
        self.odds[at] = odds;
        let mut i = at + 1;
        while i <= self.tree.len() {
            self.tree[i - 1] += more;
            i += i & i.wrapping_neg();
        }
    }
    /// Makes the tree of the odds.
    fn grow(&mut self) {
        self.tree.clear();
        self.tree.extend_from_slice(&self.odds);
        for i in 1..=self.tree.len() {
            let parent = i + (i & i.wrapping_neg());
            if parent <= self.tree.len() {
                self.tree[parent - 1] += self.tree[i - 1];
            }
        }
    }
    /// The sum of all odds.
    fn total(&self) -> f64 {
        let (mut i, mut sum) = (self.tree.len(), 0.0);
        while i > 0 {
            sum += self.tree[i - 1];
            i &= i - 1;
        }
        sum
    }
    /// The first chunk up to which the odds come to more than `want`.
    fn find(&self, mut want: f64) -> Option<usize> {
        let mut at = 0;
        let mut step = self.tree.len().checked_ilog2().map_or(0, |n| 1usize << n);
        while step > 0 {
            if at + step <= self.tree.len() && self.tree[at + step - 1] <= want {
                at += step;
                want -= self.tree[at - 1];
            }
            step /= 2;
        }
        (at < self.tree.len()).then_some(at)
    }
}

/// The odds of all spans, by their number.
#[derive(Debug)]
pub(crate) struct RecordedOdds(Vec<Odds>);

impl RecordedOdds {
    /// Nothing is known yet of `spans` spans.
    pub fn new(spans: usize) -> Self {
        Self(vec![Odds::default(); spans])
    }

    /// Takes the odds of a span anew, unless that was done in this epoch. `on_node` has the pages of the span on each
    /// node; they are weighted by the visits to them, and their sum stays.
    pub fn look(
        &mut self,
        s: &RecordedSpan<'_>,
        histogram: &Histogram,
        (now_ns, epoch_ns): (u64, u64),
        on_node: &mut [u64],
    ) {
        let own = &mut self.0[s.number as usize];
        if now_ns < own.until_ns {
            return;
        }
        own.until_ns = (now_ns / epoch_ns + 1) * epoch_ns;
        let (from, to) = s.range;
        let (first, last) = (s.vma.chunk_of(from), s.vma.chunk_of(to - 1));
        if own.visits.is_empty() {
            own.first = first;
            let share = |chunk| {
                let (begin, end) = s.place(chunk);
                (histogram.below(end) - histogram.below(begin)) / s.pages(chunk)
            };
            own.visits = (first..=last).map(share).collect();
            own.odds = vec![0.0; own.visits.len()];
        }
        let present: u64 = on_node.iter().sum();
        on_node.fill(0);
        // Whole numbers are added up, so the order of chunks does not matter.
        let scale = f64::from(1 << 24);
        for (at, &visits) in own.visits.iter().enumerate() {
            let chunk = first + at;
            own.odds[at] = visits * s.vma.pending_inside(chunk, s.range, s.kind) as f64;
            for (sum, &pages) in on_node.iter_mut().zip(s.vma.node_counts(chunk)) {
                *sum += (visits * f64::from(pages) * scale) as u64;
            }
        }
        own.grow();
        let weighted: u64 = on_node.iter().sum();
        if weighted > 0 {
            on_node.iter_mut().for_each(|n| *n = (*n as f64 * present as f64 / weighted as f64).round() as u64);
        }
    }

    /// The odds that an access faults.
    pub fn total(&self, number: u32) -> f64 {
        // A rest of rounding is no fault.
        let sum = self.0[number as usize].total();
        if sum < 1e-15 {
            0.0
        } else {
            sum.min(1.0)
        }
    }

    /// Draws the page on which an access faults, as (chunk, page); `None` if it has been dealt with since.
    pub fn draw(&mut self, s: &RecordedSpan<'_>, rng: &mut Rng) -> Option<(usize, usize)> {
        let own = &mut self.0[s.number as usize];
        let at = own.find(rng.unit() * own.total())?;
        let chunk = own.first + at;
        let pending = s.vma.pending_inside(chunk, s.range, s.kind);
        if pending == 0 {
            own.set(at, 0.0);
            return None;
        }
        s.vma.nth_pending(chunk, s.range, rng.below(pending), s.kind).map(|page| (chunk, page))
    }

    /// A fault in `chunk` has been handled.
    pub fn resolved(&mut self, s: &RecordedSpan<'_>, chunk: usize) {
        let own = &mut self.0[s.number as usize];
        let Some(at) = chunk.checked_sub(own.first).filter(|at| *at < own.visits.len()) else { return };
        own.set(at, own.visits[at] * s.vma.pending_inside(chunk, s.range, s.kind) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(odds: &[f64]) -> Odds {
        let mut out = Odds { odds: odds.to_vec(), visits: vec![0.0; odds.len()], ..Odds::default() };
        out.grow();
        out
    }

    #[test]
    fn the_tree_finds_each_chunk_by_its_odds() {
        for n in 1..40usize {
            let odds: Vec<f64> = (0..n).map(|i| ((i * 7) % 5) as f64).collect();
            let mut tree = of(&odds);
            let sum: f64 = odds.iter().sum();
            assert_eq!(tree.total(), sum);
            let mut below = 0.0;
            for (at, o) in odds.iter().enumerate().filter(|(_, o)| **o > 0.0) {
                assert_eq!(tree.find(below), Some(at), "{n} {at}");
                assert_eq!(tree.find(below + o - 0.5), Some(at), "{n} {at}");
                below += o;
            }
            tree.set(n - 1, 100.0);
            assert_eq!(tree.find(sum - odds[n - 1] + 50.0), Some(n - 1));
        }
        assert_eq!(of(&[]).find(0.0), None);
    }
}
