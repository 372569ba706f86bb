//! `numalab machine`: a machine file from this host or from other tools' output, or a machine drawn.

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
    /// Print a machine file for --machine, made from what another tool or this host says
    Import(Import),
    /// Draw nodes, caches and CPUs, and print the matrices
    Show {
        /// Machine: a name of the catalog, a TOML file, or NODESxLLCSxCORESxTHREADS
        machine: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
        /// Print a CPU's scheduling domains instead, as /sys/kernel/debug/sched/domains has them
        #[arg(long)]
        domains: bool,
        /// CPU of --domains; the first one if not given
        #[arg(long, value_name = "N", requires = "domains")]
        cpu: Option<u32>,
        /// Kernel of --domains; 6.12 if not given
        #[arg(long, value_name = "KERNEL", requires = "domains")]
        kernel: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
struct Import {
    #[command(flatten)]
    source: Source,
    /// Name of the machine
    #[arg(long)]
    name: Option<String>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// This host
    #[arg(long)]
    host: bool,
    /// A copy of another host's sysfs: the folder that holds sys/devices/system or devices/system
    #[arg(long, value_name = "DIR")]
    sysfs: Option<PathBuf>,
    /// An hwloc XML export (version 2 or 3)
    #[arg(long, value_name = "FILE")]
    hwloc: Option<PathBuf>,
    /// The output of `numactl -H`
    #[arg(long, value_name = "FILE")]
    numactl: Option<PathBuf>,
}

/// Carries out the action.
///
/// # Errors
/// A source that cannot be read or makes no machine.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    match &args.action {
        Action::Import(import) => Ok(Done::text(toml(import)?)),
        Action::Show { machine, json, domains: true, cpu, kernel } => {
            domains::run(context, &Request { machine, cpu: *cpu, kernel: kernel.as_deref(), json: *json })
        }
        Action::Show { machine, json, .. } => show::show(context, Kind::Machines, std::slice::from_ref(machine), *json),
    }
}

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
