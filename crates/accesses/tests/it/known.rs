//! Known programs: workloads that the worker carries out under the recorder. What is fitted to their records is
//! simulated beside the workloads themselves.
//!
//! There is no noise in this: the simulator is a function of its plan. `docs/log/access-fits.md` has the figures of all
//! of them, those that miss too. Under emulation no time is measured, so `instruction_time` is given to a fit: the
//! value with which a line takes on average as long as the programs say. Where threads that write wait for threads that
//! read, the program in turn takes from the record how much longer one line takes than the other, since the worker's
//! two loops differ by some percent of their instructions, and a pass of the scanner hangs on that.

use crate::support::{bench, Bench};
use numalab_accesses::fit::{self, Fit, Phase};
use numalab_accesses::recorder::{self, Look, Settings};
use numalab_accesses::{histograms, record};
use numalab_kernel::registry;
use numalab_lab::worker::Worker;
use numalab_model::access::Histogram;
use numalab_model::catalog::Catalog;
use numalab_model::kernel;
use numalab_model::machine::{self, import, Machine};
use numalab_model::record::Outcome;
use numalab_model::spec::Spot;
use numalab_model::workload::{self, Workload};
use numalab_sim::SimConfig;
use numalab_worker::job::Job;
use std::path::Path;

/// Figures that are compared, each with how far a fit may be off.
const FIGURES: [(&str, f64); 5] = [
    ("elapsed_s", 1.1),
    ("numa_pte_updates", 1.25),
    ("numa_hint_faults", 1.25),
    ("numa_hint_faults_local", 1.25),
    ("numa_pages_migrated", 1.25),
];
const MACHINES: [&str; 3] = ["2x1x2x1", "4x1x1x1", "2x2x2x1"];

/// CPU time of a line in all programs, ns (`line_time`). Their work is real, their time is not: the worker computes for
/// so long on a machine, and under emulation its own instructions take longer already.
const LINE_NS: f64 = 4.0;

/// A program, with how often its loops run in the recording, and how much longer the simulated ones are.
struct Known {
    name: &'static str,
    text: &'static str,
    loops: u64,
    longer: u64,
    /// Whether it says apart how long a line takes that is written, and one that is read.
    by_role: bool,
    /// Least instructions of a recorded stretch; 0 for a record of all.
    stretch_insns: u64,
    /// Runs of either side, of which medians are compared.
    seeds: u64,
}

/// A record of all accesses, one run on either side, and one time for all lines.
const PLAIN: Known = Known { name: "", text: "", loops: 1, longer: 1, by_role: false, stretch_insns: 0, seeds: 1 };
const SWEEP: Known = Known { name: "sweep", text: include_str!("programs/sweep.toml"), loops: 3, longer: 200, ..PLAIN };
const HOT: Known = Known { name: "hot", text: include_str!("programs/hot.toml"), loops: 20, longer: 1000, ..PLAIN };
const READ_MOSTLY: Known = Known {
    name: "read-mostly",
    text: include_str!("programs/read-mostly.toml"),
    loops: 20,
    longer: 1000,
    // In one run of eight a third pass begins before the end, by chance.
    seeds: 9,
    ..PLAIN
};
const TWO: Known =
    Known { name: "two-processes", text: include_str!("programs/two-processes.toml"), loops: 3, longer: 100, ..PLAIN };
const PIPELINE: Known = Known {
    name: "pipeline",
    text: include_str!("programs/pipeline.toml"),
    loops: 4,
    longer: 100,
    by_role: true,
    ..PLAIN
};

/// Private memory of a parent that its children read, and of which they write a part.
const FORKED: Known =
    Known { name: "forked", text: include_str!("programs/forked.toml"), loops: 4, longer: 400, seeds: 25, ..PLAIN };

/// As that, but the memory is touched by a process between the one that mapped it and those that use it.
const HANDED_DOWN: Known = Known { name: "handed-down", text: include_str!("programs/handed-down.toml"), ..FORKED };

/// One thread that works beside one that sleeps to the end.
const HELPED: Known =
    Known { name: "helped", text: include_str!("programs/helped.toml"), loops: 20, longer: 1000, ..PLAIN };

/// Two threads that go through their memory piece by piece.
const MOVING: Known =
    Known { name: "moving", text: include_str!("programs/moving.toml"), loops: 8, longer: 100, seeds: 9, ..PLAIN };

fn resolve(text: &str, m: &Machine, params: &[(&str, String)]) -> Workload {
    resolve_with(text, m, params, &[])
}

fn resolve_with(text: &str, m: &Machine, params: &[(&str, String)], histograms: &[Histogram]) -> Workload {
    let params: Vec<(String, String)> = params.iter().map(|(k, v)| ((*k).into(), v.clone())).collect();
    let spec = workload::parse("test", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let spec = spec.with_histograms(histograms.into());
    spec.resolve(m, 1, &params).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Records the program and fits a workload; `None` without a worker, with the reason on standard error.
fn fitted(bench: &Bench, known: &Known) -> Option<Fit> {
    let worker = match Worker::for_host().and_then(|w| w.executable()) {
        Ok(worker) => worker,
        Err(e) => {
            eprintln!("skipped: no worker ({e})");
            return None;
        }
    };
    // The recorder starts it, so it needs a name on the disk.
    let program = bench.path("worker");
    std::fs::copy(worker.path(), &program).unwrap();
    let text = import::sysfs(Path::new("/"), import::Wish { name: "host", kinds: &[] }).unwrap();
    let host = machine::from_toml("host", &text).unwrap();
    let workload = resolve(known.text, &host, &[("loops", known.loops.to_string())]);
    let nodes = host.cpus.iter().map(|c| c.node as u32).collect();
    let mut job = Job::new(workload, 1, nodes, host.node_count());
    job.cpu_ids = host.cpus.iter().map(|c| c.id).collect();
    job.node_ids = host.nodes.iter().map(|n| n.id).collect();
    std::fs::write(bench.path("job.json"), job.to_bytes().unwrap()).unwrap();
    let path = |name: &str| bench.path(name).display().to_string();
    let command = ["sh".into(), "-c".into(), format!("{} run {} > /dev/null", path("worker"), path("job.json"))];
    let dir = bench.path("rec");
    let settings =
        Settings { name: Some(known.name.into()), stretch_insns: known.stretch_insns, ..Settings::default() };
    recorder::record(&dir, &command, &settings, &mut |_| Look::GoOn).unwrap();
    Some(fit::fit(&record::read(&dir).unwrap()).unwrap())
}

pub fn simulated(m: &Machine, w: &Workload) -> Outcome {
    simulated_with(m, w, 1)
}

fn simulated_with(m: &Machine, w: &Workload, seed: u64) -> Outcome {
    let catalog = Catalog::embedded();
    let name = Spot { value: "6.12".to_string(), file: "test".into(), line: 1, column: 0 };
    let kernels = kernel::resolve(&[name], &catalog, &registry::vocabulary(), &[]).unwrap();
    numalab_sim::run(m, w, &SimConfig::of(&kernels[0]).unwrap(), seed, false).unwrap()
}

fn figure(o: &Outcome, name: &str) -> f64 {
    let counter = o.counters.iter().find(|c| c.0 == name).map(|c| c.1 as f64);
    counter.or_else(|| o.scalars.iter().find(|s| s.name == name).map(|s| s.value)).unwrap_or(0.0)
}

/// The median of a figure over runs that differ by their seed.
fn median(runs: &[Outcome], name: &str) -> f64 {
    let mut of: Vec<f64> = runs.iter().map(|o| figure(o, name)).collect();
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Time of a line that is written, and of one that is read, by the instructions of the threads that do so.
fn times_by_role(fit: &Fit) -> [(&'static str, String); 2] {
    let phases = || fit.processes.iter().flat_map(|p| &p.classes).flat_map(|c| &c.phases);
    let time = |writes: bool| {
        let of_role = || phases().filter(|p| p.visits.iter().any(|v| (v.write_share > 0.5) == writes));
        let insns: f64 = of_role().map(Phase::all_insns).sum();
        let per_line = insns / of_role().map(Phase::lines).sum::<f64>().max(1.0);
        format!("{:.6}ns", LINE_NS * per_line / fit.insns_per_line())
    };
    [("write_time", time(true)), ("read_time", time(false))]
}

/// A ratio of two figures; 1 if both are zero.
fn ratio(fit: f64, original: f64) -> f64 {
    if fit == original {
        1.0
    } else {
        fit / original
    }
}

/// Records, fits and simulates; returns the figures that are off, and prints all of them.
fn compare(known: &Known, exact: bool) -> Option<Vec<String>> {
    let bench = bench()?;
    let mut fit = fitted(&bench, known)?;
    // What the worker's coordinator does before it begins the program is no part of the original.
    fit.processes.iter_mut().for_each(|p| p.begins = 0);
    // Through the file and back, as a workload reads them.
    let histograms = if exact { fit.exact("test.arrow") } else { Vec::new() };
    let read = histograms::read(&histograms::write(&histograms).unwrap()).unwrap();
    let toml = fit.to_toml("a record of the test");
    let instruction_time = format!("{:.6}ns", LINE_NS / fit.insns_per_line());
    if std::env::var_os("NUMALAB_SHOW_FITS").is_some() {
        eprintln!("{toml}");
    }
    let mut off = Vec::new();
    for name in MACHINES {
        let m = machine::load(name, &|_| None, &[]).unwrap();
        let mut own = vec![("loops", (known.loops * known.longer).to_string())];
        if known.by_role {
            own.extend(times_by_role(&fit));
        }
        let of_seeds =
            |w: &Workload| -> Vec<Outcome> { (1..=known.seeds).map(|seed| simulated_with(&m, w, seed)).collect() };
        let original = of_seeds(&resolve(known.text, &m, &own));
        let params = [("repeat", known.longer.to_string()), ("instruction_time", instruction_time.clone())];
        let fit = of_seeds(&resolve_with(&toml, &m, &params, &read));
        for (what, most) in FIGURES {
            let (a, b) = (median(&original, what), median(&fit, what));
            let r = ratio(b, a);
            let is_off = !(1.0 / most..=most).contains(&r);
            let mark = if is_off { " *" } else { "" };
            eprintln!("| {} | {name} | {what} | {a:.3} | {b:.3} | {r:.2}{mark} |", known.name);
            if is_off {
                off.push(format!("{name} {what}: {a:.3} is fitted as {b:.3}"));
            }
        }
    }
    Some(off)
}

/// Fails if a figure is off that is not among the known misses, each by its machine and its name.
fn check(known: &Known, misses: &[&str]) {
    check_form(known, false, misses);
}

/// As [`check`], with or without histograms.
fn check_form(known: &Known, exact: bool, misses: &[&str]) {
    let new = new_misses(known, exact, misses);
    assert!(new.is_empty(), "{}: off: {new:#?}", known.name);
}

/// Records again until no figure is off; fails if one is in ten recordings.
fn check_again(known: &Known) {
    let mut last = new_misses(known, false, &[]);
    for _ in 0..9 {
        if last.is_empty() {
            return;
        }
        last = new_misses(known, false, &[]);
    }
    assert!(last.is_empty(), "off in ten recordings: {last:#?}");
}

/// Figures that are off and not among the known misses.
fn new_misses(known: &Known, exact: bool, misses: &[&str]) -> Vec<String> {
    let off = compare(known, exact).unwrap_or_default();
    off.into_iter().filter(|o| !misses.iter().any(|m| o.starts_with(m))).collect()
}

#[test]
fn slices_of_a_buffer() {
    check(&SWEEP, &[]);
}

/// A tenth of the run is recorded with its accesses; the fit is as good.
#[test]
fn slices_of_a_buffer_in_stretches() {
    check(&Known { loops: 60, longer: 10, stretch_insns: 4 << 20, ..SWEEP }, &[]);
}

#[test]
fn a_hot_part_in_stretches() {
    check(&Known { loops: 200, longer: 100, stretch_insns: 4 << 20, ..HOT }, &[]);
}

#[test]
fn two_processes_in_stretches() {
    check(&Known { loops: 30, longer: 10, stretch_insns: 4 << 20, ..TWO }, &[]);
}

#[test]
fn a_hot_part() {
    check(&HOT, &[]);
}

/// Where memory is used at random, the histograms say it as well as tiers do.
#[test]
fn histograms_of_a_hot_part() {
    check_form(&HOT, true, &[]);
}

#[test]
fn histograms_of_a_table_that_all_read() {
    check_form(&READ_MOSTLY, true, &[]);
}

#[test]
fn a_table_that_all_read() {
    check(&READ_MOSTLY, &[]);
}

#[test]
fn two_processes_that_write_all_of_their_memory() {
    check(&TWO, &[]);
}

#[test]
fn memory_that_children_have_of_their_parent() {
    // When all have done their work, the worker's coordinator ends processes that have not ended yet. A child that is
    // ended after its parent is one that its parent did not wait for, which the program's does.
    check_again(&FORKED);
}

#[test]
fn memory_that_a_process_between_has_touched() {
    check_again(&HANDED_DOWN);
}

#[test]
fn a_thread_that_only_sleeps_beside_another() {
    check(&HELPED, &[]);
}

#[test]
fn pieces_one_after_the_other() {
    // On a busy host a recording may show a piece more or less. A pass of the scanner hangs on that, and it is made
    // again, as a user would.
    check_again(&MOVING);
}

#[test]
fn pairs_that_hand_over_halves() {
    // On a busy host messages are there before anybody waits, so a recording shows hardly a wait, and no pairs. It is
    // then made again, as a user would.
    check_again(&PIPELINE);
}
