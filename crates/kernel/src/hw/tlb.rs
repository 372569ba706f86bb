//! TLB reach and page walks (machines.md section 3, thp-and-allocation.md section 15.1).
//!
//! A random access to memory at latency `L` takes `L + b` with a TLB hit or 2 MiB pages. With 4 KiB pages beyond the
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
//! Units: bytes, ns.

use numalab_base::math::log2;
use numalab_nouns::machine::Machine;

/// 4 KiB.
pub const BASE_PAGE_BYTES: u64 = 4096;
/// 2 MiB.
pub const HUGE_PAGE_BYTES: u64 = 2 << 20;
/// A leaf table maps 512 times its own size.
const LEAF_SPAN: u64 = 512;
/// Largest footprint whose tables stay in the caches with 2 MiB pages.
const HUGE_CACHED_BYTES: u64 = 64 << 30;
/// Bytes that one byte of tables maps with 2 MiB pages.
const HUGE_LEAF_SPAN: u64 = 512 * LEAF_SPAN;

/// Page size of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// 4 KiB, mapped by a PTE.
    Base,
    /// 2 MiB, mapped by a PMD.
    Huge,
}

/// Cost of a page walk for one footprint: `fixed_ns + leaf_miss * latency of the table's node`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Walk {
    /// Part that does not depend on the node of the table, ns.
    pub fixed_ns: f64,
    /// Leaf entries fetched from memory per access; may exceed 1 in a guest, which has two.
    pub leaf_miss: f64,
}

impl Walk {
    /// Walk time of one random access, ns; `table_ns` is the latency from the CPU to the node of the table.
    pub fn ns(&self, table_ns: f64) -> f64 {
        self.fixed_ns + self.leaf_miss * table_ns
    }
}

/// The TLB of a machine's CPUs, native or as seen in a guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TlbModel {
    reach_base_bytes: u64,
    reach_huge_bytes: u64,
    overhead_ns: f64,
    walk_ns: f64,
    leaf_miss: f64,
}

impl TlbModel {
    /// The model of `machine`; `guest` selects the constants of two-dimensional walks.
    pub fn new(machine: &Machine, guest: bool) -> Self {
        let t = &machine.tlb;
        let (walk_ns, leaf_miss) =
            if guest { (t.walk_4k_guest_ns, t.leaf_miss_guest) } else { (t.walk_4k_ns, t.leaf_miss) };
        Self {
            reach_base_bytes: u64::from(t.entries_4k) * BASE_PAGE_BYTES,
            reach_huge_bytes: u64::from(t.entries_2m) * HUGE_PAGE_BYTES,
            overhead_ns: t.base_ns,
            walk_ns,
            leaf_miss,
        }
    }

    /// Memory that the TLB covers with pages of this size, bytes.
    pub fn reach_bytes(&self, size: PageSize) -> u64 {
        match size {
            PageSize::Base => self.reach_base_bytes,
            PageSize::Huge => self.reach_huge_bytes,
        }
    }

    /// Page walk of a thread that accesses `footprint_bytes` at random through pages of this size and can use
    /// `llc_share_bytes` of its last-level cache.
    pub fn walk(&self, size: PageSize, footprint_bytes: u64, llc_share_bytes: u64) -> Walk {
        match size {
            PageSize::Base if footprint_bytes <= self.reach_base_bytes => Walk::default(),
            PageSize::Base => {
                let all_missing = LEAF_SPAN.saturating_mul(llc_share_bytes);
                let part = ramp(footprint_bytes, self.reach_base_bytes, all_missing);
                Walk { fixed_ns: self.walk_ns, leaf_miss: self.leaf_miss * part }
            }
            PageSize::Huge => {
                // The walk itself is part of the overhead `b`. Only very large tables do not fit the caches (model).
                let all_missing = HUGE_LEAF_SPAN.saturating_mul(llc_share_bytes).max(2 * HUGE_CACHED_BYTES);
                let part = ramp(footprint_bytes, HUGE_CACHED_BYTES, all_missing);
                Walk { fixed_ns: 0.0, leaf_miss: self.leaf_miss * part }
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
