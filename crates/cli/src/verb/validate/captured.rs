//! Tests that compare the simulator with captured results of real kernels. A capture is the output of `numalab validate
//! --json`, reduced to the times of the guest and the four counters (`crates/cli/tests/captured`). These tests need no
//! guest, so `make test` runs them.

use super::args::{experiment_of, Args};
use super::bench::{setting, Bench};
use super::measured::Measured;
use super::{calibrate, compare, row};
use crate::context::{named, Context};
use crate::logs::Logs;
use crate::sources::CatalogSources;
use clap::Parser;
use numalab_lab::fit;
use numalab_lab::qemu::Timing;
use numalab_lab::vm_backend::Settings;
use numalab_model::experiment::Experiment;
use numalab_model::machine::Machine;
use numalab_model::plan::{Backend, PlanInput};
use numalab_model::record::Outcome;
use numalab_sim::Harness;
use serde_json::Value;
use std::sync::Arc;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// The plans of an experiment, fitted to a guest, with empty outcomes.
pub(super) fn plans(context: &Context, experiment: &Experiment) -> Vec<Measured> {
    let sources = CatalogSources::new(context, &experiment.workload_sources()).unwrap();
    let cells = experiment.cells(&sources, Backend { name: "captured", version: "1" }).unwrap();
    let limits = Settings::new(Timing::Modelled).limits;
    let as_in_guest = |input: PlanInput| {
        let mut whole = |_: &_| Ok::<_, String>((*input.workload).clone());
        let workload = Arc::new(fit::fit_workload(&input.machine, limits, &mut whole).unwrap());
        let name = Backend { name: "captured", version: "1" };
        let (machine, kernel) = (input.machine.clone(), input.kernel.clone());
        let input = PlanInput::new(name, machine, kernel, workload, input.seed).unwrap();
        Measured { input, outcome: Outcome::default() }
    };
    cells.into_iter().map(|c| as_in_guest(c.input)).collect()
}

/// A capture, and what its plans need to be simulated.
struct Capture {
    file: Value,
    context: Context,
    args: Args,
    image: String,
    _out: tempfile::TempDir,
}

impl Capture {
    fn read(name: &str) -> Self {
        let path = format!("{}/tests/captured/{name}", env!("CARGO_MANIFEST_DIR"));
        let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let out = tempfile::tempdir().unwrap();
        let image = file["image"].as_str().unwrap().to_string();
        let mut line = vec!["validate", "--image", &image, "--out", out.path().to_str().unwrap()];
        // What the guests ran beside the experiment `validate` on its machine.
        line.extend(file["arguments"].as_array().into_iter().flatten().map(|a| a.as_str().unwrap()));
        let args = Line::parse_from(line).args;
        Self { file, context: Context::new(None).unwrap(), args, image, _out: out }
    }

    /// What is needed to simulate the guests. In most of them the worker of 2026-11-24 ran, which has fewer pages of
    /// its own: counted in a guest, and seen in guests of both workers on one plan (docs/log/linux-series.md).
    fn bench(&self) -> Bench<'_> {
        let bench = Bench::new(&self.context, &self.args, &self.image).unwrap();
        let current = self.file["worker"] == "current";
        Bench { worker: if current { bench.worker } else { Harness::EarlierWorker }, ..bench }
    }

    /// Plans of an experiment with the catalog's kernel in place of the image.
    fn on_catalog_kernel(&self, mut experiment: Experiment) -> Vec<Measured> {
        experiment.kernels[0] = named("captured", self.file["kernel"].as_str().unwrap());
        plans(&self.context, &experiment)
    }

    /// The machine of the file or, if `fitted`, one with the guest's times, those of operations with a name in `kept`.
    fn machine(&self, bench: &Bench, experiment: &Experiment, fitted: bool, kept: impl Fn(&str) -> bool) -> Machine {
        let times = self.file["calibration"].as_array().unwrap();
        let named = |name: &str| times.iter().find(|f| f["name"] == name).map(|f| f["guest"].as_f64().unwrap());
        let (times, parts) = calibrate::captured(|name| named(name).filter(|_| kept(name)));
        let probes = calibrate::probes(bench, &experiment.machines, &parts).unwrap();
        let probes: Vec<calibrate::Probe> =
            probes.into_iter().map(|(dir, e)| (dir, self.on_catalog_kernel(e))).collect();
        let file = (*probes[0].1[0].input.machine).clone();
        if fitted {
            calibrate::fit(bench, &probes, &times).unwrap().machine
        } else {
            file
        }
    }

    /// Share of the cells that the simulator hits. `fitted` calibrates the machine with the guest's times.
    fn score(&self, fitted: bool) -> f64 {
        let bench = self.bench();
        let mut experiment = experiment_of(&self.context, &self.args, &self.image).unwrap();
        let machine = self.machine(&bench, &experiment, fitted, |_| true);
        let (mut cells, mut hits) = (0, 0);
        for side in self.file["thp"].as_array().unwrap() {
            let thp = side["thp"].as_str().unwrap();
            experiment.sets = vec![setting("system.thp", thp).unwrap()];
            let names: Vec<&str> =
                side["workloads"].as_array().unwrap().iter().map(|w| w["name"].as_str().unwrap()).collect();
            let mut some = experiment.clone();
            some.iterations = 3;
            some.workloads.retain(|w| names.contains(&w.value.as_str()));
            some.params.retain(|p| p.workload.as_ref().is_none_or(|w| names.contains(&w.as_str())));
            let model = bench
                .simulate(&self.on_catalog_kernel(some), &machine, &format!("{thp}-{fitted}"), &Logs::default())
                .unwrap();
            // The simulated runs stand for the kernel's, too: only the simulated column is used.
            let model = compare::compare(&model, &model, None);
            for workload in side["workloads"].as_array().unwrap() {
                let of = model.iter().find(|w| w.name == workload["name"].as_str().unwrap()).unwrap();
                for row in workload["rows"].as_array().unwrap() {
                    let name = row["name"].as_str().unwrap().to_string();
                    let simulated = of.rows.iter().find(|r| r.name == name).unwrap().simulated;
                    let [min, median, max] = ["min", "median", "max"].map(|key| row[key].as_f64().unwrap());
                    cells += 1;
                    let row = row::Row { name, min, median, max, simulated };
                    hits += usize::from(row.off_by() <= row::CLOSE);
                    if row.off_by() > row::CLOSE && fitted {
                        println!("  thp {thp}, {}, {}: {min} to {max}, simulated {simulated}", of.name, row.name);
                    }
                }
            }
        }
        println!("{}: {hits} of {cells} cells, fitted: {fitted}", self.image);
        hits as f64 / f64::from(cells)
    }
}

/// The captures are the guests of docs/reference/fidelity.md, and earlier ones whose worker read a workload in another
/// way. A change that loses more than a few cells has broken a mechanism. The bound for the earlier guests of 6.12 is
/// low: the model's threads meet the marks on their stacks before a pass ends, which costs some of their cells
/// (docs/log/guests.md).
#[test]
fn the_simulator_still_counts_as_captured_kernels_do() {
    let sets = [
        // A known miss: 56 of 64, where 58 were counted before scheduling had its costs and 57 was the bound
        // (docs/log/guests.md, A score that fell).
        ("debian-6.12.json", 0.875),
        // Three cells of `cow-shared` are known misses, and one of `numa02` is at the edge of its range.
        ("current-debian-6.12.json", 0.5),
        ("debian-6.1.json", 0.92),
        ("first-debian-6.12.json", 0.8),
        ("first-debian-6.1.json", 0.85),
    ];
    for (name, least) in sets {
        let score = Capture::read(name).score(true);
        assert!(score >= least, "{name}: {score}");
    }
}

/// A program that forks much takes the guest's time in the kernel once forks and copies are measured, and less than
/// half of it before. Neither its faults nor its allocations are fitted.
#[test]
fn forks_and_copies_take_what_the_probe_measured() {
    let capture = Capture::read("fork-debian-6.12.json");
    let bench = capture.bench();
    let experiment = experiment_of(&capture.context, &capture.args, &capture.image).unwrap();
    let model = |name: &str, kept: fn(&str) -> bool| {
        let machine = capture.machine(&bench, &experiment, true, kept);
        let plans = capture.on_catalog_kernel(experiment.clone());
        let runs = bench.simulate(&plans, &machine, name, &Logs::default()).unwrap();
        let system = runs[0].outcome.scalars.iter().find(|s| s.name == "system_s").unwrap().value;
        system / capture.file["guest"]["system_s"].as_f64().unwrap()
    };
    let (all, without) = (model("all", |_| true), model("without", |n| !n.contains("fork") && !n.contains("copy")));
    println!("system time of fork-heavy, of the guest's: {all} with forks measured, {without} without");
    assert!(without < 0.5 && (0.67..1.5).contains(&all), "{all} {without}");
}

/// `--explain` and `--trace` of `validate` write logs beside the records of the simulated runs.
#[test]
fn simulated_runs_have_the_requested_logs() {
    let capture = Capture::read("debian-6.12.json");
    let bench = capture.bench();
    let mut experiment = experiment_of(&capture.context, &capture.args, &capture.image).unwrap();
    experiment.workloads.retain(|w| w.value == "cow-shared");
    experiment.params.retain(|p| p.workload.as_ref().is_none_or(|w| w.as_str() == "cow-shared"));
    experiment.iterations = 1;
    let guests = capture.on_catalog_kernel(experiment);
    let machine = (*guests[0].input.machine).clone();
    for (name, logs, wanted) in [
        ("none", Logs::default(), &[][..]),
        ("both", Logs { trace: true, explain: true, ..Logs::default() }, &["decisions", "events", "why.json"][..]),
    ] {
        bench.simulate(&guests, &machine, name, &logs).unwrap();
        let names = std::fs::read_dir(bench.out.join(name)).unwrap().map(|e| e.unwrap().file_name());
        let mut endings: Vec<String> = names
            .filter_map(|n| n.to_string_lossy().split_once('.').map(|(_, ending)| ending.to_string()))
            .filter(|ending| ending != "json" && ending != "lock")
            .collect();
        endings.sort();
        assert_eq!(endings, wanted, "{name}");
    }
}

/// With timing `counters` the model runs twice, with threads that meet at pages and without. Shares are compared, not
/// times.
#[test]
fn guests_whose_cpus_run_at_once_are_simulated_with_and_without_threads_that_meet() {
    let out = tempfile::tempdir().unwrap();
    let line =
        "validate --timing counters --experiment validate-concurrent --workloads shared-sweep --iterations 1 --out";
    let args = Line::parse_from(line.split(' ').chain([out.path().to_str().unwrap()])).args;
    let context = Context::new(None).unwrap();
    let bench = Bench::new(&context, &args, "debian-6.12").unwrap();
    let mut experiment = experiment_of(&context, &args, "debian-6.12").unwrap();
    experiment.kernels[0] = named("captured", "6.12");
    experiment.sets = vec![setting("system.thp", "never").unwrap()];
    let guests = plans(&context, &experiment);
    let machine = (*guests[0].input.machine).clone();
    let model = bench.simulate(&guests, &machine, "model", &Logs::default()).unwrap();
    let by_turns = bench.simulate_by_turns(&guests, &machine, "model-by-turns").unwrap().unwrap();
    // The simulated runs stand for the kernel's, too.
    let compared = compare::compare(&model, &model, Some(&by_turns));
    assert!(compared[0].rows.iter().all(|row| !row.name.contains('[')), "no times and no scores");
    let sleeps = compared[0].shares.iter().find(|s| s.row.name.starts_with("sleeps behind pages")).unwrap();
    assert!(sleeps.hit() && sleeps.row.simulated > 0.0, "{sleeps:?}");
    assert_eq!(sleeps.by_turns, Some(0.0), "nobody sleeps behind a move");

    let modelled = Line::parse_from(["validate", "--out", out.path().to_str().unwrap()]).args;
    let bench = Bench::new(&context, &modelled, "debian-6.12").unwrap();
    assert!(bench.simulate_by_turns(&guests, &machine, "none").unwrap().is_none(), "these CPUs take turns anyway");
}

/// The cells are not hit by chance. On the machine of the file, whose scans and faults cost a tenth or less of the
/// guest's, most of them are missed.
#[test]
fn captured_counts_are_missed_without_the_guests_speeds() {
    let score = Capture::read("debian-6.12.json").score(false);
    assert!(score < 0.4, "{score}");
}
