//! Clearing new pages is traffic like any other, and waits like it (machines.md sections 4 and 6).
#![allow(clippy::unwrap_used)]

mod common;
use common::*;

/// Seconds in which 24 threads on one node write `12 GiB` for the first time.
fn filling_s(thp: &str) -> f64 {
    let text = r#"
[[process]]
name = "filler"
threads = 24
affinity = { nodes = "0" }
[[process.region]]
name = "buffer"
size = "12GiB"
policy = "there"
[[process.phase]]
steps = [{ access = "buffer", slice = "thread", write = 1 }]
[[policy]]
name = "there"
mode = "bind"
nodes = "0"
"#;
    let m = machine("e7-4807-4s");
    let w = inline(text, &m, 1, &[]);
    scalar(&run(&m, &w, &kernel_set("3.7-vanilla", &[("system.thp", thp)]), 1), "elapsed_s")
}

#[test]
fn a_node_that_is_filled_delivers_no_more_than_it_can() {
    let m = machine("e7-4807-4s");
    let gbps = m.nodes[0].dram_sustained_gbps;
    for thp in ["always", "never"] {
        let s = filling_s(thp);
        // The kernel writes every line once, the program reads it and writes it back: 3 x 12 GiB.
        let least = 3.0 * 12.0 * 1.073_741_824 / gbps;
        assert!(s > least && s < 2.0 * least, "{thp}: {s} s, at least {least} s");
    }
}
