//! In which order balancing looks at queued tasks, release by release.

/// In which order balancing looks at the tasks of a queue (`cfs_tasks`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// Who came last first; to run changes nothing (to 4.14).
    V37,
    /// Who has not run, or has not come, for longest (93824900a2e2, 4.15).
    V415,
}

impl QueueOrder {
    /// All with their names.
    pub const NAMES: [(&'static str, Self); 2] = [("v37", Self::V37), ("v415", Self::V415)];
}
