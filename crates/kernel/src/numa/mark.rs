//! Which entries of a range are made PROT_NONE (kernel: `change_prot_numa`, kernel-numa-balancing.md §7).
//!
//! The scanner decides per range; the simulator owns the page tables. [`MarkRules`] has what the simulator needs: two
//! sets of nodes that are never marked, the page filter, and the scan time to store in slow-tier pages. With these, a
//! bitmap of ordinary pages of one node is marked or skipped as a whole.

use super::config::NumaConfig;
use super::jiffies::Jiffies;
use super::page::{PageFacts, PIN_BIAS};
use super::page_filter::{PageFilter, Verdict};
use super::state::LastCpupid;
use super::tiering;
use super::topology::NumaTopology;
use numalab_base::node_mask::NodeMask;

/// Rules for marking one range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkRules {
    /// Base pages on these nodes are skipped (single-user shortcut, top tier without the normal mode).
    pub pte_skip_nodes: NodeMask,
    /// Huge pages on these nodes are skipped (top tier without the normal mode).
    pub huge_skip_nodes: NodeMask,
    /// The page filter.
    pub filter: PageFilter,
    /// Dirty file pages are skipped.
    pub skip_dirty_file: bool,
    /// Pages on these nodes get `stamp` as their last cpupid when marked (memory tiering).
    pub stamp_nodes: NodeMask,
    /// Scan time in the form stored in slow-tier pages.
    pub stamp: LastCpupid,
    /// Page tables whose pages are all on one node are marked too (3.8).
    pub tables: bool,
    /// Huge entries take the tests of base pages (6.19).
    pub huge_same: bool,
    /// Pages that other mappings can show are skipped, whatever their mapcount (the designs of 2012).
    pub own_only: bool,
}

impl MarkRules {
    /// Rules for marking pages of a VMA from `this_node`. `shared`: the VMA is a shared mapping.
    pub fn new(
        cfg: &NumaConfig,
        topo: &NumaTopology,
        this_node: usize,
        mm_users: u32,
        shared: bool,
        now: Jiffies,
    ) -> Self {
        let huge_skip_nodes = if cfg.normal() { NodeMask::EMPTY } else { topo.top_tier() };
        let mut pte_skip_nodes = huge_skip_nodes;
        if cfg.switches.single_user_shortcut && !shared && mm_users == 1 {
            pte_skip_nodes.insert(this_node);
        }
        let slow = tiering::uses_access_time(cfg);
        let stamp_nodes =
            if slow { NodeMask::of((0..topo.nodes()).filter(|&n| !topo.is_top_tier(n))) } else { NodeMask::EMPTY };
        let stamp = if slow { tiering::access_time(cfg, now) } else { LastCpupid::UNSET };
        Self {
            pte_skip_nodes,
            huge_skip_nodes,
            filter: cfg.page_filter,
            skip_dirty_file: cfg.switches.skip_dirty_file,
            stamp_nodes,
            stamp,
            tables: cfg.switches.table_marks,
            huge_same: cfg.switches.huge_same_predicate,
            own_only: false,
        }
    }

    /// Rules that mark every page that only this mapping can show.
    pub const OWN_PAGES: Self = Self {
        pte_skip_nodes: NodeMask::EMPTY,
        huge_skip_nodes: NodeMask::EMPTY,
        filter: PageFilter::NONE,
        skip_dirty_file: false,
        stamp_nodes: NodeMask::EMPTY,
        stamp: LastCpupid::UNSET,
        tables: false,
        huge_same: false,
        own_only: true,
    };

    /// The same rules for slow-tier pages only: nodes of the top tier are skipped.
    pub fn slow_tier_only(self, topo: &NumaTopology) -> Self {
        let top = |mask: NodeMask| mask.or(&topo.top_tier());
        Self { pte_skip_nodes: top(self.pte_skip_nodes), huge_skip_nodes: top(self.huge_skip_nodes), ..self }
    }

    /// Whether a present base-page entry that is not yet PROT_NONE is marked (checks 3 to 7).
    #[inline]
    pub fn pte(&self, page: &PageFacts) -> Verdict {
        if page.special {
            return Verdict::Skip;
        }
        match self.filter.verdict(page) {
            Verdict::Mark => {}
            other => return other,
        }
        if self.skip_dirty_file && page.file_lru && page.dirty {
            return Verdict::Skip;
        }
        Verdict::skip_if(self.pte_skip_nodes.contains(page.nid))
    }

    /// Whether a huge entry that lies wholly in the range and is not yet PROT_NONE is marked. `special` means the huge
    /// zero page here. KSM, device, COW and dirty tests do not exist on this path.
    #[inline]
    pub fn huge(&self, page: &PageFacts) -> Verdict {
        if self.huge_same {
            return self.pte(page);
        }
        if page.special || self.huge_skip_nodes.contains(page.nid) {
            return Verdict::Skip;
        }
        self.filter.verdict_huge(page)
    }

    /// Whether a page that waits in an LRU batch is skipped, because the batch holds a reference.
    #[inline]
    pub fn spares_batched(&self) -> bool {
        self.filter.parts().counts_references()
    }

    /// Whether a pinned exclusive base page is skipped, because of its references.
    #[inline]
    pub fn spares_pinned(&self) -> bool {
        let pinned = PageFacts { refcount: 1 + PIN_BIAS, ..PageFacts::private_anon(0) };
        !self.filter.is_of_caller()
            && self.filter.verdict(&pinned) != Verdict::Mark
            && self.filter.verdict(&PageFacts::private_anon(0)) == Verdict::Mark
    }

    /// Whether entries of large folios below 2 MiB are marked, as those of base pages are. A folio has a reference for
    /// each of its entries, so filters that count references leave it alone (up to 6.9).
    #[inline]
    pub fn marks_folios(&self) -> bool {
        let folio = PageFacts::private_anon_folio(0, 2);
        self.filter.is_of_caller() || self.filter.verdict(&folio) == Verdict::Mark
    }

    /// Whether all present private anonymous base pages on a node, with mapcount 1, one reference and no pin, are
    /// marked. If false, none of them is marked, unless a filter of the caller marks it
    /// ([`Self::marks_one_exclusive_anon`]).
    #[inline]
    pub fn marks_exclusive_anon(&self, nid: usize) -> bool {
        self.filter.marks_all_exclusive_anon() && !self.pte_skip_nodes.contains(nid)
    }

    /// Whether one such page is marked. A filter of the caller is asked.
    #[inline]
    pub fn marks_one_exclusive_anon(&self, nid: usize) -> bool {
        match self.filter.is_of_caller() {
            true => self.pte(&PageFacts::private_anon(nid)) == Verdict::Mark,
            false => self.marks_exclusive_anon(nid),
        }
    }
}
