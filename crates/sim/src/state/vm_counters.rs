//! The vmstat counters a run reports, under the kernel's names and in the order of /proc/vmstat.

/// Counters that the simulator's mechanisms keep; those of NUMA balancing and allocation belong to `numalab_kernel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VmCounters {
    /// All minor faults, hint faults included.
    pub pgfault: u64,
    /// TLB shoot-downs sent to other CPUs (`nr_tlb_remote_flush`).
    pub nr_tlb_remote_flush: u64,
    /// Shoot-downs received, summed over CPUs (`nr_tlb_remote_flush_received`).
    pub nr_tlb_remote_flush_received: u64,
    /// Second-level faults of virtual machines (`pf_taken` of KVM's statistics).
    pub kvm_pf_taken: u64,
}
