//! Options of the backend `vm`: which timing, how large a guest may be, how long it may take.

use crate::failure::Failure;
use numalab_lab::qemu::Timing;
use numalab_lab::vm_backend::Settings;
use numalab_model::machine::size;
use std::path::PathBuf;
use std::time::Duration;

/// How time passes in a guest, as written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TimingArg {
    /// Fast; the kernel's counters and the placement are valid, times are not
    Counters,
    /// Deterministic virtual time in which remote memory costs what the machine file says
    Modelled,
}

/// Heading in `--help`. Given to each option: a heading of the whole group would also hold what follows it.
const HEADING: &str = "Guests (--backend vm)";

/// What can be chosen about guests; nothing given means the usual settings of the timing mode.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct GuestArgs {
    /// How time passes in a guest; `counters` if not given (`validate`: `modelled`)
    #[arg(help_heading = HEADING, long, value_enum, value_name = "MODE")]
    pub timing: Option<TimingArg>,
    /// QEMU program; qemu-system-x86_64 if not given
    #[arg(help_heading = HEADING, long, value_name = "PROGRAM")]
    pub qemu: Option<PathBuf>,
    /// Most CPUs of a guest, 64 if not given; a larger machine is scaled down
    #[arg(help_heading = HEADING, long, value_name = "N", value_parser = cpus)]
    pub guest_cpus: Option<usize>,
    /// Most memory of a guest, 8GiB if not given; 8GB is decimal
    #[arg(help_heading = HEADING, long, value_name = "SIZE", value_parser = size::read_option)]
    pub guest_memory: Option<u64>,
    /// Most memory the workload may fill, 2GiB if not given (`modelled`: 256MiB); a larger one is divided
    #[arg(help_heading = HEADING, long, value_name = "SIZE", value_parser = size::read_option)]
    pub workload_memory: Option<u64>,
    /// Seconds of wall time until a guest must have booted; 120 if not given (`modelled`: 480)
    #[arg(help_heading = HEADING, long, value_name = "S", value_parser = duration)]
    pub boot_budget: Option<u64>,
    /// Seconds of wall time from there to the end of a run; 3600 if not given (`modelled`: 14400)
    #[arg(help_heading = HEADING, long, value_name = "S", value_parser = duration)]
    pub run_budget: Option<u64>,
    /// Seconds of wall time that a running guest may be silent; 300 if not given (`modelled`: 1200)
    #[arg(help_heading = HEADING, long, value_name = "S", value_parser = duration)]
    pub silence_budget: Option<u64>,
    /// Milliseconds of guest time between samples; 1000 if not given
    #[arg(help_heading = HEADING, long, value_name = "MS", value_parser = duration)]
    pub sample_ms: Option<u64>,
    /// Count local and remote cache misses in `counters` too, at half the speed
    #[arg(help_heading = HEADING, long)]
    pub count_misses: bool,
    /// Emulate even where KVM works
    #[arg(help_heading = HEADING, long)]
    pub no_kvm: bool,
    /// One more word for the guest kernel's command line; may be repeated
    #[arg(help_heading = HEADING, long, value_name = "WORD", value_parser = word)]
    pub boot_option: Vec<String>,
}

fn positive(text: &str, max: u64, what: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|n| (1..=max).contains(n));
    number.ok_or_else(|| format!("{what} from 1 to {max}"))
}

fn cpus(text: &str) -> Result<usize, String> {
    positive(text, numalab_lab::topology::MAX_CPUS as u64, "a whole number").map(|n| n as usize)
}

/// A number of seconds or milliseconds, as the option says.
fn duration(text: &str) -> Result<u64, String> {
    positive(text, 1_000_000, "a whole number")
}

/// A word of the kernel's command line.
fn word(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        return Err("one word without blanks; every further word has a --boot-option of its own".into());
    }
    Ok(text.into())
}

impl GuestArgs {
    /// The timing mode asked for.
    pub fn timing(&self) -> Timing {
        match self.timing {
            Some(TimingArg::Modelled) => Timing::Modelled,
            Some(TimingArg::Counters) | None => Timing::Counters,
        }
    }

    /// The settings asked for.
    ///
    /// # Errors
    /// Options that have no effect together.
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

    /// Refuses options of guests where there is no guest.
    ///
    /// # Errors
    /// The first option given.
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
    fn what_is_given_replaces_the_usual_settings() {
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
