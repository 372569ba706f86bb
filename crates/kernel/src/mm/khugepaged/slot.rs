//! May a 2 MiB slot be collapsed, and onto which node (`hpage_collapse_scan_pmd`, `hpage_collapse_find_target_node`).

use super::tunables::KhugepagedTunables;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::node_mask::NodeMask;
use numalab_base::words;

/// What khugepaged sees in the 512 entries of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotFacts {
    /// Pages present.
    pub present: u32,
    /// Entries of swapped pages.
    pub swapped: u32,
    /// Present pages that other processes map too.
    pub shared: u32,
    /// Present pages used lately.
    pub referenced: u32,
    /// Some entry is writable.
    pub writable: bool,
    /// Some page is pinned.
    pub pinned: bool,
    /// The slot is a huge page already, or holds nothing at all.
    pub nothing_to_do: bool,
}

words! {
    /// Why a slot is not collapsed.
    pub enum SlotVerdict {
        /// It is.
        Collapse = "collapse",
        /// Nothing to do.
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
        /// Pages on nodes too far apart (with node reclaim).
        ScanAbort = "scan_abort",
        /// Pins beyond the mappings.
        PageCount = "page_count",
        /// No huge page to be had.
        AllocFail = "alloc_fail",
    }
}

/// Verdict on a slot, before the question of nodes.
pub fn scan_slot(t: &KhugepagedTunables, f: &SlotFacts) -> SlotVerdict {
    let none = CHUNK_PAGES as u32 - f.present - f.swapped;
    let half = CHUNK_PAGES as u32 / 2;
    if f.nothing_to_do {
        SlotVerdict::NothingToDo
    } else if f.swapped > t.max_ptes_swap {
        SlotVerdict::ExceedSwap
    } else if none > t.max_ptes_none {
        SlotVerdict::ExceedNone
    } else if f.shared > t.max_ptes_shared {
        SlotVerdict::ExceedShared
    } else if f.pinned {
        SlotVerdict::PageCount
    } else if !f.writable {
        SlotVerdict::PageRo
    } else if f.referenced == 0 || f.swapped > 0 && f.referenced < half {
        SlotVerdict::LackReferenced
    } else {
        SlotVerdict::Collapse
    }
}

/// Where a collapsed page may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Node the walk starts at.
    pub node: usize,
    /// Nodes allowed: all that have as many pages.
    pub allowed: NodeMask,
}

/// The node with the most pages of a slot, lowest on ties; all with as many are allowed. `None` without pages.
pub fn target_node(pages_on_node: &[u32]) -> Option<Target> {
    let most = pages_on_node.iter().copied().max().filter(|m| *m > 0)?;
    let allowed = NodeMask::of((0..pages_on_node.len()).filter(|n| pages_on_node[*n] == most));
    Some(Target { node: allowed.first()?, allowed })
}

/// Whether pages on these nodes lie too far apart to be collapsed: with node reclaim, no two of them may be farther
/// apart than it reaches (`hpage_collapse_scan_abort`).
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

    fn facts() -> SlotFacts {
        SlotFacts { present: 512, referenced: 512, writable: true, ..SlotFacts::default() }
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
        let single = SlotFacts { present: 1, referenced: 1, writable: true, ..SlotFacts::default() };
        assert_eq!(scan_slot(&t, &single), SlotVerdict::Collapse, "511 pages of bloat");
        let swapped = |n| SlotFacts { present: 512 - n, swapped: n, referenced: 512 - n, ..facts() };
        assert_eq!(scan_slot(&t, &swapped(64)), SlotVerdict::Collapse);
        assert_eq!(scan_slot(&t, &swapped(65)), SlotVerdict::ExceedSwap);
        let shared = |n| SlotFacts { shared: n, ..facts() };
        assert_eq!(scan_slot(&t, &shared(256)), SlotVerdict::Collapse);
        assert_eq!(scan_slot(&t, &shared(257)), SlotVerdict::ExceedShared);
        t.set("max_ptes_none", "0").unwrap();
        assert_eq!(scan_slot(&t, &SlotFacts { present: 511, ..facts() }), SlotVerdict::ExceedNone);
        assert_eq!(scan_slot(&t, &facts()), SlotVerdict::Collapse);
    }

    #[test]
    fn pages_must_be_used_writable_and_free_of_pins() {
        let t = KhugepagedTunables::default();
        let v = |f| scan_slot(&t, &f);
        assert_eq!(v(SlotFacts { referenced: 0, ..facts() }), SlotVerdict::LackReferenced);
        let one_swapped = SlotFacts { present: 511, swapped: 1, ..facts() };
        assert_eq!(v(SlotFacts { referenced: 255, ..one_swapped }), SlotVerdict::LackReferenced);
        assert_eq!(v(SlotFacts { referenced: 256, ..one_swapped }), SlotVerdict::Collapse);
        assert_eq!(v(SlotFacts { writable: false, ..facts() }), SlotVerdict::PageRo);
        assert_eq!(v(SlotFacts { pinned: true, ..facts() }), SlotVerdict::PageCount);
        assert_eq!(v(SlotFacts { nothing_to_do: true, ..facts() }), SlotVerdict::NothingToDo);
    }
}
