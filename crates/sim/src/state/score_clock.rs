//! The seconds by which a score is divided, and the best of the intervals that it is timed in.

use numalab_nouns::workload::Score;

/// The seconds of a score: those during which at least one thread's clock ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScoreClock {
    running: u32,
    since_ns: u64,
    total_ns: u64,
    /// Time of the present interval that was left out of a settled run, ns.
    skipped_ns: u64,
    used: bool,
    /// Units counted when the present interval began.
    units: f64,
    /// Best rate of an interval, units per second.
    best: Option<f64>,
}

impl ScoreClock {
    /// A thread starts or stops its clock of `score`, of which `units` are counted by now.
    pub fn set(&mut self, run: bool, now_ns: u64, units: f64, score: &Score) {
        if run {
            self.start(now_ns, units);
        } else if let Some(rate) = self.stop(now_ns, units) {
            self.best = Some(Score::better_rate(score.higher_is_better, self.best, rate));
        }
    }
    /// A thread starts its clock. An interval begins with the first thread.
    fn start(&mut self, now_ns: u64, units: f64) {
        self.used = true;
        if self.running == 0 {
            (self.since_ns, self.units, self.skipped_ns) = (now_ns, units, 0);
        }
        self.running += 1;
    }
    /// A thread stops its clock. The last thread ends the interval, which has a rate unless it took no time.
    fn stop(&mut self, now_ns: u64, units: f64) -> Option<f64> {
        self.running = self.running.saturating_sub(1);
        if self.running > 0 {
            return None;
        }
        let ns = now_ns.saturating_sub(self.since_ns) + self.skipped_ns;
        self.total_ns += ns;
        (ns > 0).then(|| (units - self.units) / (ns as f64 / 1e9))
    }
    /// Best rate of an interval that has ended, units per second.
    pub fn best(&self) -> Option<f64> {
        self.best
    }
    /// Time to divide by at the end of a run at `end_ns`: the clocks', or the whole run's if none was used.
    pub fn read_ns(&self, end_ns: u64) -> u64 {
        match (self.used, self.running) {
            (false, _) => end_ns + self.skipped_ns,
            (true, 0) => self.total_ns,
            (true, _) => self.total_ns + end_ns.saturating_sub(self.since_ns) + self.skipped_ns,
        }
    }
    /// The clocks would have run for `ns` in a part of the run that was left out.
    pub fn skip(&mut self, ns: u64) {
        if self.used && self.running == 0 {
            self.total_ns += ns;
        } else {
            self.skipped_ns += ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_clock_counts_the_union() {
        let mut c = ScoreClock::default();
        assert_eq!(c.read_ns(77), 77);
        c.start(10, 0.0);
        c.start(20, 0.0);
        c.stop(30, 0.0);
        c.stop(50, 0.0);
        c.start(60, 0.0);
        assert_eq!(c.read_ns(65), 45);
        c.stop(70, 0.0);
        assert_eq!(c.read_ns(100), 50);
    }

    /// Intervals of 2 s, 1 s and no time, in which 10, 8 and 1 units are counted.
    #[test]
    fn the_best_interval_is_kept() {
        let score = |higher_is_better| Score {
            name: "s".into(),
            unit: "1".into(),
            higher_is_better,
            per_second: true,
            best: true,
            latency: false,
        };
        let s = 1_000_000_000;
        for (higher, best) in [(true, 8.0), (false, 5.0)] {
            let mut c = ScoreClock::default();
            assert_eq!(c.best(), None);
            for (at, run, units) in
                [(0, true, 0.0), (s, true, 3.0), (2 * s, false, 9.0), (2 * s, false, 10.0), (3 * s, true, 10.0)]
            {
                c.set(run, at, units, &score(higher));
            }
            assert_eq!(c.best(), Some(5.0));
            for (at, run, units) in [(4 * s, false, 18.0), (5 * s, true, 18.0), (5 * s, false, 19.0)] {
                c.set(run, at, units, &score(higher));
            }
            assert_eq!(c.best(), Some(best));
        }
    }
}
