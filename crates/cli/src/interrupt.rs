//! Ctrl-C or SIGTERM while runs are carried out: says what is kept and how to go on.
//!
//! Records are renamed into place when they are complete, so the end of the process at any moment leaves none half
//! written, and what it leaves unfinished is removed when the directory is next opened.

use crate::failure::note;
use numalab_model::record::Store;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};

/// What is added to the number of a signal to give the exit code of a program that it ended (docs/json.md).
const SIGNALLED: i32 = 128;

/// Where the records of the present runs go.
static DIR: Mutex<Option<PathBuf>> = Mutex::new(None);
static HANDLER: Once = Once::new();

/// From now on Ctrl-C and SIGTERM say how many runs of the experiment in `dir` have a record, and end the program.
pub fn watch(dir: &Path) {
    if let Ok(mut place) = DIR.lock() {
        *place = Some(dir.into());
    }
    HANDLER.call_once(|| {
        // Where no handler can be set, the signal ends the program as ever, only without the sentence.
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                if let Some(text) = DIR.lock().ok().and_then(|dir| kept(dir.as_deref()?)) {
                    note(&text);
                }
                std::process::exit(SIGNALLED + signal);
            }
        });
    });
}

/// What is kept of the experiment in a directory, in a sentence.
fn kept(dir: &Path) -> Option<String> {
    let store = Store::open(dir).ok()?;
    let runs = &store.file().runs;
    let done = runs.iter().filter(|r| dir.join(&r.record).join("manifest.json").is_file()).count();
    let (all, dir) = (runs.len(), dir.display());
    Some(format!("\nnumalab: interrupted: {done} of {all} runs have their record in {dir}; the same command resumes"))
}
