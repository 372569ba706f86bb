//! System-wide settings that belong to no single policy.

use crate::mm::thp::{ThpDefrag, ThpEnabled};

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
        /// Reclaim the local node before going to another: 1 clean page cache, 2 also writes, 4 also unmaps.
        zone_reclaim_mode: u32 = 0, "", "vm.zone_reclaim_mode", range 0..=7;
    }
}
