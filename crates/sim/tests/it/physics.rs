//! Every machine of the catalog keeps to its own pipes, whatever runs on it.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::machine::Machine;

/// Threads fault in memory of one node, come back from pauses together, sweep it, and read it at random.
const EVERYTHING: &str = r#"
[params]
busy = 64
array = "4MiB"
[[policy]]
name = "one"
mode = "bind"
nodes = "mem_node"
[[barrier]]
name = "round"
spin = true
[[process]]
name = "everything"
threads = "busy"
[[process.region]]
name = "array"
size = "array * busy"
policy = "one"
[[process.region]]
name = "lines"
size = "array * busy"
[[process.phase]]
steps = [
    { access = "lines", slice = "thread", pattern = "strided", stride = "4KiB", write = 1 },
    { access = "array", slice = "thread", write = 1 },
    { barrier = "round" },
]
[[process.phase]]
count = 4
steps = [
    { sleep = "20ms" },
    { barrier = "round" },
    { access = "array", slice = "thread" },
    { access = "array", slice = "thread", write = 1 },
    { barrier = "round" },
    { access = "lines", pattern = "random", accesses = 20000, write = 0.5 },
    { barrier = "round" },
]
"#;

/// Runs the program and one of the catalog with the checks of a run, of which the sums over pipes are one.
fn check(name: &str, m: &Machine) {
    let first = m.nodes.iter().position(|n| n.memory_bytes > 0).unwrap();
    let busy = m.cpu_count().min(96).to_string();
    let text = EVERYTHING.replace("\"mem_node\"", &first.to_string());
    for thp in ["never", "always"] {
        let k = kernel_set("6.12", &[("system.thp", thp)]);
        run(m, &inline(&text, m, 1, &[("busy", &busy)]), &k, 1);
    }
    run(m, &workload("stream", m, 1, &[("total", "96MiB"), ("repetitions", "4")]), &kernel("6.12"), 1);
    println!("{name}: no pipe let too much through");
}

#[test]
fn small_machines_keep_to_their_pipes() {
    for name in ["e7-4807-4s", "milan-2s-nps1", "cxl-2s"] {
        check(name, &machine(name));
    }
}

/// `make check-physics`.
#[test]
#[ignore = "every machine of the catalog: minutes"]
fn every_machine_keeps_to_its_pipes() {
    for name in names("machines") {
        check(&name, &machine(&name));
    }
}
