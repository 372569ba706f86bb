//! The balancer of 3.11 to 5.4: load averages per capacity, later with three types of groups.
//!
//! Problem: 5.5 first asks whether groups have idle CPUs to spare. Before, loads are compared as in 2012 ([`v37`]), but
//! as averages over time, so that a task that seldom runs weighs little. Step by step the kernel then also asks how
//! much of a group is in use. [`Balancer`] names the steps:
//!
//! * 3.11: a CPU's load is Σ load averages of the tasks queued there (b92486cbf2aa). A group may be pulled from once it
//!   has more tasks than cores.
//! * 3.18: groups are overloaded, imbalanced or other. The busiest group of the highest type counts, even if that type
//!   is the lowest (caeb178c60f4). Idle CPUs of both sides are compared unless the busiest group is overloaded
//!   (43f4d66637bc). The tasks beyond the cores limit a move only between two overloaded groups (9a5d9ba6a363).
//! * 4.1: a group is overloaded if it has more tasks than CPUs and its capacity is in use (ea67821b9a3e). Where
//!   siblings are preferred, a group with two tasks beside a group with free capacity is overloaded too. Cores are such
//!   siblings (caff37ef96ea).
//! * 4.13: that needs two tasks more than the other group has (05b40e057734). Any idle CPU of a group with free
//!   capacity pulls from an overloaded one, not only a newly idle CPU (583ffd99d765).
//! * 4.17: a pass with nothing to move is balanced; before, it fails.
//! * 4.20: past loads are not compared any more (fdf5f315d5cf). Caches prefer siblings too (9c63e84db29b).
//! * 5.0: each thread of a core has a capacity of 1024; before, they share 1178 (765d0af19f5f).
//!
//! Placement at fork by these rules is in `select_cpu/find_idlest_v311`. Up to 4.12 a fork goes to the least loaded
//! group if its own has an eighth more; from 4.13 on queued loads are compared, then loads with sleeping tasks. In 4.13
//! to 4.16 a fork leaves whenever these differ, so children go from node to node. From 4.17 on it stays until its node
//! has a quarter task per CPU more (2c83362734da). 3.11 to 3.17 take the lightest CPU of the group, later releases the
//! one that became idle last.
//!
//! Approach: [`SgLbStats`] of each group, [`SdLbStats`] of the domain, then [`decide`] in the kernel's unsigned
//! arithmetic. Units: 1024 for a nice-0 task and for the capacity of a whole CPU.
//!
//! Sources read:
//!
//! * `kernel/sched/fair.c` of 3.18 or little later, 4.15, 4.19 and 5.4: all of the balancer and of placement;
//! * the patch of 2013 that became 56cf515b4b15 (3.12);
//! * two `topology.c` with `smt_gain`, for which levels prefer siblings (one has caches too, taken for a back-port);
//! * mailing lists, for the end of past loads with 4.20 and for 765d0af19f5f, which removed `smt_gain`.
//!
//! From memory:
//!
//! * 3.13, and that an idle CPU stays there if fewer CPUs are idle beside it (`<`, not `≤` and one more);
//! * what 4.1 to 4.12 have that 4.15 does not;
//! * the releases of the commits above except fdf5f315d5cf;
//! * that a pass with nothing to move became balanced between 4.15 and 4.19.
//!
//! Simplified:
//!
//! * forks follow 4.15 from 4.13 on (the kernel from 4.10 on);
//! * past loads of idle CPUs and loads of sleepers decay when read, also where the kernel has no CPU to age them;
//! * load beyond the capacity is computed as from 4.8 on.
//!
//! Left out: RT, IRQ and frequency scaling of capacity; asymmetric packing and misfit tasks; idle states; `task_h_load`
//! and `h_nr_running` of cgroups (a 1024th less at the root); how 3.13 to 4.2 judge the locality of a move.
//!
//! [`v37`]: super::v37

use super::lb_env::LbEnv;
use super::migration_type::MigrationType;
use super::v37::{load_index, uses_more};
use crate::sched::capacity::{capacity, cores_of, util_of};
use crate::sched::domains::{DomId, Flags, GroupId, Level};
use crate::sched::rules::Balancer;
use crate::sched::state::sg_lb_stats::fbq_classify;
use crate::sched::state::{CpuIdleType, Scheduler};

/// How busy a group is (`enum group_type`). A higher type is pulled from first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupType {
    /// Neither imbalanced nor overloaded.
    #[default]
    Other,
    /// Affinity kept a lower level from balancing.
    Imbalanced,
    /// The group has more work than it can take.
    Overloaded,
}

/// Sums over those CPUs of a group that a pass may consider. Weight and capacity are those of the full group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgLbStats {
    /// Σ loads, past or present.
    pub load: u64,
    /// Σ loads at present.
    pub queued: u64,
    /// Σ utilisation; set once the group has as many tasks as CPUs.
    pub util: u64,
    /// Σ queued tasks.
    pub nr: u32,
    /// Number of idle CPUs.
    pub idle_cpus: u32,
    /// Number of CPUs.
    pub weight: u32,
    /// Σ capacity of its CPUs.
    pub capacity: u64,
    /// Tasks that it has cores for (`group_capacity_factor`, up to 4.0).
    pub cores: u32,
    /// It can take tasks (`group_has_capacity`; up to 4.0: fewer tasks than cores), before siblings are preferred to
    /// it.
    pub has_capacity: bool,
    /// The `imbalance` flag of the capacity record.
    pub imbalanced: bool,
    /// Type of the group.
    pub kind: GroupType,
    /// Queued tasks with a preferred node.
    pub nr_numa: u32,
    /// Queued tasks that are on their preferred node.
    pub nr_preferred: u32,
}

impl SgLbStats {
    /// Load per capacity.
    pub fn average(&self) -> u64 {
        self.load * 1024 / self.capacity.max(1)
    }
    /// Mean load of a task; 0 without tasks.
    pub fn per_task(&self) -> u64 {
        self.queued / u64::from(self.nr.max(1))
    }
    /// Sets the type, and whether the group can take tasks; `pct` is the domain's threshold.
    pub fn classify(&mut self, rules: Balancer, pct: u32) {
        let used = self.util * u64::from(pct);
        let full = self.capacity * 100;
        self.has_capacity = match rules < Balancer::V41 {
            true => self.nr < self.cores,
            false => self.nr < self.weight || full > used,
        };
        let overloaded = match rules < Balancer::V41 {
            true => self.nr > self.cores,
            false => self.nr > self.weight && full < used,
        };
        self.set_kind(overloaded);
    }
    fn set_kind(&mut self, overloaded: bool) {
        self.kind = match (overloaded, self.imbalanced) {
            (true, _) => GroupType::Overloaded,
            (false, true) => GroupType::Imbalanced,
            (false, false) => GroupType::Other,
        };
    }
    /// Applies the preference of a lower domain for siblings: the group counts as overloaded if `local` can take tasks
    /// of it.
    pub fn prefer_sibling(&mut self, rules: Balancer, local: &SgLbStats) {
        if !local.has_capacity {
            return;
        }
        let least = match rules {
            _ if rules < Balancer::V41 => {
                self.cores = self.cores.min(1);
                self.cores
            }
            _ if rules < Balancer::V413 => 1,
            _ => local.nr + 1,
        };
        if self.nr > least {
            self.set_kind(true);
        }
    }
    /// Whether it replaces `best` as the busiest group.
    pub fn busier(&self, best: &SgLbStats, rules: Balancer) -> bool {
        let heavier = self.average() > best.average();
        if rules < Balancer::V318 {
            return heavier && self.kind > GroupType::Other;
        }
        self.kind > best.kind || (self.kind == best.kind && heavier)
    }
}

/// Statistics of a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SdLbStats {
    /// The group of the balancing CPU.
    pub local: SgLbStats,
    /// The busiest other group.
    pub busiest: SgLbStats,
    /// Average load of the domain.
    pub average: u64,
}

/// How much load to pull (`find_busiest_group`); `None` if balanced. `pct` is the domain's threshold.
pub fn decide(rules: Balancer, s: &SdLbStats, idle: CpuIdleType, pct: u32) -> Option<u64> {
    if s.busiest.nr == 0 {
        return None;
    }
    if !force_balance(rules, s, idle) {
        let (this, most) = (s.local.average(), s.busiest.average());
        if this >= most || this >= s.average {
            return None;
        }
        let near = match idle {
            CpuIdleType::Idle if rules < Balancer::V318 => {
                s.local.idle_cpus < s.busiest.idle_cpus && s.busiest.nr <= s.busiest.weight
            }
            CpuIdleType::Idle => {
                s.busiest.kind != GroupType::Overloaded && s.local.idle_cpus <= s.busiest.idle_cpus + 1
            }
            CpuIdleType::NotIdle | CpuIdleType::NewlyIdle => 100 * most <= u64::from(pct) * this,
        };
        if near {
            return None;
        }
    }
    Some(calculate_imbalance(rules, s)).filter(|amount| *amount > 0 || rules < Balancer::V417)
}

/// Whether averages do not matter (`force_balance`): affinity kept a group unbalanced, or the local group can take
/// tasks and the busiest one cannot.
fn force_balance(rules: Balancer, s: &SdLbStats, idle: CpuIdleType) -> bool {
    if group_imbalanced(rules, s) {
        return true;
    }
    let asks = if rules < Balancer::V413 { idle == CpuIdleType::NewlyIdle } else { idle != CpuIdleType::NotIdle };
    let full = if rules < Balancer::V41 { !s.busiest.has_capacity } else { s.busiest.kind == GroupType::Overloaded };
    asks && s.local.has_capacity && full
}

fn group_imbalanced(rules: Balancer, s: &SdLbStats) -> bool {
    s.busiest.kind == GroupType::Imbalanced || (rules < Balancer::V318 && s.busiest.imbalanced)
}

fn calculate_imbalance(rules: Balancer, s: &SdLbStats) -> u64 {
    let (this, most) = (s.local.average(), s.busiest.average());
    let mut per_task = s.busiest.per_task();
    if group_imbalanced(rules, s) {
        per_task = per_task.min(s.average);
    }
    // Only groups of the highest type are compared, so the busiest group may be below the average and this one above
    // it.
    if most <= s.average || this >= s.average {
        return fix_small_imbalance(s, per_task).unwrap_or(0);
    }
    let above = above_capacity(rules, s).unwrap_or(u64::MAX);
    let from = (most - s.average).min(above).saturating_mul(s.busiest.capacity);
    let to = (s.average - this).saturating_mul(s.local.capacity);
    let amount = from.min(to) / 1024;
    if amount < per_task {
        return fix_small_imbalance(s, per_task).unwrap_or(amount);
    }
    amount
}

/// Load per capacity that the busiest group has for tasks without a core (up to 4.0) or CPU; `None` if that sets no
/// limit.
fn above_capacity(rules: Balancer, s: &SdLbStats) -> Option<u64> {
    let both = s.busiest.kind == GroupType::Overloaded && s.local.kind == GroupType::Overloaded;
    let limited = if rules < Balancer::V318 { !s.busiest.imbalanced } else { both };
    if !limited {
        return None;
    }
    let most = if rules < Balancer::V41 { u64::from(s.busiest.cores) * 1024 } else { s.busiest.capacity };
    let excess = (u64::from(s.busiest.nr) * 1024).checked_sub(most)?;
    // Without any excess there is no limit either, except where cores are counted.
    (excess > 0 || rules < Balancer::V41).then(|| excess * 1024 / s.busiest.capacity.max(1))
}

/// One task of load `per_task`, if the groups differ by it or if its move would use more capacity.
fn fix_small_imbalance(s: &SdLbStats, per_task: u64) -> Option<u64> {
    let (this, most) = (s.local.average(), s.busiest.average());
    let (full, own_full) = (s.busiest.capacity.max(1), s.local.capacity.max(1));
    let own_per_task = s.local.per_task();
    let scaled = per_task * 1024 / full;
    let tasks = if s.local.nr > 0 && per_task > own_per_task { 1 } else { 2 };
    let differ = most + scaled >= this + scaled * tasks;
    (differ || uses_more(per_task, (most, full), own_per_task, (this, own_full))).then_some(per_task)
}

impl Scheduler {
    /// Whether tasks are spread over the groups of a domain before any group is filled.
    fn prefers_siblings(&self, d: DomId) -> bool {
        let rules = self.params.balancer;
        let Some(child) = self.topo.child(d).map(|c| self.topo.domain(c)) else { return false };
        if child.flags.has(Flags::NUMA) {
            return false;
        }
        let cores = rules >= Balancer::V41 && child.flags.has(Flags::SHARE_CPUCAPACITY);
        // Where a package and its cache are the same CPUs, the cache inherits the package's flag.
        cores || rules >= Balancer::V420 || self.topo.domain(d).flags.has(Flags::NUMA)
    }
    /// The busiest group if something should move from it; sets what and how much in `env`.
    pub(super) fn find_busiest_group_v311(&mut self, env: &mut LbEnv) -> Option<GroupId> {
        let rules = self.params.balancer;
        let spread = self.prefers_siblings(env.dom);
        let domain = self.topo.domain(env.dom);
        let (pct, numa, groups) = (domain.imbalance_pct, domain.flags.has(Flags::NUMA), domain.groups.len());
        let mut scan = SdLbStats::default();
        let mut source = None;
        let (mut load, mut full, mut stacked) = (0, 0, false);
        for i in 0..groups {
            let id = self.topo.domain(env.dom).groups[i];
            let local = self.topo.group(id).span.contains(env.dst);
            let (mut s, most) = self.update_sg_lb_stats_v311(env, id, local);
            s.classify(rules, pct);
            stacked |= most > 1;
            load += s.load;
            full += s.capacity;
            if local {
                scan.local = s;
                continue;
            }
            if spread {
                s.prefer_sibling(rules, &scan.local);
            }
            if s.busier(&scan.busiest, rules) {
                (scan.busiest, source) = (s, Some(id));
            }
        }
        if self.topo.parent(env.dom).is_none() {
            self.overload = stacked;
        }
        if numa {
            env.class = fbq_classify(scan.busiest.nr, scan.busiest.nr_numa, scan.busiest.nr_preferred);
        }
        let source = source?;
        scan.average = load * 1024 / full.max(1);
        let amount = decide(rules, &scan, env.idle, pct)?;
        env.kind = MigrationType::Load;
        env.amount = amount as i64;
        Some(source)
    }
    /// Index of the past load that a pass compares; 0 for the present load.
    fn past_index(&self, env: &LbEnv) -> usize {
        let level = match self.topo.domain(env.dom).level {
            // The level of nodes has its package's constants.
            Level::Node => Level::Pkg,
            level => level,
        };
        if self.params.balancer.by_past_load() {
            load_index(level, env.idle)
        } else {
            0
        }
    }
    /// Statistics of a group without its type, and the most tasks on one of its CPUs (`update_sg_lb_stats`).
    fn update_sg_lb_stats_v311(&mut self, env: &LbEnv, id: GroupId, local: bool) -> (SgLbStats, u32) {
        let index = self.past_index(env);
        let core = self.topo.domain(env.dom).flags.has(Flags::SHARE_CPUCAPACITY);
        let (full, each) = self.capacities(id);
        let rules = self.params.balancer;
        let Self { topo, rqs, tasks, candidates, imbalanced, idle, now, jiffy, .. } = self;
        let group = topo.group(id);
        let considered = |c: &u32| !env.narrowed || candidates.contains(*c);
        let mut s = SgLbStats {
            weight: group.weight,
            capacity: full,
            cores: cores_of(group.weight, full, core),
            imbalanced: imbalanced[group.record as usize],
            ..SgLbStats::default()
        };
        let mut most = 0;
        for c in group.span.iter().filter(considered) {
            let rq = &rqs[c as usize];
            let queued = rq.queued_load(tasks, *now);
            s.load += match index {
                0 => queued,
                i if local => rq.past_load(i - 1, *jiffy).max(queued),
                i => rq.past_load(i - 1, *jiffy).min(queued),
            };
            s.queued += queued;
            s.nr += rq.nr();
            s.nr_numa += rq.nr_numa;
            s.nr_preferred += rq.nr_preferred;
            s.idle_cpus += u32::from(idle.contains(c));
            most = most.max(rq.nr());
        }
        if rules >= Balancer::V41 && s.nr >= s.weight {
            for c in group.span.iter().filter(considered) {
                s.util += util_of(rules, &mut rqs[c as usize], each, *now);
            }
        }
        (s, most)
    }
    /// The most loaded queue of `group`. A single task larger than the amount to move is left alone.
    pub(super) fn find_busiest_queue_v311(&mut self, env: &LbEnv, group: GroupId) -> Option<u32> {
        let core = self.topo.domain(env.dom).flags.has(Flags::SHARE_CPUCAPACITY);
        let (_, each) = self.capacities(group);
        // Up to 4.0 a thread with little capacity may lose its only task.
        let alone_stays = self.params.balancer >= Balancer::V41 || capacity(each, core) > 0;
        let Self { topo, rqs, tasks, candidates, now, .. } = self;
        let mut best: Option<(u64, u32)> = None;
        for c in topo.group(group).span.iter() {
            let rq = &rqs[c as usize];
            let skip = env.narrowed && !candidates.contains(c);
            if skip || fbq_classify(rq.nr(), rq.nr_numa, rq.nr_preferred) > env.class {
                continue;
            }
            let load = rq.queued_load(tasks, *now);
            let alone = alone_stays && rq.nr() == 1 && load as i64 > env.amount;
            if !alone && load > best.map_or(0, |b| b.0) {
                best = Some((load, c));
            }
        }
        best.map(|b| b.1)
    }
}
