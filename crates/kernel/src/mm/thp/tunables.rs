//! Tunables of transparent huge pages.

use super::folio_sizes::FolioSizes;
use super::ladders::Ladders;
use crate::mm::thp::locality::parts::HugeRules;
use crate::mm::thp::locality::{Ladder, Locality};
use numalab_base::rung_list::RungList;
use numalab_base::tunable::Needs;
use numalab_base::words;
use numalab_nouns::machine::Machine;

numalab_base::tunables! {
    /// Settings of transparent huge pages.
    pub struct ThpTunables: "thp" {
        read when "system.thp" is ThpEnabled::SOME;

        given {
            /// Which memory may have huge pages: `system.thp`.
            enabled: ThpEnabled = ThpEnabled::Madvise;
            /// What a fault may do to get a huge page: `system.thp_defrag`.
            defrag: ThpDefrag = ThpDefrag::Madvise;
            /// Sizes below 2 MiB that may be mapped: `system.thp_16kb` to `system.thp_1024kb`.
            sizes: FolioSizes = FolioSizes::NONE;
            /// Where a huge page comes from when the local node has none free: the role `thp_locality`.
            locality: Locality = Locality::TwoStep;
        }

        /// Read faults on untouched ranges map one shared huge zero page.
        use_zero_page: bool = true, "", "sys/kernel/mm/transparent_hugepage/use_zero_page";
        /// A write to the huge zero page allocates a huge page (before 5.8), instead of splitting the mapping.
        zero_page_write_huge: bool = false, "", "model";
        /// `thp_fault_alloc` counts huge pages when they are allocated (before 4.3, 6b251fc96cf2), not when they are
        /// mapped. So it includes those of threads that find the range filled by another thread.
        counts_unused_alloc: bool = false, "", "model";
        /// A write to a shared huge page copies all of it (before 5.8), instead of splitting the mapping.
        cow_copies_huge: bool = false, "", "model";
        /// The list of `ladder_custom`: distances and page sizes in the order in which a fault tries them.
        ladder: RungList = RungList::NONE, "", "model", read when "thp_locality" is Locality::LadderCustom.only();
        /// Effort of a fault: by `defrag`, or fixed.
        effort: ThpEffort = ThpEffort::ByDefrag, "", "model";
        /// Faults in advised ranges give up without retrying too (4.1 to 4.7).
        advised_noretry: bool = false, "", "model";
        /// Processes are in span mode, as a launcher would set it by `prctl`.
        span: bool = true, "", "model", read when "thp_locality" is Locality::PrctlSpan.only();
        /// A policy for huge pages means its first node only (`mpol_huge`).
        huge_strict: bool = false, "", "model", read when "thp_locality" is Locality::MpolHuge.only();
        /// A strict policy for huge pages does not reclaim that node (`mpol_huge`).
        huge_noretry: bool = false, "", "model", read when "thp_locality" is Locality::MpolHuge.only();
        /// Farthest distance class that `prctl_span` uses.
        span_max_class: u8 = 255, "", "model", range 0..=255,
            read when "thp_locality" is Locality::PrctlSpan.only();
        /// The span mode of a process survives exec.
        span_over_exec: bool = true, "", "model", unread = true;
        /// Hint faults migrate huge pages in one piece, as all releases with NUMA balancing do (3.8: b32967ff101a).
        /// Otherwise they are split, moved, and collapsed by khugepaged. Other migrations split until 4.14.
        native_migration: bool = true, "", "CONFIG_ARCH_ENABLE_THP_MIGRATION";
    }
}

impl ThpTunables {
    /// Rules of policies for huge pages.
    pub fn huge_rules(&self) -> HugeRules {
        HugeRules { strict: self.huge_strict, noretry: self.huge_noretry }
    }
    /// Distance classes and ladders that the locality rule needs; `guest` selects latencies as seen in a guest.
    pub fn ladders(&self, machine: &Machine, guest: bool) -> Ladders {
        match self.locality.parts().ladder {
            Ladder::None => Ladders::classes_of(machine),
            Ladder::ByLatency => Ladders::sorted(machine, guest),
            Ladder::Given => Ladders::custom(machine, &self.ladder),
        }
    }
}

words! {
    /// Transparent huge pages for anonymous memory: for all, for advised ranges, or for none.
    pub enum ThpEnabled {
        /// For all anonymous memory.
        Always = "always",
        /// For advised ranges.
        Madvise = "madvise",
        /// For no memory.
        Never = "never",
    }
}

impl ThpEnabled {
    /// The condition that there are huge pages.
    pub const SOME: Needs = Needs::OneOf(&[Self::Always.word(), Self::Madvise.word()]);
}

words! {
    /// What a huge-page fault may do to get a huge page (thp-and-allocation.md section 5).
    pub enum ThpDefrag {
        /// Reclaim and compact, also outside advised ranges.
        Always = "always",
        /// Wake kswapd and kcompactd.
        Defer = "defer",
        /// Reclaim and compact in advised ranges, wake kswapd elsewhere.
        DeferMadvise = "defer+madvise" ("4.11 on"),
        /// Reclaim and compact in advised ranges.
        Madvise = "madvise" ("default since 4.6"),
        /// Nothing.
        Never = "never",
    }
}

words! {
    /// Effort of a huge-page fault.
    pub enum ThpEffort {
        /// As `system.thp_defrag` says.
        ByDefrag = "by_defrag",
        /// It takes what is free.
        None = "none",
        /// It compacts.
        Compact = "compact",
        /// It compacts and reclaims.
        CompactReclaim = "compact_reclaim",
    }
}
