//! What kernel operations cost on a machine.

/// Costs of kernel operations on a machine, ns unless stated otherwise (machines.md sections 4 and 5). By default all
/// are 0, for machines that are not simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelCosts {
    /// A PTE visited and skipped.
    pub pte_skip_ns: f64,
    /// A PTE made PROT_NONE, without the TLB flush.
    pub pte_mark_ns: f64,
    /// A PMD made PROT_NONE, without the TLB flush.
    pub pmd_mark_ns: f64,
    /// One invocation of the scanner.
    pub scan_ns: f64,
    /// Per VMA visited by a scan.
    pub scan_vma_ns: f64,
    /// Exception entry and exit.
    pub exception_ns: f64,
    /// Hint fault without migration, exception included.
    pub hint_fault_ns: f64,
    /// Each further page that a hint fault on a marked page table examines (AutoNUMA).
    pub hint_page_ns: f64,
    /// Minor fault of an anonymous 4 KiB page, zeroing included.
    pub minor_fault_ns: f64,
    /// Fixed part of a 2 MiB anonymous fault, allocation included.
    pub huge_fault_ns: f64,
    /// Zeroing rate of a local huge page, GB/s.
    pub zero_local_gbps: f64,
    /// Zeroing rate of a remote huge page, GB/s.
    pub zero_remote_gbps: f64,
    /// Copy-on-write fault of a 4 KiB page.
    pub cow_fault_ns: f64,
    /// Copying 4 KiB inside a node.
    pub copy_4k_local_ns: f64,
    /// Copying 4 KiB between nodes.
    pub copy_4k_remote_ns: f64,
    /// 4 KiB migration on a hint fault, without copy and flush.
    pub migrate_4k_ns: f64,
    /// 4 KiB migration where `migrate_pages` works in batches (from 6.3 on), without copy and flush.
    pub migrate_4k_batched_ns: f64,
    /// 2 MiB migration, without copy and flush.
    pub migrate_2m_ns: f64,
    /// Splitting a huge page.
    pub split_ns: f64,
    /// Collapse by khugepaged, the part that delays the process.
    pub collapse_ns: f64,
    /// Scan of one 2 MiB slot by khugepaged.
    pub khugepaged_slot_ns: f64,
    /// Compaction: per scanned page.
    pub compact_scan_ns: f64,
    /// Compaction: per migrated page.
    pub compact_migrate_ns: f64,
    /// Direct reclaim of a clean page.
    pub reclaim_page_ns: f64,
    /// Swap-out of a page, CPU part.
    pub swap_out_ns: f64,
    /// Swap-in of a page, CPU part.
    pub swap_in_ns: f64,
    /// Context switch inside a process.
    pub switch_same_ns: f64,
    /// Context switch between processes.
    pub switch_other_ns: f64,
    /// From wake-up to running, on an idle CPU in a shallow idle state.
    pub wake_ns: f64,
    /// Scheduler tick.
    pub tick_ns: f64,
    /// Load-balance pass, per CPU of the domain.
    pub balance_cpu_ns: f64,
    /// Fork: per present PTE.
    pub fork_pte_ns: f64,
    /// Fork: per PMD.
    pub fork_pmd_ns: f64,
    /// Shoot-down: initiator base.
    pub flush_base_ns: f64,
    /// Shoot-down: per target on the initiator's socket.
    pub flush_socket_ns: f64,
    /// Shoot-down: per target one hop away.
    pub flush_hop1_ns: f64,
    /// Shoot-down: per target two hops away.
    pub flush_hop2_ns: f64,
    /// Shoot-down: time that each target CPU loses.
    pub flush_target_ns: f64,
    /// Shoot-down: time for each target to refill its TLB after a full flush.
    pub flush_refill_ns: f64,
}
