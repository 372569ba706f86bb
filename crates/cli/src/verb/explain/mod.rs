//! `numalab explain`: why something happens, one file per question.

mod ladder;

use crate::context::Context;
use crate::failure::{Done, Failure};

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, clap::Subcommand)]
enum Question {
    /// What a huge-page fault tries, in order, with what an access then costs
    Ladder(ladder::Args),
}

/// Answers the question.
///
/// # Errors
/// A name that does not exist, with the nearest one that does.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    match &args.question {
        Question::Ladder(args) => ladder::run(context, args),
    }
}
