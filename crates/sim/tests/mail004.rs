//! Mail 004, STREAM: with the 25 % rule all 16 threads stay on one node; with the posted imb_numa_nr they
//! spread, one per last-level cache. Published gains must come out within 1.25x.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use numalab_kernel::hw::cost::FlushRules;
use numalab_kernel::numa::releases;
use numalab_kernel::sched::SchedConfig;
use numalab_sim::{SimConfig, Thp};

fn column(release: &str, imbalance: &'static str) -> SimConfig {
    let numa = releases::settings(release).unwrap().unwrap();
    let sched = SchedConfig { form: "v61", imbalance, ..SchedConfig::default() };
    SimConfig::new(&numa, &sched, FlushRules::default(), Thp::Always).unwrap()
}

#[test]
fn stream_gains_are_within_a_quarter_of_the_published_ones() {
    let m = machine("zen3-2s-256");
    let w = workload("stream", &m, 1, &[]);
    let vanilla = run(&m, &w, &column("5.16", "k511"), 1);
    let patched = run(&m, &w, &column("5.16+imb-v3", "v3"), 1);
    for (name, published) in [("copy", 3.53), ("scale", 2.81), ("add", 3.85), ("triad", 3.68)] {
        let ratio: f64 = scalar(&patched, name) / scalar(&vanilla, name);
        let off = (ratio / published).max(published / ratio);
        assert!(off <= 1.25, "{name}: {ratio} simulated, {published} published");
    }
}
