//! Whether 2 MiB can be collapsed, and onto which node (`hpage_collapse_scan_pmd`, `hpage_collapse_find_target_node`).

use super::tunables::KhugepagedTunables;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::node_mask::NodeMask;
use numalab_base::words;

/// What khugepaged finds in the 512 entries of 2 MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PmdFacts {
    /// Number of present pages.
    pub present: u32,
    /// Number of swapped pages.
    pub swapped: u32,
    /// Number of present pages that other processes map too.
    pub shared: u32,
    /// Number of present pages that were used lately.
    pub referenced: u32,
    /// Whether some entry is writable.
    pub writable: bool,
    /// Whether some page is pinned.
    pub pinned: bool,
    /// Whether it is a huge page already, or holds nothing.
    pub nothing_to_do: bool,
}

words! {
    /// Result of the scan of 2 MiB (`enum scan_result`).
    pub enum ScanResult {
        /// They can be collapsed.
        Collapse = "collapse",
        /// They are a huge page already, or hold nothing.
        NothingToDo = "nothing_to_do",
        /// Too many empty entries.
        ExceedNone = "exceed_none",
        /// Too many swapped pages.
        ExceedSwap = "exceed_swap",
        /// Too many shared pages.
        ExceedShared = "exceed_shared",
        /// No writable entry.
        PageRo = "page_ro",
        /// Pages not used lately.
        LackReferenced = "lack_referenced",
        /// Pages on nodes that are too far apart (with node reclaim).
        ScanAbort = "scan_abort",
        /// References beyond the mappings.
        PageCount = "page_count",
        /// No huge page could be allocated.
        AllocFail = "alloc_fail",
    }
}

/// Result of the scan, without the check of nodes.
pub fn scan_pmd(t: &KhugepagedTunables, f: &PmdFacts) -> ScanResult {
    let none = CHUNK_PAGES as u32 - f.present - f.swapped;
    let half = CHUNK_PAGES as u32 / 2;
    if f.nothing_to_do {
        ScanResult::NothingToDo
    } else if f.swapped > t.max_ptes_swap {
        ScanResult::ExceedSwap
    } else if none > t.max_ptes_none {
        ScanResult::ExceedNone
    } else if f.shared > t.max_ptes_shared {
        ScanResult::ExceedShared
    } else if f.pinned {
        ScanResult::PageCount
    } else if !f.writable {
        ScanResult::PageRo
    } else if f.referenced == 0 || f.swapped > 0 && f.referenced < half {
        ScanResult::LackReferenced
    } else {
        ScanResult::Collapse
    }
}

/// Where a collapsed page may be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Node whose fallback order is used.
    pub node: usize,
    /// Allowed nodes: those with the most pages.
    pub allowed: NodeMask,
}

/// The node with the most pages, the lowest one on ties; all nodes with as many pages are allowed. `None` without
/// pages.
pub fn target_node(pages_on_node: &[u32]) -> Option<Target> {
    let most = pages_on_node.iter().copied().max().filter(|m| *m > 0)?;
    let allowed = NodeMask::of((0..pages_on_node.len()).filter(|n| pages_on_node[*n] == most));
    Some(Target { node: allowed.first()?, allowed })
}

/// Whether pages are on nodes too far apart to be collapsed. With node reclaim, no two of the nodes may be farther
/// apart than the reclaim distance (`hpage_collapse_scan_abort`).
pub fn too_far_apart(
    node_reclaim: bool,
    pages_on_node: &[u32],
    reclaim_distance: u8,
    distance: impl Fn(usize, usize) -> u8,
) -> bool {
    let used = || (0..pages_on_node.len()).filter(|n| pages_on_node[*n] > 0);
    node_reclaim && used().any(|a| used().any(|b| a != b && distance(b, a) > reclaim_distance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::tunable::Group;

    fn facts() -> PmdFacts {
        PmdFacts { present: 512, referenced: 512, writable: true, ..PmdFacts::default() }
    }

    #[test]
    fn vector_22_node_choice() {
        let one = target_node(&[180, 200]);
        assert_eq!(one, Some(Target { node: 1, allowed: NodeMask::of([1]) }));
        let tie = target_node(&[200, 200]);
        assert_eq!(tie, Some(Target { node: 0, allowed: NodeMask::of([0, 1]) }));
        assert_eq!(target_node(&[0, 0]), None);
    }

    #[test]
    fn vector_23_node_reclaim_aborts_across_sockets() {
        let d = |a: usize, b: usize| if a == b { 10 } else { 32 };
        assert!(too_far_apart(true, &[10, 20], 30, d));
        assert!(!too_far_apart(true, &[10, 20], 32, d));
        assert!(!too_far_apart(false, &[10, 20], 30, d));
        assert!(!too_far_apart(true, &[0, 20], 30, d));
    }

    #[test]
    fn vector_24_limits() {
        let mut t = KhugepagedTunables::default();
        let single = PmdFacts { present: 1, referenced: 1, writable: true, ..PmdFacts::default() };
        assert_eq!(scan_pmd(&t, &single), ScanResult::Collapse, "511 pages of bloat");
        let swapped = |n| PmdFacts { present: 512 - n, swapped: n, referenced: 512 - n, ..facts() };
        assert_eq!(scan_pmd(&t, &swapped(64)), ScanResult::Collapse);
        assert_eq!(scan_pmd(&t, &swapped(65)), ScanResult::ExceedSwap);
        let shared = |n| PmdFacts { shared: n, ..facts() };
        assert_eq!(scan_pmd(&t, &shared(256)), ScanResult::Collapse);
        assert_eq!(scan_pmd(&t, &shared(257)), ScanResult::ExceedShared);
        t.set("max_ptes_none", "0").unwrap();
        assert_eq!(scan_pmd(&t, &PmdFacts { present: 511, ..facts() }), ScanResult::ExceedNone);
        assert_eq!(scan_pmd(&t, &facts()), ScanResult::Collapse);
    }

    #[test]
    fn pages_must_be_used_writable_and_free_of_pins() {
        let t = KhugepagedTunables::default();
        let v = |f| scan_pmd(&t, &f);
        assert_eq!(v(PmdFacts { referenced: 0, ..facts() }), ScanResult::LackReferenced);
        let one_swapped = PmdFacts { present: 511, swapped: 1, ..facts() };
        assert_eq!(v(PmdFacts { referenced: 255, ..one_swapped }), ScanResult::LackReferenced);
        assert_eq!(v(PmdFacts { referenced: 256, ..one_swapped }), ScanResult::Collapse);
        assert_eq!(v(PmdFacts { writable: false, ..facts() }), ScanResult::PageRo);
        assert_eq!(v(PmdFacts { pinned: true, ..facts() }), ScanResult::PageCount);
        assert_eq!(v(PmdFacts { nothing_to_do: true, ..facts() }), ScanResult::NothingToDo);
    }
}
