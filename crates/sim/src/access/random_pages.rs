//! The pages that random accesses of a slice draw from, and which of them fault (docs/explanation/grains.md).
//!
//! A fault on a grain of n pages stands for n faults at one moment. So an access that meets the grain faults
//! with odds of 1/n: its pages then fault as often as if each had a state of its own. A read that maps a window of w
//! pages around it stands for n/w faults, and has odds of w/n; where it maps m grains at once, of w/(n m).
//! [`handle_fault`](crate::fault::handle_fault) thins once more those that find the grain on its way to another node.
//!
//! Most accesses that would not fault are never drawn: absent, marked and write-protected grains are drawn apart, each
//! with the odds of the likeliest fault of its kind. So are single pages of private memory that is all there: of marked
//! pages that were read many become write-protected, and most accesses to them are reads.

use crate::access::walk::Going;
use crate::fault::object_fault::{grains_of_one_read, pages_of_one_fault};
use crate::state::page_site::PageSite;
use crate::state::pending_counts::{PendingCounts, RandomSpan};
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{PendingKind, Vma};
use numalab_nouns::workload::Span;

/// The pages of a slice, and with which odds an access faults if it meets one on which it may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RandomPages {
    /// First address, and that behind the last page.
    range: (u64, u64),
    /// Their number: grains, where the mapping has them.
    pages: u64,
    /// Pages of a grain.
    of_grain: u64,
    /// Odds of each kind, where kinds are drawn apart.
    apart: Option<KindOdds>,
    /// Where they are not: an access that may be a store, or never is.
    single: PendingKind,
    /// Pages that an access comes to: one, or of lines of a block a part.
    per_access: f64,
    /// Its faults may be runs: which page faults follows from counts, not from a histogram.
    runs: bool,
}

/// First address of the pages of a span, and that behind the last.
pub(crate) fn range_of(vma: &Vma, span: &Span) -> (u64, u64) {
    let start = vma.start + span.offset_bytes;
    (vma.grain.floor(start), vma.grain.ceil(start + span.len_bytes))
}

/// With which odds a read that meets an absent grain faults and maps it, or the grains around it at once.
fn read_odds(sim: &Simulation<'_>, v: &Vma) -> f64 {
    let (pages, window) = (v.grain.pages(), sim.cfg.mm.vm.fault_around_pages() as u64);
    match grains_of_one_read(sim, v) {
        1 => window.min(pages) as f64 / pages as f64,
        many => (window as f64 / (pages * many) as f64).min(1.0),
    }
}

/// With which odds an access that meets a page or grain of a kind faults on it.
#[derive(Clone, Copy, Debug)]
struct KindOdds {
    absent: f64,
    marked: f64,
    /// Only stores do.
    read_only: f64,
}

/// What an access of a stretch may meet: pages, each weighted by the odds of its fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    /// Absent grains; where a grain is a page, all pending ones.
    others: f64,
    /// Marked grains.
    marked: f64,
    /// Write-protected grains.
    read_only: f64,
    /// Single pages that are in LRU batches.
    batched: f64,
}

impl Weights {
    pub(crate) fn sum(&self) -> f64 {
        self.others + self.marked + self.read_only + self.batched
    }
    fn of(&self, kind: PendingKind) -> f64 {
        match kind {
            PendingKind::Marked => self.marked,
            PendingKind::ReadOnly => self.read_only,
            _ => self.others,
        }
    }
    /// Faults of a kind among so many accesses to a span of so many pages.
    pub(crate) fn expected(&self, kind: PendingKind, accesses: u64, pages: f64) -> u64 {
        (accesses as f64 * self.of(kind) / pages) as u64
    }
}

impl RandomPages {
    /// The odds of a slice.
    pub(crate) fn of(sim: &Simulation<'_>, at: &Going<'_>) -> Self {
        let vma = sim.processes[at.process].space.vma(at.vma);
        let range = range_of(vma, &at.access.span);
        let pages = vma.grain.pages();
        let one = 1.0 / pages as f64;
        let absent = read_odds(sim, vma).max(if at.write { one } else { 0.0 });
        let odds = KindOdds { absent, marked: one, read_only: at.access.write.min(1.0) * one };
        let runs = at.access.pattern.histogram().is_none();
        // A missing page may become one that shows zeros, which is a kind of its own.
        let apart = (pages > 1 || runs && vma.objects.is_empty() && vma.is_all_there()).then_some(odds);
        let (of_grain, pages) = (pages, vma.grain.count(range.1 - range.0));
        Self { range, pages, of_grain, apart, single: PendingKind::of(at.write), per_access: 1.0, runs }
    }

    /// The same pages, of which an access comes to a part, `per_access`.
    pub(crate) fn with_parts(self, per_access: f64) -> Self {
        Self { per_access, ..self }
    }

    /// First address, and that behind the last page.
    pub(crate) fn range(&self) -> (u64, u64) {
        self.range
    }

    /// Accesses that come to as many pages as there are.
    pub(crate) fn count(&self) -> f64 {
        self.pages as f64 / self.per_access
    }

    /// Those of a kind, to be drawn.
    pub(crate) fn span<'a>(&self, at: &Going<'_>, vma: &'a Vma, kind: PendingKind) -> RandomSpan<'a> {
        RandomSpan { number: at.pace.span, vma, range: self.range, kind }
    }

    /// All on which an access may fault.
    pub(crate) fn pending_span<'a>(&self, at: &Going<'_>, vma: &'a Vma) -> RandomSpan<'a> {
        self.span(at, vma, self.single)
    }

    /// Whether faults of a slice may be runs ([`fault_run`](crate::access::fault_run)).
    pub(crate) fn runs(&self) -> bool {
        self.runs
    }

    /// What accesses to a span may meet now, where so many pages of shared objects are in LRU batches.
    pub(crate) fn weights(&self, (counts, batched): (&PendingCounts, usize), span: u32) -> Weights {
        let pages = |kind| counts.pending(span, kind) as f64;
        match self.apart {
            None => Weights { others: pages(self.single), marked: 0.0, read_only: 0.0, batched: 0.0 },
            Some(odds) => Weights {
                others: pages(PendingKind::Absent) * odds.absent,
                marked: pages(PendingKind::Marked) * odds.marked,
                read_only: pages(PendingKind::ReadOnly) * odds.read_only,
                batched: if self.of_grain > 1 && pages(PendingKind::Marked) > 0.0 {
                    batched as f64 * odds.marked
                } else {
                    0.0
                },
            },
        }
    }

    /// The kind of the page that an access with these weights has met; `None` for a page in an LRU batch.
    pub(crate) fn kind(&self, sim: &mut Simulation<'_>, weights: &Weights) -> Option<PendingKind> {
        if self.apart.is_none() {
            return Some(self.single);
        }
        let kinds = [PendingKind::Absent, PendingKind::Marked, PendingKind::ReadOnly];
        let alone = weights.sum();
        if let Some(only) = kinds.into_iter().find(|k| weights.of(*k) == alone) {
            return Some(only);
        }
        let mut at = sim.rng.unit() * alone;
        for kind in kinds {
            let weight = weights.of(kind);
            if at < weight {
                return Some(kind);
            }
            at -= weight;
        }
        None
    }

    /// Whether the access of `s`, drawn with the odds of its kind, faults.
    pub(crate) fn faults(&self, sim: &mut Simulation<'_>, s: &PageSite, kind: PendingKind) -> bool {
        let Some(KindOdds { absent, .. }) = self.apart else { return true };
        if kind != PendingKind::Absent || self.of_grain == 1 {
            return true;
        }
        let v = sim.processes[s.process].space.vma(s.vma);
        let odds = if !s.write && grains_of_one_read(sim, v) > 1 {
            read_odds(sim, v)
        } else {
            pages_of_one_fault(sim, s) as f64 / v.grain.pages() as f64
        };
        odds >= absent || sim.rng.unit() * absent < odds
    }
}
