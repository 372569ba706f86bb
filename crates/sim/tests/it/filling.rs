//! Clearing new huge pages is traffic like any other, and waits like it (machines.md sections 4 and 6). Base pages stay
//! in a cache between the clear and the access.
#![allow(clippy::unwrap_used)]

use crate::common;
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
    // The program reads every line and writes it back; before that the kernel writes those of a huge page.
    for (thp, times) in [("always", 3.0), ("never", 2.0)] {
        let s = filling_s(thp);
        let least = times * 12.0 * 1.073_741_824 / gbps;
        assert!(s > least && s < 2.0 * least, "{thp}: {s} s, at least {least} s");
    }
}
