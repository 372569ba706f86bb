//! What the kernel clears and copies shares memory and cores with everybody else.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_kernel::hw::smt::{COMPUTE_SPEED, STREAM_SHARE};

/// Threads touch one line of every page of a share of their own, on memory of node 0.
const TOUCH: &str = r#"
[params]
touchers = 28
step = "4KiB"
share = "512MiB"
[[policy]]
name = "zero"
mode = "bind"
nodes = 0
[[process]]
name = "touch"
threads = "touchers"
affinity = { WHERE }
[[process.region]]
name = "memory"
size = "share * touchers"
policy = "zero"
[[process.phase]]
steps = [{ access = "memory", slice = "thread", pattern = "strided", stride = "step", write = 1 }]
"#;

/// Bytes that 28 threads clear in faults, GB/s, and system time, s.
fn clears(machine_name: &str, on: &str, thp: &str, params: &[(&str, &str)]) -> (f64, f64) {
    let m = machine(machine_name);
    let k = kernel_set("6.12", &[("system.numa_balancing", "0"), ("system.thp", thp)]);
    let out = run(&m, &inline(&TOUCH.replace("WHERE", on), &m, 1, params), &k, 1);
    (28.0 * f64::from(512 << 20) / 1e9 / scalar(&out, "elapsed_s"), scalar(&out, "system_s"))
}

/// A cleared byte is a written one, which counts 1/(1 - 0.25) times in memory. Each process has one thread, since
/// threads of one mapping get through its lock one after the other.
#[test]
fn processes_that_fault_clear_no_more_than_the_node_takes() {
    let m = machine("clx-2s");
    let text = TOUCH.replace("WHERE", "nodes = \"0\"").replace("threads = \"touchers\"", "count = \"touchers\"");
    let text = text.replace("size = \"share * touchers\"", "size = \"share\"");
    for (thp, step) in [("never", "4KiB"), ("always", "2MiB")] {
        let k = kernel_set("6.12", &[("system.numa_balancing", "0"), ("system.thp", thp)]);
        let out = run(&m, &inline(&text, &m, 1, &[("step", step)]), &k, 1);
        let gbps = 28.0 * f64::from(512 << 20) / 1e9 / scalar(&out, "elapsed_s");
        let most = 115.0 * 0.75;
        assert!(gbps <= most && gbps > 0.7 * most, "{thp}: {gbps} of {most} GB/s");
    }
}

/// Two threads that fault on one core are slower than on two: the way into the kernel as computing is, the clear as a
/// stream.
#[test]
fn a_fault_shares_its_core() {
    let m = machine("milan-2s-nps1");
    let sibling = (1..m.cpu_count()).find(|&c| m.cpus[c].core == m.cpus[0].core).unwrap();
    let system = |other: usize| {
        let on = format!("cpus = \"thread * {other}\"");
        clears("milan-2s-nps1", &on, "never", &[("touchers", "2")]).1
    };
    let other_core = (1..m.cpu_count()).find(|&c| m.cpus[c].core != m.cpus[0].core).unwrap();
    let slower = system(sibling) / system(other_core);
    assert!((1.0 / COMPUTE_SPEED - 0.1..1.0 / STREAM_SHARE + 0.05).contains(&slower), "{slower}");
}
