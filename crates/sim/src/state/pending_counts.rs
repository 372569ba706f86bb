//! Where the pages of a randomly accessed span are, and how many of them would fault.
//!
//! Counting them costs a look at every 2 MiB of the span, and all threads of a process may roam the same
//! gigabytes, so the counts are taken once per epoch and kept up with the faults handled in between. They
//! decide the pace of accesses and when the next fault comes.
//!
//! *Which* page faults is drawn from the counts of the chunks: a chunk and a number below its size are drawn, and if the
//! chunk has more pending pages than the number, it is the page of that number. All pending pages are equally likely, and
//! the entries of a chunk are looked at only when one of them is taken. Where few chunks have pending pages, they are
//! listed first.

use numalab_base::rng::Rng;
use numalab_kernel::mm::{PendingPages, Vma, CHUNK_PAGES, PAGE_BYTES};

/// As long as a draw from the whole span takes fewer tries than there are chunks divided by this, listing the chunks would
/// take longer.
const CHUNKS_PER_TRY: u64 = 8;

/// Tries are given up after so many times the expected number; e^-16 is one fault in 10^7.
const PATIENCE: u64 = 16;

#[derive(Clone, Debug, Default)]
struct View {
    /// The counts hold until then, ns.
    until_ns: u64,
    pending: PendingPages,
    listed: Listed,
}

/// Chunks that have pending pages.
#[derive(Clone, Debug, Default)]
struct Listed {
    chunks: Vec<u32>,
    /// Whether pages count on which only a store faults.
    write: bool,
    /// Most pending pages of one of the chunks, when they were listed.
    most: u64,
    /// Pending pages of all chunks, kept up with the faults handled since.
    pages: u64,
}

impl Listed {
    fn fill(&mut self, vma: &Vma, from: u64, to: u64, write: bool) {
        self.chunks.clear();
        (self.write, self.most, self.pages) = (write, 0, 0);
        for (chunk, pages) in vma.pending_chunks(from, to, write) {
            self.chunks.push(chunk);
            self.most = self.most.max(pages);
            self.pages += pages;
        }
    }
    /// Draws one of the pending pages; `None` if luck is against it, or none is left.
    fn draw(&mut self, vma: &Vma, span: (u64, u64), rng: &mut Rng) -> Option<(usize, usize)> {
        let tries = self.chunks.len() as u64 * self.most / self.pages.max(1) * PATIENCE;
        for _ in 0..=tries {
            let at = rng.below(self.chunks.len() as u64) as usize;
            let chunk = *self.chunks.get(at)? as usize;
            if let Some(page) = vma.nth_pending(chunk, span, rng.below(self.most), self.write) {
                return Some((chunk, page));
            }
            if vma.nth_pending(chunk, span, 0, self.write).is_none() {
                self.chunks.swap_remove(at);
            }
        }
        None
    }
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
        view.until_ns = (now_ns / epoch_ns + 1) * epoch_ns;
        view.pending = vma.pending_in(from, to);
        // Other pages are pending than those of the chunks that were listed.
        if view.listed.pages != view.pending.faulting(view.listed.write) {
            view.listed = Listed::default();
        }
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
        view.listed.pages = view.listed.pages.saturating_sub(pages.faulting(view.listed.write));
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
        if pending == 0 {
            return None;
        }
        let tries = pages / pending;
        if tries <= pages / CHUNK_PAGES / CHUNKS_PER_TRY {
            for _ in 0..tries * PATIENCE {
                let addr = from + rng.below(pages) * PAGE_BYTES;
                let chunk = vma.chunk_of(addr);
                let rank = (addr - from.max(vma.chunk_base(chunk))) / PAGE_BYTES;
                if let Some(page) = vma.nth_pending(chunk, (from, to), rank, write) {
                    return Some((chunk, page));
                }
            }
        }
        let view = &mut self.views[span as usize];
        if view.listed.pages > 0 && view.listed.write == write {
            if let Some(found) = view.listed.draw(vma, (from, to), rng) {
                return Some(found);
            }
        }
        view.pending = vma.pending_in(from, to);
        view.listed.fill(vma, from, to, write);
        vma.select_pending(from, to, rng.below(view.listed.pages), write)
    }
}
