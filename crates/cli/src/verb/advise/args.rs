//! The arguments of `numalab advise`.

use crate::context::HOST;
use crate::options;
use crate::service::guest_accesses::{GuestRecordArgs, HEADING};
use numalab_host::advise::http::Url;
use numalab_host::advise::metric::Series;
use numalab_model::machine::size;
use numalab_stats::Better;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Whether a higher or a lower score is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Direction {
    /// A higher score is better.
    Higher,
    /// A lower score is better.
    Lower,
}

/// Options that belong to a prediction.
const PREDICT: [&str; 11] =
    ["like", "machine", "kernel", "memory", "threads", "param", "quick", "ways", "horizon", "whole", "jobs"];

/// Options of a prediction that a command cannot have.
const PREDICT_LIKE: [&str; 4] = ["like", "param", "quick", "horizon"];

/// Arguments of `advise`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Kind of program, for a prediction, such as postgres, mysql, redis, jvm, kvm, inference or hpc
    /// (docs/reference/likes.md has all); or the file of a workload, such as `numalab fit` writes
    #[arg(long, value_name = "PROGRAM")]
    pub(super) like: Option<String>,
    /// Machine of a prediction: `host` is this one; else a name of the catalog, a TOML file, or
    /// NODESxLLCSxCORESxTHREADS
    #[arg(long, value_name = "M", default_value = HOST)]
    pub(super) machine: String,
    /// Kernel of a prediction: a name of the catalog, what `uname -r` prints, or a TOML file [default: the running
    /// kernel with `--machine host`, else 6.12]
    #[arg(long, value_name = "K")]
    pub(super) kernel: Option<String>,
    /// Memory that the program of a prediction uses [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = size::read_option, allow_negative_numbers = true)]
    pub(super) memory: Option<u64>,
    /// Threads of a prediction that are busy at a time [default: one per CPU of the machine]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=65536),
        allow_negative_numbers = true
    )]
    pub(super) threads: Option<u32>,
    /// Cut memory, threads and time of a prediction down to two sizes over two times, so that the answer takes seconds.
    /// A smaller program may have another answer (docs/reference/likes.md)
    #[arg(long)]
    pub(super) quick: bool,
    /// Ways that a prediction compares with leaving balancing on: off, interleave, bind, weighted, per-node,
    /// two-instances, three-instances, slow-scan, tiering, tiering-alone, promote-limit, zone-reclaim, preferred,
    /// hugetlb, no-thp [default: off,interleave,bind]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) ways: Vec<String>,
    /// How long the program of a prediction will run, such as 30s, 5m or 2h: the advice is about the mean over that time
    /// [default: about what it does once it has settled]
    #[arg(long, value_name = "TIME", value_parser = options::seconds)]
    pub(super) horizon: Option<f64>,
    /// Simulate every run of a prediction to its end, also once it has settled; then no settled rate is known
    #[arg(long, conflicts_with = "horizon")]
    pub(super) whole: bool,
    /// Beside a prediction for a command: simulate also what a change of each region of its memory would gain
    #[arg(long, conflicts_with_all = ["like", "pid"])]
    pub(super) by_region: bool,
    #[command(flatten)]
    pub(super) guest: GuestRecordArgs,
    /// Kernel image of the guest that records [default: debian-6.12]
    #[arg(help_heading = HEADING, long, value_name = "IMAGE")]
    pub(super) guest_kernel: Option<String>,
    /// Set a parameter of the workload that stands for the program, to an expression of the machine, such as cpus/2.
    /// May be repeated
    #[arg(long, value_name = "NAME=EXPRESSION", requires = "like")]
    pub(super) param: Vec<String>,
    /// Simulated runs at a time [default: number of CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) jobs: Option<NonZeroUsize>,
    /// Process of a running service to measure, in windows of alternated settings (needs --metric-cmd or --metric-url)
    #[arg(long, value_name = "PID", conflicts_with_all = PREDICT, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) pid: Option<u32>,
    /// Shell command whose last number is the score. Beside a command, it reads what that printed
    #[arg(long, value_name = "COMMAND", conflicts_with_all = PREDICT)]
    pub(super) metric_cmd: Option<String>,
    /// The number of --metric-cmd only grows: its growth a second is the score
    #[arg(long, requires = "metric_cmd", conflicts_with = "command")]
    pub(super) counter: bool,
    /// Prometheus page of a running service, on a loopback address (needs --metric)
    #[arg(
        long,
        value_name = "URL",
        value_parser = Url::parse,
        requires = "metric",
        conflicts_with_all = ["metric_cmd", "command"]
    )]
    pub(super) metric_url: Option<Url>,
    /// Series of --metric-url: NAME or NAME{LABEL="VALUE"}. Several are added up; of a counter, the growth a second
    /// counts
    #[arg(long, value_name = "NAME", value_parser = Series::parse, requires = "metric_url")]
    pub(super) metric: Option<Series>,
    /// Whether a higher or a lower score is better [default: lower for the elapsed time, higher for a metric]
    #[arg(long, value_enum, value_name = "WHICH", conflicts_with_all = PREDICT)]
    pub(super) better: Option<Direction>,
    /// Time for all measurements, such as 90s, 10m or 2h
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10m",
        value_parser = options::seconds,
        conflicts_with_all = PREDICT
    )]
    pub(super) budget: f64,
    /// Smallest gain that is worth a change, in percent
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 1.0,
        value_parser = options::percent,
        conflicts_with_all = PREDICT
    )]
    pub(super) least: f64,
    /// Length of a window of a running service
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        value_parser = options::seconds,
        conflicts_with_all = ["like", "command"]
    )]
    pub(super) window: f64,
    /// Time between turning the switch and the begin of a window
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10s",
        value_parser = options::seconds,
        conflicts_with_all = ["like", "command"]
    )]
    pub(super) settle: f64,
    /// Directory for the records of the runs, which compare and report read [default: out/NAME for a prediction, none
    /// for a measurement]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Where /proc and /sys are, for tests
    #[arg(long, hide = true, default_value = "/")]
    pub(super) root: PathBuf,
    /// Print the advice as JSON (docs/reference/json.md)
    #[arg(long)]
    pub(super) json: bool,
    /// Command to measure, with its arguments, behind `--`. With --machine it is recorded here under emulation (--in
    /// guest: in a guest), and its accesses are simulated there
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = PREDICT_LIKE, conflicts_with = "pid")]
    pub(super) command: Vec<String>,
}

impl Args {
    /// Whether a higher score is better.
    pub(super) fn better(&self) -> Better {
        let has_metric = self.metric_cmd.is_some() || self.metric_url.is_some();
        match self.better {
            Some(Direction::Higher) => Better::Higher,
            Some(Direction::Lower) => Better::Lower,
            None if has_metric => Better::Higher,
            None => Better::Lower,
        }
    }
}
