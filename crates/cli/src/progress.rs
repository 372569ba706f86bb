//! A progress bar for work that takes more than two seconds, on standard error and only if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::Duration;

/// Silence before the bar appears.
const DELAY: Duration = Duration::from_secs(2);
/// Time between redraws.
const TICK: Duration = Duration::from_millis(250);

/// Progress of a known number of runs; finished when dropped.
pub struct Progress {
    bar: ProgressBar,
    stop: Option<Sender<()>>,
}

impl Progress {
    /// Starts with `total` runs to do.
    pub fn new(total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        if total == 0 || !std::io::stderr().is_terminal() {
            return Self { bar, stop: None };
        }
        let left = |state: &ProgressState, w: &mut dyn std::fmt::Write| {
            // Until a run is finished nothing is known about the next.
            let _ = match state.pos() {
                0 => write!(w, "time left unknown"),
                _ => write!(w, "{} s left", state.eta().as_secs() + 1),
            };
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {left} {msg}") {
            bar.set_style(style.with_key("left", left));
        }
        let (stop, stopped) = channel::<()>();
        let shown = bar.clone();
        std::thread::spawn(move || {
            if stopped.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
        Self { bar, stop: Some(stop) }
    }
    /// Says what is being done.
    pub fn say(&self, message: &str) {
        self.bar.set_message(message.to_string());
    }
    /// One more run is done.
    pub fn one_done(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Ends the waiting thread if the bar never appeared.
        self.stop.take();
        self.bar.finish_and_clear();
    }
}
