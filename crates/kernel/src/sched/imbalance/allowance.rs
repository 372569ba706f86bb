//! An imbalance rule with single decisions replaced.
//!
//! A role names a whole rule. The tunables of the group `imb` take one of its four questions from another rule, or
//! change the numbers of a floating rule, so that every state between two releases and every posted version can be
//! composed. Without them the file of the role is asked.

use super::sides::{
    ForkSides, ImbalancePolicy, NodeShape, PlacementLoad, PullSides, Terms, Threshold, NUMA_IMBALANCE_MIN,
};
use super::Rule;
use numalab_base::hook::Hook;
use numalab_base::tunable::Needs;
use numalab_base::words;

/// Declares the words of a question: the rule whose answer is taken.
macro_rules! answers {
    ($( $variant:ident = $word:literal, )+) => {
        words! {
            /// The rule that answers one question.
            pub enum Answer {
                /// That of the role.
                ByRole = "by_role",
                $(
                    /// As that rule does.
                    $variant = $word,
                )+
            }
        }
        impl Answer {
            fn or(self, role: Rule) -> Rule {
                match self { Self::ByRole => role, $( Self::$variant => Rule::$variant, )+ }
            }
        }
    };
}

answers! {
    None = "none",
    Pair56 = "pair_5_6",
    Fixed2 = "fixed_2",
    Pct2019 = "pct_2019",
    Quarter511 = "quarter_5_11",
    Quarter517s = "quarter_5_17s",
    ImbV3 = "imb_v3",
    ImbV4 = "imb_v4",
    Imb518 = "imb_5_18",
    Imb60 = "imb_6_0",
}

words! {
    /// Up to which count a floating rule tolerates an imbalance.
    pub enum Compare {
        /// As in the rule.
        ByRole = "by_role",
        /// While the count is below the limit (v3 to v5 of the series of 2021).
        Below = "below",
        /// While the count is not above the limit (v6, 5.18 on).
        UpTo = "up_to",
    }
}

words! {
    /// When the balancer halves the difference.
    pub enum Halve {
        /// As in the rule.
        ByRole = "by_role",
        /// Before it asks what is tolerated (up to 5.19).
        First = "first",
        /// Afterwards (6.0: cb29a5c19d2d).
        Last = "last",
    }
}

const FLOATING: Needs = Needs::OneOf(&["quarter_5_11", "quarter_5_17s", "imb_v3", "imb_v4", "imb_5_18", "imb_6_0"]);

numalab_base::tunables! {
    /// Single decisions of the NUMA imbalance (kernel-scheduler.md §5).
    pub struct ImbTunables: "imb" {
        /// Whose threshold `imb_numa_nr` domains have.
        threshold: Answer = Answer::ByRole, "", "model";
        /// Whose rule decides whether a fork stays on its node.
        fork: Answer = Answer::ByRole, "", "model";
        /// Whose rule decides what the balancer leaves alone (5.6: b396f52326de).
        pull: Answer = Answer::ByRole, "", "model";
        /// Whose rule decides what NUMA balancing leaves alone (5.7: fb86f5b21192).
        placement: Answer = Answer::ByRole, "", "model";
        /// Whether the limit itself is tolerated.
        compare: Compare = Compare::ByRole, "", "model", read when "imbalance" is FLOATING;
        /// Imbalance that is forgiven below the limit (NUMA_IMBALANCE_MIN).
        forgive: u32 = 2, "tasks", "model", range 0..=65_536, read when "imbalance" is FLOATING,
            read when "imb.forgive_to_limit" is Needs::OneOf(&["false"]);
        /// Any imbalance up to the limit is forgiven.
        forgive_to_limit: bool = false, "", "model", read when "imbalance" is FLOATING;
        /// When the balancer halves the difference.
        halve: Halve = Halve::ByRole, "", "model", read when "imbalance" is FLOATING;
        /// Part of a node with one cache that the threshold is: 4 in 5.18, 8 since 6.0. 0: as in the rule.
        node_part: u32 = 0, "", "model", range 0..=65_536, read when "imbalance" is Needs::OneOf(&["imb_5_18", "imb_6_0"]);
        /// Least threshold: 0 in 5.18, 1 since 6.0, 2 in v4. -1: as in the rule.
        floor: i64 = -1, "tasks", "model", range -1..=65_536,
            read when "imbalance" is Needs::OneOf(&["imb_v3", "imb_v4", "imb_5_18", "imb_6_0"]);
    }
}

/// A rule with the decisions that were replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    role: Rule,
    set: ImbTunables,
    numbers: bool,
    policy: Option<Hook<dyn ImbalancePolicy>>,
}

impl From<Rule> for Allowance {
    fn from(role: Rule) -> Self {
        Self::new(role, &ImbTunables::default())
    }
}

impl Allowance {
    /// The rule of a role with what `set` replaces.
    pub fn new(role: Rule, set: &ImbTunables) -> Self {
        let d = ImbTunables::default();
        let numbers = (set.compare, set.forgive, set.forgive_to_limit, set.halve)
            != (d.compare, d.forgive, d.forgive_to_limit, d.halve);
        Self { role, set: *set, numbers, policy: None }
    }
    /// The same rule with answers of the caller before its own.
    #[must_use]
    pub fn with_policy(self, policy: Option<Hook<dyn ImbalancePolicy>>) -> Self {
        Self { policy, ..self }
    }
    /// The rule of the role.
    pub fn role(&self) -> Rule {
        self.role
    }
    /// The rule that decides about forks.
    pub fn fork_rule(&self) -> Rule {
        self.set.fork.or(self.role)
    }
    /// Threshold from the sizes of a node; `None` for rules without one, whose `imb_numa_nr` is 0.
    pub fn threshold(&self, shape: NodeShape) -> Option<Threshold> {
        let rule = self.set.threshold.or(self.role);
        let mut t = rule.threshold(shape)?;
        if self.set.node_part > 0 && matches!(rule, Rule::Imb518 | Rule::Imb60) && shape.node / shape.llc.max(1) == 1 {
            t.base = (shape.node / self.set.node_part).max(u32::from(rule == Rule::Imb60));
        }
        if let Ok(floor) = u32::try_from(self.set.floor) {
            t.base = rule.bare_threshold(shape, self.set.node_part).max(floor);
        }
        Some(t)
    }
    /// Whether a forked task stays local although the other node may have more idle CPUs.
    pub fn fork_stays(&self, s: &ForkSides) -> bool {
        if let Some(stays) = self.policy.and_then(|p| p.0.fork_stays(s)) {
            return stays;
        }
        let rule = self.fork_rule();
        match rule.fork_terms(s).filter(|_| self.numbers) {
            Some(t) if rule == Rule::Imb60 => self.tolerated(i64::from(s.local_idle.abs_diff(s.idlest_idle)), &t) == 0,
            Some(t) => self.allowed(&t),
            None => rule.fork_stays(s),
        }
    }
    /// Number of tasks to move between nodes when the difference, in tasks or idle CPUs, is `raw`.
    pub fn tasks_to_move(&self, raw: i64, s: &PullSides) -> i64 {
        if let Some(tasks) = self.policy.and_then(|p| p.0.tasks_to_move(raw, s)) {
            return tasks;
        }
        let rule = self.set.pull.or(self.role);
        let Some(t) = rule.pull_terms(s).filter(|_| self.numbers) else { return rule.tasks_to_move(raw, s) };
        let first = match self.set.halve {
            Halve::ByRole => rule != Rule::Imb60,
            halve => halve == Halve::First,
        };
        match first {
            true => self.tolerated(raw >> 1, &t),
            false => self.tolerated(raw, &t) >> 1,
        }
    }
    /// Imbalance that counts against a move of NUMA balancing to a node with spare capacity. `None` if task placement
    /// decides by load instead.
    pub fn placement(&self, l: &PlacementLoad) -> Option<u32> {
        if let Some(imbalance) = self.policy.and_then(|p| p.0.placement(l)) {
            return Some(imbalance);
        }
        let rule = self.set.placement.or(self.role);
        match rule.placement_terms(l).filter(|_| self.numbers) {
            Some(t) => Some(self.tolerated(i64::from(l.imbalance), &t) as u32),
            None => rule.placement(l),
        }
    }
    fn allowed(&self, t: &Terms) -> bool {
        let up_to = match self.set.compare {
            Compare::ByRole => t.up_to,
            compare => compare == Compare::UpTo,
        };
        t.count < t.limit || (up_to && t.count == t.limit)
    }
    fn tolerated(&self, x: i64, t: &Terms) -> i64 {
        let forgiven = if self.set.forgive_to_limit { i64::from(t.limit) } else { i64::from(self.set.forgive) };
        if self.allowed(t) && x <= forgiven {
            0
        } else {
            x
        }
    }
}

const _: () = assert!(NUMA_IMBALANCE_MIN == 2, "the default of imb.forgive");

#[cfg(test)]
mod tests {
    use super::*;

    fn with(role: Rule, set: impl Fn(&mut ImbTunables)) -> Allowance {
        let mut tunables = ImbTunables::default();
        set(&mut tunables);
        Allowance::new(role, &tunables)
    }

    const PULL: PullSides = PullSides {
        local_nr: 1,
        local_weight: 16,
        busiest_nr: 2,
        busiest_weight: 16,
        imb_numa_nr: 2,
        imbalance_pct: 117,
    };
    const FORK: ForkSides = ForkSides {
        local_nr: 1,
        local_idle: 15,
        idlest_idle: 16,
        local_weight: 16,
        local_allowed: 16,
        span_weight: 32,
        imb_numa_nr: 2,
    };
    const LOAD: PlacementLoad =
        PlacementLoad { imbalance: 2, dst_running: 2, src_running: 0, dst_weight: 16, imb_numa_nr: 2 };

    /// The terms of the floating rules say the same as their own answers.
    #[test]
    fn terms_are_the_rules() {
        let numbers = |rule| Allowance { numbers: true, ..Allowance::from(rule) };
        for rule in Rule::ALL {
            let (a, b) = (Allowance::from(*rule), numbers(*rule));
            for i in 0..4_000_u32 {
                let r = |m: u32, n: u32| i / m % n;
                let pull = PullSides { local_nr: r(1, 7), busiest_nr: r(7, 9), imb_numa_nr: r(63, 6), ..PULL };
                let fork = ForkSides { local_nr: r(1, 7), local_idle: r(3, 9), imb_numa_nr: r(27, 6), ..FORK };
                let load = PlacementLoad { imbalance: r(1, 5), dst_running: r(5, 7), imb_numa_nr: r(35, 6), ..LOAD };
                assert_eq!(a.tasks_to_move(i64::from(r(5, 11)), &pull), b.tasks_to_move(i64::from(r(5, 11)), &pull));
                assert_eq!((a.fork_stays(&fork), a.placement(&load)), (b.fork_stays(&fork), b.placement(&load)));
            }
        }
    }

    #[test]
    fn a_rule_of_the_caller_answers_what_it_wants_to() {
        struct MovesAll;
        impl ImbalancePolicy for MovesAll {
            fn tasks_to_move(&self, raw: i64, _s: &PullSides) -> Option<i64> {
                Some(raw)
            }
        }
        let (role, own) =
            (Allowance::from(Rule::Imb60), Allowance::from(Rule::Imb60).with_policy(Some(Hook(&MovesAll))));
        assert_eq!((role.tasks_to_move(2, &PULL), own.tasks_to_move(2, &PULL)), (0, 2));
        assert_eq!((own.fork_stays(&FORK), own.placement(&LOAD)), (role.fork_stays(&FORK), role.placement(&LOAD)));
    }

    #[test]
    fn the_allowances_of_5_6_and_5_7_come_apart() {
        let (old, new) = (Allowance::from(Rule::Pair56), Allowance::from(Rule::Fixed2));
        assert_eq!((old.tasks_to_move(2, &PULL), new.tasks_to_move(2, &PULL)), (0, 0), "both spare pairs");
        assert_eq!((old.placement(&LOAD), new.placement(&LOAD)), (None, Some(0)), "5.6 still places by load");
        let none = with(Rule::None, |t| t.placement = Answer::Fixed2);
        assert_eq!((none.tasks_to_move(2, &PULL), none.placement(&LOAD)), (1, Some(0)), "the placement half alone");
        let composed = with(Rule::None, |t| t.pull = Answer::Pair56);
        assert_eq!((composed.tasks_to_move(2, &PULL), composed.placement(&LOAD)), (0, None));
    }

    #[test]
    fn a_floating_balancer_with_the_old_fork_rule() {
        let both = with(Rule::Quarter511, |t| t.fork = Answer::None);
        let full = ForkSides { local_nr: 12, local_idle: 4, ..FORK };
        assert_eq!((both.fork_stays(&full), Allowance::from(Rule::Quarter511).fork_stays(&full)), (true, false));
        assert_eq!(both.tasks_to_move(4, &PULL), 0, "the balancer floats");
    }

    #[test]
    fn below_or_up_to_the_limit() {
        let at = PullSides { local_nr: 1, ..PULL };
        let v5 = with(Rule::Imb518, |t| t.compare = Compare::Below);
        assert_eq!((Allowance::from(Rule::Imb518).tasks_to_move(4, &at), v5.tasks_to_move(4, &at)), (0, 2));
        assert_eq!((Allowance::from(Rule::Imb518).placement(&LOAD), v5.placement(&LOAD)), (Some(0), Some(2)));
    }

    #[test]
    fn two_or_up_to_the_threshold_are_forgiven() {
        let s = PullSides { imb_numa_nr: 8, ..PULL };
        let role = Allowance::from(Rule::Imb60);
        let wide = with(Rule::Imb60, |t| t.forgive_to_limit = true);
        assert_eq!((role.tasks_to_move(6, &s), wide.tasks_to_move(6, &s)), (3, 0));
        let four = with(Rule::Imb60, |t| t.forgive = 4);
        assert_eq!((four.tasks_to_move(4, &s), four.tasks_to_move(5, &s)), (0, 2));
    }

    #[test]
    fn halving_first_or_last() {
        let role = Allowance::from(Rule::Imb60);
        let first = with(Rule::Imb60, |t| t.halve = Halve::First);
        assert_eq!((role.tasks_to_move(4, &PULL), first.tasks_to_move(4, &PULL)), (2, 0));
        assert_eq!(with(Rule::Imb518, |t| t.halve = Halve::Last).tasks_to_move(4, &PULL), 2);
    }

    #[test]
    fn thresholds_as_numbers() {
        let one = NodeShape { llc: 40, node: 40, nodes: 2 };
        let base = |a: Allowance, shape| a.threshold(shape).unwrap().base;
        assert_eq!((base(Rule::Imb518.into(), one), base(Rule::Imb60.into(), one)), (10, 5));
        assert_eq!(base(with(Rule::Imb60, |t| t.node_part = 4), one), 10);
        let tiny = NodeShape { llc: 4, node: 4, nodes: 2 };
        assert_eq!((base(Rule::Imb60.into(), tiny), base(with(Rule::Imb60, |t| t.floor = 0), tiny)), (1, 0));
        // v4: half of the square of the cache by the node, at least 2. Zen 3 NPS1, Zen 2, one cache per node.
        let v4 = |llc, node| base(Rule::ImbV4.into(), NodeShape { llc, node, nodes: 2 });
        assert_eq!([v4(16, 128), v4(8, 128), v4(40, 40)], [2, 2, 10]);
        let pulls_v3 = with(Rule::Imb518, |t| t.threshold = Answer::ImbV3);
        assert_eq!(base(pulls_v3, NodeShape { llc: 16, node: 128, nodes: 2 }), 1);
    }

    /// "sched, fair: Allow a small degree of load imbalance between SD_NUMA domains", December 2019: half of
    /// imbalance_pct of the group, at least 2, while the group is below half of its CPUs less that.
    #[test]
    fn an_allowance_in_proportion_to_imbalance_pct() {
        let rule = Allowance::from(Rule::Pct2019);
        let s = |busiest_nr| PullSides { busiest_nr, busiest_weight: 80, imbalance_pct: 125, ..PULL };
        // imbalance_adj = (80 · 25 / 100) / 2 = 10, imbalance_max = 40 − 10.
        assert_eq!((rule.tasks_to_move(20, &s(29)), rule.tasks_to_move(22, &s(29))), (0, 11));
        assert_eq!(rule.tasks_to_move(20, &s(30)), 10);
        assert_eq!(Allowance::from(Rule::Pair56).tasks_to_move(20, &s(29)), 10, "5.6 as merged spares pairs only");
    }
}
