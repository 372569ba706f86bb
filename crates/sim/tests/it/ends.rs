//! Every run ends: model time passes in whatever a workload repeats, so its limit is reached after a bounded number of
//! steps.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::machine::Machine;
use numalab_model::record::Status;
use numalab_model::workload::Workload;
use numalab_sim::{Observers, SimError};
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::Arc;
use std::time::Duration;

/// Model time of a run, ns.
const LIMIT_NS: u64 = 100_000;
/// A slice goes on to its tick (1000 a second), beyond the limit.
const SLICE_NS: u64 = 1_000_000;
/// A run that takes so long has no end. A test then fails, where it would hang otherwise.
const HANGS: Duration = Duration::from_secs(120);

/// Runs a workload, and returns its status and number of steps.
fn steps(m: &Machine, w: &Workload, k: &SimConfig) -> (Status, u64) {
    let stop = Arc::new(AtomicBool::new(false));
    let (ended, end) = mpsc::channel::<()>();
    std::thread::scope(|s| {
        s.spawn(|| {
            if end.recv_timeout(HANGS) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.store(true, Ordering::Relaxed);
            }
            drop(end);
        });
        let observers = Observers { stop: Some(stop.clone()), ..Observers::default() };
        let observed = numalab_sim::observe(m, w, k, 1, false, observers);
        drop(ended);
        assert!(!stop.load(Ordering::Relaxed), "the run had to be stopped");
        let observed = observed.unwrap_or_else(|e: SimError| panic!("{e}"));
        (observed.outcome.status, observed.footprint.steps)
    })
}

/// One process with this step, and a machine and kernel with short slices.
fn one(step: &str) -> (Machine, Result<Workload, String>, SimConfig) {
    let m = machine("2x1x1x1");
    let text = format!(
        "name = \"t\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n\
         [[channel]]\nname = \"self\"\n[[score]]\nname = \"done\"\nunit = \"x\"\nbetter = \"higher\"\n\
         [[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\nsize = \"64KiB\"\n[[process.phase]]\n\
         steps = [{{ access = \"r\" }}, {{ signal = \"self\" }}, {{ wait = \"self\" }}, {{ score = \"done\" }}]\n\
         [[process.phase]]\nsteps = [{step}]\n"
    );
    let spec = numalab_model::workload::parse("test", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let workload = spec.resolve(&m, 1, &[]).map_err(|e| e.to_string());
    let workload = workload.map(|w| Workload { limit_ns: LIMIT_NS, ..w });
    (m, workload, kernel_set("6.12", &[("system.hz", "1000")]))
}

#[test]
fn an_access_that_rounds_to_no_time_ends_with_its_loop() {
    let (m, w, k) = one("{ time = \"50us\", access = \"r\", pattern = \"random\", accesses = 1 }");
    let (status, steps) = steps(&m, &w.unwrap(), &k);
    assert_eq!(status, Status::Completed);
    // The loop ends within its 50 us; each round is two steps, and takes at least 1 ns.
    assert!((100..=110_000).contains(&steps), "{steps}");
}

#[test]
fn rounds_that_cost_nothing_are_ended_by_the_limit() {
    for step in [
        "{ count = 9_000_000_000_000, steps = [{ signal = \"self\" }, { wait = \"self\" }] }",
        "{ time = \"2000s\", access = \"r\", pattern = \"random\", accesses = 1 }",
        "{ time = \"2000s\", access = \"r\", pattern = \"chase\", accesses = 1, cost = \"0.1ns\" }",
        "{ time = \"2000s\", access = \"r\", len = \"64B\" }",
        "{ time = \"2000s\", access = \"r\", pattern = \"strided\", stride = \"64KiB\" }",
        "{ time = \"2000s\", sleep = \"1ns\", exponential = true }",
        "{ time = \"2000s\", compute = \"1ns\" }",
        "{ count = 9_000_000_000_000, discard = \"r\" }",
        "{ count = 9_000_000_000_000, steps = [{ count = 3, access = \"r\", pattern = \"random\", accesses = 1 }] }",
    ] {
        let (m, w, k) = one(step);
        let w = w.unwrap_or_else(|e| panic!("{step}: {e}"));
        let (status, steps) = steps(&m, &w, &k);
        assert_eq!(status, Status::Timeout, "{step}");
        assert!(steps < 6 * (LIMIT_NS + 2 * SLICE_NS), "{step}: {steps}");
    }
}

#[test]
fn a_run_is_stopped_by_who_watches_it() {
    let (m, w, k) = one("{ time = \"1000s\", compute = \"1ns\" }");
    let w = Workload { limit_ns: 1 << 50, ..w.unwrap() };
    let observers = Observers { stop: Some(Arc::new(AtomicBool::new(true))), ..Observers::default() };
    let observed = numalab_sim::observe(&m, &w, &k, 1, false, observers).unwrap();
    assert_eq!(observed.outcome.status, Status::Timeout);
    assert_eq!(observed.footprint.events, 1, "at its first event");
}

/// Steps that take little time or none.
fn leaf() -> impl Strategy<Value = String> {
    let pattern = prop::sample::select(vec!["random", "chase", "zipf", "blocks"]);
    let cost = prop::sample::select(vec!["0ns", "0.1ns", "3ns"]);
    prop_oneof![
        (pattern, 1u32..4, cost, 0u8..2).prop_map(|(pattern, accesses, cost, write)| {
            let more = match pattern {
                "blocks" => ", block = \"64B\"",
                "zipf" => ", theta = 0.9",
                _ => "",
            };
            format!(
                "{{ access = \"r\", pattern = \"{pattern}\", accesses = {accesses}, cost = \"{cost}\", write = {write}{more} }}"
            )
        }),
        Just("{ access = \"r\", len = \"64B\" }".to_string()),
        Just("{ access = \"r\", pattern = \"strided\", stride = \"32KiB\" }".to_string()),
        prop::sample::select(vec!["0ns", "0.4ns", "1ns"]).prop_map(|ns| format!("{{ compute = \"{ns}\" }}")),
        prop::sample::select(vec!["0ns", "0.4ns", "1ns"]).prop_map(|ns| format!("{{ sleep = \"{ns}\" }}")),
        Just("{ sleep = \"1ns\", exponential = true }".to_string()),
        Just("{ score = \"done\" }".to_string()),
        Just("{ discard = \"r\" }".to_string()),
        Just("{ signal = \"self\" }".to_string()),
        Just("{ steps = [{ signal = \"self\" }, { wait = \"self\" }] }".to_string()),
    ]
}

/// Steps in loops in loops, with bounds that nobody waits for.
fn step() -> impl Strategy<Value = String> {
    let bound =
        prop::sample::select(vec!["count = 3", "count = 4_000_000_000_000", "time = \"1ns\"", "time = \"2000s\""]);
    leaf().prop_recursive(3, 8, 3, move |inner| {
        (bound.clone(), prop::collection::vec(inner, 1..4))
            .prop_map(|(bound, steps)| format!("{{ {bound}, steps = [{}] }}", steps.join(", ")))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn steps_are_bounded_by_model_time(step in step()) {
        let (m, w, k) = one(&step);
        // The language refuses some loops, such as those in which nothing takes time.
        let Ok(w) = w else { return Ok(()) };
        let ops: usize = w.processes.iter().flat_map(|p| &p.threads).map(|t| t.ops.len()).sum();
        let (status, steps) = steps(&m, &w, &k);
        prop_assert!(matches!(status, Status::Completed | Status::Timeout), "{status:?}");
        // A round of the innermost loop takes at least 1 ns, and none has more steps than there are. A step may be cut
        // once by each event.
        let most = (LIMIT_NS + 2 * SLICE_NS) * ops as u64 * 2;
        prop_assert!(steps <= most, "{steps} steps of {ops}: {step}");
    }
}
