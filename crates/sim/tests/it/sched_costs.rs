//! What the scheduler itself costs, and what of it a run reports.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::{Outcome, WAKE_UPS};

/// Pairs of threads that take turns, more than there are CPUs of a node, in two processes.
const PAIRS: &str = r#"
[[channel]]
name = "ask"
over = "0..39"
[[channel]]
name = "answer"
over = "0..39"
[[process]]
name = "second"
threads = 40
[[process.phase]]
count = 4000
steps = [{ wait = "ask[thread]" }, { compute = "20us" }, { signal = "answer[thread]" }]
[[process]]
name = "first"
threads = 40
[[process.phase]]
count = 4000
steps = [{ signal = "ask[thread]" }, { compute = "30us" }, { wait = "answer[thread]" }]
"#;

fn pairs(kernel: &SimConfig) -> Outcome {
    let m = machine("zen3-2s-128");
    run(&m, &inline(PAIRS, &m, 1, &[]), kernel, 1)
}

fn has(out: &Outcome, name: &str) -> bool {
    out.scalars.iter().any(|s| s.name == name)
}

/// Runs in which threads are woken have latencies of wake-ups as scores. Others have none.
#[test]
fn wake_up_latencies_are_scores_of_runs_that_have_wake_ups() {
    let out = pairs(&kernel("6.12"));
    let [p50, p99] = WAKE_UPS.map(|(name, _)| scalar(&out, name));
    // A wake-up of an idle CPU takes 3 us and a switch; the slowest of a hundred waits for another task.
    assert!((1.0..20.0).contains(&p50) && p99 >= p50, "{p50} and {p99} us");
    assert!(counter(&out, "ttwu_count") > 100_000);
    let m = machine("zen3-2s-128");
    let computes = "[[process]]\nname = \"p\"\nthreads = 8\n[[process.phase]]\ncompute = \"100ms\"\n";
    let out = run(&m, &inline(computes, &m, 1, &[]), &kernel("6.12"), 1);
    assert!(WAKE_UPS.iter().all(|(name, _)| !has(&out, name)));
    assert!(out.warnings.is_empty(), "nothing to balance is never too short for balancing: {:?}", out.warnings);
}

/// A patch of newly-idle balancing shows: in its own passes and in what they leave undone.
#[test]
fn a_patch_of_newidle_changes_what_is_counted() {
    let plain = pairs(&kernel("6.12"));
    let dice = pairs(&kernel_set("6.12", &[("sched.ni_random", "true")]));
    let passes = |out: &Outcome| counter(out, "newidle_count");
    assert_eq!(counter(&plain, "newidle_dice"), 0);
    assert!(counter(&dice, "newidle_dice") > 0);
    assert!(passes(&dice) < passes(&plain), "{} and {}", passes(&dice), passes(&plain));
    assert_ne!(scalar(&plain, "elapsed_s"), scalar(&dice, "elapsed_s"));
}

/// Parts are parts of the whole.
#[test]
fn counters_of_passes_add_up() {
    let out = pairs(&kernel("6.12"));
    let sum =
        |what: &str| ["smt", "mc", "pkg", "numa"].map(|l| counter(&out, &format!("{what}_{l}"))).iter().sum::<u64>();
    assert_eq!(sum("lb_count"), counter(&out, "lb_count"));
    assert_eq!(sum("lb_gained"), counter(&out, "lb_gained"));
    assert!(counter(&out, "newidle_gained") <= counter(&out, "lb_gained"));
    assert!(counter(&out, "newidle_too_short") <= counter(&out, "newidle_skipped"));
    let ends = ["lb_nobusyg", "lb_nobusyq", "lb_failed"].map(|name| counter(&out, name)).iter().sum::<u64>();
    assert!(ends <= counter(&out, "lb_count"), "{ends}");
    let [all, local, queued] = ["ttwu_count", "ttwu_local", "ttwu_queued"].map(|name| counter(&out, name));
    assert!(local + queued <= all && queued > 0, "{all} {local} {queued}");
}

/// A message on one CPU is a wake-up, which costs the waker a switch, and a switch; on two it wakes an idle CPU. What
/// `numalab validate` makes of the three forms of `probe-message` rests on that.
#[test]
fn a_message_costs_a_wake_up_and_a_switch() {
    let m = machine("2x1x2x1");
    let message_ns = |params: &[(&str, &str)]| {
        let w = workload("probe-message", &m, 1, params);
        let k = kernel_set("6.12", &[("system.numa_balancing", "0")]).with_harness(numalab_sim::Harness::Worker);
        1e9 / scalar(&run(&m, &w, &k, 1), "messages")
    };
    let c = m.costs;
    let near = |ns: f64, expected: f64| assert!((ns / expected - 1.0).abs() < 0.05, "{ns} ns, expected {expected}");
    near(message_ns(&[]), 2.0 * c.switch_same_ns);
    near(message_ns(&[("foreign", "1")]), c.switch_same_ns + c.switch_other_ns);
    near(message_ns(&[("apart", "1")]), c.switch_same_ns + c.wake_ns + c.switch_other_ns);
}
