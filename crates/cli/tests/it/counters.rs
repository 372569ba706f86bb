//! `numalab counters` under the names that other tools print.

use crate::common::{json, Lab};

#[test]
fn counters_under_the_names_of_other_tools() {
    let lab = Lab::new();
    for (name, parts) in [
        ("interleave_hit", &["numastat prints numa_interleave as interleave_hit", "numa_interleave [allocations"][..]),
        ("proc-vmstat.numa_hint_faults_local", &["the kernel test robot", "numa_hint_faults_local [faults"]),
        ("pgdemote_proactive", &["memory.reclaim"]),
        ("nr_anon_pages", &["names that numalab does not compare", "nr_anon_pages [/proc/vmstat, how much there is]"]),
        ("sched:sched_move_numa", &["trace point"]),
        ("mem-loads", &["perf mem"]),
        ("node-load-misses:u", &["perf prints node-load-misses", "memory of another node"]),
    ] {
        let out = lab.ok(&format!("counters {name}")).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(parts.iter().all(|p| out.contains(p)), "{name}: {out}");
        let list = json(&lab.ok(&format!("counters {name} --json")).out);
        assert_eq!(list.as_array().map(Vec::len).unwrap_or(0).min(1), 1, "{name}");
    }
    lab.refused("counters proc-vmstat.numa_hint_fautls", &["numa_hint_fautls", "numa_hint_faults"]);
    // Names that are not compared stay out of the list of all.
    assert!(!lab.ok("counters").out.contains("nr_anon_pages"));
}

/// The kernel of this machine may be newer than the dictionary; the guests' is the newest packaged one
/// (scripts/services-guest.sh asks for its names too).
#[test]
fn every_name_of_this_machines_vmstat_is_known() {
    let Ok(text) = std::fs::read_to_string("/proc/vmstat") else { return };
    let known = |name: &str| {
        numalab_model::counters::find(name).is_some() || numalab_model::counters::OTHERS.iter().any(|o| o.0 == name)
    };
    let unknown: Vec<&str> = text.lines().filter_map(|l| l.split(' ').next()).filter(|n| !known(n)).collect();
    assert_eq!(unknown, [""; 0], "names of /proc/vmstat that `numalab counters` does not explain");
}
