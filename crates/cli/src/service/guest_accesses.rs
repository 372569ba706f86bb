//! Recording a program's accesses in a guest of one node.

use super::accesses;
use crate::failure::{note, Failure};
use crate::options::{time_option, variable};
use numalab_accesses::guest_recorder::{self, Guest, MOST_CPUS};
use numalab_accesses::recorder::{Recorded, Settings};
use numalab_lab::cache::Cache;
use numalab_lab::image::{self, ImageSpec, PackageVersion};
use numalab_lab::program::{Given, Program};
use numalab_model::machine::size;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Heading of these options in `--help`.
pub const HEADING: &str = "Guests (--in guest)";
/// Longest time of a program on the guest's clock. The time to record is limited by the clock of this machine.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

/// Where a recorded program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Place {
    /// On this machine, under QEMU's user mode
    User,
    /// In a guest of one node, under QEMU's emulation of a whole machine: for what the user mode cannot run
    Guest,
}

/// Options of a recording in a guest. Those that are not given have the defaults below.
#[derive(Debug, clap::Args)]
pub struct GuestRecordArgs {
    /// Where the recorded program runs
    #[arg(long = "in", value_name = "PLACE", value_enum, default_value_t = Place::User)]
    place: Place,
    /// File, directory or program that the guest is to have beside the program and its libraries. May be repeated
    #[arg(help_heading = HEADING, long, value_name = "PATH")]
    with: Vec<String>,
    /// Variable of the program's environment in the guest. May be repeated
    #[arg(help_heading = HEADING, long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// CPUs of the guest [default: 4]
    #[arg(help_heading = HEADING, long, value_name = "N", value_parser = cpus)]
    guest_cpus: Option<usize>,
    /// Memory of the guest [default: 4GiB]
    #[arg(help_heading = HEADING, long, value_name = "SIZE", value_parser = size::read_option)]
    guest_memory: Option<u64>,
    /// QEMU program for guests [default: qemu-system-x86_64]
    #[arg(help_heading = HEADING, long, value_name = "PROGRAM")]
    qemu: Option<PathBuf>,
    /// Longest time until the guest has booted [default: 5m]
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = time_option)]
    boot_budget: Option<Duration>,
}

fn cpus(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=MOST_CPUS).contains(n));
    number.ok_or_else(|| format!("a whole number from 1 to {MOST_CPUS}"))
}

impl GuestRecordArgs {
    /// Whether the program is to run in a guest.
    pub fn is_guest(&self) -> bool {
        self.place == Place::Guest
    }

    /// The first of these options that was given.
    pub fn given(&self) -> Option<&'static str> {
        self.of_guests().or_else(|| self.is_guest().then_some("--in guest"))
    }

    /// Refuses options that only a guest has, where there is none.
    ///
    /// # Errors
    /// The first such option.
    pub fn check(&self) -> Result<(), Failure> {
        match self.of_guests() {
            Some(option) if !self.is_guest() => Err(without_guest(option)),
            _ => Ok(()),
        }
    }

    fn of_guests(&self) -> Option<&'static str> {
        let given = [
            ("--with", !self.with.is_empty()),
            ("--env", !self.env.is_empty()),
            ("--guest-cpus", self.guest_cpus.is_some()),
            ("--guest-memory", self.guest_memory.is_some()),
            ("--qemu", self.qemu.is_some()),
            ("--boot-budget", self.boot_budget.is_some()),
        ];
        given.iter().find(|g| g.1).map(|g| g.0)
    }
}

/// That an option needs a guest.
pub fn without_guest(option: &str) -> Failure {
    Failure::usage(format!("{option}: has no effect on this machine; expected it with --in guest"))
}

/// Records the accesses of a command in a guest of the kernel image `kernel`, Debian's 6.12 if none is named. `stop` is
/// asked often whether somebody wants the end.
///
/// # Errors
/// The program, QEMU or the kernel is missing, the guest fails, or a file cannot be written.
pub fn record(
    dir: &Path,
    command: &[String],
    (args, kernel): (&GuestRecordArgs, Option<&str>),
    settings: &Settings,
    stop: &dyn Fn() -> bool,
) -> Result<Recorded, Failure> {
    let limit_ns = u64::try_from(LONGEST.as_nanos()).unwrap_or(u64::MAX);
    let program = Program::for_guests(&Given { command, with: &args.with, environment: &args.env, limit_ns })?;
    let name = kernel.unwrap_or("debian-6.12");
    let spec = ImageSpec::parse(name)?;
    let cache = Cache::open().map_err(|e| Failure::environment(format!("cache: {e}")))?;
    let image = image::resolve(&spec, PackageVersion::Kept, &cache, &mut note).map_err(Failure::environment)?;
    let guest = Guest {
        qemu: args.qemu.clone().unwrap_or_else(numalab_lab::qemu::default_program),
        name: name.into(),
        kernel: image.path,
        cpus: args.guest_cpus.unwrap_or(4),
        memory_bytes: args.guest_memory.unwrap_or(4 << 30),
        boot: args.boot_budget.unwrap_or(Duration::from_secs(300)),
    };
    accesses::watched(stop, &mut |look| guest_recorder::record(dir, &program, &guest, settings, look))
}
