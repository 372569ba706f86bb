//! An attempt at compaction: how hard it tries, how it ends, and what a zone remembers of it.

use super::defer::Deferral;
use super::scan::Scanners;
use numalab_base::words;

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
