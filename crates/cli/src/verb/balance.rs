//! `numalab balance`: the daemon that balances from user space.

use crate::failure::{note, Done, Exit, Failure};
use crate::options::{scope, time_option};
use numalab_host::balance::{metrics, sampler, Daemon, Halt, Kernel, Line, Log, Options};
use numalab_host::private_dir::{runtime_folder, user};
use numalab_host::procfs::scope::Scope;
use numalab_host::procfs::Roots;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;

/// Arguments of `balance`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("scope").required(true).args(["pid", "cgroup", "all", "undo"])))]
pub struct Args {
    /// Process to balance, with its descendants
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Control group to balance, such as system.slice/postgresql.service
    #[arg(long, value_name = "GROUP")]
    cgroup: Option<String>,
    /// Balance all processes that this user may change
    #[arg(long)]
    all: bool,
    /// Put back what a daemon that was killed has left changed, and end
    #[arg(long)]
    undo: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Largest rate at which memory moves, in MB (10^6 bytes) per second
    #[arg(long, value_name = "MB/S", default_value_t = 200.0, value_parser = rate)]
    rate: f64,
    /// Largest share of one CPU that balancing takes, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    cpu: f64,
    /// Time between two looks
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time_option)]
    every: Duration,
    /// Time after which it ends [default: it goes on until it is stopped]
    #[arg(long = "for", value_name = "TIME", value_parser = time_option)]
    longest: Option<Duration>,
    /// How to find out which memory is in use [default: the first of these that works here, soft-dirty excepted]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(sampler::names()))]
    sampler: Option<String>,
    /// File for the affinities that are changed. A restart undoes what it finds there [default: balance.json in
    /// $RUNTIME_DIRECTORY, else in /run/numalab for root, else in $XDG_RUNTIME_DIR/numalab]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Serve counters for Prometheus on this port of loopback; 0 lets the system choose one
    #[arg(long, value_name = "PORT")]
    metrics: Option<u16>,
    /// Print the log as JSON, one object per line (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Reads a rate in MB/s.
fn rate(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|v| (0.1..=1e6).contains(v));
    value.ok_or_else(|| "a number of MB/s from 0.1 to 1000000".into())
}

/// Reads a share in percent.
fn percent(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|v| (0.1..=100.0).contains(v));
    value.ok_or_else(|| "a number of percent from 0.1 to 100".into())
}

/// Balances until it is stopped.
///
/// # Errors
/// No such process or control group; a machine or a kernel that leaves nothing to do; a state that cannot be used.
pub fn run(args: &Args) -> Result<Done, Failure> {
    let roots = Roots::default();
    let scope = scope(&roots, args.pid, args.cgroup.as_deref())?.unwrap_or(Scope::All);
    let options = Options {
        scope,
        every: args.every,
        rate_bytes_per_s: args.rate * 1e6,
        cpu_share: args.cpu / 100.0,
        dry_run: args.dry_run,
        sampler: args.sampler.clone(),
        state: args.state.clone().map_or_else(default_state, Ok)?,
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|e| Failure::environment(format!("signals: {e}")))?;
    }
    let log = Log::new(Box::new(std::io::stdout()), args.json);
    if args.undo {
        return match Daemon::undo_left(roots, options, Box::new(Kernel), log) {
            Ok(0) => said(args, "no daemon has left anything changed"),
            Ok(_) => Ok(Done::text(String::new())),
            Err(Halt::Machine(why) | Halt::State(why) | Halt::KernelBalances(why) | Halt::Sampler(why)) => {
                Err(Failure::environment(format!("balance: {why}")))
            }
        };
    }
    let mut daemon = match Daemon::start(roots, options, Box::new(Kernel), log) {
        Ok(daemon) => daemon,
        // Nothing to balance is an answer, not a failure.
        Err(Halt::Machine(why)) => return said(args, &why),
        Err(Halt::State(why) | Halt::KernelBalances(why) | Halt::Sampler(why)) => {
            return Err(Failure::environment(format!("balance: {why}")))
        }
    };
    if let Some(port) = args.metrics {
        let port = metrics::serve(port, daemon.metrics())
            .map_err(|e| Failure::environment(format!("--metrics {port}: {e}; expected a free port, or 0")))?;
        note(&format!("numalab: counters at http://127.0.0.1:{port}/metrics"));
    }
    daemon.run(&stop, args.longest.unwrap_or(Duration::MAX)).map_err(Failure::environment)?;
    Ok(Done::text(String::new()))
}

/// A remark as the whole result.
fn said(args: &Args, why: &str) -> Result<Done, Failure> {
    let line = Line::note(why);
    let text = if args.json { serde_json::to_string(&line)? } else { line.text() };
    Ok(Done { text: text + "\n", exit: Exit::OK })
}

/// Where the state is kept: a folder of this user alone that a reboot empties, since affinities do not outlive one.
fn default_state() -> Result<PathBuf, Failure> {
    let uid = user();
    let folder = runtime_folder(|name| std::env::var_os(name), uid, Path::new("/run"));
    let folder = folder.ok_or_else(|| {
        Failure::environment(format!(
            "balance: neither $XDG_RUNTIME_DIR nor /run/user/{uid} is a folder of this user alone, for the affinities that \
             are changed; expected one, or --state FILE in a folder to which nobody else may write"
        ))
    })?;
    Ok(folder.join("balance.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_ranges() {
        assert_eq!((rate("200"), percent("0.5")), (Ok(200.0), Ok(0.5)));
        for bad in ["0", "-1", "x", "NaN", "inf", "1e9"] {
            assert!(rate(bad).is_err() && percent(bad).is_err(), "{bad}");
        }
    }
}
