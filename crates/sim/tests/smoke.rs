//! Every machine × kernel × workload of the catalog for a moment of model time.

#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use numalab_model::record::Status;

const KERNELS: [&str; 5] = ["off", "3.13", "6.1", "6.4-rc2+rfc-v3", "6.12"];

#[test]
fn every_machine_kernel_and_workload_runs_for_a_moment() {
    let mut ran = 0;
    for m in names("machines") {
        let m = machine(&m);
        for name in names("workloads") {
            let path = format!("{}/../../catalog/workloads/{name}.toml", env!("CARGO_MANIFEST_DIR"));
            let spec = numalab_model::workload::parse(&name, &std::fs::read_to_string(path).unwrap()).unwrap();
            // A workload may refuse a machine; that it says so is tested with the language.
            let Ok(mut w) = spec.resolve(&m, 1, &[]) else { continue };
            w.limit_ns = 30_000_000;
            for k in KERNELS {
                let o = match numalab_sim::run(&m, &w, &kernel(k), 1, true) {
                    Ok(o) => o,
                    Err(e) => panic!("{} {k} {name}: {e}", m.name),
                };
                assert!(
                    matches!(o.status, Status::Timeout | Status::Completed),
                    "{} {k} {name}: {:?}",
                    m.name,
                    o.status
                );
                ran += 1;
            }
        }
    }
    assert!(ran > 300, "{ran}");
}
