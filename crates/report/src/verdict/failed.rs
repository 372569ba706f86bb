//! Kernels of which no run completed since they failed: a panic at boot is the answer, and not that figures are
//! missing.

use crate::data::Comparison;

/// Longest reason that a sentence quotes, characters.
const REASON_MAX: usize = 200;

/// One sentence for each kernel that failed, in print order.
pub(super) fn sentences(c: &Comparison) -> Vec<String> {
    let one = |name: &str, why: &str| {
        let reason: String = why.lines().next().unwrap_or_default().chars().take(REASON_MAX).collect();
        let end = if reason.len() < why.len() { "…" } else { "." };
        format!("No run of {name} completed: {}{end}", reason.trim_end_matches('.'))
    };
    c.kernels.iter().filter_map(|k| Some(one(&k.name, k.failed.as_deref()?))).collect()
}

/// Whether a comparison is left without the kernels that failed: the baseline and another one.
pub(super) fn leaves_something(c: &Comparison) -> bool {
    let ran = |k: usize| c.kernels.get(k).is_some_and(|k| k.failed.is_none());
    ran(c.baseline) && c.others().any(ran)
}
