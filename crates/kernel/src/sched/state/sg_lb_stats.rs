//! Statistics and types of groups (kernel: `struct sg_lb_stats`, kernel-scheduler.md §2). Types are compared before
//! counts.

use crate::sched::domains::{Flags, Group, CAPACITY};
use crate::sched::rules::Form;

/// How busy a group is (kernel: `enum group_type`). A higher type is pulled from first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupType {
    /// The group has CPUs to spare.
    #[default]
    HasSpare,
    /// Every CPU is used and tasks hardly wait.
    FullyBusy,
    /// The group is a core with several tasks, and the balancing CPU is idle (6.12).
    SmtBalance,
    /// Affinity kept a lower level from balancing.
    Imbalanced,
    /// The group has tasks that belong on the cache of the balancing CPU (7.2).
    LlcBalance,
    /// The group has more work than CPUs.
    Overloaded,
}

/// Sums over those CPUs of a group that a decision may consider. Weight and capacity are those of the full group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgLbStats {
    /// Σ load averages.
    pub load: u64,
    /// Σ CPU utilisation.
    pub util: u64,
    /// Σ runnable averages.
    pub runnable: u64,
    /// Σ queued tasks.
    pub nr: u32,
    /// Number of idle CPUs.
    pub idle_cpus: u32,
    /// Number of CPUs.
    pub weight: u32,
    /// Number of SMT cores.
    pub cores: u32,
    /// Capacity: 1024 per CPU.
    pub capacity: u64,
    /// Queued tasks with a preferred node.
    pub nr_numa: u32,
    /// Queued tasks that are on their preferred node.
    pub nr_preferred: u32,
    /// The `imbalance` flag of the capacity record.
    pub imbalanced: bool,
    /// The group is one SMT core (its flags include SHARE_CPUCAPACITY).
    pub smt: bool,
    /// The group is classified as [`GroupType::SmtBalance`] unless a higher type applies.
    pub smt_balance: bool,
    /// The group is classified as [`GroupType::LlcBalance`] unless it is overloaded.
    pub llc_balance: bool,
    /// Type of the group, once classified.
    pub kind: GroupType,
    /// ⌊load·1024/capacity⌋; set only where a decision needs it.
    pub avg_load: u64,
}

impl SgLbStats {
    /// The statistics of `group` before any CPU is counted.
    pub fn of(group: &Group, imbalanced: bool) -> Self {
        Self {
            weight: group.weight,
            cores: group.cores,
            capacity: CAPACITY * u64::from(group.weight),
            smt: group.flags.has(Flags::SHARE_CPUCAPACITY),
            imbalanced,
            ..Self::default()
        }
    }
    /// Type of the group in a domain with the given `imbalance_pct`.
    pub fn group_classify(&self, imbalance_pct: u32) -> GroupType {
        let pct = u64::from(imbalance_pct);
        let waits = self.capacity * pct < self.runnable * 100;
        if self.nr > self.weight && (self.capacity * 100 < self.util * pct || waits) {
            return GroupType::Overloaded;
        }
        if self.llc_balance {
            return GroupType::LlcBalance;
        }
        if self.imbalanced {
            return GroupType::Imbalanced;
        }
        if self.smt_balance {
            return GroupType::SmtBalance;
        }
        let spare = self.nr < self.weight || (!waits && self.capacity * 100 > self.util * pct);
        if spare {
            GroupType::HasSpare
        } else {
            GroupType::FullyBusy
        }
    }
    /// NUMA class of the group (`fbq_classify_group`); see [`fbq_classify`].
    pub fn fbq_classify_group(&self) -> u8 {
        fbq_classify(self.nr, self.nr_numa, self.nr_preferred)
    }
    /// Whether `self` replaces `best` as the busiest group; `best` is `None` while no group has been chosen. With
    /// `ties`, the group with more tasks is the busier of two with as many idle CPUs (5.6 on).
    pub fn update_sd_pick_busiest(&self, best: Option<&SgLbStats>, form: Form, ties: bool) -> bool {
        if self.nr == 0 {
            return false;
        }
        let none = SgLbStats { idle_cpus: u32::MAX, ..SgLbStats::default() };
        let current = best.unwrap_or(&none);
        if self.kind != current.kind {
            return self.kind > current.kind;
        }
        match self.kind {
            GroupType::Overloaded => self.avg_load > current.avg_load,
            GroupType::Imbalanced => false,
            GroupType::LlcBalance => self.fewer_idle(current),
            GroupType::SmtBalance if self.idle_cpus > 0 || current.idle_cpus > 0 => self.fewer_idle(current),
            GroupType::SmtBalance | GroupType::FullyBusy => form == Form::V612 && !current.smt,
            GroupType::HasSpare => {
                if form == Form::V612 && best.is_some() && self.smt != current.smt {
                    return !(self.smt && self.nr <= 1);
                }
                self.fewer_idle(current) && (ties || self.idle_cpus < current.idle_cpus)
            }
        }
    }
    fn fewer_idle(&self, current: &SgLbStats) -> bool {
        self.idle_cpus < current.idle_cpus || (self.idle_cpus == current.idle_cpus && self.nr > current.nr)
    }
}

/// NUMA class of a queue or group with `nr` tasks, `nr_numa` of them with a preferred node and `nr_preferred` on it
/// (`fbq_classify_rq`, kernel-numa-balancing.md §14.6). Class 0 has tasks without a preferred node. Class 1 has tasks
/// off their preferred node. In class 2 all tasks are on their preferred node.
pub fn fbq_classify(nr: u32, nr_numa: u32, nr_preferred: u32) -> u8 {
    if nr > nr_numa {
        0
    } else if nr > nr_preferred {
        1
    } else {
        2
    }
}
