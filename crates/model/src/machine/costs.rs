//! What kernel operations cost on a machine.

/// Kernel operation costs on this machine (machines.md sections 4 and 5), ns unless said. The default is all free, for
/// shapes that are not simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelCosts {
    /// A PTE visited and skipped.
    pub pte_skip_ns: f64,
    /// A PTE made PROT_NONE, without the flush.
    pub pte_mark_ns: f64,
    /// A PMD made PROT_NONE, without the flush.
    pub pmd_mark_ns: f64,
    /// One scan invocation.
    pub scan_ns: f64,
    /// Per VMA visited by a scan.
    pub scan_vma_ns: f64,
    /// Exception entry and exit.
    pub exception_ns: f64,
    /// Hint fault without migration, exception included.
    pub hint_fault_ns: f64,
    /// Each further page that a hint fault on a marked page table looks at (AutoNUMA).
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
    /// The same where migrate_pages batches (6.3 on).
    pub migrate_4k_batched_ns: f64,
    /// 2 MiB migration, without copy and flush.
    pub migrate_2m_ns: f64,
    /// Splitting a huge page.
    pub split_ns: f64,
    /// khugepaged collapse, process-visible part.
    pub collapse_ns: f64,
    /// khugepaged scan of one 2 MiB slot.
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
    /// Wake-up to running on an idle CPU in a shallow idle state.
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
    /// Time each target CPU loses.
    pub flush_target_ns: f64,
    /// TLB refill each target pays after a full flush.
    pub flush_refill_ns: f64,
}
