//! The verdict of a prediction: only what every simulated size and time says.
//!
//! Problem: a prediction simulates a program that was cut down, over some seconds. The sign of a difference can depend
//! on both: a longer run has time to pay a move of memory back, and more threads fill a memory controller. Approach:
//! the same ways to run the program are simulated at every size over every time. A way is advised only if it is clearly
//! better in every one of them. Where all runs have settled, what they settled at decides ([`crate::settled`]).
//! *Clearly* means: by more than the model's own error, and no run of the one side within the runs of the other. Seeds
//! of a simulated run differ little, so two runs a side do: that they part in one direction is chance in 1 of 6 cases,
//! and in 1 of 1296 for two sizes and two times. Units: percent of the baseline. Invariant: without agreement there is
//! no verdict, whatever a single size and time says.

use super::call::Call;
use super::finding::measurements;
use crate::data::{Comparison, Metric, Workload};
use crate::trust::{self, ModelError};
use numalab_model::experiment::{Prediction, Simulated};
use numalab_stats::Better;

/// What all sizes and times of a prediction say together.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// What follows.
    pub verdict: Verdict,
    /// Every way to run the program but the baseline, in print order.
    pub ways: Vec<Way>,
    /// Whether the runs of every size have settled, so that what they settled at decides.
    pub settled: bool,
}

/// What follows from a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This kernel or column, by its index: clearly better than the baseline in every size and time.
    Take(usize),
    /// The baseline: every other one is clearly worse in every size and time.
    Keep,
    /// Any: every run of every size and time gave the same figure as the baseline.
    Even,
    /// Nothing: sizes and times disagree, or differ by less than the model can tell.
    NoVerdict,
}

/// A way to run the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Index of its column.
    pub kernel: usize,
    /// How it stands in every size and time, in the order of [`Prediction::simulated`].
    pub cells: Vec<Cell>,
}

/// A way in one size over one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Index of the workload.
    pub workload: usize,
    /// How many times better than the baseline, as percent: 100 is twice as good. `None` without a figure.
    pub gain_percent: Option<f64>,
    /// Whether that is clear.
    pub call: Call,
    /// Whether the verdict depends on it. Where runs have settled, only what they settled at decides.
    pub decides: bool,
}

impl Way {
    /// Whether every size and time says so.
    pub fn all(&self, call: Call) -> bool {
        self.deciding().next().is_some() && self.deciding().all(|c| c.call == call)
    }

    /// The cells that the verdict depends on.
    pub fn deciding(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|c| c.decides)
    }

    /// The smallest and the largest gain, percent; `None` without figures.
    pub fn range(&self) -> Option<(f64, f64)> {
        let gains = || self.deciding().filter_map(|c| c.gain_percent);
        Some((gains().reduce(f64::min)?, gains().reduce(f64::max)?))
    }

    /// Whether sizes and times disagree on the direction by more than what the model cannot tell.
    pub fn disagrees(&self) -> bool {
        let has = |call: Call| self.deciding().any(|c| c.call == call);
        has(Call::Better) && has(Call::Worse)
    }
}

impl Verdict {
    /// Word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Take(_) => "take",
            Verdict::Keep => "keep",
            Verdict::Even => "even",
            Verdict::NoVerdict => "no_verdict",
        }
    }
}

impl Agreement {
    /// The agreement of a comparison; `None` if it is no prediction.
    pub fn of(c: &Comparison) -> Option<Self> {
        let (simulated, settled) = simulated(c, c.origin.as_ref()?.prediction.as_ref()?);
        let way = |kernel| Way { kernel, cells: cells(c, &simulated, (c.baseline, kernel)) };
        let ways: Vec<Way> = c.others().map(way).collect();
        let beaten =
            |by: usize, kernel: usize| Way { kernel: by, cells: cells(c, &simulated, (kernel, by)) }.all(Call::Better);
        Some(Self { verdict: verdict(&ways, &beaten), ways, settled })
    }

    /// How a kernel stands on a workload; `None` for the baseline and for workloads that are not of the prediction.
    pub fn call(&self, workload: usize, kernel: usize) -> Option<Call> {
        let way = self.ways.iter().find(|w| w.kernel == kernel)?;
        way.cells.iter().find(|c| c.workload == workload).map(|c| c.call)
    }
}

/// The rule. `beaten(a, b)` is whether `a` is clearly better than `b` in every size and time. Of ways that are better
/// and that do not beat each other, the first is taken: columns begin with those that ask for the least.
fn verdict(ways: &[Way], beaten: &dyn Fn(usize, usize) -> bool) -> Verdict {
    let better: Vec<usize> = ways.iter().filter(|w| w.all(Call::Better)).map(|w| w.kernel).collect();
    let unbeaten = |k: &&usize| !better.iter().any(|other| other != *k && beaten(*other, **k));
    if let Some(kernel) = better.iter().find(unbeaten) {
        return Verdict::Take(*kernel);
    }
    let all = |call: Call| !ways.is_empty() && ways.iter().all(|w| w.all(call));
    match (all(Call::Worse), all(Call::Even)) {
        (true, _) => Verdict::Keep,
        (_, true) => Verdict::Even,
        _ => Verdict::NoVerdict,
    }
}

/// The workload of an entry of a prediction, `None` without any record, and whether the verdict depends on it.
type Entry = (Option<usize>, bool);

/// The entries of a prediction, in its order, and whether every size has settled. Then that decides.
fn simulated(c: &Comparison, p: &Prediction) -> (Vec<Entry>, bool) {
    let size = |s: &Simulated| (s.memory_bytes, s.threads);
    let is_settled = |s: &Simulated| s.settled_after_ms.is_some();
    let settles = |of: &Simulated| p.simulated.iter().any(|s| is_settled(s) && size(s) == size(of));
    let all_settle = p.simulated.iter().all(settles);
    let entry = |s: &Simulated| {
        let workload = c.workloads.iter().position(|w| w.program() == s.workload);
        (workload, is_settled(s) == all_settle)
    };
    (p.simulated.iter().map(entry).collect(), all_settle)
}

/// How a kernel stands against a base in every size and time. One without a record is missing from the agreement, so
/// its place is one that tells nothing.
fn cells(c: &Comparison, simulated: &[Entry], (base, kernel): (usize, usize)) -> Vec<Cell> {
    let missing = Cell { workload: usize::MAX, gain_percent: None, call: Call::CannotTell, decides: true };
    let one = |(w, decides): &Entry| {
        let of = w.map_or(missing, |w| cell(c, w, (base, kernel)));
        Cell { decides: *decides, ..of }
    };
    simulated.iter().map(one).collect()
}

fn cell(c: &Comparison, workload: usize, (base, kernel): (usize, usize)) -> Cell {
    let w = &c.workloads[workload];
    let measured = measurements(w);
    let calls: Vec<Call> =
        measured.iter().map(|m| call(w, m, (base, kernel), trust::of_comparison(c, m, kernel))).collect();
    let call = match calls.split_first() {
        Some((first, rest)) if rest.iter().all(|c| c == first) => *first,
        _ => Call::CannotTell,
    };
    Cell { workload, gain_percent: gain_percent(&measured, (base, kernel)), call, decides: true }
}

/// The gain over all measurements: the mean of the logarithms of how many times better they are.
fn gain_percent(measured: &[&Metric], (base, kernel): (usize, usize)) -> Option<f64> {
    let log = |m: &&Metric| {
        let log = (m.mean_of(kernel)? / m.mean_of(base)?).ln();
        log.is_finite().then_some(if m.better == Better::Lower { -log } else { log })
    };
    let logs = measured.iter().map(log).collect::<Option<Vec<f64>>>().filter(|l| !l.is_empty())?;
    Some(100.0 * ((logs.iter().sum::<f64>() / logs.len() as f64).exp() - 1.0))
}

/// Whether a measurement is clearly better or worse.
fn call(w: &Workload, m: &Metric, (base, kernel): (usize, usize), error: Option<&ModelError>) -> Call {
    let (old, new) = (m.of(base), m.of(kernel));
    let judged = !w.too_short(base) && !w.too_short(kernel) && w.different_work(kernel).is_none();
    let (Some((low, high)), Some((new_low, new_high))) = (ends(old), ends(new)) else { return Call::CannotTell };
    if !judged || old.len() < 2 || new.len() < 2 {
        return Call::CannotTell;
    }
    if low == high && (low, high) == (new_low, new_high) {
        return Call::Even;
    }
    if error.is_some_and(|e| e.hides(m.change_percent(base, kernel))) {
        return Call::CannotTell;
    }
    match (new_low > high, new_high < low) {
        (true, _) => {
            if m.better == Better::Lower {
                Call::Worse
            } else {
                Call::Better
            }
        }
        (_, true) => {
            if m.better == Better::Lower {
                Call::Better
            } else {
                Call::Worse
            }
        }
        _ => Call::CannotTell,
    }
}

/// The smallest and the largest of some figures.
fn ends(samples: &[f64]) -> Option<(f64, f64)> {
    let own = || samples.iter().copied();
    Some((own().reduce(f64::min)?, own().reduce(f64::max)?))
}
