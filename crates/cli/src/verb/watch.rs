//! `numalab watch`: nodes, processes and threads of this machine, as they are now.

use crate::failure::{Done, Failure};
use crate::options::{scope, time_option};
use numalab_host::procfs::scope::Scope;
use numalab_host::procfs::Roots;
use numalab_host::watch::{live, text, Frame, Limits, Sampler};
use std::io::IsTerminal;
use std::time::Duration;

/// Arguments of `watch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Process to watch, with its descendants [default: all processes]
    #[arg(long, value_name = "PID", conflicts_with = "cgroup")]
    pid: Option<u32>,
    /// Control group to watch, such as system.slice/postgresql.service
    #[arg(long, value_name = "GROUP")]
    cgroup: Option<String>,
    /// Time between two looks, such as 500ms or 2s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time_option)]
    every: Duration,
    /// Print what one interval shows as text, and end
    #[arg(long)]
    once: bool,
    /// Print what one interval shows as JSON, and end (docs/reference/json.md)
    #[arg(long, requires = "once")]
    json: bool,
    /// Print the busiest threads of each process too (with --once)
    #[arg(long, requires = "once")]
    threads: bool,
    /// Largest number of processes that --once prints as text
    #[arg(long, value_name = "N", default_value_t = 20, requires = "once")]
    top: usize,
}

/// Shows where threads run and where their memory is.
///
/// # Errors
/// No such process or control group; without `--once`, standard output is no terminal.
pub fn run(args: &Args) -> Result<Done, Failure> {
    let roots = Roots::default();
    let scope = scope(&roots, args.pid, args.cgroup.as_deref())?.unwrap_or(Scope::All);
    if args.once {
        let mut sampler = Sampler::new(roots, scope, Limits::once()).with_numa_work();
        let old = sampler.take().map_err(Failure::environment)?;
        std::thread::sleep(args.every);
        let new = sampler.take().map_err(Failure::environment)?;
        let frame = Frame::between(&old, &new);
        return match args.json {
            true => Done::json(&frame),
            false => Ok(Done::text(text::write(&frame, args.top, args.threads))),
        };
    }
    if !std::io::stdout().is_terminal() {
        let what = "standard output is no terminal; expected one, or --once (with --json for scripts)";
        return Err(Failure::environment(format!("watch: {what}")));
    }
    let mut sampler = Sampler::new(roots, scope, Limits::default()).with_numa_work();
    live::run(&mut sampler, args.every).map_err(Failure::environment)?;
    Ok(Done::text(String::new()))
}
