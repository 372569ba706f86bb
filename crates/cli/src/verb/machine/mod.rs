//! `numalab machine`: import a machine from this host or from the output of other tools, or show one.

mod domains;

use crate::context::Context;
use crate::failure::{Done, Failure};
use crate::options;
use crate::verb::list::Kind;
use crate::verb::show;
use domains::Request;
use numalab_model::machine::{self, import};
use numalab_model::spec::Spot;
use std::path::{Path, PathBuf};

/// Arguments of `machine`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print a machine file for --machine, made from this host or from the output of another tool
    Import(Import),
    /// Draw nodes, caches and CPUs of a machine, and print its matrices of distances, latencies and bandwidths
    Show {
        /// Machine: a name of the catalog, a TOML file, or NODESxLLCSxCORESxTHREADS
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

#[derive(Debug, clap::Args)]
struct Import {
    #[command(flatten)]
    source: Source,
    /// Name of the new machine [default: host with --host, else imported]
    #[arg(long)]
    name: Option<String>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// Import this host
    #[arg(long)]
    host: bool,
    /// Import a copy of another host's sysfs: the folder with sys/devices/system or devices/system in it
    #[arg(long, value_name = "DIR")]
    sysfs: Option<PathBuf>,
    /// Import an XML export of hwloc, version 2 or 3
    #[arg(long, value_name = "FILE")]
    hwloc: Option<PathBuf>,
    /// Import the output of `numactl -H`
    #[arg(long, value_name = "FILE")]
    numactl: Option<PathBuf>,
}

/// Carries out the action.
///
/// # Errors
/// An unknown machine; a source that cannot be read or describes no machine.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    match &args.action {
        Action::Import(import) => Ok(Done::text(toml(import)?)),
        Action::Show { machine, json, domains: true, cpu, kernel } => {
            domains::run(context, &Request { machine, cpu: *cpu, kernel: kernel.as_deref(), json: *json })
        }
        Action::Show { machine, json, .. } => show::show(context, Kind::Machines, std::slice::from_ref(machine), *json),
    }
}

/// The machine file of an import.
fn toml(args: &Import) -> Result<String, Failure> {
    if let Some(name) = &args.name {
        machine::check_name(&Spot { value: name.clone(), file: "--name".into(), line: 0, column: 0 })?;
    }
    let named = |fallback: &str| args.name.clone().unwrap_or_else(|| fallback.to_string());
    let source = &args.source;
    if let Some(dir) = &source.sysfs {
        return Ok(import::sysfs(dir, &named("imported"))?);
    }
    if let Some(file) = &source.hwloc {
        return Ok(import::hwloc_xml(&file.display().to_string(), &options::read(file)?, &named("imported"))?);
    }
    if let Some(file) = &source.numactl {
        return Ok(import::numactl(&file.display().to_string(), &options::read(file)?, &named("imported"))?);
    }
    Ok(import::sysfs(Path::new("/"), &named("host"))?)
}
