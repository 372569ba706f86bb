//! System-wide settings that belong to no single policy.

use crate::mm::thp::{FolioSize, FolioSizes, ThpDefrag, ThpEnabled};
use numalab_base::base_page::BasePage;
use numalab_base::tunable::Needs;

/// The condition that there are large folios below 2 MiB.
const FOLIOS: Needs = Needs::OneOf(&["true"]);

numalab_base::tunables! {
    /// Settings an administrator makes for the whole system.
    pub struct System: "system" {
        /// Automatic NUMA balancing: 0 off, 1 normal, 2 memory tiering, 3 both, 4 on with neither bit. If nobody sets
        /// it, 0 on a machine with one node.
        numa_balancing: u32 = 1, "", "kernel.numa_balancing", range 0..=4;
        /// Timer ticks per second.
        hz: u32 = 250, "Hz", "CONFIG_HZ", range 100..=1000;
        /// Size of a base page, for which the kernel is built. All counters of pages count pages of this size. With 16
        /// and 64 KiB there are no huge pages, no large folios and no second zone: such settings are refused, so
        /// `system.thp` must be never.
        base_page_kb: BasePage = BasePage::Kib4, "KiB", "CONFIG_ARM64_64K_PAGES, CONFIG_PPC_64K_PAGES";
        /// Size of a huge page of such a kernel, to which a scan work rounds its end up (`HPAGE_PMD_SIZE`). 0 is what a
        /// full page table maps, as on arm64: 32 MiB with pages of 16 KiB, 512 MiB with 64. ppc64 with pages of 64 KiB
        /// has 16 MiB with the hash MMU (POWER8), and 2 MiB with the radix MMU (POWER9 on).
        huge_page_mb: u32 = 0, "MiB", "HPAGE_PMD_SIZE", range 0..=512,
            read when "system.base_page_kb" is Needs::Not("4");
        /// Transparent huge pages for anonymous memory: for all, for advised ranges, or for none.
        thp: ThpEnabled = ThpEnabled::Madvise, "", "sys/kernel/mm/transparent_hugepage/enabled";
        /// What a huge-page fault may do to get a huge page.
        thp_defrag: ThpDefrag = ThpDefrag::Madvise, "", "sys/kernel/mm/transparent_hugepage/defrag",
            read when "system.thp" is ThpEnabled::SOME;
        /// Large folios of 16 KiB for anonymous memory: for all, as `thp` says, for advised ranges, or for none.
        thp_16kb: FolioSize = FolioSize::Never, "", "sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled",
            read when "vm.folio_faults" is FOLIOS;
        /// Large folios of 32 KiB for anonymous memory: for all, as `thp` says, for advised ranges, or for none.
        thp_32kb: FolioSize = FolioSize::Never, "", "sys/kernel/mm/transparent_hugepage/hugepages-32kB/enabled",
            read when "vm.folio_faults" is FOLIOS;
        /// Large folios of 64 KiB for anonymous memory: for all, as `thp` says, for advised ranges, or for none.
        thp_64kb: FolioSize = FolioSize::Never, "", "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
            read when "vm.folio_faults" is FOLIOS;
        /// Large folios of 128 KiB for anonymous memory: for all, as `thp` says, for advised ranges, or for none.
        thp_128kb: FolioSize = FolioSize::Never, "", "sys/kernel/mm/transparent_hugepage/hugepages-128kB/enabled",
            read when "vm.folio_faults" is FOLIOS;
        /// Large folios of 256 KiB for anonymous memory: for all, as `thp` says, for advised ranges, or for none.
        thp_256kb: FolioSize = FolioSize::Never, "", "sys/kernel/mm/transparent_hugepage/hugepages-256kB/enabled",
            read when "vm.folio_faults" is FOLIOS;
        /// Large folios of 512 KiB for anonymous memory: for all, as `thp` says, for advised ranges, or for none.
        thp_512kb: FolioSize = FolioSize::Never, "", "sys/kernel/mm/transparent_hugepage/hugepages-512kB/enabled",
            read when "vm.folio_faults" is FOLIOS;
        /// Large folios of 1024 KiB for anonymous memory: for all, as `thp` says, for advised ranges, or for none.
        thp_1024kb: FolioSize = FolioSize::Never, "", "sys/kernel/mm/transparent_hugepage/hugepages-1024kB/enabled",
            read when "vm.folio_faults" is FOLIOS;
        /// Reclaim the local node before going to another: 1 clean page cache, 2 also writes, 4 also unmaps.
        zone_reclaim_mode: u32 = 0, "", "vm.zone_reclaim_mode", range 0..=7;
    }
}

impl System {
    /// Bytes of a huge page (`HPAGE_PMD_SIZE`).
    pub fn huge_page_bytes(&self) -> u64 {
        match (self.base_page_kb, self.huge_page_mb) {
            (BasePage::Kib4, _) | (_, 0) => self.base_page_kb.table_bytes(),
            (_, mib) => u64::from(mib) << 20,
        }
    }
    /// The settings of the sizes below 2 MiB.
    pub fn folio_sizes(&self) -> FolioSizes {
        FolioSizes([
            self.thp_16kb,
            self.thp_32kb,
            self.thp_64kb,
            self.thp_128kb,
            self.thp_256kb,
            self.thp_512kb,
            self.thp_1024kb,
        ])
    }
}
