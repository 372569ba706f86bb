//! Snapshots for fixed seeds: any change of a figure shows up in a diff. The same files are compared in
//! the profiles `release` and `checked`, so both give the same bytes.
//!
//! After a change that is meant to move figures: `NUMALAB_GOLDEN=write cargo test -p numalab-sim --test it golden`,
//! and say in the commit why they moved.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use std::fmt::Write as _;

/// Series with more columns are summed up.
const WIDE: usize = 16;

fn check(name: &str, machine_name: &str, kernel_name: &str, workload_name: &str, params: &[(&str, &str)]) {
    let m = machine(machine_name);
    let w = workload(workload_name, &m, 11, params);
    let o = run(&m, &w, &kernel(kernel_name), 11);
    let mut text = String::new();
    for s in &o.scalars {
        writeln!(text, "{} {:?}", s.name, s.value).unwrap();
    }
    for (n, v) in o.counters.iter().chain(&o.reasons).filter(|c| c.1 > 0) {
        writeln!(text, "{n} {v}").unwrap();
    }
    for s in &o.series {
        // Maps have a row per stretch of memory or thread: their sum is enough to see a change.
        if s.columns.len() > WIDE {
            let sum: f64 = s.values.iter().flatten().sum();
            writeln!(text, "series {}: {} columns, {} samples, sum {sum:?}", s.name, s.columns.len(), s.time_ns.len())
                .unwrap();
            continue;
        }
        for (c, values) in s.columns.iter().zip(&s.values) {
            let sum: f64 = values.iter().sum();
            writeln!(text, "series {} {c}: {} samples, sum {sum:?}", s.name, values.len()).unwrap();
        }
    }
    let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("NUMALAB_GOLDEN").is_some_and(|v| v == "write") {
        std::fs::create_dir_all(format!("{}/tests/golden", env!("CARGO_MANIFEST_DIR"))).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == want, "{name} differs from {path} (meant to? NUMALAB_GOLDEN=write writes it anew):\n{text}");
}

#[test]
fn thread_local_slices_without_a_filter() {
    check("thread_alloc_6.3", "milan-2s-nps1", "6.3", "numa01_THREAD_ALLOC", &[("loops", "150")]);
}

#[test]
fn thread_local_slices_with_the_fix() {
    check("thread_alloc_rfc_v3", "milan-2s-nps1", "6.4-rc2+rfc-v3", "numa01_THREAD_ALLOC", &[("loops", "150")]);
}

#[test]
fn whole_buffer_sweeps_on_four_nodes() {
    check("numa01_4n", "4x1x6x2", "6.12", "numa01", &[("loops", "3"), ("memory", "1GiB")]);
}

#[test]
fn per_thread_slices_on_eight_nodes() {
    check("numa02_8n", "naples-2s", "6.1", "numa02", &[("loops", "400")]);
}

#[test]
fn a_data_segment_on_the_move() {
    check("cow_shared_4.15", "4x1x4x2", "4.15", "cow-shared", &[("duration", "4s")]);
}

#[test]
fn threads_at_random_in_one_region() {
    check("random_shared_6.12", "2x4x8x1", "6.12", "random-shared", &[("duration", "3s")]);
}

#[test]
fn processes_at_random_in_shared_memory() {
    let params = [("connections", "8"), ("pool", "256MiB"), ("pool_policy", "2"), ("duration", "2s")];
    check("buffer_pool_6.12", "2x4x8x1", "6.12", "buffer-pool", &params);
}
