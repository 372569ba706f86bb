//! Rounds of a loop whose ops go on side by side (`access/rounds.rs`), beside one op after the other.

#![allow(clippy::unwrap_used)]

use crate::common;
use crate::grains::moments;
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

/// Threads of one process that use a private pool, with huge pages or without: at random, by blocks, and their own
/// memory.
fn private_pool(seed: u64, exact: bool, (pool, thp, threads): (&str, &str, u32)) -> Outcome {
    let text = "[[score]]\nname = \"queries\"\nunit = \"queries\"\nbetter = \"higher\"\n\
         [[process]]\nname = \"main\"\nthreads = THREADS\ninitial = \"joins\"\n\
         [[process.region]]\nname = \"pool\"\nsize = \"POOL\"\n\
         [[process.region]]\nname = \"own\"\nsize = \"4MiB\"\n\
         [[process.prologue]]\naccess = \"pool\"\nwrite = 1\n\
         [[process.phase]]\ntime = \"2s\"\nsteps = [\
         { access = \"pool\", pattern = \"zipf\", theta = 0.8, accesses = 700, write = 0.2 }, \
         { access = \"pool\", pattern = \"blocks\", block = \"16KiB\", accesses = 768, write = 0.1 }, \
         { access = \"own\", pattern = \"random\", accesses = 333, write = 0.5 }, \
         { compute = \"5us\" }, { score = \"queries\" }]\n";
    let m = machine("2x1x2x1");
    let w = inline(&text.replace("THREADS", &threads.to_string()).replace("POOL", pool), &m, seed, &[]);
    let scan = [("scan.scan_delay_ms", "50"), ("scan.scan_period_min_ms", "50"), ("scan.scan_period_max_ms", "100")];
    let cfg = kernel_set("6.12", &[&scan[..], &[("system.thp", thp)]].concat());
    run(&m, &w, &if exact { cfg.with_exact_pages(true) } else { cfg.with_grains_of(3) }, seed)
}

/// Private memory has no grains, and blocks are lines that come to parts of a page.
#[test]
fn rounds_on_private_memory_have_as_many_faults_and_as_much_time() {
    let seeds = if is_long() { 40 } else { 8 };
    let runs = |exact| (1..=seeds).map(|seed| private_pool(seed, exact, ("32MiB", "never", 4))).collect::<Vec<_>>();
    let (side, turn) = (runs(false), runs(true));
    for name in ["queries", "elapsed_s", "system_s", "numa_pte_updates", "numa_hint_faults", "numa_pages_migrated"] {
        let of = |o: &Outcome| if name.starts_with("numa") { counter(o, name) as f64 } else { scalar(o, name) };
        let of_all = |runs: &[Outcome]| moments(&runs.iter().map(of).collect::<Vec<_>>());
        let ((side, v_side), (turn, v_turn)) = (of_all(&side), of_all(&turn));
        let error = ((v_side + v_turn) / seeds as f64).sqrt();
        println!("{name}: {side} side by side, {turn} in turn, +- {error}");
        // As grains are compared with single pages: chance, and one percent.
        let most = 3.0 * error + 0.01 * turn;
        assert!((side - turn).abs() <= most, "{name}: {side} side by side, {turn} in turn, +- {error}");
    }
}

/// Threads on two nodes come to huge pages equally often, so half of the faults that the first of them take are remote.
#[test]
fn any_thread_is_the_first_to_come_to_a_marked_huge_page() {
    let seeds = 12;
    let runs: Vec<_> = (1..=seeds).map(|seed| private_pool(seed, false, ("256MiB", "always", 4))).collect();
    let sum = |name| runs.iter().map(|o| counter(o, name) as f64).sum::<f64>();
    // Base pages of the threads' own are local.
    let remote = sum("numa_hint_faults") - sum("numa_hint_faults_local");
    let share = remote / sum("numa_huge_pte_updates");
    assert!((0.45..0.55).contains(&share), "{share} of the faults on huge pages are remote");
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
