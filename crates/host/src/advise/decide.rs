//! From rounds to one decision.
//!
//! Every way is compared with the present one round by round: the logarithm of the ratio of their scores, positive
//! where the way is better. The mean of a way has a 95 % interval by Student's t over the rounds, with Bonferroni's
//! correction for the number of ways. A change below [`Rules::least_percent`] is no reason to act.

use numalab_stats::{describe, dist, Better};

/// Probability that any interval of a decision misses its true value.
const LEVEL: f64 = 0.05;
/// Fewest rounds that can decide.
pub const MIN_ROUNDS: usize = 3;

/// When a decision is reached.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether a higher score is better.
    pub better: Better,
    /// Smallest gain that is worth a change, percent; also the half width at which an interval is narrow.
    pub least_percent: f64,
}

/// How a way stands against the present one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Gain in the score, percent of the present one; positive is better.
    pub gain_percent: f64,
    /// Bounds of the gain.
    pub low_percent: f64,
    /// Upper bound.
    pub high_percent: f64,
}

impl Standing {
    fn half_width(&self) -> f64 {
        (self.high_percent - self.low_percent) / 2.0
    }

    /// Whether more rounds would add little: the interval is narrow by itself, or against the gain.
    fn is_narrow(&self, rules: Rules) -> bool {
        self.half_width() <= rules.least_percent.max(self.gain_percent.abs() / 4.0)
    }

    /// Clearly better by any amount, and by more than the least that counts.
    fn is_better(&self, rules: Rules) -> bool {
        self.low_percent > 0.0 && self.gain_percent >= rules.least_percent
    }

    /// Clearly worse.
    pub fn is_worse(&self) -> bool {
        self.high_percent < 0.0
    }
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Take this way, by its index; 0 is the present one.
    Take(usize),
    /// No way differs from the present one by more than the least that counts.
    NoDifference,
    /// The rounds are too few or vary too much.
    CannotTell,
}

/// The scores of every round: one per way, the present one first.
pub type Rounds = [Vec<f64>];

/// How each way but the present one stands. `None` before the second round.
pub fn standings(rounds: &Rounds, rules: Rules) -> Option<Vec<Standing>> {
    let ways = rounds.first()?.len();
    (1..ways).map(|way| standing(rounds, (0, way), ways - 1, rules)).collect()
}

/// How a way stands against another one, corrected for that number of tests.
fn standing(rounds: &Rounds, (base, way): (usize, usize), tests: usize, rules: Rules) -> Option<Standing> {
    let sign = if rules.better == Better::Higher { 1.0 } else { -1.0 };
    let logs: Vec<f64> = rounds.iter().map(|r| sign * (r[way] / r[base]).ln()).collect();
    let (mean, spread) = (describe::amean(&logs)?, describe::stddev(&logs)?);
    let n = logs.len() as f64;
    let t = dist::t_quantile(1.0 - LEVEL / (2.0 * tests as f64), n - 1.0);
    let half = t * spread / n.sqrt();
    // A score that is lower by the factor f is better by 1/f - 1 in speed, and that is what the logarithm gives.
    let percent = |log: f64| (log.exp() - 1.0) * 100.0;
    Some(Standing {
        gain_percent: percent(mean),
        low_percent: percent(mean - half),
        high_percent: percent(mean + half),
    })
}

/// Whether every interval is narrow, so that more rounds would not change the decision.
pub fn is_settled(rounds: &Rounds, rules: Rules) -> bool {
    rounds.len() >= MIN_ROUNDS && standings(rounds, rules).is_some_and(|all| all.iter().all(|s| s.is_narrow(rules)))
}

/// Decides. Of ways that are better and that no test tells apart, the first is taken: the list begins with those that
/// ask for the least.
pub fn decide(rounds: &Rounds, rules: Rules) -> Decision {
    let Some(all) = standings(rounds, rules).filter(|_| rounds.len() >= MIN_ROUNDS) else {
        return Decision::CannotTell;
    };
    let better: Vec<usize> = (1..=all.len()).filter(|way| all[way - 1].is_better(rules)).collect();
    let gain = |way: &usize| all[way - 1].gain_percent;
    if let Some(best) = better.iter().copied().max_by(|a, b| gain(a).total_cmp(&gain(b))) {
        let loses = |way: usize| standing(rounds, (best, way), better.len() - 1, rules).is_some_and(|s| s.is_worse());
        let taken = better.iter().copied().find(|way| *way == best || !loses(*way));
        return Decision::Take(taken.unwrap_or(best));
    }
    // The present way stays for certain only if no other can be better by an amount that counts.
    if all.iter().any(|s| s.high_percent >= rules.least_percent && s.half_width() > rules.least_percent) {
        return Decision::CannotTell;
    }
    if all.iter().any(Standing::is_worse) {
        return Decision::Take(0);
    }
    Decision::NoDifference
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HIGHER: Rules = Rules { better: Better::Higher, least_percent: 1.0 };
    const LOWER: Rules = Rules { better: Better::Lower, least_percent: 1.0 };

    /// Rounds whose scores drift by `drift` a round; way i has `factors[i]` times the first one's score, with a small
    /// wobble.
    fn rounds(count: usize, factors: &[f64], drift: f64, wobble: f64) -> Vec<Vec<f64>> {
        let wave = |r: usize, w: usize| 1.0 + wobble * ((r * 7 + w * 3) % 5) as f64 / 4.0 - wobble / 2.0;
        let one = |r: usize| {
            let base = 100.0 * (1.0 + drift * r as f64);
            factors.iter().enumerate().map(|(w, f)| base * f * wave(r, w)).collect()
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn a_clear_gain_is_taken_in_either_direction() {
        let found = rounds(5, &[1.0, 1.1, 1.2], 0.0, 0.005);
        assert_eq!(decide(&found, HIGHER), Decision::Take(2));
        assert!(is_settled(&found, HIGHER));
        // The same figures as times: both ways are slower.
        assert_eq!(decide(&found, LOWER), Decision::Take(0));
    }

    #[test]
    fn of_equal_gains_the_first_way_is_taken() {
        assert_eq!(decide(&rounds(6, &[1.0, 1.2, 1.201], 0.0, 0.01), HIGHER), Decision::Take(1));
        assert_eq!(decide(&rounds(6, &[1.0, 1.2, 1.3], 0.0, 0.01), HIGHER), Decision::Take(2));
    }

    #[test]
    fn drift_does_not_hide_a_difference() {
        assert_eq!(decide(&rounds(5, &[1.0, 1.1], 0.5, 0.005), HIGHER), Decision::Take(1));
    }

    #[test]
    fn equal_ways_differ_by_nothing_that_the_rounds_could_show() {
        let found = rounds(12, &[1.0, 1.0], 0.0, 0.004);
        assert_eq!(decide(&found, HIGHER), Decision::NoDifference);
    }

    #[test]
    fn a_gain_that_is_too_small_to_count_is_no_reason() {
        let found = rounds(12, &[1.0, 1.005], 0.0, 0.001);
        assert!(standings(&found, HIGHER).unwrap()[0].low_percent > 0.0);
        assert_eq!(decide(&found, HIGHER), Decision::NoDifference);
    }

    #[test]
    fn noise_decides_nothing() {
        let found = rounds(4, &[1.0, 1.05], 0.0, 0.4);
        assert_eq!(decide(&found, HIGHER), Decision::CannotTell);
        assert!(!is_settled(&found, HIGHER));
        assert_eq!(decide(&rounds(2, &[1.0, 2.0], 0.0, 0.001), HIGHER), Decision::CannotTell, "two rounds are too few");
    }

    #[test]
    fn chance_alone_seldom_gives_advice() {
        // 200 sessions of two equal ways with a spread of 3 %, from a fixed sequence.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let u = (state >> 11) as f64 / (1u64 << 53) as f64;
            dist::normal_quantile(u.clamp(1e-9, 1.0 - 1e-9))
        };
        let mut wrong = 0;
        for _ in 0..200 {
            let found: Vec<Vec<f64>> =
                (0..6).map(|_| (0..3).map(|_| 100.0 * (1.0 + 0.03 * next())).collect()).collect();
            wrong += usize::from(matches!(decide(&found, HIGHER), Decision::Take(_)));
        }
        assert!(wrong <= 16, "{wrong} of 200; 5 % are 10");
    }
}
