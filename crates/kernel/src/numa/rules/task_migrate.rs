//! Whether a task moves to its memory.

use numalab_base::words;

words! {
    /// Whether a task moves to its memory.
    pub enum TaskMigrateRole {
        /// Exchanged with a task that wants its place less, by thread and process weights.
        Exchange = "exchange" ("AutoNUMA, 2012"),
        /// Pulled to its home node by the load balancer.
        HomeNode = "home_node" ("schednuma, October 2012"),
        /// Never.
        None = "none" ("3.8"),
        /// To its preferred node, by move or swap; refinements are numa.* switches.
        Preferred = "preferred" ("3.13 on"),
    }
}
