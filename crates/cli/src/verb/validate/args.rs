//! The arguments, and the experiment that they ask for.

use crate::backend::GuestArgs;
use crate::context::{named, Context};
use crate::failure::Failure;
use crate::options;
use numalab_model::catalog::Kind;
use numalab_model::experiment::{self, Experiment};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Arguments of `validate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Kernel images to compare the simulator with, as for `run --backend vm`
    #[arg(long, value_delimiter = ',', value_name = "IMAGE,…", default_value = "debian-6.12")]
    pub(super) image: Vec<String>,
    /// Kernel to simulate [default: the catalog's kernel of the image's series]
    #[arg(long, value_name = "KERNEL")]
    pub(super) kernel: Option<String>,
    /// Settings of huge pages (transparent_hugepage/enabled) in guests and simulator
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORD,…", default_value = "never")]
    pub(super) thp: Vec<Thp>,
    /// Machine [default: the first of the experiment]
    #[arg(long, value_name = "M")]
    pub(super) machine: Option<String>,
    /// Workloads of the experiment to run [default: all]
    #[arg(long, value_delimiter = ',', value_name = "W,…")]
    pub(super) workloads: Vec<String>,
    /// Experiment with the workloads and their sizes: a name of the catalog, or a TOML file
    #[arg(long, value_name = "EXPERIMENT", default_value = "validate")]
    pub(super) experiment: String,
    /// Number of runs of each workload, with different seeds [default: the experiment's]
    #[arg(long, value_name = "N", value_parser = options::iterations, allow_negative_numbers = true)]
    pub(super) iterations: Option<u32>,
    /// Largest number of guests and of simulated runs at a time [default: one per CPU of this host]
    #[arg(long, value_name = "N", value_parser = options::job_count, allow_negative_numbers = true)]
    pub(super) jobs: Option<NonZeroUsize>,
    /// Directory of the records [default: out/validate]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Write the four counters of NUMA balancing, their score and the final placement to this Markdown file; with
    /// `--timing counters` the shares that do not depend on the clock, and their score
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,
    /// TOML file of notes on misses, for --markdown (such as docs/log/fidelity-notes.toml)
    #[arg(long, value_name = "FILE", requires = "markdown")]
    pub(super) notes: Option<PathBuf>,
    /// Write the decision log of every simulated run beside its record, for `numalab explain`
    #[arg(long)]
    pub(super) explain: bool,
    /// Write the event log of every simulated run beside its record, for `numalab trace`
    #[arg(long)]
    pub(super) trace: bool,
    #[command(flatten)]
    pub(super) guest: GuestArgs,
    /// Print as JSON (docs/reference/json.md)
    #[arg(long)]
    pub(super) json: bool,
}

/// Setting of `transparent_hugepage/enabled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Thp {
    /// 4 KiB pages everywhere
    Never,
    /// Huge pages in regions that ask for them
    Madvise,
    /// Huge pages wherever one fits
    Always,
}

impl Thp {
    /// The kernel's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Madvise => "madvise",
            Self::Always => "always",
        }
    }
}

/// The experiment for one image.
pub(super) fn experiment_of(context: &Context, args: &Args, image: &str) -> Result<Experiment, Failure> {
    let file = context.catalog.find(Kind::Experiment, &named("--experiment", &args.experiment))?;
    let (own, mut out) = experiment::parse(&file.label, &file.text)?;
    file.check_name(&own)?;
    out.kernels = vec![named("--image", image)];
    out.baseline = None;
    out.machines.truncate(1);
    if let Some(machine) = &args.machine {
        out.machines = vec![named("--machine", machine)];
    }
    if !args.workloads.is_empty() {
        let known: Vec<&str> = out.workloads.iter().map(|w| w.value.as_str()).collect();
        for name in &args.workloads {
            if !known.contains(&name.as_str()) {
                let what = format!("`{name}` is not in the experiment `{}`", args.experiment);
                let e = named("--workloads", name).error(what, format!("one of {}", known.join(", ")));
                return Err(e.near(name, known.iter().copied()).into());
            }
        }
        out.workloads.retain(|w| args.workloads.contains(&w.value));
        out.params.retain(|p| p.workload.as_ref().is_none_or(|w| args.workloads.contains(w)));
    }
    out.iterations = args.iterations.unwrap_or(out.iterations);
    Ok(out)
}
