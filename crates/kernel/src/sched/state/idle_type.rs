//! How busy a balancing CPU is.

/// How busy the balancing CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuIdleType {
    /// It runs a task.
    NotIdle,
    /// It is idle.
    Idle,
    /// It is about to go idle.
    NewlyIdle,
}
