//! Where the pages of a randomly accessed span are, and how many of them would fault.
//!
//! Counting them costs a look at every 2 MiB of the span, and all threads of a process may roam the same
//! gigabytes, so the counts are taken once per epoch and kept up with the faults handled in between. They
//! decide the pace of accesses and when the next fault comes; which page it is, is looked up then.

use numalab_base::rng::Rng;
use numalab_kernel::mm::{PendingPages, Vma, CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};

/// With more pending pages than this, trying random pages of the span until one is pending is quicker than
/// counting them out: it takes fewer tries than there are chunks.
const MANY_PENDING: u64 = 4 * CHUNK_PAGES;

/// Tries are given up after so many times the expected number; e^-16 is one fault in 10^7.
const PATIENCE: u64 = 16;

#[derive(Clone, Copy, Debug, Default)]
struct View {
    /// The counts hold until then, ns.
    until_ns: u64,
    pending: PendingPages,
}

/// The counts, by span number.
#[derive(Debug)]
pub struct PendingCounts {
    nodes: usize,
    views: Vec<View>,
    on_node: Vec<u64>,
}

impl PendingCounts {
    /// Nothing counted yet, for `spans` spans on a machine with `nodes` nodes.
    pub fn new(spans: usize, nodes: usize) -> Self {
        Self { nodes, views: vec![View::default(); spans], on_node: vec![0; spans * nodes] }
    }
    /// Counts the pages of span number `span`, which is `from..to` of `vma`, unless that was done in this epoch.
    pub fn look(&mut self, span: u32, vma: &Vma, from: u64, to: u64, now_ns: u64, epoch_ns: u64) {
        let view = &mut self.views[span as usize];
        if now_ns < view.until_ns {
            return;
        }
        *view = View { until_ns: (now_ns / epoch_ns + 1) * epoch_ns, pending: vma.pending_in(from, to) };
        let on_node = &mut self.on_node[span as usize * self.nodes..][..self.nodes];
        if from <= vma.start && to >= vma.end {
            on_node.copy_from_slice(vma.pages_on_node());
            return;
        }
        on_node.fill(0);
        for chunk in vma.chunk_of(from)..=vma.chunk_of(to - 1) {
            for (o, &c) in on_node.iter_mut().zip(vma.node_counts(chunk)) {
                *o += u64::from(c);
            }
        }
    }
    /// Pages on each node (whole chunks at the ends of the span).
    #[inline]
    pub fn on_node(&self, span: u32) -> &[u64] {
        &self.on_node[span as usize * self.nodes..][..self.nodes]
    }
    /// Pages whose read, or store, faults.
    #[inline]
    pub fn pending(&self, span: u32, write: bool) -> u64 {
        self.views[span as usize].pending.faulting(write)
    }
    /// Share of the mapped pages that show zeros, 0..=1.
    pub fn zero_share(&self, span: u32) -> f64 {
        let zeros = self.views[span as usize].pending.zeros;
        if zeros == 0 {
            return 0.0;
        }
        zeros as f64 / (zeros + self.on_node(span).iter().sum::<u64>()) as f64
    }
    /// A fault has dealt with these.
    pub fn resolved(&mut self, span: u32, pages: &PendingPages) {
        let view = &mut self.views[span as usize];
        view.pending = view.pending.saturating_sub(pages);
    }
    /// Draws one of the pending pages of `from..to`, all alike, as (chunk, page); `None` if none is left, after
    /// which the count is 0.
    pub fn draw(
        &mut self,
        span: u32,
        vma: &Vma,
        (from, to): (u64, u64),
        write: bool,
        rng: &mut Rng,
    ) -> Option<(usize, usize)> {
        let pages = (to - from) / PAGE_BYTES;
        let pending = self.pending(span, write);
        if pending > MANY_PENDING {
            for _ in 0..pages / pending * PATIENCE {
                let addr = from + rng.below(pages) * PAGE_BYTES;
                let chunk = vma.chunk_of(addr);
                let page = (addr % CHUNK_BYTES / PAGE_BYTES) as usize;
                if vma.is_pending(chunk, page, write) {
                    return Some((chunk, page));
                }
            }
        }
        let view = &mut self.views[span as usize];
        view.pending = vma.pending_in(from, to);
        let pending = view.pending.faulting(write);
        if pending == 0 {
            return None;
        }
        vma.select_pending(from, to, rng.below(pending), write)
    }
}
