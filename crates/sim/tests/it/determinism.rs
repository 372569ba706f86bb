//! The same plan gives the same outcome, to the last bit.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

fn outcome(seed: u64) -> numalab_model::record::Outcome {
    let m = machine("milan-2s-nps1");
    let w = workload("numa01_THREAD_ALLOC", &m, seed, &[("loops", "60")]);
    run(&m, &w, &kernel("6.1"), seed)
}

#[test]
fn twice_the_same_plan_is_the_same_outcome() {
    assert_eq!(outcome(7), outcome(7));
}

#[test]
fn another_seed_is_another_run() {
    assert_ne!(outcome(7).counters, outcome(8).counters);
}

#[test]
fn runs_side_by_side_do_not_touch_each_other() {
    let alone = outcome(5);
    let handles: Vec<_> = (0..2).map(|_| std::thread::spawn(|| outcome(5))).collect();
    for h in handles {
        assert_eq!(h.join().unwrap(), alone);
    }
}
