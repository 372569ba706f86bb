//! A progress bar for work that takes more than two seconds, on standard error and only if that is a terminal.
//!
//! It must be cleared before anything else is printed.

use crate::failure::note;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Silence before the bar appears.
const DELAY: Duration = Duration::from_secs(2);
/// Without a terminal: time between lines about something slow.
const PULSE: Duration = Duration::from_secs(30);
/// Time between redraws.
const TICK: Duration = Duration::from_millis(250);

/// Progress of a number of runs.
pub struct Progress {
    bar: ProgressBar,
    stop: Mutex<Option<Sender<()>>>,
    /// Without a terminal: when something was last said.
    said: Mutex<Option<Instant>>,
    /// Every run that ends gets a line.
    pub lines: bool,
}

impl Progress {
    /// Starts with `total` runs to do, as far as is known.
    pub fn new(total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        if !std::io::stderr().is_terminal() {
            return Self { bar, stop: Mutex::new(None), said: Mutex::new(Some(Instant::now())), lines: false };
        }
        let left = |state: &ProgressState, w: &mut dyn std::fmt::Write| {
            // Until a run is finished nothing is known about the next.
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
        // Without another thread there is no bar, and the runs go on.
        let _ = std::thread::Builder::new().spawn(move || {
            if stopped.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
        Self { bar, stop: Mutex::new(Some(stop)), said: Mutex::new(None), lines: false }
    }
    /// Says what is being done.
    pub fn say(&self, message: &str) {
        self.bar.set_message(message.to_string());
    }
    /// Says how far something slow is: beside the bar, or without a terminal as a line now and then.
    pub fn pulse(&self, message: &str) {
        self.say(message);
        self.now_and_then(|| message.to_string());
    }
    /// Without a terminal, prints a line if none was for a while.
    fn now_and_then(&self, message: impl FnOnce() -> String) {
        let Ok(mut said) = self.said.lock() else { return };
        if said.as_ref().is_some_and(|s| s.elapsed() >= PULSE) {
            *said = Some(Instant::now());
            note(&message());
        }
    }
    /// Prints a line that stays, above the bar if there is one.
    pub fn line(&self, message: &str) {
        self.bar.suspend(|| note(message));
    }
    /// Says how many runs there are in all, once that is known better.
    pub fn set_total(&self, total: usize) {
        self.bar.set_length(total as u64);
    }
    /// Takes the bar away; one that has not appeared yet never will.
    pub fn clear(&self) {
        if let Ok(mut stop) = self.stop.lock() {
            stop.take();
        }
        self.bar.finish_and_clear();
    }
    /// Runs that are done.
    pub fn done(&self) -> usize {
        self.bar.position() as usize
    }
    /// One more run is done; without a terminal, and where runs get no line each, that is said now and then.
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
