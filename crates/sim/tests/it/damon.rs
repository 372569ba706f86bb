//! DAMON's migration of hot and cold pages: what moves, what stays, how much, where to, and what it costs
//! (kernel-after-6.12.md section 3.4).
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{counter, inline, kernel_set, machine, run, scalar, SimConfig};
use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_model::workload::Workload;

/// Two threads on node 0 whose memory starts on node 1: they use `hot` all the time and `cold` never again.
const HOT_AND_COLD: &str = "
[[policy]]
name = \"start\"
mode = \"preferred\"
nodes = 1

[[process]]
name = \"main\"
threads = 2
affinity = { nodes = 0 }

[[process.region]]
name = \"hot\"
size = \"32MiB\"

[[process.region]]
name = \"cold\"
size = \"32MiB\"

[[process.prologue]]
access = \"hot\"
write = 1
policy = \"start\"

[[process.prologue]]
access = \"cold\"
write = 1
policy = \"start\"

[[process.phase]]
time = \"8s\"
steps = [{ access = \"hot\", write = 0.2 }, { compute = \"200us\" }]
";

/// A kernel without NUMA balancing and with these settings.
fn damon(release: &str, sets: &[(&str, &str)]) -> SimConfig {
    let mut all = vec![("system.numa_balancing", "0")];
    all.extend(sets);
    kernel_set(release, &all)
}
fn nodes(shape: &str, text: &str) -> (Machine, Workload) {
    let m = machine(shape);
    let w = inline(text, &m, 1, &[]);
    (m, w)
}

/// Pages of a process on each node while it still runs.
fn pages(o: &Outcome, process: &str) -> Vec<u64> {
    let series = o.series.iter().find(|s| s.name == "process_pages").unwrap();
    let own = |c: &usize| series.columns[*c].starts_with(&format!("{process}/node"));
    let columns: Vec<usize> = (0..series.columns.len()).filter(own).collect();
    let sum = |s: usize| columns.iter().map(|c| series.values[*c][s]).sum::<f64>();
    let last = (0..series.time_ns.len()).rev().find(|s| sum(*s) > 0.0).unwrap();
    columns.iter().map(|c| series.values[*c][last] as u64).collect()
}
/// Pages of 4 KiB in MiB.
const MIB: u64 = 256;

#[test]
fn hot_pages_of_the_wrong_node_move_and_cold_ones_stay() {
    let (m, w) = nodes("2x1x2x1", HOT_AND_COLD);
    let plain = run(&m, &w, &damon("7.2", &[]), 1);
    let before = pages(&plain, "main.0");
    assert!(before[1] >= 64 * MIB && !plain.counters.iter().any(|c| c.0.starts_with("damo")), "{before:?}");
    let out = run(&m, &w, &damon("7.2", &[("damon.schemes", "hot")]), 1);
    let after = pages(&out, "main.0");
    assert!(after[0] > 31 * MIB && after[1] > 30 * MIB, "half of it moves: {after:?}");
    assert!(after[1] < 34 * MIB, "{after:?}");
    let applied = counter(&out, "damos_hot_pages_applied");
    assert_eq!(counter(&out, "pgmigrate_success") - counter(&plain, "pgmigrate_success"), applied);
    assert!((31 * MIB..34 * MIB).contains(&applied), "{applied} pages, each once");
    assert_eq!(counter(&out, "numa_hint_faults"), 0, "nothing is marked");
}

#[test]
fn cold_pages_move_and_hot_ones_stay() {
    let here = HOT_AND_COLD.replace("nodes = 1", "nodes = 0");
    let (m, w) = nodes("2x1x2x1", &here);
    let out = run(&m, &w, &damon("6.11", &[("damon.schemes", "cold")]), 1);
    let after = pages(&out, "main.0");
    assert!(after[1] > 30 * MIB && after[0] > 30 * MIB, "the cold half moves: {after:?}");
    assert!(counter(&out, "damos_cold_pages_applied") > 30 * MIB);
}

#[test]
fn the_quota_bounds_what_moves() {
    let (m, w) = nodes("2x1x2x1", HOT_AND_COLD);
    let out = run(&m, &w, &damon("7.2", &[("damon.schemes", "hot"), ("migrate_hot.quota_mib", "2")]), 1);
    // 8 s of windows of 1 s.
    let (tried, applied) = (counter(&out, "damos_hot_pages_tried"), counter(&out, "damos_hot_pages_applied"));
    assert!(applied <= tried && tried <= 9 * 2 * MIB, "{applied} of {tried} pages");
    assert!(applied > 8 * MIB, "{applied}");
    assert!(counter(&out, "damos_hot_qt_exceeds") >= 5);
}

#[test]
fn a_goal_stops_what_it_has_reached() {
    let (mut m, w) = nodes("2x1x2x1", HOT_AND_COLD);
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 256 << 20);
    let with = |bp| {
        let goal = [
            ("damon.schemes", "hot"),
            ("migrate_hot.goal", "node_mem_used_bp"),
            ("migrate_hot.goal_bp", bp),
            ("migrate_hot.quota_reset_ms", "100"),
            ("migrate_hot.apply_interval_ms", "0"),
        ];
        counter(&run(&m, &w, &damon("6.16", &goal), 1), "damos_hot_pages_applied")
    };
    // A ten-thousandth of 256 MiB is 7 pages, which are used anyway. 99.7 % are never reached, so the quota goes on
    // doubling.
    let (none, all) = (with("1"), with("9970"));
    assert!(none == 0 && all > 31 * MIB, "{none} and {all} pages");
}

#[test]
fn weights_are_shares_of_the_nodes() {
    let (m, w) = nodes("4x1x2x1", HOT_AND_COLD);
    let k = damon("6.17", &[("damon.schemes", "hot"), ("migrate_hot.dests", "0:3 2:1")]);
    let out = run(&m, &w, &k, 1);
    let after = pages(&out, "main.0");
    let near = |node: usize, mib: u64| after[node].abs_diff(mib * MIB) < 2 * MIB;
    assert!(near(0, 24) && near(2, 8) && near(1, 32), "three quarters and one quarter of 32 MiB: {after:?}");
}

#[test]
fn before_7_3_a_full_node_sends_pages_elsewhere() {
    let (mut m, w) = nodes("3x1x2x1", HOT_AND_COLD);
    m.nodes[0].memory_bytes = 24 << 20;
    let mut seen = Vec::new();
    for release in ["7.2", "7.3-rc"] {
        let out = run(&m, &w, &damon(release, &[("damon.schemes", "hot")]), 1);
        seen.push((
            counter(&out, "damos_fallback"),
            counter(&out, "pgmigrate_fail"),
            counter(&out, "damos_hot_pages_applied"),
        ));
    }
    let [(old_elsewhere, old_failed, old_moved), (new_elsewhere, new_failed, new_moved)] = seen[..] else { panic!() };
    assert!(old_elsewhere > MIB && old_failed == 0, "{seen:?}");
    assert!(new_elsewhere == 0 && new_failed > MIB && new_moved < old_moved, "{seen:?}");
}

#[test]
fn huge_pages_move_whole_and_shared_pages_too() {
    let (m, w) = nodes("2x1x2x1", HOT_AND_COLD);
    let out = run(&m, &w, &damon("7.2", &[("damon.schemes", "hot"), ("system.thp", "always")]), 1);
    assert!(counter(&out, "thp_migration_success") >= 14, "{:?}", pages(&out, "main.0"));
    let shared = HOT_AND_COLD.replacen("name = \"hot\"\n", "name = \"hot\"\nkind = \"shared\"\n", 1);
    let (m, w) = nodes("2x1x2x1", &shared);
    let out = run(&m, &w, &damon("7.2", &[("damon.schemes", "hot")]), 1);
    assert!(counter(&out, "damos_hot_pages_applied") > 30 * MIB);
}

#[test]
fn looking_and_moving_take_cpu_time() {
    // Every CPU has a thread, so the kernel thread takes time from one of them.
    let busy = HOT_AND_COLD
        .replace("threads = 2\naffinity = { nodes = 0 }", "threads = 4")
        .replace("time = \"8s\"\nsteps = [", "count = 4000\nsteps = [");
    let (m, w) = nodes("2x1x2x1", &busy);
    let none = [("damon.schemes", "hot"), ("migrate_hot.min_nr_accesses", "21")];
    let few = [none[0], none[1], ("damon.min_nr_regions", "3"), ("damon.max_nr_regions", "6")];
    let time = |sets: &[(&str, &str)]| {
        let out = run(&m, &w, &damon("7.2", sets), 1);
        (scalar(&out, "elapsed_s"), out)
    };
    let ((plain, _), (watched, many), (_, cheap)) = (time(&[]), time(&none), time(&few));
    assert_eq!(counter(&many, "damos_hot_pages_tried"), 0, "it only looks");
    assert!(watched > plain, "{watched} s, without DAMON {plain} s");
    let cost = |o: &Outcome| counter(o, "damon_cpu_ns");
    assert!(cost(&many) > 5 * cost(&cheap) && cost(&cheap) > 0, "{} and {} ns", cost(&many), cost(&cheap));
    let (_, moves) = time(&[none[0]]);
    assert!(cost(&moves) > cost(&many), "moves cost more than looks");
}

#[test]
fn runs_repeat_bit_by_bit() {
    let (m, w) = nodes("2x1x2x1", HOT_AND_COLD);
    let k = damon("7.3-rc", &[("damon.schemes", "hot_and_cold")]);
    assert_eq!(run(&m, &w, &k, 7), run(&m, &w, &k, 7));
}

#[test]
fn a_node_without_memory_is_refused() {
    let (m, w) = nodes("2x1x2x1", HOT_AND_COLD);
    for (key, value) in
        [("migrate_hot.target_nid", "2"), ("migrate_hot.dests", "0:1 5:1"), ("migrate_hot.source_nid", "9")]
    {
        let k = damon("7.2", &[("damon.schemes", "hot"), (key, value)]);
        let error = numalab_sim::run(&m, &w, &k, 1, true).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("with memory: 0, 1"), "{error}");
    }
}
