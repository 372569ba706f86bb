//! Progress on a terminal: a bar for all runs with the time left, and a line for every run in progress.
//!
//! Nothing is shown with `--quiet`, and in the first two seconds. Lines are cut at the width of the terminal. The
//! display must be cleared before anything else is printed. Where standard error is no terminal, a long command prints
//! a line now and then (`told`).

mod estimate;
mod told;

pub use estimate::in_words;

use crate::failure::{is_quiet, note, Failure};
use estimate::{Ended, Kind, Known, Live};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use numalab_model::plan::{Plan, PlanInput};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time until the display appears.
const DELAY: Duration = Duration::from_secs(2);
/// Time between two redraws.
const TICK: Duration = Duration::from_millis(250);
/// A run's limit is shown up to this, s. Longer ones are no estimate, but a protection against runs without an end.
const MAX_SHOWN_LIMIT_S: f64 = 3600.0;

/// Progress of a number of runs.
pub struct Progress {
    shared: Arc<Shared>,
    /// Ends the thread that redraws, and the thread.
    stop: Mutex<Option<Redrawing>>,
    /// Whether standard error is a terminal.
    terminal: bool,
    /// Whether a line is printed for every run that ends, where standard error is no terminal.
    pub lines: bool,
}

/// The thread that redraws, which ends when the sender is dropped; no thread if it could not be started.
type Redrawing = (Sender<()>, Option<JoinHandle<()>>);

/// What the display is made of.
struct Shared {
    display: MultiProgress,
    bar: ProgressBar,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: Known,
    live: Vec<Running>,
    /// What is done besides runs: building an image, testing a mode.
    doing: String,
}

/// A run in progress.
struct Running {
    number: u64,
    kind: Kind,
    label: String,
    /// Limit of its model time, s.
    limit_s: f64,
    start: Instant,
    clock: Arc<AtomicU64>,
    line: ProgressBar,
}

impl Shared {
    /// The state. A thread that panicked has not left it half changed: it is only counters and lists.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Redraws all lines.
    fn draw(&self) {
        self.bar.set_message(self.summary());
        let state = self.state();
        for run in &state.live {
            run.line.set_message(run.text(state.known.model_s(&run.kind)));
        }
        self.bar.tick();
    }

    /// How many runs are done, and how long the others take.
    fn summary(&self) -> String {
        let mut state = self.state();
        let live = state.live.iter().map(Running::now).collect();
        state.known.live = live;
        let runs = format!("{} of {} runs", self.bar.position(), self.bar.length().unwrap_or(0));
        let left = match state.known.left_s() {
            _ if !state.doing.is_empty() => state.doing.clone(),
            Some(s) => format!("about {} left", in_words(s)),
            None => "time left unknown".into(),
        };
        format!("{runs}, {left}")
    }
}

impl Running {
    fn now(&self) -> Live {
        let model_s = self.clock.load(Ordering::Relaxed) as f64 / 1e9;
        Live { kind: self.kind.clone(), model_s, wall_s: self.start.elapsed().as_secs_f64() }
    }
    /// "6.12 seed 2: 4.1 of ≤10 s"; `expected_s` is how long such runs took.
    fn text(&self, expected_s: Option<f64>) -> String {
        text(&self.label, self.now().model_s, expected_s, self.limit_s)
    }
}

/// The line of a run: how much of its model time is done.
fn text(label: &str, model_s: f64, expected_s: Option<f64>, limit_s: f64) -> String {
    match expected_s.filter(|e| *e > model_s) {
        Some(expected) => format!("{label}: {model_s:.1} of about {expected:.1} s"),
        None if limit_s <= MAX_SHOWN_LIMIT_S => format!("{label}: {model_s:.1} of ≤{limit_s:.0} s"),
        None => format!("{label}: {model_s:.1} s"),
    }
}

fn kind(plan: &Plan) -> Kind {
    Kind { workload: format!("{} {}", plan.machine.name, plan.workload.name), kernel: plan.kernel.name.clone() }
}

impl Progress {
    /// Starts with `total` runs to do, as far as that is known.
    pub fn new(total: usize) -> Self {
        Self::telling(total, None)
    }
    /// Does what [`Self::new`] does. Where standard error is no terminal, a line says how far `what` is, now and then.
    ///
    /// # Errors
    /// The environment variable that says how often is no number of seconds.
    pub fn told(total: usize, what: &str) -> Result<Self, Failure> {
        Ok(Self::telling(total, told::interval()?.map(|every| (what.to_string(), every))))
    }
    fn telling(total: usize, tell: Option<(String, Duration)>) -> Self {
        let display = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        let bar = display.add(ProgressBar::new(total as u64));
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {wide_msg}") {
            bar.set_style(style);
        }
        let shared = Arc::new(Shared { display, bar, state: Mutex::new(State::default()) });
        let terminal = std::io::stderr().is_terminal();
        let stop = match tell {
            _ if is_quiet() => None,
            _ if terminal => Some(redraw(Arc::clone(&shared))),
            Some((what, every)) => {
                let shared = Arc::clone(&shared);
                Some(told::tell(what, move || shared.summary(), every))
            }
            None => None,
        };
        Self { shared, stop: Mutex::new(stop), terminal, lines: false }
    }
    /// Shows what is done besides runs; empty if that is over.
    pub fn say(&self, message: &str) {
        self.shared.state().doing = message.to_string();
    }
    /// Prints a line, above the display if there is one.
    pub fn line(&self, message: &str) {
        self.shared.display.suspend(|| note(message));
    }
    /// Whether a line is printed for a run that ended well.
    pub fn prints_runs(&self) -> bool {
        self.lines && !self.terminal
    }
    /// Adds runs that are to be carried out, `jobs` at a time.
    pub fn expect<'a>(&self, runs: impl Iterator<Item = &'a PlanInput>, jobs: usize) {
        let mut state = self.shared.state();
        state.known.expect(runs.map(|r| kind(&r.plan)).collect());
        state.known.jobs = jobs;
        state.doing.clear();
    }
    /// Says which runs come after those that were expected so far, each with the model time that it probably takes, s.
    /// The number of runs becomes that of those done and to come.
    pub fn foresee<'a>(&self, runs: impl Iterator<Item = (&'a PlanInput, Option<f64>)>, jobs: usize) {
        let mut state = self.shared.state();
        state.known.foreseen = runs.map(|(r, model_s)| (kind(&r.plan), model_s)).collect();
        state.known.jobs = jobs;
        self.shared.bar.set_length(self.shared.bar.position() + state.known.foreseen.len() as u64);
    }
    /// Begins a run, which shows a line of its own until it is dropped.
    pub fn start(&self, input: &PlanInput) -> RunProgress {
        let plan = &input.plan;
        let mut state = self.shared.state();
        let own = kind(plan);
        if let Some(at) = state.known.waiting.iter().position(|k| *k == own) {
            state.known.waiting.swap_remove(at);
        }
        let number = state.live.last().map_or(0, |r| r.number + 1);
        let line = self.shared.display.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("  {wide_msg}") {
            line.set_style(style);
        }
        let clock = Arc::new(AtomicU64::new(0));
        state.live.push(Running {
            number,
            kind: own.clone(),
            label: format!("{} {} seed {}", plan.workload.name, plan.kernel.name, plan.seed),
            limit_s: input.workload.limit_ns as f64 / 1e9,
            start: Instant::now(),
            clock: Arc::clone(&clock),
            line,
        });
        RunProgress { shared: Arc::clone(&self.shared), number, kind: own, clock }
    }
    /// Sets the number of runs, once it is known better.
    pub fn set_total(&self, total: usize) {
        self.shared.bar.set_length(total as u64);
    }
    /// Removes the display. One that has not appeared yet never appears.
    pub fn clear(&self) {
        let stop = self.stop.lock().ok().and_then(|mut stop| stop.take());
        if let Some((sender, thread)) = stop {
            drop(sender);
            // Nothing is drawn once the thread has ended. One that panicked has ended, too.
            let _ = thread.map(JoinHandle::join);
        }
        self.shared.bar.finish_and_clear();
        // Errors are ignored: a terminal that is gone shows nothing.
        let _ = self.shared.display.clear();
    }
    /// Counts one more run as done.
    pub fn one_done(&self) {
        self.shared.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Shows the display after [`DELAY`], and redraws it until the result is dropped.
fn redraw(shared: Arc<Shared>) -> Redrawing {
    let (stop, stopped) = channel::<()>();
    // If the thread cannot be started, nothing is shown; the runs do not need it.
    let thread = std::thread::Builder::new().spawn(move || {
        let mut wait = DELAY;
        while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            if wait == DELAY {
                shared.display.set_draw_target(ProgressDrawTarget::stderr());
                wait = TICK;
            }
            shared.draw();
        }
    });
    (stop, thread.ok())
}

/// A run in progress. Its line is removed when this is dropped.
pub struct RunProgress {
    shared: Arc<Shared>,
    number: u64,
    kind: Kind,
    clock: Arc<AtomicU64>,
}

impl RunProgress {
    /// The clock of the run: its model time, ns.
    pub fn clock(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.clock)
    }
    /// Sets the clock of the run, ns.
    pub fn at(&self, model_ns: u64) {
        self.clock.store(model_ns, Ordering::Relaxed);
    }
    /// Notes that the run has taken `model_s` of model time, and `wall` unless its record existed before.
    pub fn ended(&self, model_s: f64, wall: Option<Duration>) {
        let ended = Ended { kind: self.kind.clone(), model_s, wall_s: wall.map(|w| w.as_secs_f64()) };
        self.shared.state().known.ended.push(ended);
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if let Some(at) = state.live.iter().position(|r| r.number == self.number) {
            let run = state.live.remove(at);
            run.line.finish_and_clear();
            self.shared.display.remove(&run.line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_shows_how_much_of_its_model_time_is_done() {
        assert_eq!(text("6.12 seed 2", 4.12, Some(14.39), 36_000.0), "6.12 seed 2: 4.1 of about 14.4 s");
        assert_eq!(text("6.12 seed 2", 4.12, None, 10.0), "6.12 seed 2: 4.1 of ≤10 s");
        assert_eq!(text("6.12 seed 2", 20.0, Some(14.39), 36_000.0), "6.12 seed 2: 20.0 s");
    }
}
