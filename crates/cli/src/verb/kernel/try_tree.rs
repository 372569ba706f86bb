//! `numalab kernel try`: build a changed source tree and its base, run a workload on both in guests, and compare.

use crate::backend::{BackendKind, GuestArgs, Sim};
use crate::context::{named, Context};
use crate::failure::{note, Done, Failure};
use crate::options;
use crate::service::answer;
use crate::service::carry_out::{carry_out, exit, RunOptions};
use numalab_lab::image::{self, ImageSpec};
use numalab_model::experiment::{Axes, Experiment, Param};
use numalab_model::kernel::Setting;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `kernel try`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Changed source tree of Linux. Nothing is written into it
    #[arg(long, value_name = "DIR")]
    tree: PathBuf,
    /// Workload to run: a name of the catalog, or a TOML file
    #[arg(long, value_name = "W")]
    workload: String,
    /// Image that the tree is compared with [default: the last commit of the tree, or the packaged source of its
    /// series]
    #[arg(long, value_name = "IMAGE")]
    base: Option<String>,
    /// Machine of the guests: a name of the catalog, a TOML file, NODESxLLCSxCORESxTHREADS, or `host`
    #[arg(long, value_name = "M", default_value = "4x1x2x1")]
    machine: String,
    /// Number of runs per kernel, with seeds S, S+1, … (see --seed)
    #[arg(
        long,
        value_name = "N",
        value_parser = options::iterations,
        default_value = "1",
        allow_negative_numbers = true
    )]
    iterations: u32,
    /// Seed S of the first run
    #[arg(long, value_name = "S", value_parser = options::seed, default_value = "1", allow_negative_numbers = true)]
    seed: u64,
    /// Override a setting of both kernels. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Set a parameter of the workload to an expression of the machine, such as cpus/2. May be repeated
    #[arg(long, value_name = "NAME=EXPRESSION")]
    param: Vec<String>,
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

/// Builds both kernels, runs the workload on both, and compares.
///
/// # Errors
/// The folder is no source tree of Linux; a kernel that does not build; see [`carry_out`].
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let start = Instant::now();
    let base = args.base.as_deref().map(ImageSpec::parse).transpose()?;
    if !args.tree.join("Makefile").is_file() {
        let expected = "a directory with the sources of Linux";
        return Err(Failure::usage(format!(
            "--tree {}: no kernel source tree; expected {expected}",
            args.tree.display()
        )));
    }
    let changed = ImageSpec::Tree(args.tree.clone());
    let base = match base {
        Some(base) => base,
        None => image::base_of(&args.tree).map_err(Failure::usage)?,
    };
    note(&format!("base: {base}"));
    let experiment = experiment(args, &base, &changed)?;
    experiment.check()?;
    let with = RunOptions {
        backend: BackendKind::Vm,
        program: None,
        guest: &args.guest,
        sim: Sim::default(),
        jobs: args.jobs,
        out: args.out.as_deref(),
    };
    let (store, finished) = carry_out(context, &experiment, with)?;
    note(&format!("{:.1} s from the start of this command", start.elapsed().as_secs_f64()));
    let answered = answer::of_records(context, &store, args.full)?;
    Ok(Done { text: answered.text, exit: exit(&finished).max(answered.exit) })
}

/// The experiment of both kernels.
fn experiment(args: &Args, base: &ImageSpec, changed: &ImageSpec) -> Result<Experiment, Failure> {
    let sets = args.set.iter().map(|s| Setting::from_argument("--set", s)).collect::<Result<_, _>>()?;
    let param =
        |text: &String| Setting::from_argument("--param", text).map(|setting| Param { workload: None, setting });
    let params = args.param.iter().map(param).collect::<Result<_, _>>()?;
    Ok(Experiment {
        name: "try".into(),
        title: format!("{changed} against {base}"),
        about: String::new(),
        machines: vec![named("--machine", &args.machine)],
        kernels: vec![named("--base", &format!("base={base}")), named("--tree", &format!("tree={changed}"))],
        workloads: vec![named("--workload", &args.workload)],
        baseline: None,
        iterations: args.iterations,
        seed: args.seed,
        sets,
        params,
        axes: Axes::default(),
    })
}
