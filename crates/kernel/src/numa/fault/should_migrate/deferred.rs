//! 3.13 and 3.14: after a fault on somebody else's page that came from another node, a task passes over the next sixteen
//! migrations of pages with several users, so that it is moved to its memory and not shared memory about among tasks
//! (de1c9ce6f07f; removed in 3.15 by 52bf84aa206c). In `mpol_misplaced`; not in the reference.

use crate::numa::counters::Denial;
use crate::numa::state::{LastCpupid, TaskNuma};

/// What becomes of a rule's `verdict` on a page that `last` had faulted on; `skips` is `numa.migrate_deferred`.
///
/// # Errors
/// Why the page stays: the rule's reason, or [`Denial::Deferred`].
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
