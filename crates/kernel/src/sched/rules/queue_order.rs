//! In which order balancing looks at queued tasks, by release.

/// In which order balancing looks at the tasks of a queue (`cfs_tasks`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// The task that was queued last comes first. Running does not change the order (to 4.14).
    V37,
    /// The task that has not run or been queued for longest comes first (93824900a2e2, 4.15).
    V415,
}

impl QueueOrder {
    /// Every variant with its word.
    pub const NAMES: [(&'static str, Self); 2] = [("v37", Self::V37), ("v415", Self::V415)];
}
