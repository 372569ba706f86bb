//! What schednuma knows of a process.

/// Where the scanning of a process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MmScan {
    /// Earliest wall time of the next scan, ms.
    pub next_ms: u64,
    /// Address it goes on at.
    pub offset: u64,
    /// Completed sweeps.
    pub seq: u64,
}
