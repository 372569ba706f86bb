//! No filter (3.13 to 4.15): shared pages are marked, fault and migrate like others.

use super::Verdict;

/// Always marked.
pub fn verdict() -> Verdict {
    Verdict::Mark
}
