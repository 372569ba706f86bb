//! Loading machines, kernels and workloads for the simulator's tests.
#![allow(dead_code, clippy::unwrap_used)]

use numalab_kernel::registry;
use numalab_model::catalog::Catalog;
use numalab_model::kernel::{self, Setting};
use numalab_model::machine::Machine;
use numalab_model::record::{Outcome, Status};
use numalab_model::spec::Spot;
use numalab_model::workload::Workload;
pub use numalab_sim::SimConfig;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

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

/// A kernel of the catalog, as the command resolves it.
pub fn kernel(name: &str) -> SimConfig {
    kernel_set(name, &[])
}

/// The same with overrides of roles and tunables (`system.thp`, `always`).
pub fn kernel_set(name: &str, sets: &[(&str, &str)]) -> SimConfig {
    let spot = |value: &str| Spot { value: value.into(), file: "test".into(), line: 0, column: 0 };
    let sets: Vec<_> = sets.iter().map(|(k, v)| Setting { name: spot(k), value: (*v).into() }).collect();
    let kernels = kernel::resolve(&[spot(name)], &Catalog::embedded(), &registry::vocabulary(), &sets);
    SimConfig::of(&kernels.unwrap_or_else(|e| panic!("{e}"))[0]).unwrap()
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

/// Whether the long form of the suite was asked for (`make fidelity` sets `NUMALAB_LONG`). `make test` runs the short
/// form.
pub fn is_long() -> bool {
    std::env::var_os("NUMALAB_LONG").is_some()
}

/// The seeds of a test of means: two in the short form, `long` of them in the long one.
pub fn seeds(long: u64) -> std::ops::RangeInclusive<u64> {
    1..=if is_long() { long } else { 2 }
}

/// `f` of every item, in order, computed on as many threads as there are CPUs.
pub fn side_by_side<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some((at, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
        {
            let result = f(item);
            done.lock().unwrap().push((at, result));
        }
    };
    std::thread::scope(|s| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            s.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// 64 MiB that lie on node 0, and two threads on node 1 that use them.
pub const REMOTE: &str = r#"
[[policy]]
name = "there"
mode = "bind"
nodes = "0"
[[policy]]
name = "own"
mode = "default"
[[process]]
name = "p"
threads = 2
affinity = { nodes = "1" }
[[process.region]]
name = "r"
size = "64MiB"
[[process.prologue]]
policy = "there"
access = "r"
write = 1
[[process.phase]]
policy = "own"
time = "6s"
access = "r"
write = 0.5
"#;
