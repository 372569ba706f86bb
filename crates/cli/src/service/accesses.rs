//! Recording a program's accesses, with a line of progress and an end by Ctrl-C.

use crate::failure::{is_quiet, note, Exit, Failure};
use indicatif::{ProgressBar, ProgressDrawTarget};
use numalab_accesses::format::Control;
use numalab_accesses::record::Ending;
use numalab_accesses::recorder::{self, Look, RecordError, Recorded, Settings};
use numalab_model::machine::size;
use std::io::IsTerminal;
use std::path::Path;

impl From<RecordError> for Failure {
    fn from(e: RecordError) -> Self {
        match e {
            RecordError::NoProgram(_) | RecordError::Foreign { .. } | RecordError::Program(_) => {
                Self::usage(e.to_string())
            }
            RecordError::Guest(ref guest, _) => {
                Self { exit: Exit::of(&guest.outcome().status), message: e.to_string() }
            }
            _ => Self::environment(e.to_string()),
        }
    }
}

/// Records the accesses of a command in a directory. `stop` is asked often whether somebody wants the end.
///
/// # Errors
/// The program or QEMU is missing, or a file cannot be written.
pub fn record(
    dir: &Path,
    command: &[String],
    settings: &Settings,
    stop: &dyn Fn() -> bool,
) -> Result<Recorded, Failure> {
    watched(stop, &mut |look| recorder::record(dir, command, settings, look))
}

/// What a recorder calls with totals so far.
pub type OnLook<'a> = &'a mut dyn FnMut(&Control) -> Look;

/// Runs a recorder with a line of progress, and says what there is to say at its end.
///
/// # Errors
/// Those of the recorder.
pub fn watched(
    stop: &dyn Fn() -> bool,
    run: &mut dyn FnMut(OnLook<'_>) -> Result<Recorded, RecordError>,
) -> Result<Recorded, Failure> {
    let line = line();
    let recorded = run(&mut |now: &Control| {
        line.set_message(progress(now));
        line.tick();
        if stop() {
            Look::Stop
        } else {
            Look::GoOn
        }
    });
    line.finish_and_clear();
    let recorded = recorded?;
    recorded.remarks.iter().for_each(|r| note(&format!("numalab: {r}")));
    Ok(recorded)
}

/// The line of progress; none where standard error is no terminal, and with `--quiet`.
fn line() -> ProgressBar {
    let shown = std::io::stderr().is_terminal() && !is_quiet();
    let target = if shown { ProgressDrawTarget::stderr_with_hz(2) } else { ProgressDrawTarget::hidden() };
    ProgressBar::with_draw_target(None, target)
}

fn progress(now: &Control) -> String {
    let millions = |n: u64| n as f64 / 1e6;
    if now.images == 0 {
        return "the program has not begun".into();
    }
    format!(
        "{:.0} M instructions, {:.1} M lines visited, {} program images, {} of at most {}",
        millions(now.insns),
        millions(now.lines),
        now.images,
        size::short(now.used_bytes),
        size::short(now.limit_bytes)
    )
}

/// The exit code of a command whose program ended so.
pub fn exit(ending: &Ending) -> Exit {
    match ending {
        Ending::Exit(0) | Ending::TimeOver | Ending::Interrupted | Ending::Running => Exit::OK,
        Ending::Exit(_) | Ending::Signal(_) => Exit::FINDING,
    }
}

/// How a program ended, in words.
pub fn ended(ending: &Ending) -> String {
    match ending {
        Ending::Running => "it had not ended".into(),
        Ending::Exit(code) => format!("it exited with {code}"),
        Ending::Signal(signal) => format!("it was ended by {}", recorder::signal_name(*signal)),
        Ending::TimeOver => "its time was over".into(),
        Ending::Interrupted => "it was interrupted".into(),
    }
}
