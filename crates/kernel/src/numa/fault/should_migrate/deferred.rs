//! 3.13 and 3.14: after a fault on another task's page, whose last fault came from another node, a task skips its next
//! sixteen migrations of pages with several users. So the task moves to its memory, instead of shared memory moving
//! between tasks (de1c9ce6f07f; removed in 3.15 by 52bf84aa206c). In `mpol_misplaced`; not in the reference.

use crate::numa::counters::Denial;
use crate::numa::state::{LastCpupid, TaskNuma};

/// The verdict after deferral, for a page whose last fault was that of `last`. `skips` is `numa.migrate_deferred`.
///
/// # Errors
/// The reason why the page stays: the rule's, or [`Denial::Deferred`].
pub fn apply(skips: u32, task: &mut TaskNuma, last: LastCpupid, verdict: Result<(), Denial>) -> Result<(), Denial> {
    if last.matches(task.pid) {
        return verdict;
    }
    match verdict {
        Err(_) => task.numa_migrate_deferred = skips,
        Ok(()) if task.numa_migrate_deferred > 0 => {
            task.numa_migrate_deferred -= 1;
            return Err(Denial::Deferred);
        }
        Ok(()) => {}
    }
    verdict
}
