//! The balancer of 3.7 and 3.8: groups have no types, only their load per power.
//!
//! Problem: 6.1 first asks whether groups have idle CPUs to spare. Kernels of 2012 compare weights. A group's load is
//! the Σ of its tasks' weights over its *power* (now called capacity). A group may be pulled from once it has more
//! tasks than its power has whole CPUs. Threads of a core share 1178/1024 of a CPU (`smt_gain`), so a node of six cores
//! with two threads each counts as seven CPUs, not as twelve.
//!
//! Approach: [`SgLbStats`] of each group, [`SdLbStats`] of the domain, then `find_busiest_group` and
//! `calculate_imbalance` with `fix_small_imbalance`, in the kernel's unsigned arithmetic. The amount to move is a
//! weight. Units: 1024 for a nice-0 task's weight and for the power of a whole CPU.
//!
//! Periodic passes over larger domains do not see short waits: they take the larger of a past and the present load for
//! CPUs of their own group, and the smaller one for others (LB_BIAS, [`load_index`]).
//!
//! Sources read: `kernel/sched/fair.c` of a 3.4 tree, and the patches of 2013 that changed it. From memory:
//!
//! * nothing else changed until 3.8;
//! * weights were instantaneous until 3.11;
//! * only the package level prefers siblings. It is kept above a cache of the same CPUs, so that the lowest domain
//!   across nodes finds it as its child.
//!
//! Simplified: the past load of an idle CPU decays when it is read, not when another CPU balances for it. Left out: RT
//! and frequency scaling of power; `h_load` of cgroups (a 1024th less at the root).

use super::lb_env::LbEnv;
use super::migration_type::MigrationType;
use crate::sched::capacity::{capacity, cpu_power, power_of};
use crate::sched::domains::{DomId, Flags, Group, GroupId, Level};
use crate::sched::state::{CpuIdleType, Scheduler};

/// Sums over those CPUs of a group that a pass may consider. Weight and power are those of the full group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgLbStats {
    /// Σ loads, past or present.
    pub load: u64,
    /// Σ weights at present.
    pub queued: u64,
    /// Σ queued tasks.
    pub nr: u32,
    /// Number of idle CPUs.
    pub idle_cpus: u32,
    /// Number of CPUs.
    pub weight: u32,
    /// Σ power of its CPUs.
    pub power: u64,
    /// Whole CPUs in its power.
    pub capacity: u32,
    /// Its CPUs differ by more than an average task and by two tasks (`group_imb`).
    pub group_imb: bool,
}

impl SgLbStats {
    /// Load per power.
    pub fn average(&self) -> u64 {
        self.load * 1024 / self.power.max(1)
    }
    /// Mean weight of a task; 0 without tasks.
    pub fn per_task(&self) -> u64 {
        self.queued / u64::from(self.nr.max(1))
    }
    fn has_capacity(&self) -> bool {
        self.capacity > self.nr
    }
}

/// Statistics of a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SdLbStats {
    /// The group of the balancing CPU.
    pub local: SgLbStats,
    /// The busiest other group that has more tasks than its capacity, or uneven CPUs (`group_imb`).
    pub busiest: SgLbStats,
    /// Whether the busiest group has CPUs left, before siblings are preferred to it.
    pub busiest_has_capacity: bool,
    /// Average load of the domain.
    pub average: u64,
}

/// Result of `find_busiest_group`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The local group is at least as loaded as the domain or the busiest group.
    Stay,
    /// The local group is less loaded, but not by enough.
    Near,
    /// This much weight should move.
    Pull(u64),
}

/// Whether and how much to pull; `pct` is the domain's threshold.
pub fn decide(s: &SdLbStats, idle: CpuIdleType, pct: u32) -> Verdict {
    let (this, most) = (s.local.average(), s.busiest.average());
    let forced =
        s.busiest.group_imb || (idle == CpuIdleType::NewlyIdle && s.local.has_capacity() && !s.busiest_has_capacity);
    if !forced {
        if this >= most || this >= s.average {
            return Verdict::Stay;
        }
        let near = match idle {
            CpuIdleType::Idle => s.local.idle_cpus <= s.busiest.idle_cpus + 1 && s.busiest.nr <= s.busiest.weight,
            CpuIdleType::NotIdle | CpuIdleType::NewlyIdle => 100 * most <= u64::from(pct) * this,
        };
        if near {
            return Verdict::Near;
        }
    }
    Verdict::Pull(calculate_imbalance(s))
}

fn calculate_imbalance(s: &SdLbStats) -> u64 {
    let (this, most) = (s.local.average(), s.busiest.average());
    let mut per_task = s.busiest.per_task();
    if s.busiest.group_imb {
        per_task = per_task.min(s.average);
    }
    // Groups within their capacity cannot be the busiest one, but count in the average.
    if most < s.average {
        return fix_small_imbalance(s, per_task).unwrap_or(0);
    }
    let above = match s.busiest.group_imb {
        true => u64::MAX,
        false => u64::from(s.busiest.nr - s.busiest.capacity) * 1024 * 1024 / s.busiest.power.max(1),
    };
    let from = (most - s.average).min(above).saturating_mul(s.busiest.power);
    // The kernel's arithmetic is unsigned: after a forced pull, a local group above the average sets no bound.
    let to = s.average.checked_sub(this).map_or(u64::MAX, |x| x.saturating_mul(s.local.power));
    let amount = from.min(to) / 1024;
    if amount < per_task {
        return fix_small_imbalance(s, per_task).unwrap_or(amount);
    }
    amount
}

/// One task of weight `per_task`, if the groups differ by it or if its move would use more power.
fn fix_small_imbalance(s: &SdLbStats, per_task: u64) -> Option<u64> {
    let (this, most) = (s.local.average(), s.busiest.average());
    let (power, own_power) = (s.busiest.power.max(1), s.local.power.max(1));
    let own_per_task = s.local.per_task();
    let scaled = per_task * 1024 / power;
    let tasks = if s.local.nr > 0 && per_task > own_per_task { 1 } else { 2 };
    if most.wrapping_sub(this).wrapping_add(scaled) >= scaled * tasks {
        return Some(per_task);
    }
    uses_more(per_task, (most, power), own_per_task, (this, own_power)).then_some(per_task)
}

/// Whether more power is used after a task of weight `per_task` has moved from one group to another. `from` and `to`
/// are average load and power of each; `own_per_task` is the mean weight of the receiving group's tasks.
pub(super) fn uses_more(per_task: u64, from: (u64, u64), own_per_task: u64, to: (u64, u64)) -> bool {
    let ((most, power), (this, own_power)) = (from, to);
    let scaled = per_task * 1024 / power;
    let now = (power * per_task.min(most) + own_power * own_per_task.min(this)) / 1024;
    let less = most.checked_sub(scaled).map_or(0, |rest| power * per_task.min(rest));
    let added = (most * power).min(per_task * 1024) / own_power;
    let then = (less + own_power * own_per_task.min(this + added)) / 1024;
    then > now
}

/// Index of the past load that a pass over a domain compares (`idle_idx`, `busy_idx`, `newidle_idx`); 0 for the present
/// one.
pub fn load_index(level: Level, idle: CpuIdleType) -> usize {
    match (level, idle) {
        (_, CpuIdleType::NewlyIdle) | (Level::Smt | Level::Cls, _) | (Level::Mc, CpuIdleType::Idle) => 0,
        (Level::Pkg, CpuIdleType::Idle) => 1,
        (Level::Mc | Level::Pkg, CpuIdleType::NotIdle) | (Level::Node | Level::Numa(_), CpuIdleType::Idle) => 2,
        (Level::Node | Level::Numa(_), CpuIdleType::NotIdle) => 3,
    }
}

impl Scheduler {
    /// The busiest group if something should move from it; sets what and how much in `env`, and whether it was close.
    pub(super) fn find_busiest_group_v37(&mut self, env: &mut LbEnv) -> Option<GroupId> {
        let domain = self.topo.domain(env.dom);
        let numa = |d: DomId| self.topo.domain(d).flags.has(Flags::NUMA);
        let spread = numa(env.dom) && self.topo.child(env.dom).is_some_and(|c| !numa(c));
        let core = domain.flags.has(Flags::SHARE_CPUCAPACITY);
        let index = load_index(domain.level, env.idle);
        env.near = false;
        let mut scan = SdLbStats::default();
        let mut source = None;
        let (mut load, mut power, mut stacked) = (0, 0, false);
        for id in domain.groups.iter() {
            let group = self.topo.group(*id);
            let local = group.span.contains(env.dst);
            let (mut s, most) = self.update_sg_lb_stats_v37(env, group, core, index);
            stacked |= most > 1;
            load += s.load;
            power += s.power;
            if local {
                scan.local = s;
                continue;
            }
            let has_capacity = s.has_capacity();
            if spread && scan.local.has_capacity() {
                s.capacity = s.capacity.min(1);
            }
            if s.average() > scan.busiest.average() && (s.nr > s.capacity || s.group_imb) {
                (scan.busiest, scan.busiest_has_capacity, source) = (s, has_capacity, Some(*id));
            }
        }
        let pct = domain.imbalance_pct;
        if self.topo.parent(env.dom).is_none() {
            self.overload = stacked;
        }
        let source = source?;
        scan.average = load * 1024 / power.max(1);
        match decide(&scan, env.idle, pct) {
            Verdict::Pull(amount) => {
                env.kind = MigrationType::Load;
                env.amount = amount as i64;
                Some(source)
            }
            verdict => {
                env.near = verdict == Verdict::Near;
                None
            }
        }
    }
    /// Statistics of a group, and the most tasks on one of its CPUs (`update_sg_lb_stats`).
    fn update_sg_lb_stats_v37(&self, env: &LbEnv, group: &Group, core: bool, index: usize) -> (SgLbStats, u32) {
        let power = power_of(&self.topo, group);
        let local = group.span.contains(env.dst);
        let mut s = SgLbStats { weight: group.weight, power, capacity: capacity(power, core), ..SgLbStats::default() };
        let (mut heaviest, mut lightest) = ((0, 0), (u64::MAX, u32::MAX));
        for c in group.span.iter() {
            if env.narrowed && !self.candidates.contains(c) {
                continue;
            }
            let rq = &self.rqs[c as usize];
            let nr = rq.nr();
            let load = match index {
                0 => rq.weight,
                i if local => rq.past_load(i - 1, self.jiffy).max(rq.weight),
                i => rq.past_load(i - 1, self.jiffy).min(rq.weight),
            };
            s.load += load;
            s.queued += rq.weight;
            s.nr += nr;
            s.idle_cpus += u32::from(self.idle.contains(c));
            heaviest = (load.max(heaviest.0), nr.max(heaviest.1));
            lightest = (load.min(lightest.0), nr.min(lightest.1));
        }
        s.group_imb =
            heaviest.0.saturating_sub(lightest.0) >= s.per_task() && heaviest.1.saturating_sub(lightest.1) > 1;
        (s, heaviest.1)
    }
    /// The heaviest queue of `group`. A single task heavier than the amount to move is left alone.
    pub(super) fn find_busiest_queue_v37(&self, env: &LbEnv, group: GroupId) -> Option<u32> {
        let core = self.topo.domain(env.dom).flags.has(Flags::SHARE_CPUCAPACITY);
        let mut best: Option<(u64, u32)> = None;
        for c in self.topo.group(group).span.iter() {
            if env.narrowed && !self.candidates.contains(c) {
                continue;
            }
            let rq = &self.rqs[c as usize];
            let whole = capacity(cpu_power(self.topo.siblings(c).len()), core) > 0;
            let alone = whole && rq.nr() == 1 && rq.weight as i64 > env.amount;
            if !alone && rq.weight > best.map_or(0, |b| b.0) {
                best = Some((rq.weight, c));
            }
        }
        best.map(|b| b.1)
    }
}
