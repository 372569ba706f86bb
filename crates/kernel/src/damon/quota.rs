//! How much a scheme may move in a window of time: a limit, and a quota that tunes itself for a goal
//! (`damos_set_effective_quota`, mm/damon/core.c).

use super::goal::GoalMetric;

/// The feedback loop keeps at least this, 1/10000 bytes.
const LEAST_BP: u64 = 10_000;
/// A goal that is reached, and 100 %.
const REACHED: u64 = 10_000;

/// A quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Most bytes in a window; 0 for no limit.
    pub limit_bytes: u64,
    /// Length of a window, ms.
    pub reset_ms: u64,
    /// What it tunes itself for.
    pub goal: GoalMetric,
    /// Node of the goal.
    pub goal_nid: u16,
    /// The goal, 1/10000.
    pub goal_bp: u64,
    /// Bytes of this window (effective size); `None` if there is no bound.
    pub bytes: Option<u64>,
    /// Bytes that were tried in this window.
    pub charged_bytes: u64,
    /// State of the feedback loop, 1/10000 bytes.
    feedback_bp: u64,
    /// Start of the window, ns; `None` before the first.
    since_ns: Option<u64>,
}

impl Quota {
    /// A quota before its first window.
    pub fn new(limit_bytes: u64, reset_ms: u64, (goal, goal_nid, goal_bp): (GoalMetric, u16, u64)) -> Self {
        Self {
            limit_bytes,
            reset_ms,
            goal,
            goal_nid,
            goal_bp,
            bytes: None,
            charged_bytes: 0,
            feedback_bp: 0,
            since_ns: None,
        }
    }
    /// Starts a window if it is time. `measured_bp` is the present measure of the goal.
    pub fn start_window(&mut self, now_ns: u64, measured_bp: u64) {
        if self.since_ns.is_some_and(|since| now_ns < since + self.reset_ms * 1_000_000) {
            return;
        }
        self.since_ns = Some(now_ns);
        self.charged_bytes = 0;
        let limit = (self.limit_bytes > 0).then_some(self.limit_bytes);
        self.bytes = if self.goal == GoalMetric::None {
            limit
        } else {
            let score = measured_bp * REACHED / self.goal_bp.max(1);
            self.feedback_bp = feed(self.feedback_bp.max(LEAST_BP), score);
            let tuned = self.feedback_bp / REACHED;
            Some(limit.map_or(tuned, |l| l.min(tuned)))
        };
    }
    /// Bytes that may still be tried in this window; `None` without a bound.
    pub fn left(&self) -> Option<u64> {
        self.bytes.map(|b| b.saturating_sub(self.charged_bytes))
    }
}

/// The next input of a loop whose last input had this `score`; 10000 is the goal. The further off, the larger the step
/// (`damon_feed_loop_next_input`).
fn feed(last: u64, score: u64) -> u64 {
    let step = (u128::from(last) * u128::from(score.abs_diff(REACHED)) / u128::from(REACHED)) as u64;
    if score < REACHED {
        // Twice at most, as the score is not negative.
        return last.saturating_add(step);
    }
    if last > step.saturating_add(LEAST_BP) {
        last - step
    } else {
        LEAST_BP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_for_a_window() {
        let mut q = Quota::new(1 << 20, 1000, (GoalMetric::None, 0, 0));
        q.start_window(0, 0);
        assert_eq!(q.left(), Some(1 << 20));
        q.charged_bytes = 3 << 19;
        q.start_window(999_999_999, 0);
        assert_eq!(q.left(), Some(0));
        q.start_window(1_000_000_000, 0);
        assert_eq!(q.left(), Some(1 << 20));
        assert_eq!(Quota::new(0, 1000, (GoalMetric::None, 0, 0)).left(), None);
    }

    #[test]
    fn a_goal_doubles_the_quota_while_it_is_far_and_stops_it_when_reached() {
        // Used memory of a node: 0 of 99.7 %.
        let mut q = Quota::new(200 << 20, 1000, (GoalMetric::UsedBp, 0, 9970));
        let mut at = 0;
        let mut next = |q: &mut Quota, bp| {
            q.start_window(at, bp);
            at += 1_000_000_000;
            q.bytes
        };
        assert_eq!([next(&mut q, 0), next(&mut q, 0), next(&mut q, 0)], [2, 4, 8].map(Some));
        let most = (0..40).map(|_| next(&mut q, 0)).last().unwrap();
        assert_eq!(most, Some(200 << 20), "the limit bounds it");
        // Reached: it stays as it is. Free memory of a node at twice its goal stops demotion.
        let before = q.feedback_bp;
        next(&mut q, 9970);
        assert_eq!(q.feedback_bp, before);
        let mut free = Quota::new(0, 1000, (GoalMetric::FreeBp, 0, 50));
        free.feedback_bp = 4096 * 10_000;
        free.start_window(0, 100);
        assert_eq!(free.bytes, Some(1));
        assert_eq!(
            (feed(1_000_000, 5000), feed(1_000_000, 12_000), feed(10_000, 20_000)),
            (1_500_000, 800_000, 10_000)
        );
    }

    #[test]
    fn metrics_are_shares_of_a_node() {
        assert_eq!(
            [GoalMetric::UsedBp, GoalMetric::FreeBp, GoalMetric::None].map(|m| m.measure(30, 10_000)),
            [9970, 30, 0]
        );
        assert_eq!(GoalMetric::UsedBp.measure(0, 0), 0);
    }
}
