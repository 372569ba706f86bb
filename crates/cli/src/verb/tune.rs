//! `numalab tune`: a search for settings by Optuna, carried out by the Python package.

use crate::failure::{is_quiet, Done, Failure};
use crate::service::python::become_verb;
use serde::Serialize;

/// Arguments of `tune`.
#[derive(Debug, clap::Args, Serialize)]
pub struct Args {
    /// Machine: a name of the catalog, a TOML file, NODESxLLCSxCORESxTHREADS, or `host`
    #[arg(long, value_name = "M")]
    machine: String,
    /// Workload: a name of the catalog, or a TOML file
    #[arg(long, value_name = "W")]
    workload: String,
    /// Kernel whose settings are searched
    #[arg(long, value_name = "K", default_value = "6.12")]
    kernel: String,
    /// Tunable or role to search: NAME=LEAST..LARGEST, or NAME=A,B,… for choices. May be repeated
    /// [default: the files of NUMA balancing in debugfs]
    #[arg(long, value_name = "KNOB")]
    knob: Vec<String>,
    /// Figure that is to be small: elapsed_s, system_s, blocked_s or a counter; with a minus before it, a score that is
    /// to be large. May be repeated [default: elapsed_s, system_s and task_stall_max_ns, the worst stall]
    #[arg(long, value_name = "FIGURE", allow_hyphen_values = true)]
    objective: Vec<String>,
    /// Set a parameter of the workload. May be repeated
    #[arg(long, value_name = "NAME=EXPRESSION")]
    param: Vec<String>,
    /// Number of points that are tried in all, earlier calls included
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    budget: u32,
    /// Number of runs per point, with seeds 1, 2, …
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// End after so many points that improved nothing
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    patience: Option<u32>,
    /// Storage of Optuna for the study, such as sqlite:///study.db [default: SQLite in the directory of --out]
    #[arg(long, value_name = "URL")]
    storage: Option<String>,
    /// Directory of the study [default: out/tune]
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
}

/// The options as the package reads them.
#[derive(Serialize)]
struct Options<'a> {
    #[serde(flatten)]
    args: &'a Args,
    quiet: bool,
}

/// Becomes the package's program.
///
/// # Errors
/// See [`become_verb`].
pub fn run(args: &Args) -> Result<Done, Failure> {
    become_verb("tune", "tune", &Options { args, quiet: is_quiet() })
}
