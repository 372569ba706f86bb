//! What threads of a kind do in a phase, in the words of the workload language.

use super::heat;
use super::usage::{Order, Use};
use crate::format::{CHUNK_BYTES, LINE_BYTES, PAGE_BYTES};

/// Share of a region from which all of it counts as used.
const WHOLE: f64 = 0.9;
/// Sum of the threads' parts against all together up to which each has a part of its own.
const APART: f64 = 1.15;
/// Heat of a hot chunk against the others from which it is a tier of its own.
const HOTTER: f64 = 2.0;
/// Fewest chunks that show tiers.
const FEWEST_CHUNKS: usize = 4;
/// Misses of the private cache against what even use would give, below which lines are used unevenly.
const UNEVEN: f64 = 0.7;
/// Cache for which the pattern `reuse` counts accesses, bytes.
const REUSE_BYTES: f64 = 131_072.0;

/// The modelled caches of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// Private cache of a thread, bytes.
    pub near_bytes: u64,
    /// Share of the last-level cache, bytes.
    pub far_bytes: u64,
}

/// The part of a region that a thread uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Its own slice.
    Slice,
    /// From one share of it to another.
    Range(f64, f64),
}

/// A window that moves through the part of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Motion {
    /// How many times as long as the window the part is, 2 or more.
    pub pieces: u32,
    /// Whether it moves towards lower addresses.
    pub falls: bool,
}

/// A hot or cold part of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tier {
    /// Where it begins, as a share of the region.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Share of the accesses that go there.
    pub accesses: f64,
}

/// What a thread does with a region in a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Number of the region in its process.
    pub region: usize,
    /// The part of it.
    pub part: Part,
    /// How lines follow each other.
    pub order: Order,
    /// Lines that a thread visits.
    pub lines: f64,
    /// Share of them that it writes.
    pub write_share: f64,
    /// Share of them that another thread wrote last.
    pub foreign: f64,
    /// Passes over the part, if in order.
    pub passes: f64,
    /// Parts that are used more than others, if at random.
    pub tiers: Vec<Tier>,
    /// Power of the miss curve, if lines are favoured all over the region; `lines` are then those beyond 128 KiB.
    pub reuse: Option<f64>,
    /// Lines of equal parts of the region, in the order of addresses, where no pattern describes all of them. Empty
    /// where one does.
    pub heat: Vec<u64>,
    /// Number of the histogram of `heat`, once there is one ([`Fit::exact`](super::Fit::exact)).
    pub recorded: Option<usize>,
    /// A window that moves through the part.
    pub motion: Option<Motion>,
}

/// What threads of a kind do in a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// Instructions of a thread.
    pub insns: f64,
    /// Instructions of the kernel for it.
    pub kernel: f64,
    /// Instructions that others run until messages come for which it sleeps.
    pub awaited: f64,
    /// Sleep asked for by a thread, ns.
    pub slept_ns: f64,
    /// Share of its time that a thread waited for others.
    pub waited: f64,
    /// Waits of a thread.
    pub waits: f64,
    /// Uses of regions.
    pub visits: Vec<Visit>,
    /// Whether it is done once, however often the others are repeated.
    pub once: bool,
}

impl Phase {
    /// One that writes a part of a region once.
    pub fn write_once(region: usize, part: Part, lines: f64) -> Self {
        let visit = Visit {
            region,
            part,
            order: Order::Sweep,
            lines,
            write_share: 1.0,
            foreign: 0.0,
            passes: 1.0,
            tiers: Vec::new(),
            reuse: None,
            heat: Vec::new(),
            recorded: None,
            motion: None,
        };
        Self { insns: lines * 8.0, visits: vec![visit], once: true, ..Self::default() }
    }

    /// Instructions of a thread and of the kernel for it.
    pub fn all_insns(&self) -> f64 {
        self.insns + self.kernel
    }

    /// Lines that a thread visits.
    pub fn lines(&self) -> f64 {
        self.visits.iter().map(|v| v.lines).sum()
    }

    /// How often the thread repeats what it does, as far as sweeps show; else about 20,000 accesses each.
    pub fn loops(&self) -> u64 {
        let passes = self.visits.iter().filter(|v| v.is_pass()).map(|v| v.passes);
        let least = passes.fold(f64::INFINITY, f64::min);
        let loops = if least.is_finite() { least.round() } else { (self.lines() / 20_000.0).round() };
        loops.clamp(1.0, 1e9) as u64
    }
}

impl Visit {
    /// Whether it goes over its part in order.
    pub fn is_pass(&self) -> bool {
        matches!(self.order, Order::Sweep | Order::Strided(_))
    }
}

/// The use that several threads make of a region of `bytes` from `base_page` on, each with its own part.
pub fn visit(region: usize, uses: &[&Use], (base_page, bytes): (u64, u64), caches: &Caches) -> Visit {
    let mut all = Use::default();
    uses.iter().for_each(|u| all.join(u));
    let pages = (bytes / PAGE_BYTES).max(1) as f64;
    let share = |page: u64| (page.saturating_sub(base_page) as f64 / pages).clamp(0.0, 1.0);
    let (from, to) = (share(all.low_page), share(all.end_page));
    let own: f64 = uses.iter().map(|u| share(u.end_page) - share(u.low_page)).sum();
    let is_whole = to - from >= WHOLE;
    let part = match uses.len() {
        2.. if own <= APART * (to - from) && is_whole => Part::Slice,
        _ if is_whole => Part::Whole,
        _ => Part::Range(from, to),
    };
    let threads = uses.len().max(1) as f64;
    let order = all.order();
    let lines = all.lines as f64 / threads;
    let part_bytes = match part {
        Part::Slice => bytes as f64 / threads,
        Part::Whole => bytes as f64,
        Part::Range(from, to) => (to - from) * bytes as f64,
    };
    let step = match order {
        Order::Strided(stride) => stride as f64,
        _ => LINE_BYTES as f64,
    };
    let mut out = Visit {
        region,
        part,
        order,
        lines,
        write_share: all.write_share().clamp(0.0, 1.0),
        foreign: all.foreign as f64 / all.lines.max(1) as f64,
        passes: lines * step / part_bytes.max(step),
        tiers: Vec::new(),
        reuse: None,
        heat: Vec::new(),
        recorded: None,
        motion: None,
    };
    if order == Order::Random && part != Part::Slice {
        out.tiers = tiers(&all, base_page, bytes);
        uneven(&mut out, &all, part_bytes, caches);
    }
    if part != Part::Slice && out.reuse.is_none() {
        out.heat = heat::of(&all, order, base_page, bytes);
    }
    out
}

/// Sets `reuse` if the caches hold more than they would of lines that are all used alike.
fn uneven(visit: &mut Visit, all: &Use, part_bytes: f64, caches: &Caches) {
    let (near, far) = (caches.near_bytes as f64, caches.far_bytes as f64);
    let even = 1.0 - near / part_bytes;
    if !visit.tiers.is_empty() || part_bytes < 2.0 * far || all.near as f64 >= UNEVEN * even * all.lines as f64 {
        return;
    }
    let beyond = |bytes: f64| 1.0 + bytes / REUSE_BYTES;
    let alpha = (all.near as f64 / all.far.max(1) as f64).ln() / (beyond(far) / beyond(near)).ln();
    if alpha.is_finite() && alpha > 0.0 {
        let alpha = alpha.clamp(0.1, 2.0);
        let share = all.near as f64 / all.lines.max(1) as f64;
        visit.lines *= (share * beyond(near).powf(alpha)).min(1.0);
        visit.reuse = Some(alpha);
    }
}

/// Parts of a region by how much they are used: at most three, hot ones first. Empty if all are used alike. Where hot
/// chunks lie apart, they are put together.
fn tiers(all: &Use, base_page: u64, bytes: u64) -> Vec<Tier> {
    let first = base_page * PAGE_BYTES / CHUNK_BYTES;
    let last = (base_page * PAGE_BYTES + bytes.max(1) - 1) / CHUNK_BYTES;
    let chunks = (last - first + 1) as usize;
    if !(FEWEST_CHUNKS..=1 << 22).contains(&chunks) {
        return Vec::new();
    }
    let mut heat: Vec<(u64, u64)> =
        (first..=last).map(|c| (all.chunks.get(&(c as u32)).copied().unwrap_or(0), c)).collect();
    // A chunk that the region has only a part of says nothing of its heat.
    let pages = CHUNK_BYTES / PAGE_BYTES;
    if !base_page.is_multiple_of(pages) {
        heat[0].0 = heat[1].0;
    }
    if !(base_page + bytes / PAGE_BYTES).is_multiple_of(pages) {
        heat[chunks - 1].0 = heat[chunks - 2].0;
    }
    heat.sort_unstable_by(|a, b| b.cmp(a));
    let cuts = cuts(&heat.iter().map(|h| h.0 as f64).collect::<Vec<_>>());
    if cuts.is_empty() {
        return Vec::new();
    }
    let lines: f64 = heat.iter().map(|h| h.0 as f64).sum();
    let mut bounds = vec![0];
    bounds.extend(cuts);
    bounds.push(heat.len());
    // Each tier with where its chunks lie on average, so that they keep their order in memory.
    let mut groups: Vec<(f64, usize, f64)> = bounds
        .windows(2)
        .map(|w| {
            let own = &heat[w[0]..w[1]];
            let place = own.iter().map(|h| h.1 as f64).sum::<f64>() / own.len() as f64;
            (place, own.len(), own.iter().map(|h| h.0 as f64).sum::<f64>() / lines)
        })
        .collect();
    groups.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut from = 0.0;
    let all_chunks = heat.len() as f64;
    let tier = |(_, n, accesses): (f64, usize, f64)| {
        let begin = from;
        from += n as f64 / all_chunks;
        Tier { from: begin, to: from.min(1.0), accesses }
    };
    groups.into_iter().map(tier).collect()
}

/// Where a falling list is cut into at most three parts, each of them at least [`HOTTER`] times the next on average.
fn cuts(heat: &[f64]) -> Vec<usize> {
    let mut out = Vec::new();
    let mut from = 0;
    while out.len() < 2 {
        let Some(cut) = best_cut(&heat[from..]) else { break };
        out.push(from + cut);
        from += cut;
    }
    out
}

/// The cut that explains most of the differences in a falling list, if both sides are far enough apart.
fn best_cut(heat: &[f64]) -> Option<usize> {
    let all: f64 = heat.iter().sum();
    let mut sum = 0.0;
    let mut best = (0.0, 0);
    for cut in 1..heat.len() {
        sum += heat[cut - 1];
        let (n, rest) = (cut as f64, (heat.len() - cut) as f64);
        let apart = sum / n - (all - sum) / rest;
        let explained = n * rest * apart * apart;
        if explained > best.0 {
            best = (explained, cut);
        }
    }
    let (_, cut) = best;
    let hot: f64 = heat[..cut].iter().sum::<f64>() / cut.max(1) as f64;
    let cold = heat[cut..].iter().sum::<f64>() / (heat.len() - cut).max(1) as f64;
    (cut > 0 && hot > HOTTER * cold.max(1e-9)).then_some(cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Cell;

    const CACHES: Caches = Caches { near_bytes: 2 << 20, far_bytes: 4 << 20 };

    fn used(chunks: std::ops::Range<u32>, lines: u32, runs: u32) -> Use {
        let mut out = Use::default();
        for chunk in chunks {
            out.add(&Cell { chunk, lines, runs, high: 511, near_reads: lines, far_reads: lines, ..Cell::default() });
        }
        out
    }

    #[test]
    fn threads_that_divide_a_region_have_slices() {
        let (a, b) = (used(0..8, 32768 * 3, 3), used(8..16, 32768 * 3, 3));
        let v = visit(0, &[&a, &b], (0, 32 << 20), &CACHES);
        assert_eq!((v.part, v.order, v.passes), (Part::Slice, Order::Sweep, 3.0));
        let v = visit(0, &[&used(0..16, 32768, 1), &used(0..16, 32768, 1)], (0, 32 << 20), &CACHES);
        assert_eq!((v.part, v.passes), (Part::Whole, 1.0));
        let v = visit(0, &[&used(8..12, 32768, 1)], (0, 32 << 20), &CACHES);
        assert_eq!((v.part, v.passes), (Part::Range(0.5, 0.75), 1.0));
    }

    #[test]
    fn hot_chunks_are_a_tier() {
        let mut u = used(0..2, 90_000, 90_000);
        u.join(&used(2..20, 1000, 1000));
        let v = visit(0, &[&u], (0, 40 << 20), &CACHES);
        assert_eq!(v.tiers.len(), 2, "{v:?}");
        assert!((v.tiers[0].to - 0.1).abs() < 1e-9 && (v.tiers[0].accesses - 180.0 / 198.0).abs() < 1e-9);
        // A region that begins and ends within a chunk has fewer lines there.
        let mut odd = used(1..19, 1000, 1000);
        odd.join(&used(0..1, 100, 100));
        odd.join(&used(19..20, 200, 200));
        let v = visit(0, &[&odd], (400, (20 * 512 - 800) * 4096), &CACHES);
        assert!(v.tiers.is_empty(), "{v:?}");
        let even = visit(0, &[&used(0..20, 1000, 1000)], (0, 40 << 20), &CACHES);
        assert!(even.tiers.is_empty() && even.reuse.is_none(), "{even:?}");
    }

    #[test]
    fn favoured_lines_all_over_are_reuse() {
        let mut u = Use::default();
        let alpha = 0.5f64;
        let miss = |bytes: f64| (1.0 + bytes / REUSE_BYTES).powf(-alpha);
        for chunk in 0..32 {
            let reads = |share: f64| (100_000.0 * share) as u32;
            let (near_reads, far_reads) = (reads(miss(2e6 * 1.048_576)), reads(miss(4e6 * 1.048_576)));
            u.add(&Cell { chunk, lines: 100_000, runs: 100_000, high: 511, near_reads, far_reads, ..Cell::default() });
        }
        let v = visit(0, &[&u], (0, 64 << 20), &CACHES);
        assert!(v.reuse.is_some_and(|a| (a - alpha).abs() < 0.05), "{v:?}");
        assert!((v.lines / u.lines as f64 - 1.0).abs() < 0.1, "{} of {}", v.lines, u.lines);
    }
}
