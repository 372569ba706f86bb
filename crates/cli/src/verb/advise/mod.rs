//! `numalab advise`: whether a program wants balancing on, off, or its memory interleaved or bound.
//!
//! With a command and another machine it records the command here and asks the simulator ([`recorded`]). With a command
//! or a running service alone it measures ([`measure`], on `numalab_host::advise`). With `--like` it asks the
//! simulator ([`predict`]).

mod args;
mod by_region;
mod columns;
mod decide;
mod extras;
mod fitted;
pub mod guard;
mod keep;
mod likes;
mod measure;
mod measured;
mod output;
mod own_workload;
mod places;
mod predict;
mod recorded;
mod target;

pub use args::Args;

use crate::context::{Context, HOST};
use crate::failure::{Done, Failure};
use likes::Like;

/// Gives the advice.
///
/// # Errors
/// A mistake in the request, or this machine cannot carry out the runs.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let is_recorded = args.like.is_none() && !args.command.is_empty() && args.machine != HOST;
    if !is_recorded {
        refuse_recording_options(args)?;
    }
    if let Some(like) = &args.like {
        return predict::run(context, args, like);
    }
    if is_recorded {
        return recorded::run(context, args);
    }
    refuse_prediction_options(args)?;
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

/// Refuses options of a recording where nothing is recorded.
fn refuse_recording_options(args: &Args) -> Result<(), Failure> {
    let kernel = args.guest_kernel.as_ref().map(|_| "--guest-kernel");
    match args.by_region.then_some("--by-region").or(args.guest.given()).or(kernel) {
        Some(option) => {
            Err(Failure::usage(format!("command line: `{option}` needs `--machine` and a command that is recorded")))
        }
        None => Ok(()),
    }
}

/// Refuses options of a prediction beside a command that is measured on this machine.
fn refuse_prediction_options(args: &Args) -> Result<(), Failure> {
    let given = [
        ("--kernel", args.kernel.is_some()),
        ("--memory", args.memory.is_some()),
        ("--threads", args.threads.is_some()),
        ("--whole", args.whole),
        ("--jobs", args.jobs.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given && !args.command.is_empty()) {
        Some((option, _)) => Err(Failure::usage(format!(
            "command line: `{option}` beside a command that is measured here; expected `--machine` too, for a \
             prediction"
        ))),
        None => Ok(()),
    }
}
