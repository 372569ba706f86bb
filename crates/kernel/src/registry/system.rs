//! System-wide settings that belong to no single policy.

use crate::mm::thp::{FolioSize, FolioSizes, ThpDefrag, ThpEnabled};
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
