//! A control group of tasks, which gets CPU time as one (kernel: `struct task_group`, `calc_group_shares`).

/// Number of a group, counted from 0.
pub type GroupId = u32;
/// The task is in the root group.
pub(in crate::sched) const NO_GROUP: GroupId = u32::MAX;

/// The least that an entity weighs (`MIN_SHARES`).
const MIN_SHARES: u64 = 2;

/// A group below the root.
#[derive(Clone, Debug)]
pub(in crate::sched) struct TaskGroup {
    /// What its entities on all CPUs weigh together, 1024 for the default `cpu.weight` of 100.
    pub shares: u64,
    /// Σ weights that the queued tasks of all CPUs have inside the group.
    pub load: u64,
}

impl TaskGroup {
    /// An empty group of a `cpu.weight` of 1..=10000 (`cgroup_weight_to_shares`).
    pub fn new(cpu_weight: u32) -> Self {
        Self { shares: (u64::from(cpu_weight) * 1024 + 50) / 100, load: 0 }
    }
    /// What a queued task of `weight` inside the group weighs outside it.
    ///
    /// The kernel splits the shares over CPUs by load, and the share of a CPU over the tasks there. Both steps as one
    /// give each task its part of the shares.
    pub fn entity_weight(&self, weight: u64) -> u64 {
        let load = self.load.max(weight).max(1);
        ((weight * self.shares + load / 2) / load).max(MIN_SHARES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_cpu_weight_and_tasks_split_them() {
        assert_eq!([1, 100, 250, 10000].map(|w| TaskGroup::new(w).shares), [10, 1024, 2560, 102_400]);
        let mut group = TaskGroup::new(100);
        assert_eq!(group.entity_weight(1024), 1024, "a task alone has all of them");
        group.load = 8 * 1024;
        assert_eq!(group.entity_weight(1024), 128);
        assert_eq!(group.entity_weight(15), 2, "never less than MIN_SHARES");
    }
}
