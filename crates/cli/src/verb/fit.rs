//! `numalab fit`: a workload from a record, and the record beside a simulated run of it.

use crate::backend::{BackendKind, GuestArgs, Sim};
use crate::context::{named, Context};
use crate::failure::{note, Done, Failure};
use crate::output_file;
use crate::records::{self, Pick};
use crate::service::carry_out::{carry_out, RunOptions};
use numalab_accesses::fit::{Fit, MOST_LINES};
use numalab_accesses::{histograms, record};
use numalab_model::access::Histogram;
use numalab_model::experiment::{Axes, Experiment};
use numalab_model::machine::size;
use numalab_model::record::{Outcome, Record, Store};
use numalab_report::collect::{collect, WorkloadRuns};
use numalab_report::data::{Comparison, Kernel};
use numalab_report::derive;
use numalab_report::html::{self, Input};
use std::path::{Path, PathBuf};

/// Arguments of `fit`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    run: Pick,
    /// File of the workload [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Keep how often parts of memory were visited, in a file beside the workload, where no pattern describes it
    /// (a record of accesses; needs --out)
    #[arg(long, requires = "out")]
    exact: bool,
    /// Most lines of the workload (a record of accesses): what is most alike is put together until it fits
    /// [default: 160]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(40..))]
    lines: Option<u32>,
    /// Simulate the workload, and write a page that shows the record beside it (needs --out)
    #[arg(long, value_name = "FILE", requires = "out")]
    page: Option<PathBuf>,
    /// Machine of the simulated run [default: the record's]
    #[arg(long, value_name = "M", requires = "page")]
    on: Option<String>,
    /// Kernel of the simulated run [default: the record's]
    #[arg(long, value_name = "K", requires = "page")]
    with: Option<String>,
}

/// Name of the record's column on the page.
const RECORDED: &str = "recorded";

/// Fits a workload.
///
/// # Errors
/// No such record, or it lacks what is needed; with a page also what `numalab run` refuses.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    if record::is_record(args.run.place()) {
        return fit_accesses(args);
    }
    let asked = [("--exact", args.exact), ("--lines", args.lines.is_some())];
    if let Some((option, _)) = asked.iter().find(|a| a.1) {
        let what = format!("{option}: {} is no record of accesses", args.run.place().display());
        return Err(Failure::usage(format!("{what}; expected one of `numalab record --accesses -- PROGRAM`")));
    }
    let mut record = records::find(&args.run)?;
    // Programs that `numalab record` has seen have ids; the page shows them under the names of the workload.
    if is_recording(&record) {
        record.outcome = numalab_host::fit::aligned(&record.outcome);
    }
    let plan = &record.manifest.plan;
    let name = record.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source = format!("record {name} of {} on {}, {}", plan.workload.name, plan.machine.name, plan.kernel.name);
    let refused = |e| Failure::usage(format!("{}: {e}", record.path.display()));
    let fit = numalab_host::fit::fit(&plan.workload.name, &record.outcome).map_err(refused)?;
    let toml = fit.to_toml(&source);
    let Some(out) = &args.out else { return Ok(Done::text(toml)) };
    output_file::write(out, &toml)?;
    let mut text = format!("workload: {}\n", out.display());
    for p in &fit.processes {
        let memory = size::short(p.bytes);
        text.push_str(&format!("  {} × {}: {memory} and {} threads each\n", p.count, p.name, p.threads));
    }
    let busy: Vec<String> =
        fit.phases.iter().map(|p| format!("{:.0} s at {:.0} %", p.seconds, p.busy * 100.0)).collect();
    text.push_str(&format!("  busy: {}\n", busy.join(", ")));
    fit.assumed.iter().for_each(|a| text.push_str(&format!("  assumed: {a}\n")));
    if let Some(page) = &args.page {
        text.push_str(&beside(context, args, &record, out, page)?);
    }
    Ok(Done::text(text))
}

/// Fits a workload to a record of accesses.
fn fit_accesses(args: &Args) -> Result<Done, Failure> {
    let dir = args.run.place();
    if args.page.is_some() {
        let what =
            format!("--page: {} is a record of accesses, which has no times to stand beside a run", dir.display());
        return Err(Failure::usage(format!(
            "{what}; expected `numalab run --workload FILE` on the machine that you ask about"
        )));
    }
    let record = record::read(dir).map_err(|e| Failure::usage(e.to_string()))?;
    let refused = |e| Failure::usage(format!("{}: {e}", dir.display()));
    let mut fit =
        numalab_accesses::fit::fit(&record).map_err(refused)?.within(args.lines.map_or(MOST_LINES, |n| n as usize));
    let exact = args.out.as_ref().filter(|_| args.exact);
    let histograms = exact.map(|out| beside_workload(out, &mut fit)).transpose()?;
    let source = format!("accesses of `{}`, numalab {}", record.manifest.command.join(" "), record.manifest.numalab);
    let toml = fit.to_toml(&source);
    let Some(out) = &args.out else { return Ok(Done::text(toml)) };
    // The workload names the file, so that comes first.
    let written = match histograms {
        None => None,
        Some((path, all)) if all.is_empty() => Some(format!("histograms: none, patterns say all ({})", path.display())),
        Some((path, all)) => {
            let bytes = histograms::write(&all).map_err(|e| Failure::environment(e.to_string()))?;
            output_file::write_bytes(&path, &bytes, histograms::MAGIC)?;
            Some(format!("histograms: {}, {} of them", path.display(), all.len()))
        }
    };
    output_file::write(out, &toml)?;
    let mut text = format!("workload: {}\n", out.display());
    written.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    for p in &fit.processes {
        let threads: usize = p.classes.iter().map(|c| c.threads.len()).sum();
        let regions: Vec<String> = p.regions.iter().map(|r| r.name.clone()).collect();
        text.push_str(&format!("  {} × {}: {threads} threads, {}\n", p.count, p.name, regions.join(", ")));
    }
    for (what, sentences) in [("measured", &fit.measured), ("assumed", &fit.assumed)] {
        sentences.iter().for_each(|s| text.push_str(&format!("  {what}: {s}\n")));
    }
    Ok(Done::text(text))
}

/// Path and content of the histograms beside the workload `out`, which it then refers to.
///
/// # Errors
/// The workload goes to standard output, or has the name that the histograms would have.
fn beside_workload(out: &Path, fit: &mut Fit) -> Result<(PathBuf, Vec<Histogram>), Failure> {
    let name = out.with_extension(histograms::ENDING).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = out.with_file_name(histograms::name_of(&name));
    if output_file::is_stdout(out) || path == out {
        let what = format!("--exact: the histograms stand in a file beside {}", out.display());
        return Err(Failure::usage(format!("{what}; expected `--out` with a name such as fitted.toml")));
    }
    let all = fit.exact(&histograms::name_of(&name));
    Ok((path, all))
}

/// Simulates the workload in `file`, and writes the page. Returns what to print about it.
fn beside(context: &Context, args: &Args, record: &Record, file: &Path, page: &Path) -> Result<String, Failure> {
    let plan = &record.manifest.plan;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let dir = Path::new("out").join(format!("{stem}_simulated"));
    let machine = args.on.clone().unwrap_or_else(|| machine_of(record));
    let kernel = args.with.clone().unwrap_or_else(|| kernel_of(record));
    let experiment = Experiment {
        name: format!("{stem}_simulated"),
        title: records::AD_HOC.into(),
        about: String::new(),
        machines: vec![named("--on", &machine)],
        kernels: vec![named("--with", &kernel)],
        workloads: vec![named("fit", &file.display().to_string())],
        baseline: None,
        iterations: 1,
        seed: plan.seed,
        sets: Vec::new(),
        params: Vec::new(),
        // What else ran on the machine is part of what was recorded.
        axes: Axes { quiet_machine: true, ..Axes::default() },
    };
    experiment.check()?;
    let guest = GuestArgs::default();
    let with = RunOptions {
        backend: BackendKind::Sim,
        guest: &guest,
        program: None,
        sim: Sim::default(),
        jobs: None,
        out: Some(&dir),
    };
    let (store, finished) = carry_out(context, &experiment, with)?;
    let Some(simulated) = finished.first().map(|f| &f.record.outcome) else { return Ok(String::new()) };
    output_file::write(page, &render(context, record, (&store, simulated)))?;
    note(&format!("numalab: the simulated run is in {}", store.dir().display()));
    let mut text = format!("page: {}\n", page.display());
    for (name, recorded, simulated) in both(&record.outcome, simulated) {
        text.push_str(&format!("  {name}: recorded {recorded:.2}, simulated {simulated:.2}\n"));
    }
    Ok(text)
}

/// Whether `numalab record` has made it.
fn is_recording(record: &Record) -> bool {
    record.manifest.plan.conditions.iter().any(|(name, _)| name == RECORDED)
}

/// The machine to simulate: that of the record. A recording has it as a file, as it may come from another host.
fn machine_of(record: &Record) -> String {
    let own = record.path.join("sources/machines/host.toml");
    match is_recording(record) && own.exists() {
        true => own.display().to_string(),
        false => record.manifest.plan.machine.name.clone(),
    }
}

/// The kernel to simulate: that of the record. A recording is called after its setting, and notes the release beside
/// it.
fn kernel_of(record: &Record) -> String {
    let kernel = &record.manifest.plan.kernel;
    if !is_recording(record) {
        return kernel.name.clone();
    }
    let mode = record.outcome.tunables.iter().find(|t| t.name == "system.numa_balancing");
    let release = kernel.image.as_deref().and_then(|i| i.strip_prefix("running "));
    match (mode.map(|m| m.value.as_str()), release) {
        (None | Some("0"), _) | (_, None) => "off".into(),
        (_, Some(release)) => release.into(),
    }
}

/// How a figure follows from an outcome.
type Figure<'a> = &'a dyn Fn(&Outcome) -> Option<f64>;

/// Figures of both runs that do not depend on how long they were, with their names.
fn both(recorded: &Outcome, simulated: &Outcome) -> Vec<(&'static str, f64, f64)> {
    let scalar = |o: &Outcome, name: &str| o.scalars.iter().find(|s| s.name == name).map(|s| s.value);
    let counter = |o: &Outcome, name: &str| o.counters.iter().find(|c| c.0 == name).map(|c| c.1 as f64);
    let busy = |o: &Outcome| Some((scalar(o, "user_s")? + scalar(o, "system_s")?) / scalar(o, "elapsed_s")?);
    let system = |o: &Outcome| {
        let system = scalar(o, "system_s")?;
        Some(system / (scalar(o, "user_s")? + system) * 100.0)
    };
    let local = |o: &Outcome| {
        let faults = counter(o, "numa_hint_faults").filter(|n| *n > 0.0)?;
        Some(counter(o, "numa_hint_faults_local")? / faults * 100.0)
    };
    let moved = |o: &Outcome| Some(counter(o, "numa_pages_migrated")? / 256.0);
    let rows: [(&'static str, Figure<'_>); 4] = [
        ("busy CPUs", &busy),
        ("system time, % of CPU time", &system),
        ("hint faults local, %", &local),
        ("memory moved, MiB", &moved),
    ];
    rows.into_iter().filter_map(|(name, of)| Some((name, of(recorded)?, of(simulated)?))).collect()
}

/// The page: the record as the first column, the simulated run as the second.
fn render(context: &Context, record: &Record, (store, simulated): (&Store, &Outcome)) -> String {
    let column = |name: &str, mark: &str| Kernel { name: name.into(), mark: mark.into(), ..Kernel::default() };
    let backend = record.manifest.plan.backend.as_str();
    let columns = vec![column(RECORDED, if backend == "host" { "" } else { backend }), column("simulated", "sim")];
    let name = record.manifest.plan.workload.name.clone();
    let runs = vec![WorkloadRuns { name: name.clone(), runs: vec![vec![&record.outcome], vec![simulated]] }];
    let mut comparison: Comparison = collect(columns, 0, &runs);
    derive::apply(&mut comparison, &context.columns);
    let seed = record.manifest.plan.seed;
    let run = |kernel, outcome| html::Run { workload: 0, kernel, seed, outcome };
    html::render(&Input {
        runs: vec![run(0, &record.outcome), run(1, simulated)],
        facts: vec![
            ("Record".into(), record.path.display().to_string()),
            ("Simulated run".into(), store.dir().display().to_string()),
        ],
        ..Input::new(&format!("{name}: recorded beside simulated"), &comparison)
    })
}
