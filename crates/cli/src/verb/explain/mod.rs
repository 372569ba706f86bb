//! `numalab explain`: decisions of a run in sentences, where two runs diverge, and the order of a huge-page fault.

mod diff;
mod ladder;

use crate::context::Context;
use crate::failure::{Done, Failure};
use crate::logs;
use crate::records::{self, Pick};
use numalab_report::explain::{node, page, scans, task, vma};
use std::path::PathBuf;

/// The usage line. The run stands first, since the argument after `--vma` is the name of a mapping.
const USAGE: &str =
    "numalab explain <RUN> <--vma [NAME]|--page [PAGE]|--task [NAME]|--node [N]|--scans [NAME]> [OPTIONS]
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
    /// Print how long the scans of a task (PROCESS/tTHREAD) took. Without NAME, those of all tasks
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    scans: Option<String>,
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
    logs::note_settled(&record);
    let why = logs::read_why(&record.path)?;
    let s = &args.subject;
    // Kernels since 4.10 leave private pages of a process of one thread alone that are on the thread's own node.
    let shortcut = record.outcome.tunables.iter().any(|t| t.name == "numa.single_user_shortcut" && t.value == "true");
    let text = match (&s.vma, &s.page, &s.task, &s.node, &s.scans) {
        (Some(name), ..) => vma::explain(&why, name, shortcut)?,
        (_, Some(name), ..) => page::explain(&why, name, shortcut)?,
        (_, _, Some(name), ..) => task::explain(&why, name, &record.outcome.series)?,
        (.., Some(name), _) => node::explain(&why, name)?,
        (.., Some(name)) => scans::explain(&why, name)?,
        _ => {
            let what = "command line: nothing to explain; expected --vma, --page, --task, --node or --scans";
            return Err(Failure::usage(what));
        }
    };
    Ok(Done::text(text))
}
