//! What a run needs to find out that it has settled, and what it then leaves out.

/// A run on its way to settle.
#[derive(Debug, Default)]
pub struct Settling {
    /// Since when all threads have been in their loops, ns.
    pub since_ns: Option<u64>,
    /// The next look is not before, ns.
    pub next_look_ns: u64,
    /// The start of the stretch that the rest is taken to repeat; `None` before the run looks settled.
    pub measured: Option<Snapshot>,
    /// What is left out; `None` before that is known.
    pub skipped: Option<Skipped>,
    /// Whether no look is worth while any more: the rest is short, or was left out.
    pub over: bool,
}

/// What had been counted at an instant.
#[derive(Debug)]
pub struct Snapshot {
    /// The instant, ns.
    pub at_ns: u64,
    /// From when on the run had its settled rate, ns.
    pub arrived_ns: u64,
    /// Index of the sample of this instant.
    pub sample: usize,
    /// Counters, under the kernel's names.
    pub counters: Vec<(String, u64)>,
    /// Counts by reason.
    pub reasons: Vec<(String, u64)>,
    /// Time that each score is divided by, ns.
    pub clocks_ns: Vec<u64>,
    /// Rounds that the outermost loop of each task had left; `None` for a task without a counted one.
    pub rounds: Vec<Option<u64>>,
}

/// A part of the run that was not simulated, as it was settled: time, and all that would have been counted in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skipped {
    /// From when on the run had its settled rate, ns.
    pub arrived_ns: u64,
    /// When the rest was left out, ns.
    pub at_ns: u64,
    /// Time that was left out, ns.
    pub ns: u64,
    /// Settled rate of each score, units a second.
    pub rates: Vec<f64>,
    /// Additions to [`Samples::activity`](super::samples::Samples::activity).
    pub activity: Vec<f64>,
    /// Additions to [`Samples::cpu`](super::samples::Samples::cpu), s.
    pub cpu_s: Vec<f64>,
    /// Additions to counters, under the kernel's names.
    pub counters: Vec<(String, u64)>,
    /// Additions to counts by reason.
    pub reasons: Vec<(String, u64)>,
}

impl Settling {
    /// Time that was left out, ns.
    pub fn skipped_ns(&self) -> u64 {
        self.skipped.as_ref().map_or(0, |s| s.ns)
    }
}

impl Snapshot {
    /// What a second list of counts would grow by in `times` as long as since this one.
    pub fn growth(before: &[(String, u64)], now: &[(String, u64)], times: f64) -> Vec<(String, u64)> {
        let old = |name: &str| before.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
        now.iter()
            .map(|(name, n)| (name.clone(), (n.saturating_sub(old(name)) as f64 * times).round() as u64))
            .collect()
    }
}

impl Skipped {
    /// Adds what was left out to some counts.
    pub fn add(more: &[(String, u64)], counts: &mut [(String, u64)]) {
        for (name, n) in counts {
            *n += more.iter().find(|m| m.0 == *name).map_or(0, |m| m.1);
        }
    }
}
