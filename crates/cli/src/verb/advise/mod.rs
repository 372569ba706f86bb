//! `numalab advise`: whether a program wants balancing on, off, or its memory interleaved or bound.
//!
//! With a command or a running service it measures ([`measure`], on `numalab_host::advise`). With `--like` it asks the
//! simulator ([`predict`]).

mod args;
mod columns;
mod decide;
pub mod guard;
mod keep;
mod likes;
mod measure;
mod measured;
mod output;
mod places;
mod predict;
mod target;

pub use args::Args;

use crate::context::Context;
use crate::failure::{Done, Failure};
use likes::Like;

/// Gives the advice.
///
/// # Errors
/// A mistake in the request, or this machine cannot carry out the runs.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    if let Some(like) = &args.like {
        return predict::run(context, args, like);
    }
    let service = args.pid.is_some() || args.metric_url.is_some() || args.metric_cmd.is_some();
    if !args.command.is_empty() || service {
        return measure::run(context, args);
    }
    let names: Vec<String> = Like::all()?.into_iter().map(|l| l.name).collect();
    Err(Failure::usage(format!(
        "command line: nothing to advise on; expected `-- COMMAND` to measure a command, `--pid PID` for a running service, \
         or `--like` for a prediction: one of {}",
        names.join(", ")
    )))
}
