//! How a task waits: for a lock, a page, a message, a timer or a barrier.

/// Who wakes up a task that waits for a timer or a daemon.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The waits of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Sleep for a lock or a page under migration that begins when its step ends, or first thing in its next slice, ns.
    pub block_ns: u64,
    /// Task that wakes it up from that sleep ([`NOBODY`] = no thread of the workload).
    pub blocked_by: u32,
    /// When it wakes up from that sleep, ns; 0 if it does not sleep for a lock or a page.
    pub wakes_ns: u64,
    /// Task that wakes it up from a sleep of fixed length ([`NOBODY`] = a timer).
    pub waker: u32,
    /// Number of the current sleep.
    pub sleep: u32,
    /// A message ends the current sleep.
    pub message: bool,
    /// Since when it waits for a page under migration, ns.
    pub since_ns: Option<u64>,
    /// When it was woken from a sleep of its program, ns; 0 once it runs.
    pub woken_ns: u64,
    /// When the barrier it spins at opens, ns (`u64::MAX` = not known yet).
    pub released_ns: u64,
}

impl Default for Wait {
    fn default() -> Self {
        Self {
            block_ns: 0,
            blocked_by: NOBODY,
            wakes_ns: 0,
            waker: NOBODY,
            sleep: 0,
            message: false,
            since_ns: None,
            woken_ns: 0,
            released_ns: 0,
        }
    }
}
