//! How long an experiment still takes: from the model time of its runs, done and in progress.
//!
//! A run's wall time is its model time × a rate, wall seconds per model second. Both are taken from runs of the same
//! machine, workload and kernel, else of the same machine and workload. Rates of other workloads say little, so they
//! count only where nothing else is known. Before any of that is known, nothing is said.

/// What tells the runs of an experiment apart, besides the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Machine and workload.
    pub workload: String,
    /// Kernel.
    pub kernel: String,
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its kind.
    pub kind: Kind,
    /// Model time that it took, s.
    pub model_s: f64,
    /// Wall time that it took, s; `None` if its record existed before.
    pub wall_s: Option<f64>,
}

/// A run in progress.
#[derive(Clone, Debug)]
pub struct Live {
    /// Its kind.
    pub kind: Kind,
    /// Model time so far, s.
    pub model_s: f64,
    /// Wall time so far, s.
    pub wall_s: f64,
}

/// A run counts for a rate from this wall time on, s. Before, starting it weighs too much.
const MIN_WALL_S: f64 = 0.2;

/// Everything known about the runs of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Runs that have ended.
    pub ended: Vec<Ended>,
    /// Runs in progress.
    pub live: Vec<Live>,
    /// Runs that have not begun.
    pub waiting: Vec<Kind>,
    /// Runs that come after those that wait, each with the model time that it probably takes, s, where that is known.
    pub foreseen: Vec<(Kind, Option<f64>)>,
    /// What was foreseen of runs that wait or have begun.
    stated: Vec<(Kind, f64)>,
    /// Number of runs at a time.
    pub jobs: usize,
}

impl Known {
    /// Lets runs wait, in place of those foreseen of their kinds.
    pub fn expect(&mut self, kinds: Vec<Kind>) {
        for kind in &kinds {
            if let Some(at) = self.foreseen.iter().position(|(k, _)| k == kind) {
                let (kind, model_s) = self.foreseen.remove(at);
                self.stated.extend(model_s.map(|s| (kind, s)));
            }
        }
        self.waiting.extend(kinds);
    }

    /// Model time that a run of this kind takes, s: the mean of like runs that have ended, else what was foreseen.
    pub fn model_s(&self, kind: &Kind) -> Option<f64> {
        let mean = |fits: &dyn Fn(&Ended) -> bool| {
            let all: Vec<f64> = self.ended.iter().filter(|e| fits(e)).map(|e| e.model_s).collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        let stated = || self.stated.iter().find(|s| s.0 == *kind).map(|s| s.1);
        mean(&|e| e.kind == *kind).or_else(stated).or_else(|| mean(&|e| e.kind.workload == kind.workload))
    }

    /// Wall seconds per model second of a kind.
    fn rate(&self, kind: &Kind) -> Option<f64> {
        let ended = self.ended.iter().filter_map(|e| Some((&e.kind, e.model_s, e.wall_s?)));
        let live = self.live.iter().map(|l| (&l.kind, l.model_s, l.wall_s));
        let all: Vec<(&Kind, f64, f64)> = ended.chain(live.filter(|l| l.2 >= MIN_WALL_S)).collect();
        let of = |fits: &dyn Fn(&Kind) -> bool| {
            let (model, wall) = all.iter().filter(|a| fits(a.0)).fold((0.0, 0.0), |s, a| (s.0 + a.1, s.1 + a.2));
            (model > 0.0).then(|| wall / model)
        };
        of(&|k| k == kind).or_else(|| of(&|k| k.workload == kind.workload)).or_else(|| of(&|_| true))
    }

    /// Wall time until all runs have ended, s. `None` while nothing is known about some of them.
    pub fn left_s(&self) -> Option<f64> {
        let (mut work, mut longest) = (0.0, 0.0f64);
        let live = self.live.iter().map(|l| (&l.kind, l.model_s));
        for (kind, done) in live.chain(self.waiting.iter().map(|k| (k, 0.0))) {
            // A run that outlasts its like ends soon, as far as anyone can tell.
            let left = (self.model_s(kind)? - done).max(0.0) * self.rate(kind)?;
            work += left;
            longest = longest.max(left);
        }
        for (kind, model_s) in &self.foreseen {
            work += model_s.or_else(|| self.model_s(kind))? * self.rate(kind)?;
        }
        Some((work / self.jobs.max(1) as f64).max(longest))
    }
}

/// A time in words: "8 s", "4 min", "2 h 10 min".
pub fn in_words(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        s if s < 100 => format!("{s} s"),
        s if s < 100 * 60 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(workload: &str, kernel: &str) -> Kind {
        Kind { workload: workload.into(), kernel: kernel.into() }
    }

    #[test]
    fn the_time_left_follows_the_model_time_of_like_runs() {
        let ended = |k: Kind, model_s, wall_s| Ended { kind: k, model_s, wall_s: Some(wall_s) };
        let known = Known {
            // The kernel costs eight times the wall time for the same model time.
            ended: vec![ended(kind("a", "off"), 10.0, 1.0), ended(kind("a", "on"), 10.0, 8.0)],
            live: vec![Live { kind: kind("a", "on"), model_s: 5.0, wall_s: 4.0 }],
            waiting: vec![kind("a", "off"), kind("a", "on")],
            jobs: 1,
            ..Known::default()
        };
        let left = known.left_s().unwrap();
        assert!((left - (4.0 + 1.0 + 8.0)).abs() < 1e-9, "{left}");
        let two = Known { jobs: 2, ..known.clone() }.left_s().unwrap();
        assert!((two - 8.0).abs() < 1e-9, "no run is shared between jobs: {two}");
    }

    #[test]
    fn nothing_is_said_before_anything_is_known() {
        let mut known = Known { waiting: vec![kind("a", "off")], jobs: 1, ..Known::default() };
        assert_eq!(known.left_s(), None);
        known.live.push(Live { kind: kind("a", "off"), model_s: 1.0, wall_s: 1.0 });
        assert_eq!(known.left_s(), None, "how long such a run lasts is not known");
        known.ended.push(Ended { kind: kind("a", "on"), model_s: 4.0, wall_s: None });
        let left = known.left_s().unwrap();
        assert!((left - (3.0 + 4.0)).abs() < 1e-9, "a record tells the model time, the live run the rate: {left}");
        assert_eq!(Known::default().left_s(), Some(0.0));
    }

    #[test]
    fn runs_that_are_foreseen_count_with_what_is_known_of_them() {
        let mut known = Known { jobs: 1, ..Known::default() };
        known.foreseen = vec![(kind("a", "off"), Some(10.0)), (kind("a", "off"), Some(10.0)), (kind("b", "on"), None)];
        known.expect(vec![kind("a", "off")]);
        assert_eq!((known.foreseen.len(), known.waiting.len()), (2, 1));
        assert_eq!(known.left_s(), None, "no rate is known");
        known.live.push(Live { kind: known.waiting.remove(0), model_s: 4.0, wall_s: 2.0 });
        assert_eq!(known.left_s(), None, "nothing says how long b takes");
        known.foreseen[1].1 = Some(20.0);
        assert_eq!(known.left_s(), Some(3.0 + 5.0 + 10.0), "half a second for each of model time");
        // What ended says more than what was foreseen, of the same kind.
        known.ended.push(Ended { kind: kind("b", "on"), model_s: 8.0, wall_s: Some(4.0) });
        assert_eq!(known.model_s(&kind("b", "on")), Some(8.0));
    }

    #[test]
    fn a_run_that_outlasts_its_like_adds_nothing() {
        let mut known = Known { jobs: 1, ..Known::default() };
        known.ended.push(Ended { kind: kind("a", "off"), model_s: 4.0, wall_s: Some(4.0) });
        known.live.push(Live { kind: kind("a", "off"), model_s: 9.0, wall_s: 9.0 });
        assert_eq!(known.left_s(), Some(0.0));
    }

    #[test]
    fn times_in_words() {
        assert_eq!([0.2, 99.0, 101.0, 7_800.0].map(in_words), ["1 s", "99 s", "2 min", "2 h 10 min"]);
    }
}
