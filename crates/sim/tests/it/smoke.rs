//! Every machine × kernel × workload of the catalog for a moment of model time.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::machine::Machine;
use numalab_model::record::Status;
use numalab_model::workload::Workload;

const KERNELS: [&str; 5] = ["off", "3.13", "6.1", "6.4-rc2+rfc-v3", "6.12"];

fn runs(m: &Machine, w: &Workload, k: &str) {
    let o = numalab_sim::run(m, w, &kernel(k), 1, true).unwrap_or_else(|e| panic!("{} {k} {}: {e}", m.name, w.name));
    assert!(matches!(o.status, Status::Timeout | Status::Completed), "{} {k} {}: {:?}", m.name, w.name, o.status);
}

/// Model time of a moment, ns: each CPU has two ticks in it, and the bandwidth model is solved twice. Workloads whose
/// threads all place memory have placed gigabytes by then, which is what takes the time.
const MOMENT_NS: u64 = 10_000_000;

/// The long form runs all five kernels on every pair of machine and workload. The short form runs one of them, which
/// goes on by one with each machine and each workload: every kernel still meets every machine, and every workload.
#[test]
fn every_machine_kernel_and_workload_runs_for_a_moment() {
    let machines: Vec<Machine> = names("machines").iter().map(|m| machine(m)).collect();
    let numbered: Vec<(usize, &Machine)> = machines.iter().enumerate().collect();
    let mut all = 0;
    for (number, name) in names("workloads").iter().enumerate() {
        let path = format!("{}/../../catalog/workloads/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let spec = numalab_model::workload::parse(name, &std::fs::read_to_string(path).unwrap()).unwrap();
        let ran: usize = side_by_side(&numbered, |&(at, m)| {
            let mut w = match spec.resolve(m, 1, &[]) {
                Ok(w) => w,
                // What a workload requires is tested with the language.
                Err(e) => {
                    assert!(e.to_string().contains("does not hold"), "{} {name}: {e}", m.name);
                    return 0;
                }
            };
            w.limit_ns = MOMENT_NS;
            let one = [KERNELS[(at + number) % KERNELS.len()]];
            let kernels = if is_long() { &KERNELS[..] } else { &one[..] };
            kernels.iter().for_each(|k| runs(m, &w, k));
            kernels.len()
        })
        .into_iter()
        .sum();
        assert!(ran > 0, "{name} refuses every machine");
        all += ran;
    }
    assert!(all >= if is_long() { 2900 } else { 580 }, "{all}");
}

#[test]
fn every_kernel_runs_a_workload_that_moves_memory() {
    let m = machine("4x1x2x1");
    let mut w = workload("numa01_THREAD_ALLOC", &m, 1, &[("memory", "64MiB")]);
    w.limit_ns = 3_000_000_000;
    names("kernels").iter().for_each(|k| runs(&m, &w, k));
}
