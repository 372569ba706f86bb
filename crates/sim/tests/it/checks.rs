//! A run that checks itself on the way has the outcome of one that does not.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;

/// Machine, kernel and workload.
type Plan = (&'static str, &'static str, &'static str);

/// Parameters of the workload.
type Params = &'static [(&'static str, &'static str)];

/// The outcome with a check every `check_every_ns`, 0 for none.
fn outcome(check_every_ns: u64, (machine_name, kernel_name, workload_name): Plan, params: Params) -> Outcome {
    let m = machine(machine_name);
    let w = workload(workload_name, &m, 3, params);
    let cfg = SimConfig { check_every_ns, ..kernel(kernel_name) }.with_machine_background(true);
    let o = numalab_sim::run(&m, &w, &cfg, 3, false).unwrap_or_else(|e| panic!("{workload_name}: {e}"));
    assert!(o.scalars.iter().any(|s| s.name == "elapsed_s" && s.value > 0.2), "{workload_name} is over too soon");
    o
}

#[test]
fn a_run_that_checks_itself_has_the_same_outcome() {
    let runs: [(Plan, Params); 4] = [
        (("2x4x8x1", "6.12", "random-shared"), &[("duration", "1s")]),
        (("4x1x4x2", "4.15", "cow-shared"), &[("duration", "1s")]),
        (("4x1x6x2", "6.1", "numa01"), &[("loops", "1"), ("memory", "256MiB")]),
        (("2x1x4x1", "3.7-autonuma-v27", "numa02"), &[("loops", "60")]),
    ];
    for (plan, params) in runs {
        // Every epoch, and in every second.
        let alone = outcome(0, plan, params);
        for check_every_ns in [4_000_000, 1_000_000_000] {
            assert_eq!(outcome(check_every_ns, plan, params), alone, "{plan:?}, every {check_every_ns} ns");
        }
    }
}

#[test]
fn builds_with_assertions_check_themselves_every_second() {
    let every_ns = kernel("6.12").check_every_ns;
    assert_eq!(every_ns, if cfg!(debug_assertions) { numalab_sim::sim_config::CHECK_NS } else { 0 });
    assert_eq!(kernel("6.12").with_checks(true).check_every_ns, numalab_sim::sim_config::CHECK_NS);
}
