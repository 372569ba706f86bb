//! An attempt at compaction: its mode, its result, and the state that a zone keeps of it.

use super::defer::Deferral;
use super::scan::Scanners;
use numalab_base::words;

words! {
    /// How hard compaction tries.
    pub enum Mode {
        /// Leaves a block at the first page that it cannot move at once, and gives up after a number of blocks.
        Async = "async",
        /// Waits for locked pages, and continues until the scanners meet.
        SyncLight = "sync_light",
    }
}

/// Result of an attempt. The result of several zones is the greatest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// No zone had enough free memory.
    Skipped,
    /// Deferred after earlier failures.
    Deferred,
    /// Ran without freeing a block.
    Failed,
    /// A block is free.
    Success,
}

/// State of compaction in a zone.
#[derive(Clone, Debug, Default)]
pub struct ZoneCompaction {
    /// Back-off after failures.
    pub defer: Deferral,
    /// Positions of the scanners.
    pub scanners: Scanners,
}
