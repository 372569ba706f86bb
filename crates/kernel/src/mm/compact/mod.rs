//! Compaction: making a free pageblock by moving movable pages together (thp-and-allocation.md section 10).
//!
//! * `suitable` whether it may run at all;
//! * `defer` the back-off after failures;
//! * [`scan`] the two scanners, at the granularity of pageblocks;
//! * `daemon` kcompactd and proactive compaction.

mod daemon;
mod defer;
mod direct;
pub mod odds;
pub mod scan;
mod suitable;

pub use daemon::{proactive_wants, proactive_wmarks};
pub use defer::Deferral;
pub use scan::{CompactWork, Outcome, Scanners};
pub use suitable::{suitable, COMPACT_GAP};

use numalab_base::tunable::Word;
use numalab_base::words;

numalab_base::tunables! {
    /// Knobs of compaction.
    pub struct CompactTunables: "compact" {
        /// Fragmentation index up to which a failed huge-page request is blamed on lack of memory.
        extfrag_threshold: u32 = 500, "1/1000", "vm.extfrag_threshold", range 0..=1000;
        /// How eagerly kcompactd works ahead; 0 never.
        proactiveness: u32 = 20, "", "vm.compaction_proactiveness", range 0..=100;
        /// What page faults use: synchronous compaction (2011), or asynchronous first (3.3 on).
        era: Word = "async_fault", "", "model", choices ["naive", "async_fault"];
        /// Pages that asynchronous compaction finds locked or under writeback.
        async_unmovable: u32 = 1000, "1/1000000", "model", range 0..=1_000_000;
        /// Pages that synchronous compaction cannot move.
        sync_unmovable: u32 = 200, "1/1000000", "model", range 0..=1_000_000;
        /// Pageblocks after which asynchronous compaction gives up.
        async_blocks: u32 = 32, "pageblocks", "model", range 1..=1_048_576;
    }
}

words! {
    /// How hard compaction tries.
    pub enum Mode {
        /// Leaves a block at the first page it cannot move at once, and gives up after a budget of blocks.
        Async = "async",
        /// Waits for locked pages, and goes on until the scanners meet.
        SyncLight = "sync_light",
    }
}

/// Result of an attempt, in the order in which those of several zones combine (the greatest counts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// No zone had enough free memory.
    Skipped,
    /// Backed off after earlier failures.
    Deferred,
    /// Ran, and gave no block.
    Failed,
    /// There is a free block.
    Success,
}

/// State of compaction in a zone.
#[derive(Clone, Debug, Default)]
pub struct ZoneCompaction {
    /// Back-off.
    pub defer: Deferral,
    /// Where the scanners stand.
    pub scanners: Scanners,
}
