//! How a command ends: exit codes, and the one message of a failure.

use numalab_lab::failure::Failure as GuestFailure;
use numalab_model::record::{RecordError, Status};
use numalab_model::spec::SpecError;

/// Exit code of the program (docs/json.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// Done, and something was found: a run failed, a record is missing.
    Finding = 1,
    /// The command line or a spec is wrong; nothing was run.
    Usage = 2,
    /// The machine at hand refuses: files, permissions, missing tools.
    Environment = 3,
    /// A guest kernel panicked.
    Panic = 4,
    /// A run reached its limit of time, or a guest its run budget.
    Timeout = 5,
    /// A guest stopped reporting.
    Hang = 6,
    /// A guest did not boot within its budget.
    BootTimeout = 7,
    /// A run ended for want of memory.
    OutOfMemory = 8,
    /// A guest's report was none.
    Garbage = 9,
    /// The worker could not carry out the job.
    Refused = 10,
    /// QEMU could not start, or ended by itself.
    QemuFailed = 11,
    /// QEMU was killed.
    QemuKilled = 12,
}

impl Exit {
    /// What a run's end means for the command.
    pub fn of(status: &Status) -> Self {
        match status {
            Status::Completed => Exit::Ok,
            Status::Timeout => Exit::Timeout,
            Status::Failed(_) => GuestFailure::of_status(status).map_or(Exit::Finding, Exit::of_guest),
        }
    }
    /// What a guest's failure means for the command.
    pub fn of_guest(failure: GuestFailure) -> Self {
        match failure {
            GuestFailure::Panic => Exit::Panic,
            GuestFailure::RunTimeout => Exit::Timeout,
            GuestFailure::Hang => Exit::Hang,
            GuestFailure::BootTimeout => Exit::BootTimeout,
            GuestFailure::OutOfMemory => Exit::OutOfMemory,
            GuestFailure::Garbage => Exit::Garbage,
            GuestFailure::Refused => Exit::Refused,
            GuestFailure::QemuFailed => Exit::QemuFailed,
            GuestFailure::QemuKilled => Exit::QemuKilled,
            GuestFailure::WorkerKilled => Exit::Finding,
        }
    }
    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// A command that could not do what it was asked to.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub exit: Exit,
    /// What is wrong, where, and what was expected.
    pub message: String,
}

impl Failure {
    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }
    /// A refusal of the machine at hand.
    pub fn environment(message: impl Into<String>) -> Self {
        Self { exit: Exit::Environment, message: message.into() }
    }
}

impl From<SpecError> for Failure {
    fn from(e: SpecError) -> Self {
        Self::usage(e.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(e: RecordError) -> Self {
        let exit = match e {
            RecordError::Foreign { .. } | RecordError::Version { .. } => Exit::Usage,
            RecordError::Io { .. } | RecordError::Busy { .. } => Exit::Environment,
            RecordError::Damaged { .. } | RecordError::Outcome(_) => Exit::Environment,
        };
        Self { exit, message: e.to_string() }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(e: serde_json::Error) -> Self {
        Self::environment(format!("cannot write JSON: {e}"))
    }
}

/// Says something on standard error that is neither the result nor a failure. If standard error is gone,
/// nobody wanted to know.
pub fn note(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}", printable(text));
}

/// A message with its control characters escaped: it may quote a file that somebody else wrote.
pub fn printable(text: &str) -> String {
    let harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
    text.chars().map(|c| if harmless(c) { c.to_string() } else { c.escape_default().to_string() }).collect()
}

/// What a command prints when it is done.
#[derive(Debug)]
pub struct Done {
    /// For standard output; ends in a newline unless empty.
    pub text: String,
    /// Exit code.
    pub exit: Exit,
}

impl Done {
    /// Text and success.
    pub fn text(text: String) -> Self {
        Self { text, exit: Exit::Ok }
    }
    /// Pretty JSON and success.
    ///
    /// # Errors
    /// A value that has no JSON form.
    pub fn json<T: serde::Serialize>(value: &T) -> Result<Self, Failure> {
        let mut text = serde_json::to_string_pretty(value)?;
        text.push('\n');
        Ok(Self::text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_documented() {
        let all = [Exit::Ok, Exit::Finding, Exit::Usage, Exit::Environment, Exit::Panic, Exit::Timeout];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 4, 5]);
        let failed = |why: &str| Exit::of(&Status::Failed(why.into()));
        assert_eq!(Exit::of(&Status::Completed), Exit::Ok);
        assert_eq!(Exit::of(&Status::Timeout), Exit::Timeout);
        assert_eq!(failed("no such luck"), Exit::Finding);
        assert_eq!(failed("out of memory: main touched a page"), Exit::OutOfMemory);
        for guest in GuestFailure::ALL {
            assert_eq!(failed(&format!("{}: why", guest.name())), Exit::of_guest(guest));
            assert_eq!(Exit::of_guest(guest).code(), guest.exit_code(), "docs/vm.md and docs/json.md say so");
        }
    }

    #[test]
    fn wrong_input_and_a_refusing_machine_have_different_codes() {
        let spec = Failure::from(SpecError::plain("a.toml", "wrong", "right"));
        assert_eq!((spec.exit, spec.message.as_str()), (Exit::Usage, "a.toml: wrong; expected right"));
        let io = RecordError::Io { path: "/x".into(), why: "permission denied".into() };
        assert_eq!(Failure::from(io).exit, Exit::Environment);
        let foreign = RecordError::Foreign { path: "/x".into(), what: "w".into(), expected: "e".into() };
        assert_eq!(Failure::from(foreign).exit, Exit::Usage);
        assert_eq!(Failure::from(RecordError::Outcome("x is NaN".into())).exit, Exit::Environment);
    }
}
