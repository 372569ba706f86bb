//! Translation of addresses: TLB entries, and what a page walk costs.

use std::fmt;

/// TLB and page-walk model (machines.md section 3).
#[derive(Clone, Copy, PartialEq)]
pub struct Tlb {
    /// Second-level entries usable for 4 KiB pages.
    pub entries_4k: u32,
    /// Second-level entries usable for 2 MiB pages; first-level ones where the second level holds none.
    pub entries_2m: u32,
    /// Base cost of a random access beyond the load latency, ns (`b` of machines.md section 3).
    pub base_ns: f64,
    /// Constant part of a native 4 KiB walk, ns.
    pub walk_4k_ns: f64,
    /// Constant part of a nested (guest) 4 KiB walk, ns.
    pub walk_4k_guest_ns: f64,
    /// Probability that the leaf entry comes from memory, for a working set far above TLB reach, native.
    pub leaf_miss: f64,
    /// As `leaf_miss`, in a guest.
    pub leaf_miss_guest: f64,
    /// Whether the machine is a guest, where page walks are two-dimensional.
    pub nested: bool,
    /// What walks are made of. Where it is stated, costs follow from it, and the five constants above have no effect.
    pub walker: Option<Walker>,
}

/// The hardware that walks page tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walker {
    /// Walks that a core has under way at the same time, at least 1.
    pub walkers: u32,
    /// First-level entries for 4 KiB pages.
    pub l1_4k: u32,
    /// First-level entries for 2 MiB pages.
    pub l1_2m: u32,
    /// Time of a hit in the second level, cycles.
    pub l2_cycles: f64,
    /// Entries of page directories that the paging-structure caches hold. Each saves the walk above one page table.
    pub pde_entries: u32,
    /// Whether the host of a guest maps it by 2 MiB pages.
    pub host_huge: bool,
}

/// Writes the text of the derived form, without `walker` if it is `None`, for the reason given at
/// [`Cache`](super::Cache).
impl fmt::Debug for Tlb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Tlb");
        out.field("entries_4k", &self.entries_4k)
            .field("entries_2m", &self.entries_2m)
            .field("base_ns", &self.base_ns)
            .field("walk_4k_ns", &self.walk_4k_ns)
            .field("walk_4k_guest_ns", &self.walk_4k_guest_ns)
            .field("leaf_miss", &self.leaf_miss)
            .field("leaf_miss_guest", &self.leaf_miss_guest)
            .field("nested", &self.nested);
        if let Some(walker) = &self.walker {
            out.field("walker", walker);
        }
        out.finish()
    }
}
