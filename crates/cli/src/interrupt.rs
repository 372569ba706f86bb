//! Ctrl-C and SIGTERM while runs are carried out: a message says how many records are kept and how to resume.
//!
//! A record is renamed to its final name when it is complete. The process may therefore end at any moment without
//! leaving half a record. Unfinished files are removed when the directory is next opened.

use crate::failure::note;
use numalab_model::experiment::Cell;
use numalab_model::record::Store;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Once};

/// Exit code of a program that a signal ended, less the number of the signal (docs/reference/json.md).
const SIGNALLED: i32 = 128;

/// The runs that are being carried out.
struct Current {
    /// Directory of the experiment.
    dir: PathBuf,
    /// Names of the records' directories below it.
    records: Vec<String>,
    /// Whether they replace other runs of the comparison.
    replaces: bool,
}

static CURRENT: Mutex<Option<Current>> = Mutex::new(None);
static HANDLER: Once = Once::new();

/// From now on, Ctrl-C and SIGTERM print how many of the runs in `cells` have a record, and end the program.
pub fn watch(store: &Store, cells: &[Cell]) {
    if let Ok(mut current) = CURRENT.lock() {
        let records = cells.iter().map(|c| c.input.id.short().to_string()).collect();
        *current = Some(Current { dir: store.dir().into(), records, replaces: store.replaces() });
    }
    HANDLER.call_once(|| {
        // A signal that is ignored from the start stays ignored, as for a background job of a script.
        let inherited = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let handled: Vec<c_int> = [SIGINT, SIGTERM].into_iter().filter(|s| !ignored(&inherited, *s)).collect();
        // Without a handler, a signal ends the program without the message.
        let Ok(mut signals) = Signals::new(&handled) else { return };
        let watcher = std::thread::Builder::new().spawn(move || {
            if let Some(signal) = signals.forever().next() {
                if let Some(text) = CURRENT.lock().ok().and_then(|c| c.as_ref().map(kept)) {
                    note(&text);
                }
                std::process::exit(SIGNALLED + signal);
            }
        });
        if watcher.is_err() {
            // No thread waits for the signals, so they must end the program by themselves.
            for signal in handled {
                let _ = signal_hook::flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true)));
            }
        }
    });
}

/// The message: how many runs have a record, and how to resume.
fn kept(current: &Current) -> String {
    let Current { dir, records, replaces } = current;
    let done = records.iter().filter(|r| dir.join(r).join("manifest.json").is_file()).count();
    let before = if *replaces { ", whose comparison stays as it was until all have" } else { "" };
    let (all, dir) = (records.len(), dir.display());
    format!("\nnumalab: interrupted: {done} of {all} runs have their record in {dir}{before}; the same command resumes")
}

/// Whether a process ignores a signal. `status` is its `/proc/PID/status`; bit N - 1 of the mask `SigIgn` is signal N.
fn ignored(status: &str, signal: c_int) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_their_mask() {
        let status = "Name:\tx\nSigBlk:\t0000000000004002\nSigIgn:\t0000000000001002\n";
        assert_eq!([SIGINT, SIGTERM].map(|s| ignored(status, s)), [true, false]);
        assert!(!ignored("", SIGINT), "without /proc no signal is ignored");
    }
}
