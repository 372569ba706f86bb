//! Loading machines, kernels and workloads for the simulator's tests.
#![allow(dead_code, clippy::unwrap_used)]

use numalab_kernel::hw::cost::FlushRules;
use numalab_kernel::numa::releases;
use numalab_kernel::sched::SchedConfig;
use numalab_model::machine::Machine;
use numalab_model::record::{Outcome, Status};
use numalab_model::workload::Workload;
use numalab_sim::{SimConfig, Thp};
use std::path::PathBuf;

fn catalog() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog")
}

/// Names of the catalog's files in a folder.
pub fn names(folder: &str) -> Vec<String> {
    let dir = std::fs::read_dir(catalog().join(folder)).unwrap();
    let mut names: Vec<String> = dir
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|x| x == "toml"))
        .map(|p| p.file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    names.sort();
    names
}

/// A catalog machine or a shorthand.
pub fn machine(name: &str) -> Machine {
    let find = |n: &str| {
        let path = catalog().join("machines").join(format!("{n}.toml"));
        std::fs::read_to_string(&path).ok().map(|text| (path.display().to_string(), text))
    };
    numalab_model::machine::load(name, &find, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// A catalog workload resolved with parameters.
pub fn workload(name: &str, m: &Machine, seed: u64, params: &[(&str, &str)]) -> Workload {
    let path = catalog().join("workloads").join(format!("{name}.toml"));
    resolve(&std::fs::read_to_string(path).unwrap(), m, seed, params)
}

/// What a workload file says of itself.
const HEADING: &str = "name = \"test\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"test\"\n";

/// A workload given as text, without a heading.
pub fn inline(text: &str, m: &Machine, seed: u64, params: &[(&str, &str)]) -> Workload {
    resolve(&format!("{HEADING}{text}"), m, seed, params)
}

/// A workload file given as text.
pub fn resolve(text: &str, m: &Machine, seed: u64, params: &[(&str, &str)]) -> Workload {
    let params: Vec<(String, String)> = params.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let spec = numalab_model::workload::parse("test", text).unwrap_or_else(|e| panic!("{e}"));
    spec.resolve(m, seed, &params).unwrap_or_else(|e| panic!("{e}"))
}

/// Settings of a release; `off` switches balancing off.
pub fn kernel(name: &str) -> SimConfig {
    kernel_with(name, Thp::Madvise)
}

/// The same with a huge-page setting.
pub fn kernel_with(name: &str, thp: Thp) -> SimConfig {
    let release = if name == "off" { "6.1" } else { name };
    let mut numa = releases::settings(release).unwrap().unwrap();
    if name == "off" {
        numa.scan.numa_balancing = 0;
    }
    let sched = sched_of(release);
    let flush = FlushRules {
        migrate_flush_inaccessible: name.starts_with("6.3") || name.starts_with("6.4"),
        ..FlushRules::default()
    };
    SimConfig::new(&numa, &sched, flush, thp).unwrap()
}

/// The scheduler of the release in `name`.
pub fn sched_of(name: &str) -> SchedConfig {
    let mut parts = name.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap());
    let (major, minor) = (parts.next().unwrap(), parts.next().unwrap());
    numalab_kernel::sched::releases::settings(major, minor).unwrap()
}

/// Runs with the engine's checks; the run must complete.
pub fn run(m: &Machine, w: &Workload, k: &SimConfig, seed: u64) -> Outcome {
    let out = numalab_sim::run(m, w, k, seed, true).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(out.status, Status::Completed);
    out
}

/// A scalar by name.
pub fn scalar(o: &Outcome, name: &str) -> f64 {
    o.scalars.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// A counter by name.
pub fn counter(o: &Outcome, name: &str) -> u64 {
    o.counters.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
}
