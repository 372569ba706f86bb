//! How the balancer and fork compare groups of CPUs, by release.

use numalab_base::words;

words! {
    /// How groups of CPUs are compared. Each variant holds from its release on and adds to the one before.
    pub enum Balancer {
        /// By weight per capacity (to 3.10).
        V37 = "v37",
        /// By the load averages of queued tasks; a group is pulled from once it has more tasks than cores.
        V311 = "v311",
        /// Groups have types. A group that is not overloaded may be pulled from too.
        V318 = "v318",
        /// A group is overloaded when its capacity is used up, not when it has many tasks.
        V41 = "v41",
        /// The tasks of the local group count too, any idle CPU fills free capacity, and forks look at blocked load.
        V413 = "v413",
        /// Forks stay in a lightly loaded node.
        V417 = "v417",
        /// Past loads do not count. Tasks are spread over the caches of a node as over nodes.
        V420 = "v420",
        /// Each thread of a core has the capacity of a whole CPU.
        V50 = "v50",
        /// By type, then by counts or averages (5.5). A fork knows no load of loaded groups and stays.
        V55 = "v55",
        /// Of two groups with as many idle CPUs, the one with more tasks is pulled from (5f68eb19b571, 5.6). A fork
        /// knows how many CPUs a group has (289de3598481).
        V56 = "v56",
        /// Waiting time counts for a group's type (070f5e860ee2, 5.7). A fork compares the loads of loaded groups
        /// (6c8116c914b6). A less loaded group is not pulled from (111688ca1c4a). No utilisation is pulled from a CPU
        /// with one task (c32b4308295a).
        V57 = "v57",
        /// Of groups with as many idle CPUs, a fork takes the one with less utilisation (3edecfef0280, 5.9; from
        /// memory).
        V59 = "v59",
        /// Inside a cache idle CPUs pull tasks, not utilisation (16b0a7a1a0af, 5.10). Every failed pass halves what a
        /// task's load counts for (5a7f55590467). Threads of a core share its cache (ec73240b1627; from memory).
        V510 = "v510",
        /// Running tasks are pushed only where tasks are counted (e9b9734b7465, 5.12).
        Types = "types",
    }
}

impl Balancer {
    /// Whether loads are compared, not types.
    pub fn by_load(self) -> bool {
        self < Self::V55
    }
    /// Whether load is the load averages of queued tasks, without sleeping tasks.
    pub fn by_queued_load(self) -> bool {
        self > Self::V37 && self < Self::V55
    }
    /// Whether balancing of larger domains takes past loads into account (LB_BIAS).
    pub fn by_past_load(self) -> bool {
        self < Self::V420
    }
}
