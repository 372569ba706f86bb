//! Tunables that are not set by themselves: a role or another setting decides them.
//!
//! A policy's group may hold the choice of an implementation (a word) or a value it shares with others
//! (the tick rate). Such a field has one owner, named here; it is not offered to `--set` and not listed.

use numalab_model::kernel::Kernel;

/// A field and how its value follows from a resolved kernel.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// `group.key`.
    pub tunable: &'static str,
    /// What decides it: a role (no dot) or a tunable.
    pub owner: &'static str,
    /// Words of the owner that mean another word here; every other word is taken as it is.
    pub words: &'static [(&'static str, &'static str)],
}

const fn bound(tunable: &'static str, owner: &'static str, words: &'static [(&'static str, &'static str)]) -> Bound {
    Bound { tunable, owner, words }
}

/// The kernels of 3.8 and later, as `design` calls their scanner and the rest.
const TASK_WORK: &str = "task_work";
const KERNEL: &str = "kernel";

/// Every bound field.
pub const BOUND: &[Bound] = &[
    bound("scan.numa_balancing", "system.numa_balancing", &[]),
    bound("sched.hz", "system.hz", &[]),
    // Roles filled by the designs of 2012 leave the later kernels' switches at their plainest.
    bound("numa.period_model", "scan", &[("none", "v38"), ("autonuma", "v38"), ("schednuma", "v38")]),
    bound("numa.vma_filter", "vma_filter", &[]),
    bound("numa.page_filter", "page_filter", &[]),
    bound("numa.fault_stats", "fault_stats", &[("autonuma", "none"), ("schednuma", "none")]),
    bound("numa.migrate_rule", "page_migrate", &[("autonuma", "v38"), ("schednuma", "v38"), ("oracle", "v38")]),
    bound(
        "numa.task_migration",
        "task_migrate",
        &[("none", "false"), ("preferred", "true"), ("exchange", "false"), ("home_node", "false")],
    ),
    bound(
        "design.scan",
        "scan",
        &[("v38", TASK_WORK), ("v313", TASK_WORK), ("v317", TASK_WORK), ("v40", TASK_WORK), ("v414", TASK_WORK)],
    ),
    bound("design.fault_stats", "fault_stats", &[("none", KERNEL), ("v313", KERNEL), ("v315", KERNEL)]),
    bound(
        "design.page_migrate",
        "page_migrate",
        &[("moron", KERNEL), ("v38", KERNEL), ("v313", KERNEL), ("v315", KERNEL), ("v420", KERNEL)],
    ),
    bound("design.task_migrate", "task_migrate", &[("none", KERNEL), ("preferred", KERNEL)]),
    bound("sched.locality", "task_migrate", &[("none", "preferred"), ("exchange", "selected"), ("home_node", "home")]),
    bound("sched.locality_strict", "autonuma.sched_load_balance_strict", &[]),
    bound(
        "numa.imbalance_model",
        "imbalance",
        &[
            ("fixed_2", "fixed2"),
            ("quarter_5_11", "quarter"),
            ("quarter_5_17s", "quarter_dst"),
            ("imb_v3", "v3"),
            ("imb_5_18", "imb_numa_nr_4"),
            ("imb_6_0", "imb_numa_nr_8"),
        ],
    ),
    bound(
        "sched.imbalance",
        "imbalance",
        &[
            ("fixed_2", "fixed2"),
            ("quarter_5_11", "k511"),
            ("quarter_5_17s", "k517s"),
            ("imb_v3", "v3"),
            ("imb_5_18", "k518"),
            ("imb_6_0", "k60"),
        ],
    ),
    bound("vm.zone_reclaim_mode", "system.zone_reclaim_mode", &[]),
    bound(
        "vm.tiering",
        "system.numa_balancing",
        &[("0", "false"), ("1", "false"), ("2", "true"), ("3", "true"), ("4", "false")],
    ),
    bound("thp.enabled", "system.thp", &[]),
    bound("thp.defrag", "system.thp_defrag", &[]),
    bound("thp.locality", "thp_locality", &[]),
];

/// The binding of a field, if it has one.
pub fn find(tunable: &str) -> Option<&'static Bound> {
    BOUND.iter().find(|b| b.tunable == tunable)
}

impl Bound {
    /// The word or number that a resolved kernel gives the field; `None` if it lacks the owner.
    pub fn value<'a>(&self, kernel: &'a Kernel) -> Option<&'a str> {
        let owner =
            if self.owner.contains('.') { kernel.tunable(self.owner) } else { kernel.implementation(self.owner) };
        owner.map(|word| self.here(word))
    }
    /// What a word of the owner is called here.
    pub fn here<'a>(&self, word: &'a str) -> &'a str {
        self.words.iter().find(|w| w.0 == word).map_or(word, |w| w.1)
    }
}
