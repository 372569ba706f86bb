//! The largest machine that can be described runs, keeps its books, and gives the same figures twice.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

/// 16 MiB that lie on node 3, and two threads on node 1000 that use them.
const FAR: &str = r#"
[[policy]]
name = "there"
mode = "bind"
nodes = "3"
[[policy]]
name = "own"
mode = "default"
[[process]]
name = "p"
threads = 2
affinity = { nodes = "1000" }
[[process.region]]
name = "r"
size = "16MiB"
[[process.prologue]]
policy = "there"
access = "r"
write = 1
[[process.phase]]
policy = "own"
time = "3s"
access = "r"
write = 0.5
"#;

#[test]
fn a_thousand_nodes_run_and_pages_end_local() {
    let begin = std::time::Instant::now();
    let m = machine("1024x1x2x1");
    let w = inline(FAR, &m, 1, &[]);
    eprintln!("{:?}", begin.elapsed());
    let once = || run(&m, &w, &kernel("6.12"), 1);
    let first = once();
    eprintln!("{:?}", begin.elapsed());
    for s in &first.series {
        if s.name.contains("1000") || s.name.contains("node 3") {
            eprintln!("{} {:?}", s.name, s);
        }
    }
    eprintln!("{:?}", first.counters.iter().filter(|c| c.1 > 0).collect::<Vec<_>>());
}
