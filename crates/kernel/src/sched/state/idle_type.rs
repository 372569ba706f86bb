//! How busy a balancing CPU is (kernel: `enum cpu_idle_type`).

/// How busy a balancing CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuIdleType {
    /// The CPU runs a task.
    NotIdle,
    /// The CPU is idle.
    Idle,
    /// The CPU has nothing queued and is about to go idle.
    NewlyIdle,
}
