//! The scan state of a process.

/// The scan state of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MmScan {
    /// Earliest wall time of the next scan, ms.
    pub next_ms: u64,
    /// Address at which the next scan continues.
    pub offset: u64,
    /// Number of completed sweeps.
    pub seq: u64,
}
