//! Settings of memory management: tunables by group, and the rules that follow from them.

use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use crate::mm::compact::tunables::CompactTunables;
use crate::mm::khugepaged::tunables::KhugepagedTunables;
use crate::mm::reclaim::swap::SwapTunables;
use crate::mm::thp::tunables::ThpTunables;
use numalab_base::tunable::Word;

numalab_base::tunables! {
    /// Allocation and reclaim.
    pub struct VmTunables: "vm" {
        /// Zones: one per node, or node 0 with a DMA32 zone below 4 GiB.
        zones: Word = "z1", "", "model", choices ["z1", "z2"];
        /// Free memory kept for emergencies; 0 computes it from the size of memory.
        min_free_kbytes: u64 = 0, "KiB", "vm.min_free_kbytes", range 0..=1_073_741_824;
        /// Greatest computed value (65536 in older kernels).
        min_free_cap_kbytes: u64 = 262_144, "KiB", "model", range 128..=1_073_741_824;
        /// Distance between the watermarks.
        watermark_scale_factor: u32 = 10, "1/10000", "vm.watermark_scale_factor", range 1..=3000;
        /// Boost of a zone's watermarks when a pageblock changes mobility, if `boost` is on.
        watermark_boost_factor: u32 = 15_000, "1/10000", "vm.watermark_boost_factor", range 0..=1_000_000;
        /// Whether watermarks are boosted.
        boost: bool = false, "", "model";
        /// Reclaim the local node before going to another: 1 clean page cache, 2 also writes, 4 also unmaps.
        zone_reclaim_mode: u8 = 0, "", "vm.zone_reclaim_mode", range 0..=7;
        /// Unmapped file pages that node reclaim leaves, part of the node.
        min_unmapped_ratio: u32 = 1, "%", "vm.min_unmapped_ratio", range 0..=100;
        /// Reclaimable slab that node reclaim leaves, part of the node.
        min_slab_ratio: u32 = 5, "%", "vm.min_slab_ratio", range 0..=100;
        /// Cost of anonymous against file pages for reclaim; 100 is equal.
        swappiness: u8 = 60, "", "vm.swappiness", range 0..=200;
        /// New anonymous pages start inactive, and are activated when found used twice or read back early (5.9 on).
        anon_workingset: bool = true, "", "commits b518154e59aa, aae466b0052e";
        /// Reclaim moves pages to the next tier instead of freeing them.
        demotion: bool = false, "", "sys/kernel/mm/numa/demotion_enabled";
        /// kswapd reclaims up to the promotion mark (NUMA balancing mode 2).
        tiering: bool = false, "", "kernel.numa_balancing";
        /// When a huge-page request gives up after compaction: as in the kernels with the locality rule, or by one of
        /// the rules.
        bail_rule: Word = "by_locality", "", "model", choices ["by_locality", "deferred", "pageblock_54", "costly_noretry"];
        /// A local-only request without retries reclaims after a compaction that ran and failed.
        thisnode_fail_reclaims: Word = "by_locality", "", "model", choices ["by_locality", "yes", "no"];
        /// Faults hold the lock of the whole address space, so that threads that map memory wait for them (until 6.4,
        /// which has locks of single mappings).
        fault_holds_mmap_lock: bool = false, "", "model";
        /// Pages that a CPU collects before it adds them to the LRU together (PAGEVEC_SIZE: 14 to 4.14, 15 to 6.8, 31
        /// in 6.12).
        lru_batch: u32 = 15, "pages", "model", range 1..=1024;
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
        let era = self.thp.locality().slow_rules();
        SlowRules {
            bail: BailRule::parse(self.vm.bail_rule).unwrap_or(era.bail),
            thisnode_fail_reclaims: match self.vm.thisnode_fail_reclaims {
                "yes" => true,
                "no" => false,
                _ => era.thisnode_fail_reclaims,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::tunable::Group;

    #[test]
    fn the_slow_path_follows_the_locality_rule_unless_told_otherwise() {
        let mut cfg = MmConfig::default();
        assert_eq!(cfg.slow_rules(), SlowRules { bail: BailRule::CostlyNoretry, thisnode_fail_reclaims: false });
        cfg.thp.set("locality", "thp_thisnode").unwrap();
        assert_eq!(cfg.slow_rules(), SlowRules { bail: BailRule::Deferred, thisnode_fail_reclaims: true });
        cfg.thp.set("locality", "thp_two_step_54").unwrap();
        assert_eq!(cfg.slow_rules(), SlowRules { bail: BailRule::Pageblock54, thisnode_fail_reclaims: true });
        cfg.vm.set("bail_rule", "deferred").unwrap();
        cfg.vm.set("thisnode_fail_reclaims", "no").unwrap();
        assert_eq!(cfg.slow_rules(), SlowRules { bail: BailRule::Deferred, thisnode_fail_reclaims: false });
    }

    #[test]
    fn bail_words_are_those_of_the_tunable() {
        let decl = VmTunables::DECLS.iter().find(|d| d.key == "bail_rule").unwrap();
        assert_eq!(&decl.choices[1..], BailRule::WORDS);
    }
}
