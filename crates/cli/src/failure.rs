//! How a command ends: with a result or one message, and with an exit code.

use numalab_base::visible_text::is_invisible;
use numalab_lab::failure::Failure as GuestFailure;
use numalab_model::record::{RecordError, Status};
use numalab_model::spec::SpecError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of the program (docs/reference/exit-codes.md): 0 to 3 for the command itself, 4 to 12 for failed runs
/// ([`GuestFailure::exit_code`]). Of several codes, a command ends with the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exit(u8);

impl Exit {
    /// Done.
    pub const OK: Self = Self(0);
    /// Done, with a finding: a run failed, or a record is missing.
    pub const FINDING: Self = Self(1);
    /// The command line or a file is wrong; nothing was run.
    pub const USAGE: Self = Self(2);
    /// This machine cannot do it: files, permissions, missing tools.
    pub const ENVIRONMENT: Self = Self(3);
    /// A run reached its limit of time, or a guest its run budget.
    pub const TIMEOUT: Self = Self(5);

    /// The code of a command whose run ended with `status`.
    pub fn of(status: &Status) -> Self {
        match status {
            Status::Completed => Self::OK,
            Status::Timeout => Self::TIMEOUT,
            Status::Failed(_) => GuestFailure::of_status(status).map_or(Self::FINDING, |f| Self(f.exit_code())),
        }
    }

    /// The number.
    pub fn code(self) -> u8 {
        self.0
    }
}

/// Why a command could not do what it was asked to.
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
        Self { exit: Exit::USAGE, message: message.into() }
    }
    /// A refusal of this machine.
    pub fn environment(message: impl Into<String>) -> Self {
        Self { exit: Exit::ENVIRONMENT, message: message.into() }
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
            RecordError::Foreign { .. } | RecordError::Version { .. } => Exit::USAGE,
            RecordError::Io { .. } | RecordError::Busy { .. } => Exit::ENVIRONMENT,
            RecordError::Damaged { .. } | RecordError::Outcome(_) => Exit::ENVIRONMENT,
        };
        Self { exit, message: e.to_string() }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(e: serde_json::Error) -> Self {
        Self::environment(format!("cannot write JSON: {e}"))
    }
}

/// Whether `--quiet` was given.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on, [`note`] prints nothing.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether `--quiet` was given.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a line on standard error that is neither the result nor a failure, unless `--quiet` was given.
pub fn note(text: &str) {
    if !is_quiet() {
        finding(text);
    }
}

/// Prints a line on standard error that is part of the result. Errors are ignored: the reader may have closed standard
/// error.
pub fn finding(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}", printable(text));
}

/// A message with its invisible characters escaped, since it may quote a file of unknown origin.
pub fn printable(text: &str) -> String {
    let harmless = |c: char| !is_invisible(c) || c == '\n' || c == '\t';
    text.chars().map(|c| if harmless(c) { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

/// The result of a command that is done.
#[derive(Debug)]
pub struct Done {
    /// Text for standard output; it ends in a newline unless it is empty.
    pub text: String,
    /// Exit code.
    pub exit: Exit,
}

impl Done {
    /// A text, with exit code 0.
    pub fn text(text: String) -> Self {
        Self { text, exit: Exit::OK }
    }
    /// A value as indented JSON, with exit code 0.
    ///
    /// # Errors
    /// The value has no JSON form.
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
        let all = [Exit::OK, Exit::FINDING, Exit::USAGE, Exit::ENVIRONMENT, Exit::TIMEOUT];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 5]);
        let failed = |why: &str| Exit::of(&Status::Failed(why.into()));
        assert_eq!(Exit::of(&Status::Completed), Exit::OK);
        assert_eq!(Exit::of(&Status::Timeout), Exit::TIMEOUT);
        assert_eq!(failed("no such luck"), Exit::FINDING);
        assert_eq!(failed("out of memory: main touched a page").code(), 8);
        assert_eq!(failed("guest kernel panic: why").code(), 4);
        for guest in GuestFailure::ALL {
            let exit = failed(&format!("{}: why", guest.name()));
            assert_eq!(
                exit.code(),
                guest.exit_code(),
                "docs/reference/vm.md and docs/reference/exit-codes.md name these codes"
            );
        }
    }

    #[test]
    fn wrong_input_and_a_refusing_machine_have_different_codes() {
        let spec = Failure::from(SpecError::plain("a.toml", "wrong", "right"));
        assert_eq!((spec.exit, spec.message.as_str()), (Exit::USAGE, "a.toml: wrong; expected right"));
        let io = RecordError::Io { path: "/x".into(), why: "permission denied".into() };
        assert_eq!(Failure::from(io).exit, Exit::ENVIRONMENT);
        let foreign = RecordError::Foreign { path: "/x".into(), what: "w".into(), expected: "e".into() };
        assert_eq!(Failure::from(foreign).exit, Exit::USAGE);
        assert_eq!(Failure::from(RecordError::Outcome("x is NaN".into())).exit, Exit::ENVIRONMENT);
    }
}
