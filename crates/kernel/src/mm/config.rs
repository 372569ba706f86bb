//! Settings of memory management: tunables by group, and the rules that follow from them.

use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use crate::mm::compact::tunables::CompactTunables;
use crate::mm::khugepaged::tunables::KhugepagedTunables;
use crate::mm::reclaim::demotion::DemotionTargets;
use crate::mm::reclaim::swap::SwapTunables;
use crate::mm::thp::tunables::ThpTunables;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::base_page::BasePage;
use numalab_base::tunable::Needs;
use numalab_base::words;

numalab_base::tunables! {
    /// Allocation and reclaim.
    pub struct VmTunables: "vm" {
        given {
            /// Reclaim the local node before going to another, `system.zone_reclaim_mode`: 1 clean page cache, 2 also
            /// writes, 4 also unmaps.
            zone_reclaim_mode: u8 = 0;
            /// kswapd reclaims up to the promotion mark: `system.numa_balancing` has the tiering bit.
            tiering: bool = false;
            /// Base pages: `system.base_page_kb`.
            base_page: BasePage = BasePage::Kib4;
        }

        /// Zones: one per node, or node 0 with a DMA32 zone below 4 GiB.
        zones: ZoneLayout = ZoneLayout::Z1, "", "model";
        /// Free memory kept for emergencies; 0 computes it from the size of memory.
        min_free_kbytes: u64 = 0, "KiB", "vm.min_free_kbytes", range 0..=1_073_741_824;
        /// Greatest computed value (65536 in older kernels).
        min_free_cap_kbytes: u64 = 262_144, "KiB", "model", range 128..=1_073_741_824;
        /// Distance between the watermarks.
        watermark_scale_factor: u32 = 10, "1/10000", "vm.watermark_scale_factor", range 1..=3000;
        /// Boost of a zone's watermarks when a pageblock changes mobility, if `boost` is on.
        watermark_boost_factor: u32 = 15_000, "1/10000", "vm.watermark_boost_factor", range 0..=1_000_000,
            read when "vm.boost" is Needs::OneOf(&["true"]);
        /// Whether watermarks are boosted.
        boost: bool = false, "", "model";
        /// Unmapped file pages that node reclaim leaves, part of the node.
        min_unmapped_ratio: u32 = 1, "%", "vm.min_unmapped_ratio", range 0..=100;
        /// Reclaimable slab that node reclaim leaves, part of the node.
        min_slab_ratio: u32 = 5, "%", "vm.min_slab_ratio", range 0..=100;
        /// Cost of anonymous against file pages for reclaim; 100 is equal.
        swappiness: u8 = 60, "", "vm.swappiness", range 0..=200;
        /// New anonymous pages start inactive, and are activated when found used twice or read back early (5.9 on).
        anon_workingset: bool = true, "", "commits b518154e59aa, aae466b0052e";
        /// A first touch of anonymous memory may map a large folio below 2 MiB, of the sizes that are enabled
        /// (`system.thp_16kb` to `system.thp_1024kb`; 6.8 on).
        folio_faults: bool = true, "", "model";
        /// Reclaim moves pages to the next tier instead of freeing them.
        demotion: bool = false, "", "sys/kernel/mm/numa/demotion_enabled";
        /// Which slower nodes take demoted pages, and what a cpuset says to that. Tasks of the simulator are in no
        /// cpuset.
        demotion_targets: DemotionTargets = DemotionTargets::Any, "", "model", unread = true;
        /// Weights of weighted interleave follow the bandwidth of nodes (6.16 on). Workloads of the simulator give
        /// their weights.
        weighted_auto: bool = false, "", "sys/kernel/mm/mempolicy/weighted_interleave/auto", unread = true;
        /// When a huge-page request gives up after compaction: as in the kernels with the locality rule, or by one of
        /// the rules.
        bail_rule: BailChoice = BailChoice::ByLocality, "", "model";
        /// A local-only request without retries reclaims after a compaction that ran and failed.
        thisnode_fail_reclaims: FailReclaims = FailReclaims::ByLocality, "", "model";
        /// Faults hold the lock of the whole address space, so that threads that map memory wait for them (until 6.4,
        /// which has locks of single mappings).
        fault_holds_mmap_lock: bool = false, "", "model";
        /// Pages that a CPU collects before it adds them to the LRU together (PAGEVEC_SIZE: 14 to 4.14, 15 to 6.8, 31
        /// from 6.9 on).
        lru_batch: u32 = 15, "pages", "model", range 1..=1024;
        /// Memory that a read fault on a file or on shared memory maps, if it is in the page cache (`do_fault_around`).
        /// It is rounded down to a power of two. One page before 3.15.
        fault_around_bytes: u64 = 65_536, "bytes", "sys/kernel/debug/fault_around_bytes", range 4096..=2_097_152;
    }
}

impl VmTunables {
    /// Pages of the aligned window that a read fault maps, 1 to 512 (`fault_around_bytes`).
    pub fn fault_around_pages(&self) -> usize {
        let pages = self.base_page.pages(self.fault_around_bytes).clamp(1, CHUNK_PAGES);
        1 << pages.ilog2()
    }
}

words! {
    /// Zones of a machine.
    pub enum ZoneLayout {
        /// One zone per node.
        Z1 = "z1",
        /// As z1, and node 0 has a DMA32 zone below 4 GiB.
        Z2 = "z2",
    }
}

words! {
    /// When a huge-page request gives up after compaction.
    pub enum BailChoice {
        /// As the kernels with the locality rule do.
        ByLocality = "by_locality",
        /// Without retries, if compaction was deferred.
        Deferred = "deferred" ("before 5.4"),
        /// Any request that may start IO, if compaction was skipped or deferred; without retries as before.
        Pageblock54 = "pageblock_54" ("5.4"),
        /// Without retries, if compaction was skipped or deferred.
        CostlyNoretry = "costly_noretry" ("5.5 on"),
    }
}

words! {
    /// Whether a local-only request without retries reclaims after a compaction that ran and failed.
    pub enum FailReclaims {
        /// As in the kernels with the locality rule.
        ByLocality = "by_locality",
        /// It reclaims.
        Yes = "yes",
        /// It fails.
        No = "no",
    }
}

/// All settings of memory management.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MmConfig {
    /// Allocation and reclaim.
    pub vm: VmTunables,
    /// Compaction.
    pub compact: CompactTunables,
    /// Swap.
    pub swap: SwapTunables,
    /// Huge pages.
    pub thp: ThpTunables,
    /// khugepaged.
    pub khugepaged: KhugepagedTunables,
}

impl MmConfig {
    /// Rules of the slow path: the configured ones, else those of the kernels with the configured locality rule.
    pub fn slow_rules(&self) -> SlowRules {
        let era = self.thp.locality.parts().slow_rules;
        SlowRules {
            bail: match self.vm.bail_rule {
                BailChoice::ByLocality => era.bail,
                BailChoice::Deferred => BailRule::Deferred,
                BailChoice::Pageblock54 => BailRule::Pageblock54,
                BailChoice::CostlyNoretry => BailRule::CostlyNoretry,
            },
            thisnode_fail_reclaims: match self.vm.thisnode_fail_reclaims {
                FailReclaims::ByLocality => era.thisnode_fail_reclaims,
                FailReclaims::Yes => true,
                FailReclaims::No => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::thp::locality::Locality;
    use numalab_base::tunable::Group;

    #[test]
    fn the_slow_path_follows_the_locality_rule_unless_told_otherwise() {
        let mut cfg = MmConfig::default();
        assert_eq!(cfg.slow_rules(), SlowRules { bail: BailRule::CostlyNoretry, thisnode_fail_reclaims: false });
        cfg.thp.locality = Locality::ThisNode;
        assert_eq!(cfg.slow_rules(), SlowRules { bail: BailRule::Deferred, thisnode_fail_reclaims: true });
        cfg.thp.locality = Locality::TwoStep54;
        assert_eq!(cfg.slow_rules(), SlowRules { bail: BailRule::Pageblock54, thisnode_fail_reclaims: true });
        cfg.vm.set("bail_rule", "deferred").unwrap();
        cfg.vm.set("thisnode_fail_reclaims", "no").unwrap();
        assert_eq!(cfg.slow_rules(), SlowRules { bail: BailRule::Deferred, thisnode_fail_reclaims: false });
    }
}
