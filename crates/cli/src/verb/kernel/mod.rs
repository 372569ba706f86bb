//! `numalab kernel`: show a kernel, compare two, build an image, or measure a change to the kernel's source.

mod build;
mod diff;
mod side_notes;
mod sides;
mod try_tree;

use crate::context::Context;
use crate::failure::{Done, Failure};
use crate::service::entries::Kind;
use crate::service::show;

/// Arguments of `kernel`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Find, fetch or build a kernel image for guests, and print where it is
    Build(build::Args),
    /// Build a changed source tree and its base, run a workload on both, and compare
    Try(Box<try_tree::Args>),
    /// Show what knobs change on a real kernel beside what they change in the simulator, from records of `try --sim`
    Sides(sides::Args),
    /// Show every role and tunable of a kernel, and where its value comes from
    Show {
        /// Kernel: a name of the catalog, or a TOML file (docs/reference/kernels.md)
        kernel: String,
        /// Print as JSON (docs/reference/json.md)
        #[arg(long)]
        json: bool,
    },
    /// Tell what two kernels do differently, release by release
    Diff {
        /// First kernel: a name of the catalog, or a TOML file
        a: String,
        /// Second kernel
        b: String,
        /// Print as JSON (docs/reference/json.md)
        #[arg(long)]
        json: bool,
    },
}

/// Carries out the action.
///
/// # Errors
/// See the action's own `run`; an unknown or invalid kernel.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    match &args.action {
        Action::Build(args) => build::run(args),
        Action::Try(args) => try_tree::run(context, args),
        Action::Sides(args) => sides::run(context, args),
        Action::Show { kernel, json } => show::show(context, Kind::Kernels, std::slice::from_ref(kernel), *json),
        Action::Diff { a, b, json } => diff::run(context, a, b, *json),
    }
}
