//! Ctrl-C or SIGTERM while runs are carried out: says what is kept and how to go on.
//!
//! Records are renamed into place when they are complete, so the end of the process at any moment leaves none half
//! written, and what it leaves unfinished is removed when the directory is next opened.

use crate::failure::note;
use numalab_model::experiment::Cell;
use numalab_model::record::Store;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Once};

/// What is added to the number of a signal to give the exit code of a program that it ended (docs/json.md).
const SIGNALLED: i32 = 128;

/// The present runs.
struct Present {
    /// Where their records go.
    dir: PathBuf,
    /// Directories of the records.
    records: Vec<String>,
    /// They replace others in the comparison.
    replaces: bool,
}

static PRESENT: Mutex<Option<Present>> = Mutex::new(None);
static HANDLER: Once = Once::new();

/// From now on Ctrl-C and SIGTERM say how many of the runs in `cells` have a record, and end the program.
pub fn watch(store: &Store, cells: &[Cell]) {
    if let Ok(mut present) = PRESENT.lock() {
        let records = cells.iter().map(|c| c.input.id.short().to_string()).collect();
        *present = Some(Present { dir: store.dir().into(), records, replaces: store.replaces() });
    }
    HANDLER.call_once(|| {
        // What whoever started the program wants ignored (a job in the background of a script) stays ignored.
        let inherited = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let heeded: Vec<c_int> = [SIGINT, SIGTERM].into_iter().filter(|s| !ignored(&inherited, *s)).collect();
        // Where no handler can be set, the signal ends the program as ever, only without the sentence.
        let Ok(mut signals) = Signals::new(&heeded) else { return };
        let watcher = std::thread::Builder::new().spawn(move || {
            if let Some(signal) = signals.forever().next() {
                if let Some(text) = PRESENT.lock().ok().and_then(|p| p.as_ref().map(kept)) {
                    note(&text);
                }
                std::process::exit(SIGNALLED + signal);
            }
        });
        if watcher.is_err() {
            // Nobody looks at the signals: they end the program as ever.
            for signal in heeded {
                let _ = signal_hook::flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true)));
            }
        }
    });
}

/// What is kept of the runs, in a sentence.
fn kept(present: &Present) -> String {
    let Present { dir, records, replaces } = present;
    let done = records.iter().filter(|r| dir.join(r).join("manifest.json").is_file()).count();
    let before = if *replaces { ", whose comparison stays as it was until all have" } else { "" };
    let (all, dir) = (records.len(), dir.display());
    format!("\nnumalab: interrupted: {done} of {all} runs have their record in {dir}{before}; the same command resumes")
}

/// Whether a process ignores a signal, by its `/proc/PID/status`: bit N - 1 of the mask `SigIgn` is signal N.
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
        assert!(!ignored("", SIGINT), "elsewhere nothing is known");
    }
}
