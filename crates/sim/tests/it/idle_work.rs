//! Balancing that an idle CPU does for others passes while it is idle: a task that wakes there waits for the stretch at
//! hand, not for all that was done.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

#[test]
fn a_task_does_not_pay_for_balancing_done_while_it_slept() {
    // All cores of node 1 compute, so at every tick somebody asks the lowest idle CPU, 0, to balance for all that idle.
    let text = r#"
[[score]]
name = "rounds"
unit = "1/s"
better = "higher"
per_second = true
[[process]]
name = "hog"
count = 32
affinity = { nodes = [1] }
[[process.phase]]
count = 220
compute = "10ms"
[[process]]
name = "sleeper"
affinity = { cpus = [0] }
[[process.phase]]
timed = "rounds"
steps = [{ sleep = "2s" }, { compute = "1ms" }, { score = "rounds" }]
"#;
    let m = machine("zen3-2s-128");
    let w = inline(text, &m, 1, &[]);
    for k in ["5.16", "6.1", "6.12"] {
        let ms = 1000.0 / scalar(&run(&m, &w, &kernel(k), 1), "rounds");
        // The core's clock is above its sustained one. The passes for one CPU take some 20 us, all of two seconds' a
        // thousand times as long.
        assert!((2000.5..2001.1).contains(&ms), "{k}: {ms} ms instead of 2001");
    }
}
