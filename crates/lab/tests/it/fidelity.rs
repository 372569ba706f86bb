//! Requirements of the `vm` backend, measured on a kernel that numalab builds: `make fidelity` runs them.
//! They take tens of minutes, and the first run builds the kernel.

#![allow(clippy::unwrap_used)]

use crate::support;

use numalab_lab::image::{Image, ImageSpec};
use numalab_lab::qemu::Timing;
use numalab_lab::vm_backend::Lab;
use numalab_model::machine::Machine;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use support::*;

fn own_kernel(lab: &Lab, patches: Vec<PathBuf>) -> Image {
    let spec = ImageSpec::Source { series: "6.12".into(), patches };
    lab.image(&spec, &mut |what| eprintln!("{what}")).unwrap()
}

/// `machine` with so much bandwidth that no access waits for another, wherever memory is.
fn with_ample_bandwidth(mut machine: Machine) -> Machine {
    let all_gbps = machine.cpu_count() as f64 * machine.stream.cap_gbps;
    for node in &mut machine.nodes {
        node.dram_sustained_gbps = 100.0 * all_gbps;
    }
    machine
}

/// Rates with balancing off and on, for each seed.
fn off_on(machine: &Machine, seeds: u64) -> Vec<(f64, f64)> {
    let remote_ns = machine.latency_ns[0][1];
    let lab = lab(Timing::Modelled);
    let image = own_kernel(&lab, vec![]);
    lab.check_timing(&image).unwrap();
    let workload = first_touch(8, 64, 12.0);
    let rate = |on, seed| {
        let run = run(&lab, &image, machine, &workload, on, seed);
        println!("{on} {seed} boot {:?} run {:?}\n{}", run.boot, run.wall, summary(&run.outcome));
        scalar(&run.outcome, "rate")
    };
    let pairs: Vec<(f64, f64)> = (1..=seeds).map(|s| (rate(false, s), rate(true, s))).collect();
    for (off, on) in &pairs {
        println!("remote {remote_ns} ns: off {off:.2} on {on:.2} Mlines/s: {:+.1} %", (on / off - 1.0) * 100.0);
    }
    pairs
}

#[test]
#[ignore = "needs guests and kernel builds: scripts/vm-tests.sh full runs it"]
fn balancing_wins_where_memory_is_far_and_costs_where_it_is_not() {
    let mean = |v: &[(f64, f64)], f: &dyn Fn(&(f64, f64)) -> f64| v.iter().map(f).sum::<f64>() / v.len() as f64;
    let far = off_on(&machine(4, 2, 240.0), 5);
    let gain = mean(&far, &|p| p.1) / mean(&far, &|p| p.0);
    assert!(gain >= 1.25, "balancing gains {:.1} %, 25 expected", (gain - 1.0) * 100.0);
    // Memory spread over four nodes would have four times the bandwidth. With ample bandwidth only the cost remains.
    let equal = off_on(&with_ample_bandwidth(machine(4, 2, 80.0)), 3);
    assert!(equal.iter().all(|(off, on)| on <= off), "balancing gains where nothing is to be gained: {equal:?}");
}

#[test]
#[ignore = "needs guests and kernel builds: scripts/vm-tests.sh full runs it"]
fn three_runs_of_a_plan_are_identical_under_load() {
    let lab = lab(Timing::Modelled);
    let image = own_kernel(&lab, vec![]);
    let (machine, workload) = (machine(4, 2, 240.0), first_touch(8, 32, 3.0));
    let bytes = || serde_json::to_string(&run(&lab, &image, &machine, &workload, true, 7).outcome).unwrap();
    let quiet = bytes();
    // Two threads keep every processor busy while the second and third run.
    let stop = std::sync::atomic::AtomicBool::new(false);
    let loaded = std::thread::scope(|scope| {
        for _ in 0..2 * numalab_lab::probe::processors() {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let both = [bytes(), bytes()];
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        both
    });
    assert!(loaded.iter().all(|b| *b == quiet), "the same plan gave other bytes");
}

#[test]
#[ignore = "needs guests and kernel builds: scripts/vm-tests.sh full runs it"]
fn guests_boot_within_their_limits() {
    let lab = lab(Timing::Counters);
    let own = own_kernel(&lab, vec![]);
    let packaged = lab.image(&ImageSpec::Debian("6.12".into()), &mut |_| {}).unwrap();
    let best = |image: &Image, nodes, cpus| {
        let boot = |_| run(&lab, image, &machine(nodes, cpus, 240.0), &first_touch(1, 1, 0.01), true, 1).boot;
        (0..3).map(boot).min().unwrap()
    };
    let cases = [("own 4x2", &own, 4, 2, 1.5), ("packaged 4x2", &packaged, 4, 2, 4.0), ("own 8x4", &own, 8, 4, 10.0)];
    let times: Vec<(&str, Duration, f64)> =
        cases.iter().map(|&(name, image, n, c, limit)| (name, best(image, n, c), limit)).collect();
    println!("{times:?}");
    for (name, time, limit) in times {
        assert!(time.as_secs_f64() <= limit, "{name}: {time:?} to process 1, {limit} s expected");
    }
}

#[test]
#[ignore = "needs guests and kernel builds: scripts/vm-tests.sh full runs it"]
fn machines_of_the_catalog_become_guests() {
    let lab = lab(Timing::Counters);
    let image = own_kernel(&lab, vec![]);
    for (name, nodes, cpus) in [("cxl-2s", 4, 64), ("naples-2s", 8, 64), ("x5-8", 8, 64), ("tr-1950x", 2, 32)] {
        let machine = lab.fit_machine(&catalog_machine(name)).unwrap();
        assert!(machine.cpu_count() <= cpus, "{name}: {} CPUs", machine.cpu_count());
        let workload = lab.fit_workload(&machine, &mut |_| Ok::<_, String>(first_touch(2, 4, 0.2))).unwrap();
        // The worker refuses a guest whose CPUs are on other nodes than the job says.
        let run = run(&lab, &image, &machine, &workload, true, 1);
        println!("{name}: {} CPUs, boot {:?}: {:?}", machine.cpu_count(), run.boot, run.outcome.status);
        assert_eq!(run.outcome.status, numalab_model::record::Status::Completed);
        let placement = run.outcome.series.iter().find(|s| s.name == "placement").unwrap();
        assert_eq!(placement.columns.len(), nodes + 1, "{name}");
    }
}

#[test]
#[ignore = "needs guests and kernel builds: scripts/vm-tests.sh full runs it"]
fn numa01_thread_alloc_runs_on_a_packaged_kernel() {
    let lab = lab(Timing::Counters);
    let image = lab.image(&ImageSpec::Debian("6.12".into()), &mut |_| {}).unwrap();
    let machine = lab.fit_machine(&catalog_machine("4x1x2x1")).unwrap();
    let resolve = &mut |m: &_| catalog_workload("numa01_THREAD_ALLOC", m, &[("loops", "50")]);
    let workload = lab.fit_workload(&machine, resolve).unwrap();
    let run = run(&lab, &image, &machine, &workload, true, 1);
    println!("{:?}\n{:?} {:?}\n{}", workload.params, run.boot, run.wall, summary(&run.outcome));
    assert_eq!(run.outcome.status, numalab_model::record::Status::Completed);
    assert!(counter(&run.outcome, "numa_pages_migrated") > 0);
}

#[test]
#[ignore = "needs guests and kernel builds: scripts/vm-tests.sh full runs it"]
fn a_patch_is_measured_within_twenty_seconds() {
    let lab = lab(Timing::Counters);
    let base = own_kernel(&lab, vec![]);
    // The user's tree is a copy of the packaged source, without objects.
    let tree = tempfile::tempdir_in(lab.cache().directory("kernels").unwrap()).unwrap();
    let source = base.path.parent().and_then(|p| p.parent()).unwrap();
    let mut copy = std::process::Command::new("cp");
    copy.arg("-al").arg(format!("{}/.", source.display())).arg(tree.path());
    assert!(copy.status().unwrap().success());
    let spec = ImageSpec::Tree(tree.path().into());
    let first = lab.image(&spec, &mut |what| eprintln!("{what}")).unwrap();
    // The edit doubles the scan rate. The file is replaced, as editors do, because the copy shares it with the base.
    let file = tree.path().join("kernel/sched/fair.c");
    let text = std::fs::read_to_string(&file).unwrap();
    let old = "sysctl_numa_balancing_scan_period_min = 1000;";
    assert!(text.contains(old));
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, text.replace(old, "sysctl_numa_balancing_scan_period_min = 500;")).unwrap();
    let start = Instant::now();
    let image = lab.image(&spec, &mut |what| eprintln!("{what}")).unwrap();
    let built = start.elapsed();
    let run = run(&lab, &image, &machine(2, 1, 240.0), &first_touch(2, 8, 2.0), true, 1);
    println!("built in {built:?}, measured in {:?}\n{}", start.elapsed(), summary(&run.outcome));
    assert_ne!(first.sha256, image.sha256);
    assert!(run.outcome.tunables.iter().any(|t| t.value == "500"), "{:?}", run.outcome.tunables);
    assert!(start.elapsed() <= Duration::from_secs(20), "{:?}", start.elapsed());
}
