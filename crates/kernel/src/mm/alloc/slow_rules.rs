//! Rules of the slow path that changed between kernels (thp-and-allocation.md section 3.2).

/// When a huge-page request fails after its first compaction (thp-and-allocation.md section 3.2 step 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BailRule {
    /// Requests without retries, if compaction was deferred (before 5.4).
    Deferred,
    /// Requests that may start IO, if compaction was skipped or deferred; requests without retries as before (5.4).
    Pageblock54,
    /// Requests without retries, if compaction was skipped or deferred (5.5 on).
    CostlyNoretry,
}

/// Rules of the slow path that changed between kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowRules {
    /// When a request gives up after compaction.
    pub bail: BailRule,
    /// Whether a request without retries for the local node reclaims after a failed compaction.
    pub thisnode_fail_reclaims: bool,
}
