//! `numalab explain`: decisions of a run in sentences, where two runs diverge, and the order of a huge-page fault.

mod diff;
mod ladder;

use crate::context::Context;
use crate::failure::{Done, Failure};
use crate::logs;
use crate::records::{self, Pick};
use numalab_report::explain::{node, page, task, vma};
use std::path::PathBuf;

/// The usage line. The run stands first, since the argument after `--vma` is the name of a mapping.
const USAGE: &str = "numalab explain <RUN> <--vma [NAME]|--page [PAGE]|--task [NAME]|--node [N]> [OPTIONS]
       numalab explain diff <A> <B>
       numalab explain ladder --machine <MACHINE> [OPTIONS]";

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, override_usage = USAGE)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    run: Option<Pick>,
    #[command(flatten)]
    subject: Subject,
}

/// What can be explained besides the decisions of one run.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Find the first decision in which two runs differ
    Diff {
        /// First run: the directory of its record
        a: PathBuf,
        /// Second run: the directory of its record
        b: PathBuf,
    },
    /// Print the nodes and page sizes that a huge-page fault tries, in order, with the cost of an access
    Ladder(ladder::Args),
}

/// The subject to explain.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Subject {
    /// Explain why a mapping (PROCESS/NAME) was scanned or skipped. Without NAME, all mappings are listed
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    vma: Option<String>,
    /// Explain why a page (PROCESS/NAME+OFFSET or PROCESS:0xADDRESS) was migrated or not. Without PAGE, the pages with
    /// most migrations are listed
    #[arg(long, value_name = "PAGE", num_args = 0..=1, default_missing_value = "")]
    page: Option<String>,
    /// Explain why a task (PROCESS/tTHREAD) changed its node or not. Without NAME, all tasks are listed
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    task: Option<String>,
    /// Explain which pages and tasks came to a node and left it. Without N, all nodes are listed
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "")]
    node: Option<String>,
}

/// Explains a run that was carried out with `--explain`.
///
/// # Errors
/// No such run, no decision log beside its record, or an unknown subject.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    match &args.action {
        Some(Action::Diff { a, b }) => return diff::run(a, b),
        Some(Action::Ladder(args)) => return ladder::run(context, args),
        None => {}
    }
    let Some(pick) = &args.run else {
        return Err(Failure::usage("command line: no run; expected a record's directory"));
    };
    let record = records::find(pick)?;
    logs::refuse_unlogged(&record)?;
    let why = logs::read_why(&record.path)?;
    let s = &args.subject;
    let text = match (&s.vma, &s.page, &s.task, &s.node) {
        (Some(name), ..) => vma::explain(&why, name)?,
        (_, Some(name), ..) => page::explain(&why, name)?,
        (_, _, Some(name), _) => task::explain(&why, name)?,
        (.., Some(name)) => node::explain(&why, name)?,
        _ => return Err(Failure::usage("command line: nothing to explain; expected --vma, --page, --task or --node")),
    };
    Ok(Done::text(text))
}
