//! How a run can fail: every kind has a name and an exit code of its own.

use numalab_model::record::{Outcome, Status};
use std::fmt::Display;
use std::path::Path;

/// Kind of a failed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The guest's kernel panicked.
    Panic,
    /// The guest stopped reporting.
    Hang,
    /// Process 1 did not report within the boot budget.
    BootTimeout,
    /// The report was not complete within the run budget.
    RunTimeout,
    /// The guest ran out of memory.
    OutOfMemory,
    /// The report channel carried bytes that are not a frame.
    Garbage,
    /// The kernel lacks, refuses or changes a setting of the run.
    Setting,
    /// The worker could not carry out the job.
    Refused,
    /// QEMU could not be started, or ended by itself.
    QemuFailed,
    /// QEMU was killed.
    QemuKilled,
    /// A signal from elsewhere ended the worker on this host.
    WorkerKilled,
}

impl Failure {
    /// All kinds.
    pub const ALL: [Failure; 11] = [
        Failure::Panic,
        Failure::RunTimeout,
        Failure::Hang,
        Failure::BootTimeout,
        Failure::OutOfMemory,
        Failure::Garbage,
        Failure::Setting,
        Failure::Refused,
        Failure::QemuFailed,
        Failure::QemuKilled,
        Failure::WorkerKilled,
    ];

    /// Exit code of a command that ends with this failure: 4 to 12, 1 for [`Failure::WorkerKilled`], or 2 for
    /// [`Failure::Setting`], because what was asked for is wrong.
    pub fn exit_code(self) -> u8 {
        match self {
            Failure::WorkerKilled => 1,
            Failure::Setting => 2,
            Failure::Panic => 4,
            Failure::RunTimeout => 5,
            Failure::Hang => 6,
            Failure::BootTimeout => 7,
            Failure::OutOfMemory => 8,
            Failure::Garbage => 9,
            Failure::Refused => 10,
            Failure::QemuFailed => 11,
            Failure::QemuKilled => 12,
        }
    }

    /// Name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Failure::Panic => "guest kernel panic",
            Failure::Hang => "guest hang",
            Failure::BootTimeout => "boot budget exceeded",
            Failure::RunTimeout => "run budget exceeded",
            Failure::OutOfMemory => "guest out of memory",
            Failure::Garbage => "garbage on the report channel",
            Failure::Setting => "setting of the kernel",
            Failure::Refused => "job refused by the worker",
            Failure::QemuFailed => "QEMU failed",
            Failure::QemuKilled => "QEMU was killed",
            Failure::WorkerKilled => "worker was killed",
        }
    }

    /// The failure that a run's status stands for, if any. [`RunError::outcome`] makes such statuses.
    pub fn of_status(status: &Status) -> Option<Self> {
        let Status::Failed(reason) = status else { return None };
        let named = Self::ALL.into_iter().find(|f| reason.starts_with(f.name()));
        named.or(reason.starts_with("out of memory").then_some(Failure::OutOfMemory))
    }
}

/// Makes the text of an error that begins with the path that it concerns; for `map_err`.
pub(crate) fn at_path<E: Display>(path: &Path) -> impl Fn(E) -> String + '_ {
    move |e| format!("{}: {e}", path.display())
}

/// A failed run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}{}", kind.name(), show(console))]
pub struct RunError {
    /// Kind.
    pub kind: Failure,
    /// Details.
    pub detail: String,
    /// Last lines of the guest's console.
    pub console: Vec<String>,
}

impl RunError {
    /// A failure without a console.
    pub(crate) fn new(kind: Failure, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), console: Vec::new() }
    }

    /// Whether the guest died of a breakpoint that its own code patching had already removed. Emulated processors
    /// execute such a breakpoint now and then (QEMU 7.2, several threads), real processors never do. It is no fault of
    /// the kernel.
    pub fn is_stale_breakpoint(&self) -> bool {
        self.kind == Failure::Panic && self.console.iter().any(|l| l.contains(BREAKPOINT))
    }

    /// The failure as an outcome for the record: its status begins with the failure's name, and the last console lines
    /// are warnings.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            status: Status::Failed(format!("{}: {}", self.kind.name(), self.detail)),
            warnings: self.console.iter().map(|l| format!("console: {l}")).collect(),
            ..Outcome::default()
        }
    }
}

fn show(console: &[String]) -> String {
    if console.is_empty() {
        return String::new();
    }
    format!("\nlast console lines:\n  {}", console.join("\n  "))
}

/// Number of last console lines that an error keeps.
const CONSOLE_LINES: usize = 20;

/// The last console lines. The first line of a panic and the breakpoint that led to it are kept in any case, because a
/// long dump may follow them.
pub(crate) fn tail(console: &[String]) -> Vec<String> {
    let from = console.len().saturating_sub(CONSOLE_LINES);
    let reasons = [BREAKPOINT, PANIC].into_iter().filter_map(|r| console[..from].iter().find(|l| l.contains(r)));
    reasons.chain(&console[from..]).cloned().collect()
}

/// Console text of a kernel panic.
const PANIC: &str = "Kernel panic - not syncing";
/// Console text of a breakpoint in kernel code that no debugger has set.
const BREAKPOINT: &str = "int3: 0000";

/// The kind of a failure, from what the console shows. A panic and exhausted memory look like QEMU ending by itself:
/// `panic=-1` restarts the machine, and `-no-reboot` turns the restart into an exit.
pub(crate) fn classify(kind: Failure, detail: String, console: &[String], errors: &str) -> (Failure, String) {
    let said = |text: &str| console.iter().find(|l| l.contains(text)).cloned();
    let ended = matches!(kind, Failure::QemuFailed | Failure::BootTimeout | Failure::Hang);
    if ended {
        if let Some(line) = said("System is deadlocked on memory").or_else(|| said("Out of memory and no killable")) {
            return (Failure::OutOfMemory, line);
        }
        if let Some(line) = said(PANIC) {
            return (Failure::Panic, line);
        }
    }
    let detail = if errors.is_empty() { detail } else { format!("{detail}: {errors}") };
    (kind, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The consoles are those of emulated 6.12 guests, shortened. A long dump separates the breakpoint from the panic.
    #[test]
    fn a_stale_breakpoint_differs_from_other_panics() {
        let of = |first: &str| {
            let dump = (0..30).map(|n| format!("[    3.59{n:04}] R{n}: 0"));
            let all: Vec<String> = std::iter::once(format!("[    3.595000] {first}"))
                .chain(dump)
                .chain([format!("[    3.597409] {PANIC}: Fatal exception in interrupt")])
                .collect();
            RunError { kind: Failure::Panic, detail: String::new(), console: tail(&all) }
        };
        assert!(of("Oops: int3: 0000 [#1] PREEMPT SMP NOPTI").is_stale_breakpoint());
        assert!(!of("BUG: unable to handle page fault for address: 0").is_stale_breakpoint());
        let hang = RunError { kind: Failure::Hang, ..of("int3: 0000 [#1] SMP") };
        assert!(!hang.is_stale_breakpoint());
    }

    #[test]
    fn exit_codes_are_distinct() {
        let mut codes: Vec<u8> = Failure::ALL.iter().map(|f| f.exit_code()).collect();
        codes.sort_unstable();
        assert_eq!(codes, [1, 2].into_iter().chain(4..13).collect::<Vec<_>>());
        for kind in Failure::ALL {
            let error = RunError { kind, detail: "d".into(), console: vec!["last".into()] };
            let outcome = error.outcome();
            assert_eq!(Failure::of_status(&outcome.status), Some(kind));
            assert_eq!(outcome.warnings, vec!["console: last"]);
        }
        assert_eq!(Failure::of_status(&Status::Failed("out of memory: x".into())), Some(Failure::OutOfMemory));
        assert_eq!(Failure::of_status(&Status::Timeout), None);
    }

    #[test]
    fn a_panic_on_the_console_names_the_failure() {
        let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
        let panic = lines("x\n[    1.0] Kernel panic - not syncing: Attempted to kill init!\n");
        let of = |console: &[String]| classify(Failure::QemuFailed, "d".into(), console, "").0;
        assert_eq!(of(&panic), Failure::Panic);
        let oom = lines("[ 1.0] Kernel panic - not syncing: System is deadlocked on memory\n");
        assert_eq!(of(&oom), Failure::OutOfMemory);
        assert_eq!(of(&[]), Failure::QemuFailed);
        assert_eq!(classify(Failure::QemuKilled, "d".into(), &panic, "").0, Failure::QemuKilled);
        let mut long = panic.clone();
        long.extend((0..50).map(|i| format!("registers {i}")));
        assert_eq!(of(&long), Failure::Panic);
        assert_eq!((tail(&long).len(), tail(&long)[0].as_str()), (CONSOLE_LINES + 1, panic[1].as_str()));
        assert_eq!(classify(Failure::QemuFailed, "d".into(), &[], "bad option").1, "d: bad option");
    }
}
