//! Several instances of a workload in place of a large one, as columns have them and as `advise` compares them.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};

/// Two threads that fill a pool of 64 MiB and count 100 passes over it, with a barrier and a message on the way.
const POOL: &str = r#"
name = "pool"
title = "t"
about = "a"
source = "s"
[params]
memory = "64MiB"
workers = 2
[[barrier]]
name = "ready"
[[channel]]
name = "go"
[[score]]
name = "passes"
unit = "passes"
better = "higher"
[[process]]
name = "server"
[[process.region]]
name = "pool"
size = "memory"
[[process.group]]
name = "main"
[[process.group.phase]]
steps = [{ count = "workers", signal = "go" }]
[[process.group]]
name = "worker"
threads = "workers"
[[process.group.phase]]
steps = [
    { wait = "go" },
    { access = "pool", slice = "thread", write = 1 },
    { barrier = "ready" },
    { count = 100, steps = [{ access = "pool", slice = "thread" }, { score = "passes" }] },
]
"#;

const COLUMNS: &str = r#"
name = "e"
title = "t"
machines = ["2x1x4x1"]
workloads = ["pool.toml"]
kernels = ["off"]
[[column]]
name = "each"
kernel = "off"
instances = "per_node"
params = { memory = "32MiB", "pool.workers" = 1 }
[[column]]
name = "four"
kernel = "off"
instances = 4
[[column]]
name = "three"
kernel = "off"
instances = 3
"#;

fn lab(columns: &str) -> Lab {
    let lab = Lab::new();
    lab.write("pool.toml", POOL);
    lab.write("e.toml", columns);
    lab
}

/// The mean of a metric on a column.
fn mean(c: &serde_json::Value, metric: &str, kernel: &str) -> f64 {
    let metrics = c["workloads"][0]["metrics"].as_array().unwrap();
    let m = metrics.iter().find(|m| m["name"] == metric).unwrap_or_else(|| panic!("no {metric}"));
    m["kernels"][kernel]["mean"].as_f64().unwrap()
}

#[test]
fn instances_run_beside_each_other_each_on_its_node() {
    let lab = lab(COLUMNS);
    lab.ok("run e.toml --out d --check");
    let c = json(&lab.ok("compare d --json").out);
    let passes = ["off", "each", "four", "three"].map(|k| mean(&c, "passes", k));
    assert_eq!(passes, [200.0, 200.0, 800.0, 600.0], "scores are those of all instances together");
    // Bound instances have no remote memory but that of the start; a large one spreads its threads.
    let other = |k| mean(&c, "numa_other", k);
    assert!(other("each") < 50.0 && other("four") < 50.0, "{} {}", other("each"), other("four"));
    for column in ["each", "four", "three"] {
        let ended = lab.ok(&format!("repeat d --kernel {column} --json"));
        assert_eq!(json(&ended.out)["identical"], true, "{column}: {ended:?}");
    }
    assert!(lab.ok("show e.toml").out.contains("instances=per_node"));
    assert_eq!(json(&lab.ok("show e.toml --json").out)["columns"][1]["instances"], "4");
    let page = std::fs::read_to_string(lab.path("d/report.html")).unwrap();
    assert!(page.contains("off with instances = per_node"), "a page says what the column is");
}

#[test]
fn wrong_instances_are_said_with_their_place() {
    let wrong = |from: &str, to: &str, parts: &[&str]| lab(&COLUMNS.replace(from, to)).refused("run e.toml", parts);
    wrong("instances = 4", "instances = 1", &["e.toml", "`instances` is `1`", "2 to 64"]);
    wrong("\"per_node\"", "\"per-node\"", &["`instances` is `per-node`", "per_node"]);
    wrong("instances = 4", "instances = 4\nnumactl = \"-m 0\"", &["both `numactl` and `instances`"]);
    wrong("pool.workers", "pool.worker", &["pool.worker", "did you mean `pool.toml.workers`?"]);
    wrong("2x1x4x1", "1x1x4x1", &["one node with CPUs and memory"]);
}

/// One thread reads all weights in, so they are on one node. Instances have them near.
#[test]
fn advice_compares_one_instance_for_each_node_with_a_large_one() {
    let lab = Lab::new();
    let command = "advise --machine naples-2s --kernel 6.12 --like inference --memory 512MiB --threads 32 \
                   --horizon 1s --ways per-node,two-instances";
    let found = json(&lab.ok(&format!("{command} --json")).out);
    assert_eq!(found["advice"], "per-node");
    let gain = |i: usize| found["simulated"]["simulated"][0]["kernels"][i]["gain_percent"].as_f64().unwrap();
    let (each, two) = (gain(0), gain(1));
    assert!(each > 2.0 * two && two > 20.0, "eight instances on eight nodes, and two on four nodes each: {each} {two}");
    let text = lab.ok(command).out;
    for part in ["numactl --cpunodebind=$n", "UNIT@.service", "--cpuset-mems=0", "<numatune>", "single-numa-node"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let refused = |like: &str, parts: &[&str]| {
        let of = format!("advise --machine 2x1x8x1 --like {like} --memory 1GiB --threads 8 --ways per-node");
        Lab::new().refused(&of, parts);
    };
    refused("jvm", &["`--ways` has \"per-node\"", "warehouses", "--like g1"]);
    refused("ceph", &["cannot be divided"]);
    // Each instance of a language model has all of its weights.
    let large = "advise --machine 2x1x8x1 --like inference --threads 8 --ways per-node --memory";
    Lab::new().refused(&format!("{large} 1000GiB"), &["--memory"]);
}

/// ZGC's heap is shared memory without a policy, which 6.12.0 does not mark and 6.12.117 does.
#[test]
fn balancing_sees_the_heap_of_zgc_only_where_shared_memory_is_marked() {
    let lab = Lab::new();
    let size = "--param workers=4 --param heap=256MiB --param gc_threads=2 --param duration=6s --iterations 1";
    lab.ok(&format!("run --machine 2x1x4x1 --workload jvm-zgc --kernel 6.12.0,6.12.117 {size} --out d"));
    let c = json(&lab.ok("compare d --json").out);
    let marked = |k| mean(&c, "numa_pte_updates", k);
    assert!(marked("6.12.0") < 1_000.0, "only stacks and data: {}", marked("6.12.0"));
    assert!(marked("6.12.117") > 20_000.0, "{}", marked("6.12.117"));
}

/// The workload of every kind takes the parameters that it is given.
#[test]
fn every_kind_of_program_can_be_asked() {
    let table = std::fs::read_to_string("../../catalog/likes.toml").unwrap();
    for name in table.lines().filter_map(|l| l.strip_prefix("name = \"")).map(|l| l.trim_end_matches('"')) {
        let lab = Lab::new();
        let size = "--memory 256MiB --threads 4 --horizon 20ms --ways off";
        let ended = lab.ok(&format!("advise --machine 2x1x4x1 --kernel 6.12 --like {name} {size} --json"));
        assert_eq!(json(&ended.out)["like"], name);
    }
}

/// Every kind of program has a line in the table of its page.
#[test]
fn every_kind_of_program_stands_on_its_page() {
    let page = std::fs::read_to_string("../../docs/reference/likes.md").unwrap();
    let rows: Vec<&str> = page.lines().filter(|l| l.starts_with("| `")).filter_map(|l| l.split('|').nth(1)).collect();
    let table = std::fs::read_to_string("../../catalog/likes.toml").unwrap();
    let names: Vec<&str> =
        table.lines().filter_map(|l| l.strip_prefix("name = \"")).map(|l| l.trim_end_matches('"')).collect();
    assert!(names.len() > 25, "{names:?}");
    for name in &names {
        assert!(rows.iter().any(|r| r.contains(&format!("`{name}`"))), "{name} is not in the table of likes.md");
    }
    for name in [
        "inference",
        "prefill",
        "vector-search",
        "clickhouse",
        "elasticsearch",
        "mongodb",
        "mysql-points",
        "mysql-ranges",
        "hana",
        "redis-fork",
        "memcached",
        "g1",
        "zgc",
        "kafka",
        "ceph",
        "dpdk",
        "kvm",
        "kvm-large",
        "kvm-pinned",
        "ranks",
        "spark",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}
