//! How groups of CPUs are compared, release by release.

/// How groups of CPUs are compared, each from its release on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Balancer {
    /// By weight per power (to 3.10).
    V37,
    /// By the load averages of queued tasks, if there are more tasks than cores.
    V311,
    /// Groups have types; one that is not overloaded may be pulled from too.
    V318,
    /// Overloaded is who is used up, not who has many tasks.
    V41,
    /// The local group's tasks count too, and any idle CPU fills free capacity; forks look at blocked load.
    V413,
    /// Forks stay in a lightly loaded node.
    V417,
    /// Past loads do not count; caches of a node are evened out like nodes.
    V420,
    /// Threads of a core have a whole CPU's capacity each.
    V50,
    /// By type, then by counts or averages (5.5). What a fork sees of loaded groups is useless: it stays.
    V55,
    /// Of groups with as many idle CPUs the one with more tasks is pulled from (5f68eb19b571, 5.6), and a fork knows
    /// how many CPUs a group has (289de3598481).
    V56,
    /// Time spent waiting counts for a group's type (070f5e860ee2, 5.7), a fork compares loads of loaded groups
    /// (6c8116c914b6), a less loaded group is not pulled from (111688ca1c4a), nor utilisation from a CPU with one task
    /// (c32b4308295a).
    V57,
    /// A fork takes the group with less utilisation of those with as many idle CPUs (3edecfef0280, 5.9; from memory).
    V59,
    /// Inside a cache idle CPUs take tasks, not utilisation (16b0a7a1a0af, 5.10); every failure halves what a task's load
    /// counts for (5a7f55590467); threads of a core share its cache (ec73240b1627; from memory).
    V510,
    /// Running tasks are pushed only where tasks are counted (e9b9734b7465, 5.12).
    Types,
}

impl Balancer {
    /// All with their names.
    pub const NAMES: [(&'static str, Self); 14] = [
        ("v37", Self::V37),
        ("v311", Self::V311),
        ("v318", Self::V318),
        ("v41", Self::V41),
        ("v413", Self::V413),
        ("v417", Self::V417),
        ("v420", Self::V420),
        ("v50", Self::V50),
        ("v55", Self::V55),
        ("v56", Self::V56),
        ("v57", Self::V57),
        ("v59", Self::V59),
        ("v510", Self::V510),
        ("types", Self::Types),
    ];
    /// Loads are compared, whatever the type of the groups.
    pub fn by_load(self) -> bool {
        self < Self::V55
    }
    /// What counts is the load averages of queued tasks: neither present weights nor what sleeps.
    pub fn by_queued_load(self) -> bool {
        self > Self::V37 && self < Self::V55
    }
    /// Balancing of larger domains takes past loads into account (LB_BIAS).
    pub fn by_past_load(self) -> bool {
        self < Self::V420
    }
}
