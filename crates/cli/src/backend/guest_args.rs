//! Options of the backend `vm`: the timing mode, the size of a guest, and its time budgets.

use crate::failure::Failure;
use numalab_lab::qemu::Timing;
use numalab_lab::vm_backend::Settings;
use numalab_model::machine::size;
use std::path::PathBuf;
use std::time::Duration;

/// How time passes in a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TimingArg {
    /// Fast: the kernel's counters and the placement of pages are valid, times are not
    Counters,
    /// Deterministic virtual time, in which an access to remote memory takes as long as the machine file says
    Modelled,
}

/// Heading of these options in `--help`. Every option names it, since a heading of the whole group would also apply to
/// the options that follow.
const HEADING: &str = "Guests (--backend vm)";

/// Options of guests. Options that are not given have the default of the timing mode.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct GuestArgs {
    /// How time passes in a guest [default: counters; with `validate`: modelled]
    #[arg(help_heading = HEADING, long, value_enum, value_name = "MODE")]
    pub timing: Option<TimingArg>,
    /// QEMU program [default: qemu-system-x86_64]
    #[arg(help_heading = HEADING, long, value_name = "PROGRAM")]
    pub qemu: Option<PathBuf>,
    /// Largest number of CPUs of a guest. A larger machine is scaled down [default: 64]
    #[arg(help_heading = HEADING, long, value_name = "N", value_parser = cpus)]
    pub guest_cpus: Option<usize>,
    /// Largest memory of a guest, such as 8GiB, or 8GB for 8e9 bytes [default: 8GiB]
    #[arg(help_heading = HEADING, long, value_name = "SIZE", value_parser = size::read_option)]
    pub guest_memory: Option<u64>,
    /// Largest memory that the workload may fill. A larger workload is divided [default: 2GiB; with --timing modelled:
    /// 256MiB]
    #[arg(help_heading = HEADING, long, value_name = "SIZE", value_parser = size::read_option)]
    pub workload_memory: Option<u64>,
    /// Longest wall time until a guest has booted, in seconds [default: 120; with --timing modelled: 480]
    #[arg(help_heading = HEADING, long, value_name = "S", value_parser = duration)]
    pub boot_budget: Option<u64>,
    /// Longest wall time from the end of booting to the end of a run, in seconds [default: 3600; with --timing
    /// modelled: 14400]
    #[arg(help_heading = HEADING, long, value_name = "S", value_parser = duration)]
    pub run_budget: Option<u64>,
    /// Longest wall time without a report from a running guest, in seconds [default: 300; with --timing modelled: 1200]
    #[arg(help_heading = HEADING, long, value_name = "S", value_parser = duration)]
    pub silence_budget: Option<u64>,
    /// Guest time between two samples, in milliseconds [default: 1000]
    #[arg(help_heading = HEADING, long, value_name = "MS", value_parser = duration)]
    pub sample_ms: Option<u64>,
    /// Count local and remote cache misses with --timing counters, which halves the speed
    #[arg(help_heading = HEADING, long)]
    pub count_misses: bool,
    /// Emulate the CPUs even if KVM works here
    #[arg(help_heading = HEADING, long)]
    pub no_kvm: bool,
    /// Word to add to the command line of the guest's kernel. May be repeated
    #[arg(help_heading = HEADING, long, value_name = "WORD", value_parser = word)]
    pub boot_option: Vec<String>,
}

/// Reads a whole number from 1 to `max`; `what` names it in the message.
fn positive(text: &str, max: u64, what: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|n| (1..=max).contains(n));
    number.ok_or_else(|| format!("{what} from 1 to {max}"))
}

/// Reads a number of CPUs.
fn cpus(text: &str) -> Result<usize, String> {
    positive(text, numalab_lab::topology::MAX_CPUS as u64, "a whole number").map(|n| n as usize)
}

/// Reads a duration, in the unit of its option.
fn duration(text: &str) -> Result<u64, String> {
    positive(text, 1_000_000, "a whole number")
}

/// Reads a word of the kernel's command line.
fn word(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        return Err("one word without blanks; every further word has a --boot-option of its own".into());
    }
    Ok(text.into())
}

impl GuestArgs {
    /// The timing mode.
    pub fn timing(&self) -> Timing {
        match self.timing {
            Some(TimingArg::Modelled) => Timing::Modelled,
            Some(TimingArg::Counters) | None => Timing::Counters,
        }
    }

    /// Suffix of the default directory of records, so that every timing mode has one of its own.
    pub fn suffix(&self) -> &'static str {
        match self.timing() {
            Timing::Counters => "-vm-counters",
            Timing::Modelled => "-vm-modelled",
        }
    }

    /// The settings of the laboratory.
    ///
    /// # Errors
    /// Two options of which one has no effect beside the other.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let timing = self.timing();
        if timing == Timing::Modelled && (self.count_misses || self.no_kvm) {
            let option = if self.count_misses { "--count-misses" } else { "--no-kvm" };
            let what = "has no effect with --timing modelled, which always counts misses and never uses KVM";
            return Err(Failure::usage(format!("{option}: {what}; expected it only with --timing counters")));
        }
        let mut s = Settings::new(timing);
        s.qemu = self.qemu.clone().unwrap_or(s.qemu);
        s.limits.cpus = self.guest_cpus.unwrap_or(s.limits.cpus);
        s.limits.memory_bytes = self.guest_memory.unwrap_or(s.limits.memory_bytes);
        s.limits.workload_bytes = self.workload_memory.unwrap_or(s.limits.workload_bytes);
        let budget = |given: Option<u64>, usual| given.map_or(usual, Duration::from_secs);
        s.budgets.boot = budget(self.boot_budget, s.budgets.boot);
        s.budgets.run = budget(self.run_budget, s.budgets.run);
        s.budgets.silence = budget(self.silence_budget, s.budgets.silence);
        s.sample_ns = self.sample_ms.map_or(s.sample_ns, |ms| ms * 1_000_000);
        s.count_misses = self.count_misses;
        s.kvm = !self.no_kvm;
        s.boot_options.clone_from(&self.boot_option);
        Ok(s)
    }

    /// Refuses options of guests for a backend without guests.
    ///
    /// # Errors
    /// The first option that was given.
    pub fn refuse(&self, backend: &str) -> Result<(), Failure> {
        let given = [
            ("--timing", self.timing.is_some()),
            ("--qemu", self.qemu.is_some()),
            ("--guest-cpus", self.guest_cpus.is_some()),
            ("--guest-memory", self.guest_memory.is_some()),
            ("--workload-memory", self.workload_memory.is_some()),
            ("--boot-budget", self.boot_budget.is_some()),
            ("--run-budget", self.run_budget.is_some()),
            ("--silence-budget", self.silence_budget.is_some()),
            ("--sample-ms", self.sample_ms.is_some()),
            ("--count-misses", self.count_misses),
            ("--no-kvm", self.no_kvm),
            ("--boot-option", !self.boot_option.is_empty()),
        ];
        match given.iter().find(|g| g.1) {
            Some((option, _)) => {
                Err(Failure::usage(format!("{option}: has no effect with --backend {backend}; expected --backend vm")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_options_replace_defaults() {
        let usual = GuestArgs::default().settings().unwrap();
        assert_eq!((usual.timing, usual.kvm), (Timing::Counters, true));
        let args = GuestArgs {
            timing: Some(TimingArg::Modelled),
            guest_memory: Some(size::read_option("2GiB").unwrap()),
            run_budget: Some(7),
            sample_ms: Some(100),
            ..GuestArgs::default()
        };
        let s = args.settings().unwrap();
        assert_eq!((s.timing, s.limits.memory_bytes, s.sample_ns), (Timing::Modelled, 2 << 30, 100_000_000));
        assert_eq!((s.budgets.run.as_secs(), s.budgets.boot), (7, Settings::new(Timing::Modelled).budgets.boot));
        assert!(s.limits.workload_bytes < usual.limits.workload_bytes);
    }

    #[test]
    fn options_without_effect_are_refused() {
        let args = GuestArgs { timing: Some(TimingArg::Modelled), count_misses: true, ..GuestArgs::default() };
        assert!(args.settings().unwrap_err().message.contains("--count-misses: has no effect"));
        assert!(args.refuse("sim").unwrap_err().message.contains("--timing: has no effect with --backend sim"));
        assert!(GuestArgs::default().refuse("sim").is_ok());
        assert!(cpus("256").is_err() && duration("0").is_err());
        assert!(word("a b").is_err() && word("").is_err() && word("a=b") == Ok("a=b".into()));
    }
}
