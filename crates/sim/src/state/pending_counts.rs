//! Where the pages of a randomly accessed span are, and how many of them would fault.
//!
//! Counting them costs a look at every 2 MiB of the span, and all threads of a process may roam the same
//! gigabytes, so the counts are taken once per epoch and kept up with the faults handled in between. They
//! decide the pace of accesses and when the next fault comes.
//!
//! *Which* page faults is drawn from the counts of the chunks: a chunk and a number below its size are drawn, and if
//! the chunk has more pending pages than the number, it is the page of that number. All pending pages are equally
//! likely, and the entries of a chunk are looked at only when one of them is taken. Where few chunks have pending
//! pages, or draws of an epoch have taken as many tries as there are chunks, the chunks that have some are listed
//! first.
//!
//! Pages are drawn some faults ahead, so that reading what is known of them overlaps with other work. First come chunks
//! and numbers, then those that have so many pending pages, then pages. A page that is no longer pending when its turn
//! comes is passed over, so the rest stay equally likely.
//!
//! Absent, marked and write-protected pages may be drawn apart, each kind as above.

use numalab_base::rng::Rng;
use numalab_kernel::mm::{PendingKind, PendingPages, SharedMemory, Vma, CHUNK_PAGES};
use std::collections::VecDeque;

/// As long as a draw from the whole span takes fewer tries than there are chunks divided by this, listing the chunks
/// would take longer.
const CHUNKS_PER_TRY: u64 = 8;

/// Draws that take no more tries than this are cheaper than draws from a list.
const FEW_TRIES: u64 = 8;

/// Tries are given up after so many times the expected number; e^-16 is one fault in 10^7.
const PATIENCE: u64 = 16;

/// So many are drawn ahead at each stage.
const AHEAD: usize = 8;

#[derive(Clone, Debug, Default)]
struct View {
    /// The counts hold until then, ns.
    until_ns: u64,
    pending: PendingPages,
    /// Draws of marked pages alone, of write-protected ones alone, of those on which a store faults, and all others.
    marked: Draws,
    read_only: Draws,
    stores: Draws,
    others: Draws,
}

impl View {
    fn draws(&mut self, kind: PendingKind) -> &mut Draws {
        match kind {
            PendingKind::Marked => &mut self.marked,
            PendingKind::ReadOnly => &mut self.read_only,
            PendingKind::Store => &mut self.stores,
            _ => &mut self.others,
        }
    }
}

/// How pages of a kind are drawn.
#[derive(Clone, Debug, Default)]
struct Draws {
    listed: Listed,
    ahead: Ahead,
    /// Expected tries of the draws since the counts were taken.
    tried: u64,
}

impl Draws {
    /// Begins anew with these counts.
    fn begin(&mut self, pending: &PendingPages) {
        self.tried = 0;
        self.ahead.chunks.clear();
        self.ahead.pages.clear();
        // Other pages are pending than those of the chunks that were listed.
        if self.listed.kind.is_some_and(|kind| self.listed.pages != pending.count(kind)) {
            self.listed.kind = None;
        }
    }
    /// A fault has dealt with these.
    fn resolved(&mut self, pages: &PendingPages) {
        let gone = self.listed.kind.map_or(0, |kind| pages.count(kind));
        self.listed.pages = self.listed.pages.saturating_sub(gone);
    }
}

/// Chunks that have pending pages.
#[derive(Clone, Debug, Default)]
struct Listed {
    chunks: Vec<u32>,
    /// Which pages count; `None` until some are listed.
    kind: Option<PendingKind>,
    /// Most pending pages of one of the chunks, when they were listed.
    most: u64,
    /// Pending pages of all chunks, kept up with the faults handled since.
    pages: u64,
}

impl Listed {
    fn fill(&mut self, vma: &Vma, from: u64, to: u64, kind: PendingKind) {
        self.chunks.clear();
        (self.kind, self.most, self.pages) = (Some(kind), 0, 0);
        for (chunk, pages) in vma.pending_chunks(from, to, kind) {
            self.chunks.push(chunk);
            self.most = self.most.max(pages);
            self.pages += pages;
        }
    }
    /// The pending page number `rank` in address order, right after the chunks were listed.
    fn select(&self, vma: &Vma, span: (u64, u64), mut rank: u64) -> Option<(usize, usize)> {
        let kind = self.kind?;
        for chunk in self.chunks.iter().map(|&c| c as usize) {
            if let Some(page) = vma.nth_pending(chunk, span, rank, kind) {
                return Some((chunk, page));
            }
            rank -= vma.pending_inside(chunk, span, kind);
        }
        None
    }
    /// Draws one of the pending pages; `None` if luck is against it, or none is left.
    fn draw(&mut self, vma: &Vma, span: (u64, u64), rng: &mut Rng) -> Option<(usize, usize)> {
        let kind = self.kind?;
        let tries = self.chunks.len() as u64 * self.most / self.pages.max(1) * PATIENCE;
        for _ in 0..=tries {
            let at = rng.below(self.chunks.len() as u64) as usize;
            let chunk = *self.chunks.get(at)? as usize;
            if let Some(page) = vma.nth_pending(chunk, span, rng.below(self.most), kind) {
                return Some((chunk, page));
            }
            if vma.nth_pending(chunk, span, 0, kind).is_none() {
                self.chunks.swap_remove(at);
            }
        }
        None
    }
}

/// What is drawn ahead.
#[derive(Clone, Debug, Default)]
struct Ahead {
    /// Chunks, and numbers below their size.
    drawn: VecDeque<(u32, u16)>,
    /// Chunks, and numbers of pending pages in them.
    chunks: VecDeque<(u32, u16)>,
    /// Chunks and pages.
    pages: VecDeque<(u32, u16)>,
}

/// A range of addresses in which a page is drawn.
#[derive(Clone, Copy, Debug)]
pub struct RandomSpan<'a> {
    /// Number of the span.
    pub number: u32,
    /// Its mapping.
    pub vma: &'a Vma,
    /// First address, and that behind the last page.
    pub range: (u64, u64),
    /// Which pages are drawn.
    pub kind: PendingKind,
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
    /// Counts the pages of a span, and forgets what was drawn ahead, unless that was done in this epoch.
    pub fn look(&mut self, s: &RandomSpan<'_>, now_ns: u64, epoch_ns: u64) {
        let (span, vma, (from, to)) = (s.number, s.vma, s.range);
        let view = &mut self.views[span as usize];
        if now_ns < view.until_ns {
            return;
        }
        view.until_ns = (now_ns / epoch_ns + 1) * epoch_ns;
        view.pending = vma.pending_in(from, to);
        view.marked.begin(&view.pending);
        view.read_only.begin(&view.pending);
        view.stores.begin(&view.pending);
        view.others.begin(&view.pending);
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
    /// As [`Self::on_node`], to be weighted by how often pages are used.
    pub fn on_node_mut(&mut self, span: u32) -> &mut [u64] {
        &mut self.on_node[span as usize * self.nodes..][..self.nodes]
    }
    /// Pages of a kind.
    #[inline]
    pub fn pending(&self, span: u32, kind: PendingKind) -> u64 {
        self.views[span as usize].pending.count(kind)
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
        view.marked.resolved(pages);
        view.read_only.resolved(pages);
        view.stores.resolved(pages);
        view.others.resolved(pages);
    }
    /// Draws one of the pending pages of a span, all alike, as (chunk, page); `None` if none is found. The count is
    /// right then. About `more` pages will be drawn next.
    pub fn draw(
        &mut self,
        s: &RandomSpan<'_>,
        more: u64,
        store: &SharedMemory,
        rng: &mut Rng,
    ) -> Option<(usize, usize)> {
        let pages = s.vma.grain.count(s.range.1 - s.range.0);
        let pending = self.pending(s.number, s.kind);
        if pending == 0 {
            return None;
        }
        let (tries, chunks) = (pages / pending, pages / CHUNK_PAGES);
        let draws = self.views[s.number as usize].draws(s.kind);
        // The list is made when it would have paid off.
        if tries <= chunks / CHUNKS_PER_TRY && (tries <= FEW_TRIES || draws.tried <= chunks) {
            draws.tried += tries;
            while let Some((chunk, page)) = draws.ahead.next(s, tries * PATIENCE, more, store, rng) {
                if s.vma.is_of_kind(chunk, page, s.kind) {
                    return Some((chunk, page));
                }
            }
        }
        self.draw_listed(s, rng)
    }
    /// As [`Self::draw`], from a list of chunks.
    fn draw_listed(&mut self, s: &RandomSpan<'_>, rng: &mut Rng) -> Option<(usize, usize)> {
        let (vma, (from, to)) = (s.vma, s.range);
        let view = &mut self.views[s.number as usize];
        let listed = &mut view.draws(s.kind).listed;
        if listed.pages > 0 && listed.kind == Some(s.kind) {
            if let Some(found) = listed.draw(vma, s.range, rng) {
                return Some(found);
            }
        }
        listed.fill(vma, from, to, s.kind);
        let pages = listed.pages;
        view.pending = vma.pending_in(from, to);
        view.draws(s.kind).listed.select(vma, s.range, rng.below(pages))
    }
}

impl Ahead {
    /// The next page, after drawing about `more` ahead. Gives up after so many tries.
    fn next(
        &mut self,
        s: &RandomSpan<'_>,
        tries: u64,
        more: u64,
        store: &SharedMemory,
        rng: &mut Rng,
    ) -> Option<(usize, usize)> {
        let more = more.min(2 * AHEAD as u64) as usize;
        loop {
            while self.chunks.len() + self.pages.len() <= more {
                let Some(found) = self.draw_chunk(s, tries, store, rng) else { break };
                s.vma.read_chunk_ahead(found.0 as usize, store);
                self.chunks.push_back(found);
            }
            while self.pages.len() <= more / 2 {
                let Some((chunk, rank)) = self.chunks.pop_front() else { break };
                if let Some(page) = s.vma.nth_pending(chunk as usize, s.range, u64::from(rank), s.kind) {
                    s.vma.read_page_ahead(chunk as usize, page, store);
                    self.pages.push_back((chunk, page as u16));
                }
            }
            if let Some((chunk, page)) = self.pages.pop_front() {
                return Some((chunk as usize, usize::from(page)));
            }
            // All that were drawn have been dealt with since.
            let found = self.draw_chunk(s, tries, store, rng)?;
            self.chunks.push_back(found);
        }
    }
    /// Draws a chunk and the number of a pending page in it: all pending pages alike. Gives up after so many tries.
    fn draw_chunk(
        &mut self,
        s: &RandomSpan<'_>,
        tries: u64,
        store: &SharedMemory,
        rng: &mut Rng,
    ) -> Option<(u32, u16)> {
        let (from, to) = s.range;
        for _ in 0..tries {
            while self.drawn.len() < AHEAD {
                let page = s.vma.grain;
                let addr = from + page.bytes_of(rng.below(page.count(to - from)));
                let chunk = s.vma.chunk_of(addr);
                let rank = page.count(addr - from.max(s.vma.chunk_base(chunk)));
                s.vma.read_entry_ahead(chunk, store);
                self.drawn.push_back((chunk as u32, rank as u16));
            }
            let (chunk, rank) = self.drawn.pop_front()?;
            if u64::from(rank) < s.vma.pending_inside(chunk as usize, s.range, s.kind) {
                return Some((chunk, rank));
            }
        }
        None
    }
}
