//! `numalab sweep`: a grid of plans on Dask, carried out by the Python package.

use crate::failure::{is_quiet, Done, Failure};
use crate::options;
use crate::service::python::become_verb;
use serde::Serialize;
use std::num::NonZeroUsize;

/// Arguments of `sweep`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sweep: a TOML file (docs/reference/sweeps.md)
    file: String,
    /// Scheduler of Dask that carries it out [default: processes on this machine]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "workers")]
    dask: Option<String>,
    /// Number of processes on this machine [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = options::job_count, allow_negative_numbers = true)]
    workers: Option<NonZeroUsize>,
    /// Directory or URL of the results, which all workers reach [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
    /// Directory or URL of finished plans, which sweeps may share [default: _plans in the directory of the results]
    #[arg(long, value_name = "DIR")]
    cache: Option<String>,
    /// Print counts as JSON (docs/reference/sweeps.md)
    #[arg(long)]
    json: bool,
}

/// The options as the package reads them.
#[derive(Serialize)]
struct Options<'a> {
    file: &'a str,
    dask: Option<&'a str>,
    workers: Option<NonZeroUsize>,
    out: Option<&'a str>,
    cache: Option<&'a str>,
    json: bool,
    quiet: bool,
}

/// Becomes the package's program.
///
/// # Errors
/// See [`become_verb`].
pub fn run(args: &Args) -> Result<Done, Failure> {
    let options = Options {
        file: &args.file,
        dask: args.dask.as_deref(),
        workers: args.workers,
        out: args.out.as_deref(),
        cache: args.cache.as_deref(),
        json: args.json,
        quiet: is_quiet(),
    };
    become_verb("sweep", "sweep", &options)
}
