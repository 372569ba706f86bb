//! The ways to run a program that are compared, and the commands for each.

use crate::context::named;
use crate::failure::Failure;
use numalab_model::experiment::{Column, Numactl};
use numalab_model::kernel::Setting;
use numalab_model::spec::Spot;

/// A way to run the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Balancing as the kernel does it; what the others are compared with.
    On,
    /// Balancing turned off.
    Off,
    /// Balancing on, and the memory of the program spread over all nodes.
    Interleave,
    /// Balancing on, and the program kept to a node, by these options of numactl(8).
    Bind(String),
    /// Balancing on, and something else changed, which is compared only if asked for.
    Extra(Extra),
}

/// A further way: one setting of the kernel, or one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its word in `--ways`.
    pub word: &'static str,
    /// The advice to take it, as a sentence.
    pub advice: &'static str,
    /// The tunable of the simulated kernel and its value, if it is one.
    pub set: Option<&'static str>,
    /// The parameter of the workload and its value, if the program is set otherwise. Only workloads that have the
    /// parameter can be compared.
    pub param: Option<(&'static str, &'static str)>,
    /// The options of numactl(8), if it is a policy.
    pub numactl: Option<&'static str>,
    /// The sysctl that does it, and the one that undoes it, if it is a sysctl.
    pub sysctl: Option<(&'static str, &'static str)>,
    /// Else the file that does it, its new value, and the usual one of kernels.
    pub file: (&'static str, &'static str, &'static str),
}

const NO_FILE: (&str, &str, &str) = ("", "", "");

/// Every further way. The values are choices, not optima: the prediction says what they would change.
pub const EXTRAS: [Extra; 8] = [
    Extra {
        word: "weighted",
        advice: "Interleave the memory of the program by the nodes' bandwidths.",
        set: None,
        param: None,
        numactl: Some("--weighted-interleave=all"),
        sysctl: None,
        file: NO_FILE,
    },
    Extra {
        word: "slow-scan",
        advice: "Raise the floor of the scan period to 10 s.",
        set: Some("scan.scan_period_min_ms=10000"),
        param: None,
        numactl: None,
        sysctl: None,
        file: ("/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms", "10000", "1000"),
    },
    Extra {
        word: "tiering",
        advice: "Turn on memory tiering beside balancing.",
        set: Some("system.numa_balancing=3"),
        param: None,
        numactl: None,
        sysctl: Some(("kernel.numa_balancing=3", "kernel.numa_balancing=1")),
        file: NO_FILE,
    },
    Extra {
        word: "promote-limit",
        advice: "Turn on memory tiering with at most 100 MB/s of promotions.",
        set: Some("system.numa_balancing=3,scan.promote_rate_limit_mbps=100"),
        param: None,
        numactl: None,
        sysctl: Some((
            "kernel.numa_balancing=3 kernel.numa_balancing_promote_rate_limit_MBps=100",
            "kernel.numa_balancing=1 kernel.numa_balancing_promote_rate_limit_MBps=65536",
        )),
        file: NO_FILE,
    },
    Extra {
        word: "zone-reclaim",
        advice: "Turn on zone reclaim.",
        set: Some("system.zone_reclaim_mode=1"),
        param: None,
        numactl: None,
        sysctl: Some(("vm.zone_reclaim_mode=1", "vm.zone_reclaim_mode=0")),
        file: NO_FILE,
    },
    Extra {
        word: "preferred",
        advice: "Prefer one node for the memory of the program.",
        set: None,
        param: None,
        numactl: Some("--preferred=0"),
        sysctl: None,
        file: NO_FILE,
    },
    Extra {
        word: "hugetlb",
        advice: "Put the pool of the program into hugetlb pages.",
        set: None,
        param: Some(("kind", "1")),
        numactl: None,
        sysctl: Some(("vm.nr_hugepages=PAGES_OF_THE_POOL", "vm.nr_hugepages=0")),
        file: NO_FILE,
    },
    Extra {
        word: "no-thp",
        advice: "Turn off transparent huge pages.",
        set: Some("system.thp=never"),
        param: None,
        numactl: None,
        sysctl: None,
        file: ("/sys/kernel/mm/transparent_hugepage/enabled", "never", "madvise"),
    },
];

impl Way {
    /// Name of its column.
    pub fn name(&self) -> &'static str {
        match self {
            Way::On => "on",
            Way::Off => "off",
            Way::Interleave => "interleave",
            Way::Bind(_) => "bind",
            Way::Extra(extra) => extra.word,
        }
    }

    /// The advice to run the program in this way, as a sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Way::On => "Leave it on.",
            Way::Off => "Turn it off.",
            Way::Interleave => "Interleave the memory of the program.",
            Way::Bind(_) => "Bind the program to a node.",
            Way::Extra(extra) => extra.advice,
        }
    }

    fn numactl(&self) -> Option<&str> {
        match self {
            Way::On | Way::Off => None,
            Way::Interleave => Some("--interleave=all"),
            Way::Bind(options) => Some(options),
            Way::Extra(extra) => extra.numactl,
        }
    }

    /// The column of an experiment.
    ///
    /// # Errors
    /// The table of programs has wrong options.
    pub fn column(&self, kernel: &Spot<String>) -> Result<Column, Failure> {
        let sets = match self {
            Way::Off => "system.numa_balancing=0",
            Way::Extra(extra) => extra.set.unwrap_or_default(),
            _ => "",
        };
        let each = sets.split(',').filter(|s| !s.is_empty());
        let sets = each.map(|s| Setting::from_argument("--set", s)).collect::<Result<Vec<_>, _>>()?;
        let param = if let Way::Extra(extra) = self { extra.param } else { None };
        let param = param.map(|(name, value)| Setting::from_argument("--param", &format!("{name}={value}")));
        let params = param.transpose()?.into_iter().collect();
        let numactl = self.numactl().map(|o| Numactl::parse(named("numactl", o))).transpose()?;
        Ok(Column { name: named("advise", self.name()), kernel: kernel.clone(), sets, numactl, params })
    }

    /// The commands that bring it about, and those that undo them.
    pub fn commands(&self) -> (Vec<String>, Vec<String>) {
        match self {
            Way::On => (Vec::new(), Vec::new()),
            Way::Off => (vec!["sysctl kernel.numa_balancing=0".into()], vec!["sysctl kernel.numa_balancing=1".into()]),
            Way::Extra(Extra { sysctl: Some((on, off)), .. }) => {
                (vec![format!("sysctl {on}")], vec![format!("sysctl {off}")])
            }
            Way::Extra(Extra { numactl: None, file: (path, value, usual), .. }) => {
                (vec![format!("echo {value} > {path}")], vec![format!("echo {usual} > {path}")])
            }
            Way::Interleave | Way::Bind(_) | Way::Extra(_) => {
                let options = self.numactl().unwrap_or_default();
                (vec![format!("numactl {options} PROGRAM")], vec!["PROGRAM".into()])
            }
        }
    }
}
