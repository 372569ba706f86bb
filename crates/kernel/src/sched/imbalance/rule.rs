//! An imbalance rule as a run has it: the parts of its role, those that tunables replace, and answers of the caller.

use super::parts::{
    Fork, ForkSides, Halve, NodeShape, Placement, PlacementLoad, Pull, PullSides, Terms, Threshold, NUMA_IMBALANCE_MIN,
};
use super::tunables::{Compare, ImbTunables};
use super::Rule;
use numalab_base::hook::Hook;

/// An imbalance rule of the caller, in place of the one of the role. `None` leaves the answer to the role.
pub trait ImbalancePolicy: Sync {
    /// See [`Allowance::fork_stays`].
    fn fork_stays(&self, _s: &ForkSides) -> Option<bool> {
        None
    }
    /// See [`Allowance::tasks_to_move`].
    fn tasks_to_move(&self, _raw: i64, _s: &PullSides) -> Option<i64> {
        None
    }
    /// See [`Allowance::placement`].
    fn placement(&self, _l: &PlacementLoad) -> Option<u32> {
        None
    }
}

/// A rule with the decisions that were replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    role: Rule,
    set: ImbTunables,
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
        Self { role, set: *set, policy: None }
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
    /// Threshold from the sizes of a node; `None` for rules without one, whose `imb_numa_nr` is 0.
    pub fn threshold(&self, shape: NodeShape) -> Option<Threshold> {
        let own = self.set.threshold.or(self.role).parts().threshold?;
        let floor = u32::try_from(self.set.floor).unwrap_or(own.floor);
        Some(Threshold { base: own.of.bare(shape, self.set.node_part).max(floor), scaled: own.scaled })
    }
    /// Whether a forked task stays local although the other node may have more idle CPUs.
    pub fn fork_stays(&self, s: &ForkSides) -> bool {
        if let Some(stays) = self.policy.and_then(|p| p.0.fork_stays(s)) {
            return stays;
        }
        match self.set.fork.or(self.role).parts().fork {
            Fork::IdleCpu => s.local_idle > 0,
            Fork::Floats(terms) => self.allowed(&terms(s)),
            Fork::FloatsByIdleCpus(terms) => {
                self.tolerated(i64::from(s.local_idle.abs_diff(s.idlest_idle)), &terms(s)) == 0
            }
        }
    }
    /// Number of tasks to move between nodes when the difference, in tasks or idle CPUs, is `raw`.
    pub fn tasks_to_move(&self, raw: i64, s: &PullSides) -> i64 {
        if let Some(tasks) = self.policy.and_then(|p| p.0.tasks_to_move(raw, s)) {
            return tasks;
        }
        match self.set.pull.or(self.role).parts().pull {
            Pull::All => raw >> 1,
            Pull::SparePairs if i64::from(s.busiest_nr) <= NUMA_IMBALANCE_MIN => 0,
            Pull::SparePairs => raw >> 1,
            Pull::Own(tasks_to_move) => tasks_to_move(raw, s),
            Pull::Floats { terms, halve } => match self.set.halve.or(halve) {
                Halve::First => self.tolerated(raw >> 1, &terms(s)),
                Halve::Last => self.tolerated(raw, &terms(s)) >> 1,
            },
        }
    }
    /// Imbalance that counts against a move of NUMA balancing to a node with spare capacity. `None` if task placement
    /// decides by load instead.
    pub fn placement(&self, l: &PlacementLoad) -> Option<u32> {
        if let Some(imbalance) = self.policy.and_then(|p| p.0.placement(l)) {
            return Some(imbalance);
        }
        match self.set.placement.or(self.role).parts().placement {
            Placement::ByLoad => None,
            Placement::SparePairs if i64::from(l.src_running) <= NUMA_IMBALANCE_MIN => Some(0),
            Placement::SparePairs => Some(l.imbalance),
            Placement::Floats(terms) => Some(self.tolerated(i64::from(l.imbalance), &terms(l)) as u32),
        }
    }
    fn allowed(&self, t: &Terms) -> bool {
        let role = if t.up_to { Compare::UpTo } else { Compare::Below };
        match self.set.compare.or(role) {
            Compare::Below => t.count < t.limit,
            Compare::UpTo => t.count <= t.limit,
        }
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

/// The rule of a release as it is, without tunables and callers.
impl Rule {
    /// See [`Allowance::threshold`].
    pub fn threshold(self, shape: NodeShape) -> Option<Threshold> {
        Allowance::from(self).threshold(shape)
    }
    /// See [`Allowance::fork_stays`].
    pub fn fork_stays(self, s: &ForkSides) -> bool {
        Allowance::from(self).fork_stays(s)
    }
    /// See [`Allowance::tasks_to_move`].
    pub fn tasks_to_move(self, raw: i64, s: &PullSides) -> i64 {
        Allowance::from(self).tasks_to_move(raw, s)
    }
    /// See [`Allowance::placement`].
    pub fn placement(self, l: &PlacementLoad) -> Option<u32> {
        Allowance::from(self).placement(l)
    }
}
