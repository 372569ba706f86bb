//! The further ways to run a program, each compared only if asked for.

/// A further way: settings of the kernel, a policy, a setting of the program, or several instances of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its word in `--ways`.
    pub word: &'static str,
    /// The advice to take it, as a sentence.
    pub advice: &'static str,
    /// Tunables of the simulated kernel and their values, with commas between.
    pub set: Option<&'static str>,
    /// The parameter of the workload and its value, if the program is set otherwise. Only workloads that have the
    /// parameter can be compared.
    pub param: Option<(&'static str, &'static str)>,
    /// The options of numactl(8), if it is a policy.
    pub numactl: Option<&'static str>,
    /// How many instances of the program there are, as `instances` of a column has it.
    pub instances: Option<&'static str>,
    /// The sysctl that does it, and the one that undoes it, if it is a sysctl.
    pub sysctl: Option<(&'static str, &'static str)>,
    /// Else the file that does it, its new value, and the usual one of kernels.
    pub file: (&'static str, &'static str, &'static str),
}

/// A way that changes nothing, from which the others are made.
const NOTHING: Extra = Extra {
    word: "",
    advice: "",
    set: None,
    param: None,
    numactl: None,
    instances: None,
    sysctl: None,
    file: ("", "", ""),
};

/// Every further way. The values are choices, not optima: the prediction says what they would change.
pub const EXTRAS: [Extra; 12] = [
    Extra {
        word: "weighted",
        advice: "Interleave the memory of the program by the nodes' bandwidths.",
        numactl: Some("--weighted-interleave=all"),
        ..NOTHING
    },
    Extra {
        word: "per-node",
        advice: "Run one instance for each node, bound to it, in place of a large one.",
        instances: Some("per_node"),
        ..NOTHING
    },
    Extra {
        word: "two-instances",
        advice: "Run two instances in place of a large one, each with half of the nodes.",
        instances: Some("2"),
        ..NOTHING
    },
    Extra {
        word: "three-instances",
        advice: "Run three instances in place of a large one, each with a third of the nodes.",
        instances: Some("3"),
        ..NOTHING
    },
    Extra {
        word: "slow-scan",
        advice: "Raise the floor of the scan period to 10 s.",
        set: Some("scan.scan_period_min_ms=10000"),
        file: ("/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms", "10000", "1000"),
        ..NOTHING
    },
    Extra {
        word: "tiering",
        advice: "Turn on memory tiering beside balancing.",
        set: Some("system.numa_balancing=3"),
        sysctl: Some(("kernel.numa_balancing=3", "kernel.numa_balancing=1")),
        ..NOTHING
    },
    Extra {
        word: "tiering-alone",
        advice: "Turn on memory tiering in place of balancing.",
        set: Some("system.numa_balancing=2"),
        sysctl: Some(("kernel.numa_balancing=2", "kernel.numa_balancing=1")),
        ..NOTHING
    },
    Extra {
        word: "promote-limit",
        advice: "Turn on memory tiering with at most 100 MB/s of promotions.",
        set: Some("system.numa_balancing=3,scan.promote_rate_limit_mbps=100"),
        sysctl: Some((
            "kernel.numa_balancing=3 kernel.numa_balancing_promote_rate_limit_MBps=100",
            "kernel.numa_balancing=1 kernel.numa_balancing_promote_rate_limit_MBps=65536",
        )),
        ..NOTHING
    },
    Extra {
        word: "zone-reclaim",
        advice: "Turn on zone reclaim.",
        set: Some("system.zone_reclaim_mode=1"),
        sysctl: Some(("vm.zone_reclaim_mode=1", "vm.zone_reclaim_mode=0")),
        ..NOTHING
    },
    Extra {
        word: "preferred",
        advice: "Prefer one node for the memory of the program.",
        numactl: Some("--preferred=0"),
        ..NOTHING
    },
    Extra {
        word: "hugetlb",
        advice: "Put the pool of the program into hugetlb pages.",
        param: Some(("kind", "1")),
        sysctl: Some(("vm.nr_hugepages=PAGES_OF_THE_POOL", "vm.nr_hugepages=0")),
        ..NOTHING
    },
    Extra {
        word: "no-thp",
        advice: "Turn off transparent huge pages.",
        set: Some("system.thp=never"),
        file: ("/sys/kernel/mm/transparent_hugepage/enabled", "never", "madvise"),
        ..NOTHING
    },
];
