//! In which order balancing looks at queued tasks, by release.

use numalab_base::words;

words! {
    /// In which order balancing looks at the tasks of a queue (`cfs_tasks`).
    pub enum QueueOrder {
        /// The task that was queued last comes first. Running does not change the order (to 4.14).
        V37 = "v37",
        /// The task that has not run or been queued for longest comes first (93824900a2e2, 4.15).
        V415 = "v415",
    }
}
