//! Which operations need how many TLB shoot-downs.
//!
//! An operation needs a flush if a CPU may still hold the old translation. An entry marked PROT_NONE was flushed when
//! it was marked, so unmapping it needs no second flush. The exception is a marking of the same address space that is
//! still under way, because its flush is yet to come.

use numalab_base::tunable::Needs;

numalab_base::tunables! {
    /// TLB flushes of page migration in this kernel.
    pub struct FlushRules: "flush" {
        /// Batched migration flushes inaccessible (PROT_NONE) entries too, so that every hint-fault migration pays one
        /// shoot-down: in 6.3 only (7e12beb8ca2a; 4d4b6d66db63 of 6.4-rc1 ends it).
        migrate_flush_inaccessible: bool = false, "", "model",
            read when "system.numa_balancing" is Needs::OneOf(&["1", "2", "3", "4"]);
        /// migrate_pages unmaps in batches with one flush each (6.3 on) instead of one per page. Flushes of migrated
        /// pages are counted one page at a time, where batching changes nothing; those of compaction and demotion are
        /// not charged.
        migrate_batch_flush: bool = true, "", "model", unread = true;
    }
}

/// An operation on page-table entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushOp {
    /// A scan made the PMD of a huge page PROT_NONE; it is invalidated and flushed at once.
    MarkHuge,
    /// A scan made `changed` PTEs of a range PROT_NONE; the range is flushed at its end.
    MarkRange {
        /// Number of PTEs changed.
        changed: u64,
    },
    /// A hint fault made an entry accessible again.
    HintRestore,
    /// The hint fault of a 4 KiB page migrates it; the entry is PROT_NONE.
    HintMigrateBase,
    /// Migration of mapped, accessible 4 KiB pages: compaction, mbind, demotion.
    MigrateBase {
        /// Number of pages unmapped together.
        pages: u64,
    },
    /// Migration of a 2 MiB page, by hint fault or otherwise; its PMD is invalidated first.
    MigrateHuge,
    /// Collapse of 512 base pages into a huge page.
    CollapseHuge,
    /// Split of a huge page.
    SplitHuge,
    /// A copy-on-write fault replaced a readable entry.
    CowReplace,
    /// A copy-on-write fault of the last owner made its entry writable.
    CowReuse,
    /// Fork write-protected `changed` entries of the parent.
    ForkProtect {
        /// Number of entries changed.
        changed: u64,
    },
    /// Reclaim, MADV_DONTNEED or munmap unmapped `mapped` present entries, with one flush for all.
    Unmap {
        /// Number of entries that were present.
        mapped: u64,
    },
}

/// Number of shoot-downs that the operation needs. `protect_pending` is true while another change_protection of the
/// same address space is under way (mm_tlb_flush_pending).
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
