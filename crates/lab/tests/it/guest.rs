//! Short runs of real guests on the packaged kernel: `make vm` runs them, plain `cargo test` lists them as ignored.

#![allow(clippy::unwrap_used)]

use crate::support;

use numalab_lab::failure::Failure;
use numalab_lab::qemu::Timing;
use numalab_model::record::{Outcome, Status};
use numalab_worker::job::Drill;
use serde_json::Value;
use std::time::Duration;
use support::*;

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn a_packaged_kernel_moves_first_touched_memory() {
    let lab = lab(Timing::Counters);
    let image = image(&lab);
    let (machine, workload) = (machine(2, 1, 200.0), first_touch(2, 16, 6.0));
    let run = run(&lab, &image, &machine, &workload, true, 1);
    let out = &run.outcome;
    println!("boot {:?} run {:?}\n{}", run.boot, run.wall, summary(out));
    assert_eq!(out.status, Status::Completed);
    // One thread on one node has touched all 4096 pages.
    assert!(counter(out, "numa_hint_faults") > 1000);
    let moved = counter(out, "numa_pages_migrated");
    assert!((1000..3000).contains(&moved), "{moved} pages moved, about half of 4096 expected");
    let placement = out.series.iter().find(|s| s.name == "placement").unwrap();
    let pages: Vec<f64> = placement.values.iter().map(|v| v[0]).collect();
    assert_eq!(pages.iter().sum::<f64>(), 4096.0);
    assert_eq!(pages[2], 0.0, "all pages are present");
    assert!(pages[0].min(pages[1]) > 1000.0, "{pages:?}");
    assert!(scalar(out, "rate") > 0.0);
    assert!(out.warnings.iter().any(|w| w.contains("times are not")));
    assert!(out.tunables.iter().any(|t| t.name == "guest.timing" && t.value == "counters"));
    assert!(out.tunables.iter().any(|t| t.name == "system.numa_balancing" && t.value == "1"));
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn modelled_time_charges_far_memory_and_repeats_to_the_byte() {
    let lab = lab(Timing::Modelled);
    let image = image(&lab);
    if let Err(reason) = lab.check_timing(&image) {
        // Only the QEMU on which the mode was verified must pass; on others a refusal is right.
        let version = numalab_lab::probe::qemu_version(&lab.settings().qemu).unwrap();
        assert_ne!((version.0, version.1), numalab_lab::doctor::QEMU_VERIFIED, "{reason}");
        // The reason must not be that the guest of the self-test did not boot.
        assert!(reason.contains("timing `modelled` is refused on this QEMU"), "{reason}");
        println!("not tested: {reason}");
        return;
    }
    let (machine, workload) = (machine(2, 1, 200.0), first_touch(2, 4, 0.3));
    let outcome = |seed| run(&lab, &image, &machine, &workload, true, seed).outcome;
    let bytes = |outcome: &Outcome| serde_json::to_string(outcome).unwrap();
    let (first, again) = (outcome(1), outcome(1));
    let differ = different("", &serde_json::to_value(&first).unwrap(), &serde_json::to_value(&again).unwrap());
    assert_eq!(differ, Vec::<String>::new(), "the same plan gave other bytes");
    assert_eq!(bytes(&first), bytes(&again));
    assert_ne!(bytes(&first), bytes(&outcome(2)), "another seed gave the same bytes");
    assert!(bytes(&first).contains("remote_misses"));
}

/// Where two values differ, each place with both values.
fn different(at: &str, a: &Value, b: &Value) -> Vec<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().flat_map(|(key, a)| different(&format!("{at}.{key}"), a, &b[key])).collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.flat_map(|(i, (a, b))| different(&format!("{at}[{i}]"), a, b)).collect()
        }
        _ if a == b => Vec::new(),
        _ => vec![format!("{at}: {a} and {b}")],
    }
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn every_failure_of_a_guest_is_told_apart() {
    let lab = lab(Timing::Counters);
    let image = image(&lab);
    let panic = drill(&lab, &image, Drill::Panic);
    assert_eq!(panic.kind, Failure::Panic, "{panic}");
    assert!(panic.console.iter().any(|l| l.contains("Attempted to kill init")), "{panic}");
    // A hanging guest is silent for ever, so a short budget suffices; the other guests need a long one.
    let mut settings = lab.settings().clone();
    settings.budgets.silence = Duration::from_secs(1);
    let impatient = numalab_lab::vm_backend::Lab::open(settings).unwrap();
    assert_eq!(drill(&impatient, &image, Drill::Hang).kind, Failure::Hang);
    assert_eq!(drill(&lab, &image, Drill::Garbage).kind, Failure::Garbage);
    // A guest of 512 MiB cannot hold 2 GiB.
    let mut small = machine(1, 1, 80.0);
    small.nodes[0].memory_bytes = 512 << 20;
    let out = run(&lab, &image, &small, &first_touch(1, 2048, 0.1), false, 1).outcome;
    assert_eq!(Failure::of_status(&out.status), Some(Failure::OutOfMemory), "{:?}", out.status);
}
