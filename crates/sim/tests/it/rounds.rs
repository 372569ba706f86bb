//! Rounds of a loop whose ops go on side by side (`access/rounds.rs`), beside one op after the other.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;

/// Four threads that go through `phase` on a pool of 64 MiB, another of 16 MiB, and memory of each thread's own.
fn simulated(phase: &str, exact: bool) -> Outcome {
    let text = format!(
        "[[score]]\nname = \"queries\"\nunit = \"queries\"\nbetter = \"higher\"\n\
         [[process]]\nname = \"main\"\nthreads = 4\ninitial = \"joins\"\n\
         [[process.region]]\nname = \"pool\"\nkind = \"shared\"\nsize = \"64MiB\"\n\
         [[process.region]]\nname = \"other\"\nkind = \"shared\"\nsize = \"16MiB\"\n\
         [[process.region]]\nname = \"own\"\nsize = \"4MiB\"\n\
         [[process.prologue]]\naccess = \"pool\"\nwrite = 1\n{phase}"
    );
    let m = machine("2x1x2x1");
    let w = inline(&text, &m, 5, &[]);
    let cfg = kernel_set("6.12", &[("scan.scan_delay_ms", "50"), ("scan.scan_period_min_ms", "50")]);
    run(&m, &w, &if exact { cfg.with_exact_pages(true) } else { cfg.with_grains_of(3) }, 5)
}

/// Queries counted, and seconds, side by side and in turn.
fn both(phase: &str) -> ((f64, f64), (f64, f64)) {
    let of = |exact| {
        let o = simulated(phase, exact);
        (scalar(&o, "queries"), scalar(&o, "elapsed_s"))
    };
    (of(false), of(true))
}

const STEPS: &str = "{ access = \"pool\", pattern = \"zipf\", theta = 0.8, accesses = 700, write = 0.2 }, \
     { compute = \"30us\" }, { score = \"queries\" }, \
     { access = \"own\", pattern = \"random\", accesses = 333, write = 0.5 }, \
     { access = \"other\", pattern = \"random\", accesses = 50 }";

fn is_near(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * b
}

#[test]
fn counted_rounds_are_as_many_and_take_as_long() {
    let (side, turn) = both(&format!("[[process.phase]]\ncount = 3001\nsteps = [{STEPS}]\n"));
    assert_eq!((side.0, turn.0), (12_004.0, 12_004.0));
    assert!(is_near(side.1, turn.1, 0.01), "{side:?} side by side, {turn:?} in turn");
}

#[test]
fn timed_rounds_end_in_time() {
    let (side, turn) = both(&format!("[[process.phase]]\ntime = \"400ms\"\nsteps = [{STEPS}]\n"));
    assert!(is_near(side.0, turn.0, 0.01) && is_near(side.1, turn.1, 0.005), "{side:?} side by side, {turn:?} in turn");
}

/// What follows the loop comes after its last round, and a loop around it goes round as often.
#[test]
fn a_loop_inside_a_loop_ends_each_time() {
    let phase = format!(
        "[[process.phase]]\ncount = 5\nsteps = [{{ count = 41, steps = [{STEPS}] }}, {{ compute = \"50ms\" }}]\n"
    );
    let (side, turn) = both(&phase);
    assert_eq!((side.0, turn.0), (820.0, 820.0));
    assert!(is_near(side.1, turn.1, 0.01), "{side:?} side by side, {turn:?} in turn");
}

/// A round is longer than a tick, and no slice ends with one.
#[test]
fn rounds_that_are_longer_than_a_tick_are_counted() {
    let steps = STEPS.replace("700", "70000").replace("333", "33300");
    let (side, turn) = both(&format!("[[process.phase]]\ncount = 60\nsteps = [{steps}]\n"));
    assert_eq!((side.0, turn.0), (240.0, 240.0));
    assert!(is_near(side.1, turn.1, 0.01), "{side:?} side by side, {turn:?} in turn");
}
