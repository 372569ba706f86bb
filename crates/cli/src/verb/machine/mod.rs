//! `numalab machine`: import a machine from this host or from the output of other tools, or show one.

mod domains;
mod import;

use crate::context::Context;
use crate::failure::{Done, Failure};
use crate::service::entries::Kind;
use crate::service::show;
use domains::Request;

/// Arguments of `machine`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print a machine file for --machine, made from this host or from the output of another tool
    Import(import::Import),
    /// Draw nodes, caches and CPUs of a machine, and print its matrices of distances, latencies and bandwidths
    Show {
        /// Machine: a name of the catalog, a TOML file, NODESxLLCSxCORESxTHREADS, or `host`
        machine: String,
        /// Print as JSON (docs/reference/json.md)
        #[arg(long)]
        json: bool,
        /// Print the scheduling domains of a CPU instead, as in /sys/kernel/debug/sched/domains
        #[arg(long)]
        domains: bool,
        /// CPU of --domains, by the machine's numbering [default: the first CPU]
        #[arg(long, value_name = "N", requires = "domains")]
        cpu: Option<u32>,
        /// Kernel of --domains [default: 6.12]
        #[arg(long, value_name = "KERNEL", requires = "domains")]
        kernel: Option<String>,
    },
}

/// Carries out the action.
///
/// # Errors
/// An unknown machine; a source that cannot be read or describes no machine.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    match &args.action {
        Action::Import(import) => Ok(Done::text(import.toml()?)),
        Action::Show { machine, json, domains: true, cpu, kernel } => {
            domains::run(context, &Request { machine, cpu: *cpu, kernel: kernel.as_deref(), json: *json })
        }
        Action::Show { machine, json, .. } => show::show(context, Kind::Machines, std::slice::from_ref(machine), *json),
    }
}
