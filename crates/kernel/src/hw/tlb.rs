//! TLB reach and page walks (machines.md section 3, thp-and-allocation.md section 15.1).
//!
//! A random access to memory at latency `L` takes `L + b` with a TLB hit or 2 MiB pages. With base pages beyond the
//! reach of the TLB it takes `L + b + W`, where
//!
//! ```text
//!   W = t_w + p_leaf(F) * L(d_pt)
//! ```
//!
//! `F` is the footprint that is accessed at random. `p_leaf` is the part of the leaf entries that come from memory;
//! the leaf tables of `F` bytes take `F/512`. `d_pt` is the node of the page-table page, where its 2 MiB region was
//! first touched. In a guest the walk is two-dimensional; its host part is included in larger constants. With the
//! tables on the node of the data this gives the published `(L + b) * 1.42` of Naples and `(L + b) * 2.02` of the
//! guest.
//!
//! A machine that states its page walker has neither `b` nor these constants: its walks follow from its entries
//! ([`PageWalker`]).
//!
//! Units: bytes, ns.

use super::page_walker::{PageWalker, TABLE_SPAN};
use super::reuse_window::reuse_miss;
use numalab_base::base_page::BasePage;
use numalab_base::math::log2;
use numalab_nouns::machine::Machine;

pub use super::page_walker::{Accessed, PageSize, Walk, BASE_PAGE_BYTES, HUGE_PAGE_BYTES};

/// Largest footprint whose tables stay in the caches with 2 MiB pages.
const HUGE_CACHED_BYTES: u64 = 64 << 30;
/// Bytes that one byte of tables maps with 2 MiB pages.
const HUGE_LEAF_SPAN: u64 = TABLE_SPAN * TABLE_SPAN;

/// The TLB of a machine's CPUs, native or as seen in a guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TlbModel {
    reach_base_bytes: u64,
    /// Bytes that one byte of page tables maps with base pages.
    table_span: u64,
    reach_huge_bytes: u64,
    overhead_ns: f64,
    walk_ns: f64,
    leaf_miss: f64,
    walker: Option<PageWalker>,
}

impl TlbModel {
    /// The model of `machine` with base pages of 4 KiB; `guest` selects the constants of two-dimensional walks.
    pub fn new(machine: &Machine, guest: bool) -> Self {
        Self::with_pages(machine, guest, BasePage::Kib4)
    }

    /// As [`Self::new`], with other base pages.
    pub fn with_pages(machine: &Machine, guest: bool, page: BasePage) -> Self {
        let t = &machine.tlb;
        let (walk_ns, leaf_miss) =
            if guest { (t.walk_4k_guest_ns, t.leaf_miss_guest) } else { (t.walk_4k_ns, t.leaf_miss) };
        Self {
            table_span: page.table_entries(),
            reach_base_bytes: u64::from(t.entries_4k) * page.bytes(),
            reach_huge_bytes: u64::from(t.entries_2m) * HUGE_PAGE_BYTES,
            overhead_ns: if t.walker.is_some() { 0.0 } else { t.base_ns },
            walk_ns,
            leaf_miss,
            walker: PageWalker::new(machine, guest, page),
        }
    }

    /// Memory that the TLB covers with pages of this size, bytes.
    pub fn reach_bytes(&self, size: PageSize) -> u64 {
        match size {
            PageSize::Base => self.reach_base_bytes,
            PageSize::Huge => self.reach_huge_bytes,
        }
    }

    /// The walk of a mean access to memory of which `huge` (0..=1) is mapped by huge pages. Each size has its own reach
    /// and its own tables, so it is the mix of both by their share.
    pub fn mean_walk(&self, huge: f64, a: &Accessed) -> Walk {
        let part = |size: PageSize, share: f64| {
            let part = Accessed { bytes: (a.bytes as f64 * share) as u64, ..*a };
            match self.walker {
                Some(walker) => walker.walk(size, &part).part(share),
                None if a.alpha > 0.0 => {
                    let missed = reuse_miss(a.alpha, self.reach_bytes(size), part.bytes);
                    self.walk(size, part.bytes, a.llc_bytes).part(share * missed)
                }
                None => self.walk(size, part.bytes, a.llc_bytes).part(share),
            }
        };
        part(PageSize::Base, 1.0 - huge).and(part(PageSize::Huge, huge))
    }

    /// Least time between two accesses of a thread whose walk takes `walk_ns`: what the core's walkers do at most,
    /// shared by the `threads` of the core that walk. 0 where nothing states their number.
    pub fn walkers_ns(&self, walk_ns: f64, threads: u32) -> f64 {
        self.walker.map_or(0.0, |w| walk_ns * f64::from(threads) / f64::from(w.walkers()))
    }

    /// Page walk, by the fitted constants, of a thread that accesses `footprint_bytes` at random through pages of this
    /// size and can use `llc_share_bytes` of its last-level cache.
    pub fn walk(&self, size: PageSize, footprint_bytes: u64, llc_share_bytes: u64) -> Walk {
        match size {
            PageSize::Base if footprint_bytes <= self.reach_base_bytes => Walk::default(),
            PageSize::Base => {
                let all_missing = self.table_span.saturating_mul(llc_share_bytes);
                let part = ramp(footprint_bytes, self.reach_base_bytes, all_missing);
                Walk { fixed_ns: self.walk_ns, leaf_miss: self.leaf_miss * part, ..Walk::default() }
            }
            PageSize::Huge => {
                // The walk itself is part of the overhead `b`. Only very large tables do not fit the caches (model).
                let all_missing = HUGE_LEAF_SPAN.saturating_mul(llc_share_bytes).max(2 * HUGE_CACHED_BYTES);
                let part = ramp(footprint_bytes, HUGE_CACHED_BYTES, all_missing);
                Walk { leaf_miss: self.leaf_miss * part, ..Walk::default() }
            }
        }
    }

    /// Time of a dependent random access, ns. `load_ns` is the latency of the line with cache and queueing, `table_ns`
    /// the latency of the page table; the fixed overhead `b` is added.
    pub fn random_access_ns(&self, load_ns: f64, walk: Walk, table_ns: f64) -> f64 {
        load_ns + self.overhead_ns + walk.ns(table_ns)
    }

    /// The fixed overhead `b` of a random access, ns.
    pub fn overhead_ns(&self) -> f64 {
        self.overhead_ns
    }
}

/// 0 up to `from`, 1 from `to` on, and linear in the logarithm between them.
fn ramp(x: u64, from: u64, to: u64) -> f64 {
    if x <= from {
        return 0.0;
    }
    if x >= to {
        return 1.0;
    }
    let from = log2(from.max(1) as f64);
    ((log2(x as f64) - from) / (log2(to as f64) - from)).clamp(0.0, 1.0)
}
