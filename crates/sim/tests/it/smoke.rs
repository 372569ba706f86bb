//! Every machine × kernel × workload of the catalog for a moment of model time.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::machine::Machine;
use numalab_model::record::Status;
use numalab_model::workload::Workload;
use std::sync::atomic::{AtomicUsize, Ordering};

const KERNELS: [&str; 5] = ["off", "3.13", "6.1", "6.4-rc2+rfc-v3", "6.12"];

fn runs(m: &Machine, w: &Workload, k: &str) {
    let o = numalab_sim::run(m, w, &kernel(k), 1, true).unwrap_or_else(|e| panic!("{} {k} {}: {e}", m.name, w.name));
    assert!(matches!(o.status, Status::Timeout | Status::Completed), "{} {k} {}: {:?}", m.name, w.name, o.status);
}

/// Model time of a moment, ns: each CPU has two ticks in it, and the bandwidth model is solved twice. Workloads whose threads all
/// place memory have placed gigabytes by then, which is what takes the time.
const MOMENT_NS: u64 = 10_000_000;

/// Calls `f` with all machines, on as many threads as there are CPUs.
fn for_each_machine(machines: &[Machine], f: impl Fn(&Machine) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(m) = machines.get(next.fetch_add(1, Ordering::Relaxed)) {
            f(m);
        }
    };
    std::thread::scope(|s| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            s.spawn(work);
        }
    });
}

#[test]
fn every_machine_kernel_and_workload_runs_for_a_moment() {
    let mut all = 0;
    let machines: Vec<Machine> = names("machines").iter().map(|m| machine(m)).collect();
    for name in names("workloads") {
        let path = format!("{}/../../catalog/workloads/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let spec = numalab_model::workload::parse(&name, &std::fs::read_to_string(path).unwrap()).unwrap();
        let ran = AtomicUsize::new(0);
        for_each_machine(&machines, |m| {
            let mut w = match spec.resolve(m, 1, &[]) {
                Ok(w) => w,
                // What a workload requires is tested with the language.
                Err(e) => {
                    assert!(e.to_string().contains("does not hold"), "{} {name}: {e}", m.name);
                    return;
                }
            };
            w.limit_ns = MOMENT_NS;
            KERNELS.iter().for_each(|k| runs(m, &w, k));
            ran.fetch_add(KERNELS.len(), Ordering::Relaxed);
        });
        let ran = ran.into_inner();
        assert!(ran > 0, "{name} refuses every machine");
        all += ran;
    }
    assert!(all >= 2900, "{all}");
}

#[test]
fn every_kernel_runs_a_workload_that_moves_memory() {
    let m = machine("4x1x2x1");
    let mut w = workload("numa01_THREAD_ALLOC", &m, 1, &[("memory", "64MiB")]);
    w.limit_ns = 3_000_000_000;
    names("kernels").iter().for_each(|k| runs(&m, &w, k));
}
