//! Counters as other tools print them, and their names in the kernel.
//!
//! Problem: numastat, the kernel test robot, Prometheus and Performance Co-Pilot each print counters of the kernel
//! under names of their own. Approach: what a tool puts before a name is taken off, and the few names that numastat
//! changes are looked up.

/// What tools put before the name of `/proc/vmstat`, and the tool. The number of a node may follow
/// `numa-vmstat.node`.
const PREFIXES: [(&str, &str); 7] = [
    ("proc-vmstat.", "the kernel test robot"),
    ("numa-vmstat.node", "the kernel test robot"),
    ("numa-numastat.node", "the kernel test robot"),
    ("node_vmstat_", "Prometheus' node_exporter"),
    ("mem.vmstat.", "Performance Co-Pilot"),
    ("mem.numa.alloc.", "Performance Co-Pilot"),
    ("vmstat.", "a monitor"),
];

/// Names of numastat(8) and of `node*/numastat` in sysfs.
const NUMASTAT: [(&str, &str); 3] =
    [("interleave_hit", "numa_interleave"), ("local_node", "numa_local"), ("other_node", "numa_other")];

/// Names of Performance Co-Pilot below `mem.numa.alloc`.
const PCP: [(&str, &str); 6] = [
    ("hit", "numa_hit"),
    ("miss", "numa_miss"),
    ("foreign", "numa_foreign"),
    ("interleave_hit", "numa_interleave"),
    ("local_node", "numa_local"),
    ("other_node", "numa_other"),
];

/// A counter under another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed<'a> {
    /// Its name in `/proc/vmstat`.
    pub name: &'a str,
    /// Who prints it as it was asked for.
    pub tool: &'static str,
}

/// The kernel's name of what a tool prints, `None` if the name is not one of a tool that is known. Events of perf keep
/// their modifiers out: `node-loads:u` is `node-loads`.
pub fn printed(name: &str) -> Option<Printed<'_>> {
    let numastat = |name: &str| NUMASTAT.iter().find(|(own, _)| *own == name).map(|(_, kernel)| *kernel);
    if let Some(kernel) = numastat(name) {
        return Some(Printed { name: kernel, tool: "numastat" });
    }
    if let Some((prefix, tool)) = PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        let rest = &name[prefix.len()..];
        // `numa-vmstat.node0.numa_hit`
        let rest = match prefix.ends_with("node") {
            true => rest.split_once('.').filter(|(n, _)| n.bytes().all(|b| b.is_ascii_digit()))?.1,
            false => rest,
        };
        let of_pcp = |name: &str| PCP.iter().find(|(own, _)| *own == name).map(|(_, kernel)| *kernel);
        let known = if *prefix == "mem.numa.alloc." { of_pcp(rest) } else { numastat(rest) };
        return Some(Printed { name: known.unwrap_or(rest), tool });
    }
    let (event, modifiers) = name.rsplit_once(':')?;
    let plain = !modifiers.is_empty() && modifiers.len() <= 6 && modifiers.bytes().all(|b| b"ukhGHpPSDWI".contains(&b));
    plain.then_some(Printed { name: event, tool: "perf" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_become_those_of_the_kernel() {
        for (asked, kernel, tool) in [
            ("interleave_hit", "numa_interleave", "numastat"),
            ("proc-vmstat.numa_hint_faults_local", "numa_hint_faults_local", "the kernel test robot"),
            ("numa-vmstat.node0.numa_hit", "numa_hit", "the kernel test robot"),
            ("numa-numastat.node1.other_node", "numa_other", "the kernel test robot"),
            ("node_vmstat_pgfault", "pgfault", "Prometheus' node_exporter"),
            ("mem.vmstat.pgdemote_kswapd", "pgdemote_kswapd", "Performance Co-Pilot"),
            ("mem.numa.alloc.foreign", "numa_foreign", "Performance Co-Pilot"),
            ("node-loads:u", "node-loads", "perf"),
        ] {
            assert_eq!(printed(asked), Some(Printed { name: kernel, tool }), "{asked}");
        }
        for other in ["numa_hit", "sched:sched_move_numa", "numa-vmstat.nodes", "numa-vmstat.nodex.numa_hit", ""] {
            assert_eq!(printed(other), None, "{other}");
        }
    }
}
