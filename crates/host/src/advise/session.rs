//! A session: rounds of measurements until the intervals are narrow or the budget ends.

use super::counters::Costs;
use super::decide::{is_settled, Rules};
use super::schedule::order;
use super::{Error, Way};

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The score, above 0.
    pub score: f64,
    /// What it cost.
    pub costs: Costs,
}

/// What can measure the program under a way.
pub trait Measure {
    /// Measures it once.
    ///
    /// # Errors
    /// The program or the metric failed, or this machine refuses the setting.
    fn measure(&mut self, way: &Way) -> Result<Sample, Error>;
    /// Seconds since some fixed instant.
    fn now_s(&self) -> f64;
}

/// What a session is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The ways, the present one first.
    pub ways: Vec<Way>,
    /// When a decision is reached.
    pub rules: Rules,
    /// Time for all rounds, s. At least one round is measured.
    pub budget_s: f64,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every interval is narrow.
    Settled,
    /// Another round would take longer than the budget.
    Budget,
}

/// All measurements of a session.
#[derive(Clone, Debug)]
pub struct Session {
    /// Samples of every round, by way.
    pub rounds: Vec<Vec<Sample>>,
    /// Why it ended.
    pub end: End,
}

impl Session {
    /// The scores of every round.
    pub fn scores(&self) -> Vec<Vec<f64>> {
        self.rounds.iter().map(|r| r.iter().map(|s| s.score).collect()).collect()
    }

    /// Mean costs of a way.
    pub fn costs(&self, way: usize) -> Costs {
        Costs::mean(&self.rounds.iter().map(|r| r[way].costs).collect::<Vec<_>>())
    }

    /// Mean score of a way.
    pub fn mean_score(&self, way: usize) -> f64 {
        self.rounds.iter().map(|r| r[way].score).sum::<f64>() / self.rounds.len().max(1) as f64
    }
}

/// Carries out a session. `said` gets every sample with the number of its round, from 1.
///
/// # Errors
/// A measurement failed, or its score is no positive number.
pub fn carry_out(
    plan: &Plan,
    measure: &mut impl Measure,
    mut said: impl FnMut(usize, &Way, &Sample),
) -> Result<Session, Error> {
    let start = measure.now_s();
    let mut session = Session { rounds: Vec::new(), end: End::Budget };
    loop {
        let count = session.rounds.len();
        let mut samples = vec![None; plan.ways.len()];
        for index in order(count, plan.ways.len()) {
            let way = &plan.ways[index];
            let sample = measure.measure(way)?;
            if !(sample.score.is_finite() && sample.score > 0.0) {
                let (score, name) = (sample.score, way.name());
                return Err(Error::Program(format!("the score with {name} is {score}; expected a number above 0")));
            }
            said(count + 1, way, &sample);
            samples[index] = Some(sample);
        }
        session.rounds.push(samples.into_iter().flatten().collect());
        if is_settled(&session.scores(), plan.rules) {
            session.end = End::Settled;
            return Ok(session);
        }
        let spent = measure.now_s() - start;
        if spent + spent / session.rounds.len() as f64 > plan.budget_s {
            return Ok(session);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use numalab_stats::Better;

    /// A program whose clock and scores are given.
    struct Mock {
        now_s: f64,
        order: Vec<&'static str>,
        spread: f64,
    }

    impl Measure for Mock {
        fn measure(&mut self, way: &Way) -> Result<Sample, Error> {
            self.now_s += 10.0;
            self.order.push(way.name());
            let wobble = 1.0 + self.spread * (self.order.len() % 5) as f64;
            let score = if *way == Way::Off { 110.0 } else { 100.0 };
            Ok(Sample { score: score * wobble, costs: Costs::default() })
        }
        fn now_s(&self) -> f64 {
            self.now_s
        }
    }

    fn plan(budget_s: f64) -> Plan {
        let rules = Rules { better: Better::Higher, least_percent: 1.0 };
        Plan { ways: vec![Way::On, Way::Off], rules, budget_s }
    }

    #[test]
    fn steady_scores_end_it_after_the_fewest_rounds() {
        let mut mock = Mock { now_s: 0.0, order: vec![], spread: 0.0001 };
        let session = carry_out(&plan(1e9), &mut mock, |_, _, _| {}).unwrap();
        assert_eq!((session.end, session.rounds.len()), (End::Settled, 3));
        assert_eq!(mock.order, ["on", "off", "off", "on", "off", "on"], "interleaved in time");
        assert!(session.rounds.iter().all(|r| r[1].score > r[0].score), "samples are kept by way");
    }

    #[test]
    fn the_budget_ends_it() {
        let mut mock = Mock { now_s: 0.0, order: vec![], spread: 0.3 };
        let session = carry_out(&plan(100.0), &mut mock, |_, _, _| {}).unwrap();
        assert_eq!((session.end, session.rounds.len()), (End::Budget, 5));
        let session = carry_out(&plan(0.0), &mut mock, |_, _, _| {}).unwrap();
        assert_eq!(session.rounds.len(), 1, "at least one round");
    }

    #[test]
    fn a_score_of_nothing_is_an_error() {
        struct Zero;
        impl Measure for Zero {
            fn measure(&mut self, _: &Way) -> Result<Sample, Error> {
                Ok(Sample { score: 0.0, costs: Costs::default() })
            }
            fn now_s(&self) -> f64 {
                0.0
            }
        }
        let e = carry_out(&plan(1.0), &mut Zero, |_, _, _| {}).unwrap_err();
        assert!(e.to_string().contains("above 0"), "{e}");
    }
}
