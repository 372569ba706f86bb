//! Goals of a quota: a share of a node's memory that the scheme is to reach (6.16: 0e1c773b501f).

use numalab_base::words;

words! {
    /// Which goals the quota of a DAMON scheme can have for a node.
    pub enum Goals {
        /// None.
        None = "none" ("up to 6.15"),
        /// A share of its memory that is used, or free.
        Node = "node" ("6.16 on"),
    }
}

words! {
    /// What a quota tunes itself for.
    pub enum GoalMetric {
        /// Nothing: the quota is its limit.
        None = "none",
        /// Used memory of a node.
        UsedBp = "node_mem_used_bp",
        /// Free memory of a node.
        FreeBp = "node_mem_free_bp",
    }
}

impl GoalMetric {
    /// The measure of a node with `free` of `total` pages free, in 1/10000; 0 without a goal or without memory.
    pub fn measure(self, free: u64, total: u64) -> u64 {
        let pages = match self {
            Self::None => return 0,
            Self::UsedBp => total.saturating_sub(free),
            Self::FreeBp => free,
        };
        (pages * 10_000).checked_div(total).unwrap_or(0)
    }
}
