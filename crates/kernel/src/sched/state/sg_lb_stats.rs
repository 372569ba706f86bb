//! Group statistics and types (kernel-scheduler.md §2): types are compared before any count.

use crate::sched::domains::{Flags, Group, CAPACITY};
use crate::sched::rules::Form;

/// How busy a group is; higher is pulled from first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupType {
    /// Has CPUs to spare.
    #[default]
    HasSpare,
    /// Every CPU is used, nobody waits much.
    FullyBusy,
    /// A core with several tasks while the balancing CPU is idle (6.12).
    SmtBalance,
    /// Affinity kept a lower level from balancing.
    Imbalanced,
    /// More work than CPUs.
    Overloaded,
}

/// Sums over the CPUs of a group that a decision may consider; weight and capacity are of the full group.
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
    /// CPUs that are idle.
    pub idle_cpus: u32,
    /// CPUs.
    pub weight: u32,
    /// SMT cores.
    pub cores: u32,
    /// 1024 per CPU.
    pub capacity: u64,
    /// Queued tasks with a preferred node.
    pub nr_numa: u32,
    /// Those that are on it.
    pub nr_preferred: u32,
    /// The capacity record's `imbalance` flag.
    pub imbalanced: bool,
    /// The group is one SMT core (its flags have SHARE_CPUCAPACITY).
    pub smt: bool,
    /// To be classified as [`GroupType::SmtBalance`] if nothing stronger holds.
    pub smt_balance: bool,
    /// Type, once classified.
    pub kind: GroupType,
    /// ⌊load·1024/capacity⌋, only where a decision needs it.
    pub avg_load: u64,
}

impl SgLbStats {
    /// Empty sums of a group.
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
    /// Type for a domain of the given `imbalance_pct`.
    pub fn group_classify(&self, imbalance_pct: u32) -> GroupType {
        let pct = u64::from(imbalance_pct);
        let waits = self.capacity * pct < self.runnable * 100;
        if self.nr > self.weight && (self.capacity * 100 < self.util * pct || waits) {
            return GroupType::Overloaded;
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
    /// NUMA class of the group; see [`fbq_classify`].
    pub fn fbq_classify_group(&self) -> u8 {
        fbq_classify(self.nr, self.nr_numa, self.nr_preferred)
    }
    /// Whether `self` replaces `best` as the busiest group (`None`: nothing chosen yet). `ties`: of groups with as many idle
    /// CPUs the one with more tasks is busier (5.6 on).
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

/// NUMA class of a queue or group with `nr` tasks, of which `nr_numa` have a preferred node and `nr_preferred` are on
/// it: 0 has tasks without preference, 1 has tasks off their preferred node, 2 all are at home (`fbq_classify_rq`,
/// kernel-numa-balancing.md §14.6).
pub fn fbq_classify(nr: u32, nr_numa: u32, nr_preferred: u32) -> u8 {
    if nr > nr_numa {
        0
    } else if nr > nr_preferred {
        1
    } else {
        2
    }
}
