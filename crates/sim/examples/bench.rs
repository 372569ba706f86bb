//! Speed of the simulator, printed: `make bench`.
//!
//! Timings are those of the machine at hand; the counts beside them are not.

use numalab_kernel::registry;
use numalab_model::catalog::Catalog;
use numalab_model::spec::Spot;
use numalab_sim::{Footprint, SimConfig};
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

struct Case {
    title: &'static str,
    machine: &'static str,
    kernel: &'static str,
    workload: &'static str,
    params: &'static [(&'static str, &'static str)],
}

const CASES: [Case; 6] = [
    Case {
        title: "256 CPUs, every thread computes (nothing but ticks and balancing)",
        machine: "zen3-2s-256",
        kernel: "6.1",
        workload: "coremark",
        params: &[("contexts", "256"), ("batch", "4000")],
    },
    Case {
        title: "256 CPUs, every thread computes and touches its memory once a tick",
        machine: "zen3-2s-256",
        kernel: "6.1",
        workload: "coremark",
        params: &[("contexts", "256")],
    },
    Case {
        title: "256 CPUs, thread-local slices, no filter (scans, faults, migrations)",
        machine: "milan-2s-nps1",
        kernel: "6.3",
        workload: "numa01_THREAD_ALLOC",
        params: &[("loops", "900")],
    },
    Case {
        title: "256 CPUs, thread-local slices, scan filter (hardly any page event)",
        machine: "milan-2s-nps1",
        kernel: "6.4-rc2",
        workload: "numa01_THREAD_ALLOC",
        params: &[("loops", "600")],
    },
    Case {
        title: "256 CPUs, every thread sweeps everything",
        machine: "milan-2s-nps1",
        kernel: "6.1",
        workload: "numa01",
        params: &[("loops", "5")],
    },
    Case {
        title: "960 CPUs on 32 nodes",
        machine: "spr-8s-snc4",
        kernel: "6.1",
        workload: "numa02",
        params: &[("memory", "8GiB"), ("loops", "400")],
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    // One case by its number, or all.
    let only: Option<usize> = std::env::args().nth(1).and_then(|a| a.parse().ok());
    for (at, case) in CASES.iter().enumerate() {
        if only.is_some_and(|n| n != at) {
            continue;
        }
        println!("{}", case.title);
        println!("  {} {} on {}", case.workload, case.kernel, case.machine);
        report(case)?;
    }
    Ok(())
}

fn report(case: &Case) -> Result<(), Box<dyn Error>> {
    let catalog = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    let text = |folder: &str, name: &str| std::fs::read_to_string(catalog.join(folder).join(format!("{name}.toml")));
    let find = |name: &str| text("machines", name).ok().map(|t| (name.to_string(), t));
    let machine = numalab_model::machine::load(case.machine, &find, &[])?;
    let spec = numalab_model::workload::parse(case.workload, &text("workloads", case.workload)?)?;
    let params: Vec<_> = case.params.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    let workload = spec.resolve(&machine, 1, &params)?;
    let name = Spot { value: case.kernel.to_string(), file: "bench".into(), line: 0, column: 0 };
    let kernels = numalab_model::kernel::resolve(&[name], &Catalog::embedded(), &registry::vocabulary(), &[])?;
    let cfg = SimConfig::of(kernels.first().ok_or("no such kernel")?)?;
    let start = Instant::now();
    let before = cpu_seconds();
    let (outcome, did) = numalab_sim::measure(&machine, &workload, &cfg, 1, false)?;
    // Time on the CPU where the kernel tells it: others may use the machine.
    let wall = before.zip(cpu_seconds()).map_or(start.elapsed().as_secs_f64(), |(a, b)| b - a);
    let elapsed = outcome.scalars.iter().find(|s| s.name == "elapsed_s").map_or(0.0, |s| s.value);
    print(&did, elapsed, machine.cpu_count(), wall);
    Ok(())
}

/// CPU time of this process so far, seconds; `None` where the kernel does not say.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let ns: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(ns / 1e9)
}

fn print(did: &Footprint, elapsed: f64, cpus: usize, wall: f64) {
    let per_page = did.state_bytes as f64 / did.pages.max(1) as f64;
    println!("  model time {elapsed:.1} s in {wall:.2} s of one CPU: {:.0} times real time", elapsed / wall);
    println!("  simulated CPU-seconds per second {:>14.0}", elapsed * cpus as f64 / wall);
    println!(
        "  page events per second           {:>14.0}   ({} in all)",
        did.page_events as f64 / wall,
        did.page_events
    );
    println!("  ticks per second                 {:>14.0}   ({} in all)", did.ticks as f64 / wall, did.ticks);
    println!("  bytes per simulated page         {per_page:>14.2}   ({} pages)", did.pages);
}
