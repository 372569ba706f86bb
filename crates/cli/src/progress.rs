//! Progress on standard error: a bar on a terminal, after two seconds, and otherwise a line every half minute.
//!
//! The bar must be cleared before anything else is printed.

use crate::failure::note;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time until the bar appears.
const DELAY: Duration = Duration::from_secs(2);
/// Time between two lines without a terminal.
const PULSE: Duration = Duration::from_secs(30);
/// Time between two redraws of the bar.
const TICK: Duration = Duration::from_millis(250);

/// Progress of a number of runs.
pub struct Progress {
    bar: ProgressBar,
    stop: Mutex<Option<Sender<()>>>,
    /// When the last line was printed; `None` on a terminal.
    said: Mutex<Option<Instant>>,
    /// Whether a line is printed for every run that ends.
    pub lines: bool,
}

impl Progress {
    /// Starts with `total` runs to do, as far as that is known.
    pub fn new(total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        if !std::io::stderr().is_terminal() {
            return Self { bar, stop: Mutex::new(None), said: Mutex::new(Some(Instant::now())), lines: false };
        }
        let left = |state: &ProgressState, w: &mut dyn std::fmt::Write| {
            // Before the first run has finished, the time left cannot be estimated.
            let _ = match state.pos() {
                0 => write!(w, "time left unknown"),
                _ => write!(w, "{} left", HumanDuration(state.eta() + Duration::from_secs(1))),
            };
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {left} {msg}") {
            bar.set_style(style.with_key("left", left));
        }
        let (stop, stopped) = channel::<()>();
        let shown = bar.clone();
        // If the thread cannot be started, there is no bar; the runs do not need it.
        let _ = std::thread::Builder::new().spawn(move || {
            if stopped.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
        Self { bar, stop: Mutex::new(Some(stop)), said: Mutex::new(None), lines: false }
    }
    /// Shows a message beside the bar.
    pub fn say(&self, message: &str) {
        self.bar.set_message(message.to_string());
    }
    /// Shows how far a slow run is: beside the bar, or without a terminal as a line every [`PULSE`].
    pub fn pulse(&self, message: &str) {
        self.say(message);
        self.now_and_then(|| message.to_string());
    }
    /// Without a terminal, prints a line if the last one is older than [`PULSE`].
    fn now_and_then(&self, message: impl FnOnce() -> String) {
        let Ok(mut said) = self.said.lock() else { return };
        if said.as_ref().is_some_and(|s| s.elapsed() >= PULSE) {
            *said = Some(Instant::now());
            note(&message());
        }
    }
    /// Prints a line, above the bar if there is one.
    pub fn line(&self, message: &str) {
        self.bar.suspend(|| note(message));
    }
    /// Sets the number of runs, once it is known better.
    pub fn set_total(&self, total: usize) {
        self.bar.set_length(total as u64);
    }
    /// Removes the bar. A bar that has not appeared yet never appears.
    pub fn clear(&self) {
        if let Ok(mut stop) = self.stop.lock() {
            stop.take();
        }
        self.bar.finish_and_clear();
    }
    /// Number of runs that are done.
    pub fn done(&self) -> usize {
        self.bar.position() as usize
    }
    /// Counts one more run as done. Without a terminal, and without a line for every run, a line is printed every
    /// [`PULSE`].
    pub fn one_done(&self) {
        self.bar.inc(1);
        if !self.lines {
            self.now_and_then(|| format!("{} of {} runs done", self.done(), self.bar.length().unwrap_or(0)));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
