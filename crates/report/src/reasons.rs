//! What the reasons mean that the simulator counts for skips, refusals and moves.
//!
//! Problem: the kernel shows most of them only as trace points, so few readers know them. Approach: one line per reason
//! `role.word`, and a test that asks the kernel crate for every reason it counts. Source: kernel-numa-balancing.md
//! §9.4, §10, §15.1.

/// Reasons and what they mean, in the order of the record.
pub const REASONS: &[(&str, &str)] = &[
    (
        "skip.unsuitable",
        "The scanner passed over a mapping whose pages cannot or must not move: a policy without \
        migrate-on-fault, hugetlb, device memory.",
    ),
    (
        "skip.shared_ro",
        "The scanner passed over a file mapping that is readable but not writable, such as a library: \
        every process that maps it shares its pages.",
    ),
    ("skip.inaccessible", "The scanner passed over a mapping that permits no access at all."),
    ("skip.scan_delay", "The scanner passed over a mapping younger than numa_balancing_scan_delay_ms."),
    (
        "skip.pid_inactive",
        "The scanner passed over a mapping that the scanning thread was not seen to access lately \
        (the access filter of 6.4 and later).",
    ),
    (
        "skip.ignore_pid_inactive",
        "Not a skip: the mapping was scanned although the thread is inactive in it, to \
        finish one that was left half scanned.",
    ),
    ("skip.seq_completed", "The scanner passed over a mapping that was already completed in this pass."),
    ("skip.small", "The scanner passed over a mapping smaller than a huge page (3.8 only)."),
    ("refused.mapcount_not_one", "A misplaced page was not migrated because it is mapped more than once (3.8)."),
    (
        "refused.mapcount_limit",
        "A misplaced page was not migrated because it is mapped more often than the limit allows.",
    ),
    ("refused.shared_thp", "A misplaced huge page was not migrated because it is mapped more than once."),
    ("refused.exec_shared", "A misplaced page was not migrated because it is a shared page of a program file."),
    ("refused.dirty", "A misplaced page was not migrated because it is a file page waiting to be written."),
    (
        "refused.rate_limited",
        "A misplaced page was not migrated because the node had received its share for this window (3.8 to 4.18).",
    ),
    ("refused.nearly_full", "A misplaced page was not migrated because the target node is nearly full."),
    ("refused.not_isolated", "A misplaced page was not migrated because something else was working on it."),
    (
        "refused.waiters",
        "A migration was tried and failed: threads that came to the page meanwhile held it (before 5.0).",
    ),
    (
        "refused.pinned",
        "A misplaced page was not migrated because a device held it: direct I/O in flight, or a pin for good.",
    ),
    ("denied.memoryless", "A page on another node stayed: the faulting node has no memory."),
    ("denied.not_hot", "A page of the slow tier stayed: it was not accessed often enough to be promoted."),
    ("denied.promote_rate", "A page of the slow tier stayed: the promotion rate limit was reached."),
    (
        "denied.stale_time",
        "A page stayed: its record holds an access time of the tiering mode where a CPU is expected.",
    ),
    (
        "denied.two_stage",
        "A page on another node stayed: its last fault came from a different node, so one access is not enough.",
    ),
    (
        "denied.deferred",
        "A page with several users stayed: after one that came from another node a thread passes over the next of them (3.13, 3.14).",
    ),
    ("denied.group", "A page on another node stayed: the thread's group uses the page's node as much as this one."),
    (
        "placed.stick",
        "A thread looked for a better CPU on its preferred node and stayed: none was free or worth a swap.",
    ),
    ("placed.move", "A thread moved to an idle CPU of its preferred node."),
    ("placed.swap", "Two threads swapped their CPUs, to the gain of both together."),
    ("groups.created", "Threads that share pages were first recognised as a group."),
    ("groups.joined", "A thread joined a group of others that touch the same pages."),
    (
        "scan.single_node_cpuset",
        "A scan did nothing: the memory of the thread's cpuset is limited to one node (6.16 and later).",
    ),
];

/// The meaning of a reason; `None` if the dictionary does not know it.
pub fn meaning(name: &str) -> Option<&'static str> {
    REASONS.iter().find(|r| r.0 == name).map(|r| r.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_that_is_counted_is_explained() {
        let counted: Vec<String> = numalab_kernel::numa::NumaReasons::default()
            .named()
            .map(|(role, word, _)| format!("{role}.{word}"))
            .collect();
        let known: Vec<&str> = REASONS.iter().map(|r| r.0).collect();
        assert_eq!(counted, known);
        assert!(REASONS.iter().all(|r| r.1.ends_with('.')));
    }
}
