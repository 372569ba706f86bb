//! `numalab kernel`: show a kernel, compare two, build an image, or measure a change to the kernel's source.

mod build;
mod try_tree;

use crate::context::{named, Context};
use crate::failure::{Done, Failure};
use crate::sources;
use crate::verb::list::Kind;
use crate::verb::show;
use serde::Serialize;

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
    /// Show every role and tunable of a kernel, and where its value comes from
    Show {
        /// Kernel: a name of the catalog, or a TOML file (docs/reference/kernels.md)
        kernel: String,
        /// Print as JSON (docs/reference/json.md)
        #[arg(long)]
        json: bool,
    },
    /// List the roles and tunables in which two kernels differ
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

/// A role or tunable in which two kernels differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Difference {
    name: String,
    a: String,
    b: String,
}

/// Carries out the action.
///
/// # Errors
/// See the action's own `run`; an unknown or invalid kernel.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    match &args.action {
        Action::Build(args) => build::run(args),
        Action::Try(args) => try_tree::run(context, args),
        Action::Show { kernel, json } => show::show(context, Kind::Kernels, std::slice::from_ref(kernel), *json),
        Action::Diff { a, b, json } => diff(context, a, b, *json),
    }
}

/// Prints the roles and tunables in which two kernels differ.
fn diff(context: &Context, a: &str, b: &str, as_json: bool) -> Result<Done, Failure> {
    // Resolved separately, since one call refuses the same name twice.
    let left = sources::kernels(context, &[named("kernel diff", a)], &[])?.remove(0);
    let right = sources::kernels(context, &[named("kernel diff", b)], &[])?.remove(0);
    let roles = left.roles.iter().zip(&right.roles).map(|(x, y)| (&x.role, &x.implementation, &y.implementation));
    let tunables = left.tunables.iter().zip(&right.tunables).map(|(x, y)| (&x.name, &x.value, &y.value));
    let differences: Vec<Difference> = roles
        .chain(tunables)
        .filter(|(_, x, y)| x != y)
        .map(|(name, x, y)| Difference { name: name.clone(), a: x.clone(), b: y.clone() })
        .collect();
    if as_json {
        return Done::json(&serde_json::json!({"a": left.name, "b": right.name, "differences": differences}));
    }
    if differences.is_empty() {
        return Ok(Done::text(format!("{} and {} behave the same\n", left.name, right.name)));
    }
    let rows: Vec<_> = differences.into_iter().map(|d| (d.name, format!("{} -> {}", d.a, d.b))).collect();
    Ok(Done::text(format!("{} -> {}\n{}", left.name, right.name, show::aligned(&rows))))
}
