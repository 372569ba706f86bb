//! `numalab kernel try`: build a changed kernel and its base, run a workload on both in guests, and compare.

mod bisect;
mod columns;
mod request;

use super::sides;
use crate::backend::{guest_model, BackendKind, GuestArgs, Sim};
use crate::context::Context;
use crate::failure::{note, Done, Exit, Failure};
use crate::options;
use crate::service::answer;
use crate::service::carry_out::{carry_out, exit, RunOptions};
use columns::KnobColumn;
use numalab_lab::image::{self, source, ImageSpec};
use numalab_model::experiment::Experiment;
use numalab_report::sides as report_sides;
use request::Request;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `kernel try`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Changed source tree of Linux. Nothing is written into it
    #[arg(long, value_name = "DIR", required_unless_present = "series", conflicts_with = "series")]
    tree: Option<PathBuf>,
    /// Folder of a series of patches with knobs (docs/reference/kernel-series.md)
    #[arg(long, value_name = "DIR")]
    series: Option<PathBuf>,
    /// A column of its own with these knobs, compared with the kernel as it is: names of series.toml, or paths of files
    /// such as /sys/kernel/debug/…. May be repeated
    #[arg(long, value_name = "NAME=VALUE,…")]
    knob: Vec<String>,
    /// Run the same knobs in the simulator too, by the roles that series.toml names
    #[arg(long, requires = "knob")]
    sim: bool,
    /// Image that the kernel is compared with [default: with --knob the kernel as it is; else the last commit of the
    /// tree, or the packaged source of its series]
    #[arg(long, value_name = "IMAGE")]
    base: Option<String>,
    /// Look for the first bad commit of the tree: a commit without the change (docs/how-to/run-real-kernels.md)
    #[arg(
        long,
        value_name = "REF",
        requires_all = ["bad", "fail_if"],
        conflicts_with_all = ["series", "knob", "base", "full"]
    )]
    good: Option<String>,
    /// A later commit with the change
    #[arg(long, value_name = "REF", requires = "good")]
    bad: Option<String>,
    /// Which commits are bad: a figure beside that of --good, as `compare --fail-if` takes it. May be repeated
    #[arg(long, value_name = "BOUND", requires = "good")]
    fail_if: Vec<String>,
    #[command(flatten)]
    request: Request,
    /// Largest number of guests at a time [default: as many as this host has CPUs and memory for]
    #[arg(long, value_name = "N", value_parser = options::job_count, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,
    /// Directory of the records [default: out/try with a suffix for the timing mode]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the answer and then all tables, in the layout of mmtests
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    guest: GuestArgs,
}

/// Builds the kernels, runs the workload on them, and compares; or looks for the first bad commit.
///
/// # Errors
/// The folder is no source tree or series; a knob that it does not have; a kernel that does not build; see
/// [`carry_out`].
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let base = args.base.as_deref().map(ImageSpec::parse).transpose()?;
    let changed = changed(args)?;
    if let (Some(tree), Some(good), Some(bad)) = (&args.tree, &args.good, &args.bad) {
        let question = bisect::Question {
            tree,
            good,
            bad,
            fail_if: &args.fail_if,
            request: &args.request,
            guest: &args.guest,
            jobs: args.jobs,
            out: args.out.as_deref(),
        };
        return bisect::run(context, &question);
    }
    let knobs = columns::knob_columns(&args.knob, &changed)?;
    let base = match base {
        Some(base) => base,
        None if !knobs.is_empty() => changed.clone(),
        None => image::base_of(&changed).map_err(Failure::usage)?,
    };
    let dir = options::directory(args.out.as_deref(), &format!("try{}", args.guest.suffix()));
    // A mistake in what the simulator is asked is told before kernels are built, and its answer is there first.
    let simulated = args.sim.then(|| simulate(context, args, &changed, &knobs, &dir)).transpose()?;
    note(&format!("base: {base}"));
    let start = Instant::now();
    let title = format!("{changed} against {base}");
    let experiment = args.request.experiment("try", title, columns::of_guests(&base, &changed, &knobs))?;
    let done = compared(context, args, &experiment, BackendKind::Vm, args.out.as_deref())?;
    note(&format!("{:.1} s for kernels and guests", start.elapsed().as_secs_f64()));
    Ok(match simulated {
        Some(sim) => {
            let table = report_sides::text(&sides::of_directory(context, &dir)?.rows);
            let text = format!(
                "In the simulator\n{}\nIn guests\n{}\nWhat each changed on both sides\n{table}",
                sim.text, done.text
            );
            Done { text, exit: sim.exit.max(done.exit) }
        }
        None => done,
    })
}

/// The changed kernel.
fn changed(args: &Args) -> Result<ImageSpec, Failure> {
    if let Some(series) = &args.series {
        let spec = ImageSpec::parse(&format!("series:{}", series.display()))?;
        spec.check()?;
        return Ok(spec);
    }
    let tree = args.tree.clone().unwrap_or_default();
    if !tree.join("Makefile").is_file() {
        let expected = "a directory with the sources of Linux";
        return Err(Failure::usage(format!("--tree {}: no kernel source tree; expected {expected}", tree.display())));
    }
    Ok(ImageSpec::Tree(tree))
}

/// Runs the same knobs in the simulator.
fn simulate(
    context: &Context,
    args: &Args,
    changed: &ImageSpec,
    knobs: &[KnobColumn],
    dir: &Path,
) -> Result<Done, Failure> {
    let release = match changed {
        ImageSpec::Tree(tree) => source::series_of(tree).map_err(Failure::usage)?,
        spec => spec.series().unwrap_or_default(),
    };
    let columns = columns::of_simulator(context, &release, changed.knobs()?.as_ref(), knobs)?;
    let experiment = args.request.experiment("try", format!("{changed} in the simulator"), columns)?;
    compared(context, args, &experiment, BackendKind::Sim, Some(&sides::simulated(dir)))
}

/// Carries out an experiment and compares its columns.
fn compared(
    context: &Context,
    args: &Args,
    experiment: &Experiment,
    backend: BackendKind,
    out: Option<&Path>,
) -> Result<Done, Failure> {
    let none = GuestArgs::default();
    let guest = if backend == BackendKind::Vm { &args.guest } else { &none };
    // Beside guests the simulator runs what a guest runs: the same program, with the same clock.
    let sim = match backend {
        BackendKind::Sim => Sim::in_guest(guest_model::harness(args.guest.timing())),
        _ => Sim::default(),
    };
    let with = RunOptions { backend, program: None, guest, sim, jobs: args.jobs, out };
    let (store, finished) = carry_out(context, experiment, with)?;
    let answered = answer::of_records(context, &store, args.full)?;
    let exit: Exit = exit(&finished).max(answered.exit);
    Ok(Done { text: answered.text, exit })
}
