//! TLB shoot-downs: who is interrupted, what it costs, and which operation needs one.
//!
//! The initiator pays `t0 + a0 n_socket + a1 n_1hop + a2 n_2hop`, each target an interrupt, and more if
//! its whole TLB is emptied (machines.md section 5). CPUs that do not run the address space now, or run
//! it lazily, are not targets.
//!
//! Whether a flush is needed turns on one thing: could a CPU hold the old translation? An entry marked
//! PROT_NONE was flushed when it was marked, so unmapping it needs no second flush, unless a marking
//! of the same address space is still under way and its flush yet to come.

numalab_base::tunables! {
    /// How this kernel's page migration flushes.
    pub struct FlushRules: "flush" {
        /// Batched migration flushes inaccessible (PROT_NONE) entries too, so that every hint-fault migration pays one
        /// shoot-down: 6.3 (7e12beb8ca2a) until 6.5 (4d4b6d66db63).
        migrate_flush_inaccessible: bool = false, "", "model";
        /// migrate_pages unmaps in batches with one flush each (6.3 on) instead of one per page.
        migrate_batch_flush: bool = true, "", "model";
    }
}

/// An operation on page-table entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushOp {
    /// A scan made the PMD of a huge page PROT_NONE (invalidated and flushed at once).
    MarkHuge,
    /// End of a range in which a scan made `changed` PTEs PROT_NONE.
    MarkRange {
        /// PTEs changed.
        changed: u64,
    },
    /// A hint fault made an entry accessible again.
    HintRestore,
    /// Migration of a 4 KiB page by its hint fault (the entry is PROT_NONE).
    HintMigrateBase,
    /// Migration of mapped, accessible 4 KiB pages: compaction, mbind, demotion.
    MigrateBase {
        /// Pages unmapped together.
        pages: u64,
    },
    /// Migration of a 2 MiB page, by hint fault or otherwise (its PMD is invalidated first).
    MigrateHuge,
    /// Collapse of 512 pages into a huge one.
    CollapseHuge,
    /// Split of a huge page.
    SplitHuge,
    /// Copy-on-write fault that replaced a readable entry.
    CowReplace,
    /// Copy-on-write fault of the last owner: the entry only becomes writable.
    CowReuse,
    /// Fork that write-protected `changed` entries of the parent.
    ForkProtect {
        /// Entries changed.
        changed: u64,
    },
    /// Unmapping for reclaim, MADV_DONTNEED or munmap of `mapped` present entries, gathered into one flush.
    Unmap {
        /// Entries that were present.
        mapped: u64,
    },
}

/// Number of shoot-downs the operation needs. `protect_pending`: another change_protection of the same
/// address space is under way (mm_tlb_flush_pending).
pub fn shootdowns(op: FlushOp, rules: &FlushRules, protect_pending: bool) -> u64 {
    match op {
        FlushOp::HintRestore | FlushOp::CowReuse => 0,
        FlushOp::HintMigrateBase => u64::from(rules.migrate_flush_inaccessible || protect_pending),
        FlushOp::MigrateBase { pages } if rules.migrate_batch_flush => u64::from(pages > 0),
        FlushOp::MigrateBase { pages } => pages,
        FlushOp::MarkHuge | FlushOp::MigrateHuge | FlushOp::CollapseHuge | FlushOp::SplitHuge => 1,
        FlushOp::CowReplace => 1,
        FlushOp::MarkRange { changed } | FlushOp::ForkProtect { changed } => u64::from(changed > 0),
        FlushOp::Unmap { mapped } => u64::from(mapped > 0),
    }
}
