//! The balancer of 3.11 to 5.4: load averages per capacity, later with three types of groups.
//!
//! Problem: 5.5 first asks whether groups have idle CPUs to spare. Before, loads were compared as in 2012 ([`v37`]), but
//! as averages over time, so that a task that seldom runs weighs little; step by step it was then asked how much of a
//! group is in use. What a release decides is in its [`Balancer`]:
//!
//! * 3.11: a CPU's load is Σ load averages of the tasks queued there (b92486cbf2aa); a group may be pulled from once it
//!   has more tasks than cores.
//! * 3.18: groups are overloaded, imbalanced or other; the busiest of the highest type counts, even if that is the last
//!   (caeb178c60f4); idle CPUs of both sides are compared unless it is overloaded (43f4d66637bc); what exceeds the cores
//!   limits a move only between two overloaded groups (9a5d9ba6a363).
//! * 4.1: overloaded is a group with more tasks than CPUs and its capacity in use (ea67821b9a3e). So is one with two tasks
//!   beside a group with free capacity where siblings are preferred; cores are such siblings (caff37ef96ea).
//! * 4.13: only if it has two tasks more than that group (05b40e057734); any idle CPU of a group with free capacity pulls
//!   from an overloaded one, not only a newly idle one (583ffd99d765).
//! * 4.17: a pass with nothing to move is balanced; before, it failed.
//! * 4.20: past loads are not compared any more (fdf5f315d5cf); caches prefer siblings too (9c63e84db29b).
//! * 5.0: threads of a core have 1024 each, not 1178/1024 of a CPU together (765d0af19f5f).
//!
//! Fork and exec: until 4.12 the group of the least load if this one has an eighth more, then ([`Idlest`]) queued loads,
//! loads with what sleeps, and for exec the most free CPU. In 4.13 to 4.16 a fork leaves whenever any of these differ,
//! so children go from node to node; from 4.17 on it stays until the node has a quarter task per CPU more
//! (2c83362734da). 3.11 to 3.17 then take the lightest CPU of the group, later releases the one that idled last.
//!
//! Approach: [`Sums`] of each group, [`Scan`] of the domain, then [`decide`] in the kernel's unsigned arithmetic.
//! Units: 1024 for a nice-0 task and for the capacity of a whole CPU.
//!
//! Read in `kernel/sched/fair.c`: all of the balancer and of placement in trees of 3.18 or little later, 4.15, 4.19 and
//! 5.4; the patch of 2013 that became 56cf515b4b15 (3.12); in two `topology.c` with `smt_gain` which levels prefer
//! siblings (one of them has caches too, taken for a back-port); on lists that past loads ended with 4.20 and that
//! 765d0af19f5f removed `smt_gain`. From memory: 3.13, and with it that an idle CPU stays if fewer CPUs are idle beside
//! it (`<`, not `≤` and one more); what 4.1 to 4.12 have that 4.15 does not; the releases of the commits above but
//! fdf5f315d5cf; that a pass with nothing to move became a balanced one between 4.15 and 4.19. Own: forks are 4.15's
//! from 4.13 on (the kernel's since 4.10); idle CPUs' past loads and loads of sleepers fade when read, also where the
//! kernel had nobody to age them; what exceeds the capacity is reckoned as from 4.8 on. Left out: RT, IRQ and frequency
//! scaling of capacity, asymmetric packing and misfit tasks, idle states, `task_h_load` and `h_nr_running` of cgroups
//! (a 1024th less at the root), how 3.13 to 4.2 judged the locality of a move.
//!
//! [`v37`]: super::v37

use super::super::domains::{DomId, Flags, GroupId, Level};
use super::super::queue::queued_load;
use super::super::rq::task::TaskId;
use super::super::rq::Rq;
use super::super::rules::Balancer;
use super::super::scheduler::Scheduler;
use super::decide::MoveKind;
use super::pass::Env;
use super::stats::numa_class;
use super::v37::{capacity, cpu_power, fork_leaves, load_index, uses_more};
use super::Idle;

/// How busy a group is; higher is pulled from first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Neither of the others.
    #[default]
    Other,
    /// Affinity kept a lower level from balancing.
    Imbalanced,
    /// More work than it can take.
    Overloaded,
}

/// Sums over the CPUs of a group that a pass may consider; weight and capacity are of the full group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Σ loads, past or present.
    pub load: u64,
    /// Σ loads at present.
    pub queued: u64,
    /// Σ utilisation, once the group has as many tasks as CPUs.
    pub util: u64,
    /// Σ queued tasks.
    pub nr: u32,
    /// CPUs that are idle.
    pub idle_cpus: u32,
    /// CPUs.
    pub weight: u32,
    /// Σ capacity of its CPUs.
    pub capacity: u64,
    /// Tasks it has cores for (`group_capacity_factor`, to 4.0).
    pub cores: u32,
    /// It has tasks to take (to 4.0: fewer than cores), before siblings are preferred to it.
    pub room: bool,
    /// The capacity record's `imbalance` flag.
    pub imbalanced: bool,
    /// Type.
    pub kind: Kind,
    /// Queued tasks with a preferred node.
    pub nr_numa: u32,
    /// Those that are on it.
    pub nr_preferred: u32,
}

impl Sums {
    /// Load per capacity.
    pub fn average(&self) -> u64 {
        self.load * 1024 / self.capacity.max(1)
    }
    /// Mean load of a task; 0 without tasks.
    pub fn per_task(&self) -> u64 {
        self.queued / u64::from(self.nr.max(1))
    }
    /// Sets type and room; `pct` is the domain's threshold.
    pub fn classify(&mut self, rules: Balancer, pct: u32) {
        let used = self.util * u64::from(pct);
        let full = self.capacity * 100;
        self.room = match rules < Balancer::V41 {
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
            (true, _) => Kind::Overloaded,
            (false, true) => Kind::Imbalanced,
            (false, false) => Kind::Other,
        };
    }
    /// A domain below prefers siblings: this group counts as overloaded if the `local` one can take tasks of it.
    pub fn make_way(&mut self, rules: Balancer, local: &Sums) {
        if !local.room {
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
    pub fn busier(&self, best: &Sums, rules: Balancer) -> bool {
        let heavier = self.average() > best.average();
        if rules < Balancer::V318 {
            return heavier && self.kind > Kind::Other;
        }
        self.kind > best.kind || (self.kind == best.kind && heavier)
    }
}

/// What a pass knows of its domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The group of the balancing CPU.
    pub local: Sums,
    /// The busiest other group.
    pub busiest: Sums,
    /// Average load of the domain.
    pub average: u64,
}

/// How much load to pull (find_busiest_group); `None`: balanced. `pct` is the domain's threshold.
pub fn decide(rules: Balancer, s: &Scan, idle: Idle, pct: u32) -> Option<u64> {
    if s.busiest.nr == 0 {
        return None;
    }
    if !forced(rules, s, idle) {
        let (this, most) = (s.local.average(), s.busiest.average());
        if this >= most || this >= s.average {
            return None;
        }
        let near = match idle {
            Idle::Idle if rules < Balancer::V318 => {
                s.local.idle_cpus < s.busiest.idle_cpus && s.busiest.nr <= s.busiest.weight
            }
            Idle::Idle => s.busiest.kind != Kind::Overloaded && s.local.idle_cpus <= s.busiest.idle_cpus + 1,
            Idle::Busy | Idle::Newly => 100 * most <= u64::from(pct) * this,
        };
        if near {
            return None;
        }
    }
    Some(imbalance(rules, s)).filter(|amount| *amount > 0 || rules < Balancer::V417)
}

/// Whether averages do not matter: affinity is in the way, or this group has room and the busiest one has none.
fn forced(rules: Balancer, s: &Scan, idle: Idle) -> bool {
    if lopsided(rules, s) {
        return true;
    }
    let asks = if rules < Balancer::V413 { idle == Idle::Newly } else { idle != Idle::Busy };
    let full = if rules < Balancer::V41 { !s.busiest.room } else { s.busiest.kind == Kind::Overloaded };
    asks && s.local.room && full
}

fn lopsided(rules: Balancer, s: &Scan) -> bool {
    s.busiest.kind == Kind::Imbalanced || (rules < Balancer::V318 && s.busiest.imbalanced)
}

/// calculate_imbalance.
fn imbalance(rules: Balancer, s: &Scan) -> u64 {
    let (this, most) = (s.local.average(), s.busiest.average());
    let mut per_task = s.busiest.per_task();
    if lopsided(rules, s) {
        per_task = per_task.min(s.average);
    }
    // A busiest group may be below the average and this one above it: only groups of the highest type are looked at.
    if most <= s.average || this >= s.average {
        return small_imbalance(s, per_task).unwrap_or(0);
    }
    let above = above_capacity(rules, s).unwrap_or(u64::MAX);
    let from = (most - s.average).min(above).saturating_mul(s.busiest.capacity);
    let to = (s.average - this).saturating_mul(s.local.capacity);
    let amount = from.min(to) / 1024;
    if amount < per_task {
        return small_imbalance(s, per_task).unwrap_or(amount);
    }
    amount
}

/// Load per capacity that the busiest group has for tasks without a core (to 4.0) or CPU; `None`: that is no limit.
fn above_capacity(rules: Balancer, s: &Scan) -> Option<u64> {
    let both = s.busiest.kind == Kind::Overloaded && s.local.kind == Kind::Overloaded;
    let limited = if rules < Balancer::V318 { !s.busiest.imbalanced } else { both };
    if !limited {
        return None;
    }
    let most = if rules < Balancer::V41 { u64::from(s.busiest.cores) * 1024 } else { s.busiest.capacity };
    let excess = (u64::from(s.busiest.nr) * 1024).checked_sub(most)?;
    // No excess at all is no limit either, except where cores were counted.
    (excess > 0 || rules < Balancer::V41).then(|| excess * 1024 / s.busiest.capacity.max(1))
}

/// fix_small_imbalance: one task of load `per_task` if the groups differ by it, or if more capacity would be used.
fn small_imbalance(s: &Scan, per_task: u64) -> Option<u64> {
    let (this, most) = (s.local.average(), s.busiest.average());
    let (full, own_full) = (s.busiest.capacity.max(1), s.local.capacity.max(1));
    let own_per_task = s.local.per_task();
    let scaled = per_task * 1024 / full;
    let tasks = if s.local.nr > 0 && per_task > own_per_task { 1 } else { 2 };
    let differ = most + scaled >= this + scaled * tasks;
    (differ || uses_more(per_task, (most, full), own_per_task, (this, own_full))).then_some(per_task)
}

/// A group as a place for a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Σ loads of queued tasks per capacity.
    pub queued: u64,
    /// Σ loads per capacity, of sleeping tasks too.
    pub load: u64,
    /// Free capacity of the CPU that has most of it.
    pub spare: u64,
}

/// The search of 4.10 to 5.4 for the idlest group (find_idlest_group).
#[derive(Clone, Copy, Debug)]
pub struct Idlest {
    least: (u64, u64),
    this: (u64, u64),
    spare: u64,
    own_spare: u64,
    idlest: Option<GroupId>,
    roomiest: Option<GroupId>,
    slack: u64,
    scale: u64,
}

impl Idlest {
    /// Nothing seen yet, in a domain of this threshold.
    pub fn new(imbalance_pct: u32) -> Self {
        let over = u64::from(imbalance_pct) - 100;
        let unknown = (u64::MAX, u64::MAX);
        let slack = 1024 * over / 100;
        let scale = 100 + over / 2;
        Self { least: unknown, this: unknown, spare: 0, own_spare: 0, idlest: None, roomiest: None, slack, scale }
    }
    /// Looks at the group the task comes from.
    pub fn see_local(&mut self, place: Place) {
        self.this = (place.queued, place.load);
        self.own_spare = place.spare;
    }
    /// Looks at another group.
    pub fn see(&mut self, id: GroupId, place: Place) {
        let (queued, load) = self.least;
        if queued > place.queued + self.slack {
            self.least = (place.queued, place.load);
            self.idlest = Some(id);
        } else if place.queued < queued.saturating_add(self.slack) && load.saturating_mul(100) > self.scale * place.load
        {
            // Queued loads are close: what sleeps counts.
            self.least.1 = place.load;
            self.idlest = Some(id);
        }
        if place.spare > self.spare {
            self.spare = place.spare;
            self.roomiest = Some(id);
        }
    }
    /// Where the task goes; `None` to stay. `util` is its utilisation, `None` for a fork, which has none yet; `prefers_node`:
    /// the domain crosses nodes and the kernel knows it (4.17 on).
    pub fn choose(&self, util: Option<u64>, prefers_node: bool) -> Option<GroupId> {
        if let Some(util) = util {
            if self.own_spare > util / 2 && self.scale * self.own_spare > 100 * self.spare {
                return None;
            }
            if self.spare > util / 2 {
                return self.roomiest;
            }
        }
        let idlest = self.idlest?;
        let (least, this) = (self.least.0.saturating_add(self.slack), self.this.0.wrapping_add(self.slack));
        if prefers_node && least >= self.this.0 {
            return None;
        }
        // Where the task may not run in its own group the kernel's sum wraps.
        if self.least.0 > this {
            return None;
        }
        let close = self.this.0 < least && self.this.1.saturating_mul(100) < self.scale.saturating_mul(self.least.1);
        (!close).then_some(idlest)
    }
}

impl Scheduler {
    /// Capacity of a CPU: threads of a core share 1178/1024 of one before 5.0 (`smt_gain`).
    pub fn capacity_of(&self, cpu: u32) -> u64 {
        match self.p.balancer < Balancer::V50 {
            true => cpu_power(self.topo.siblings(cpu).len()),
            false => 1024,
        }
    }
    /// Capacity of a group of equal cores, and of each of its CPUs.
    fn capacities(&self, group: GroupId) -> (u64, u64) {
        let g = self.topo.group(group);
        let each = g.span.first().map_or(1024, |c| self.capacity_of(c));
        (u64::from(g.weight) * each, each)
    }
    /// Whether tasks are spread over the groups of a domain before these are filled.
    fn prefers_siblings(&self, d: DomId) -> bool {
        let rules = self.p.balancer;
        let Some(child) = self.topo.child(d).map(|c| self.topo.domain(c)) else { return false };
        if child.flags.has(Flags::NUMA) {
            return false;
        }
        let cores = rules >= Balancer::V41 && child.flags.has(Flags::SHARE_CPUCAPACITY);
        // The flag of a package is handed down to the cache where both are the same CPUs.
        cores || rules >= Balancer::V420 || self.topo.domain(d).flags.has(Flags::NUMA)
    }
    /// The busiest group if something should move from it: sets kind and amount.
    pub(super) fn find_source_group_v311(&mut self, env: &mut Env) -> Option<GroupId> {
        let rules = self.p.balancer;
        let spread = self.prefers_siblings(env.dom);
        let domain = self.topo.domain(env.dom);
        let (pct, numa, groups) = (domain.imbalance_pct, domain.flags.has(Flags::NUMA), domain.groups.len());
        let mut scan = Scan::default();
        let mut source = None;
        let (mut load, mut full, mut stacked) = (0, 0, false);
        for i in 0..groups {
            let id = self.topo.domain(env.dom).groups[i];
            let local = self.topo.group(id).span.contains(env.dst);
            let (mut s, most) = self.sums_v311(env, id, local);
            s.classify(rules, pct);
            stacked |= most > 1;
            load += s.load;
            full += s.capacity;
            if local {
                scan.local = s;
                continue;
            }
            if spread {
                s.make_way(rules, &scan.local);
            }
            if s.busier(&scan.busiest, rules) {
                (scan.busiest, source) = (s, Some(id));
            }
        }
        if self.topo.parent(env.dom).is_none() {
            self.overload = stacked;
        }
        if numa {
            env.class = numa_class(scan.busiest.nr, scan.busiest.nr_numa, scan.busiest.nr_preferred);
        }
        let source = source?;
        scan.average = load * 1024 / full.max(1);
        let amount = decide(rules, &scan, env.idle, pct)?;
        env.kind = MoveKind::Load;
        env.amount = amount as i64;
        Some(source)
    }
    /// Which past load a pass compares; 0: the present one.
    fn past_index(&self, env: &Env) -> usize {
        let level = match self.topo.domain(env.dom).level {
            // The level of nodes has its package's constants.
            Level::Node => Level::Pkg,
            level => level,
        };
        if self.p.balancer.by_past_load() {
            load_index(level, env.idle)
        } else {
            0
        }
    }
    /// Sums of a group without its type, and the most tasks on one of its CPUs.
    fn sums_v311(&mut self, env: &Env, id: GroupId, local: bool) -> (Sums, u32) {
        let index = self.past_index(env);
        let core = self.topo.domain(env.dom).flags.has(Flags::SHARE_CPUCAPACITY);
        let (full, each) = self.capacities(id);
        let rules = self.p.balancer;
        let Self { topo, rqs, tasks, candidates, imbalanced, idle, now, jiffy, .. } = self;
        let group = topo.group(id);
        let considered = |c: &u32| !env.narrowed || candidates.contains(*c);
        let mut s = Sums {
            weight: group.weight,
            capacity: full,
            cores: cores_of(group.weight, full, core),
            imbalanced: imbalanced[group.record as usize],
            ..Sums::default()
        };
        let mut most = 0;
        for c in group.span.iter().filter(considered) {
            let rq = &rqs[c as usize];
            let queued = queued_load(rq, tasks, *now);
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
                s.util += util(rules, &mut rqs[c as usize], each, *now);
            }
        }
        (s, most)
    }
    /// The most loaded queue of `group`; one task that is more than should move is left alone.
    pub(super) fn find_source_queue_v311(&mut self, env: &Env, group: GroupId) -> Option<u32> {
        let core = self.topo.domain(env.dom).flags.has(Flags::SHARE_CPUCAPACITY);
        let (_, each) = self.capacities(group);
        // To 4.0 a thread that is hardly a CPU may lose its only task.
        let alone_stays = self.p.balancer >= Balancer::V41 || capacity(each, core) > 0;
        let Self { topo, rqs, tasks, candidates, now, .. } = self;
        let mut best: Option<(u64, u32)> = None;
        for c in topo.group(group).span.iter() {
            let rq = &rqs[c as usize];
            let skip = env.narrowed && !candidates.contains(c);
            if skip || numa_class(rq.nr(), rq.nr_numa, rq.nr_preferred) > env.class {
                continue;
            }
            let load = queued_load(rq, tasks, *now);
            let alone = alone_stays && rq.nr() == 1 && load as i64 > env.amount;
            if !alone && load > best.map_or(0, |b| b.0) {
                best = Some((load, c));
            }
        }
        best.map(|b| b.1)
    }
    /// The group a fork or exec goes to, `None` to stay in that of `cpu`: loads are of all CPUs, allowed or not, and
    /// count the task that execs (`attached`).
    pub(in crate::sched) fn find_dst_group_v311(
        &mut self,
        d: DomId,
        task: TaskId,
        cpu: u32,
        attached: bool,
    ) -> Option<GroupId> {
        let domain = self.topo.domain(d);
        let (pct, numa, groups) = (domain.imbalance_pct, domain.flags.has(Flags::NUMA), domain.groups.len());
        let rules = self.p.balancer;
        let mut search = Idlest::new(pct);
        let (mut this, mut least) = (0, None::<(u64, GroupId)>);
        for i in 0..groups {
            let id = self.topo.domain(d).groups[i];
            let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
            if !self.topo.group(id).span.intersects(allowed) {
                continue;
            }
            let place = self.place_v311(id, task, attached);
            if self.topo.group(id).span.contains(cpu) {
                this = place.queued;
                search.see_local(place);
                continue;
            }
            search.see(id, place);
            if least.is_none_or(|l| place.queued < l.0) {
                least = Some((place.queued, id));
            }
        }
        if rules < Balancer::V413 {
            return least.filter(|l| fork_leaves(this, l.0, pct)).map(|l| l.1);
        }
        let util = attached.then(|| self.tasks[task as usize].pelt.util);
        search.choose(util, numa && rules >= Balancer::V417)
    }
    /// A group as a place for a task, which runs on its CPU now if `attached`.
    fn place_v311(&mut self, id: GroupId, task: TaskId, attached: bool) -> Place {
        let (full, each) = self.capacities(id);
        let rules = self.p.balancer;
        let Self { topo, rqs, tasks, now, .. } = self;
        let (own, own_util) = (tasks[task as usize].cpu, tasks[task as usize].pelt.util);
        let mut place = Place::default();
        for c in topo.group(id).span.iter() {
            place.queued += queued_load(&rqs[c as usize], tasks, *now);
            let mut used = util(rules, &mut rqs[c as usize], each, *now);
            if attached && c == own {
                used = used.saturating_sub(own_util);
            }
            place.load += rqs[c as usize].pelt.load;
            place.spare = place.spare.max(each.saturating_sub(used));
        }
        place.queued = place.queued * 1024 / full.max(1);
        place.load = place.load * 1024 / full.max(1);
        place
    }
    /// The CPU of a group to start on: the most recently idled (from 3.18 on), else the one with the least load, `cpu`
    /// itself among equals until 4.15.
    pub(in crate::sched) fn find_group_cpu_v311(&mut self, group: GroupId, task: TaskId, cpu: u32) -> u32 {
        let rules = self.p.balancer;
        let Self { topo, rqs, tasks, masks, idle, now, .. } = self;
        let allowed = &masks[tasks[task as usize].allowed as usize];
        let mut idled: Option<(u64, u32)> = None;
        let mut lightest = (u64::MAX, cpu);
        for c in topo.group(group).span.iter_and(allowed) {
            if rules >= Balancer::V318 && idle.contains(c) {
                let stamp = rqs[c as usize].idle_stamp;
                if idled.is_none_or(|(latest, _)| stamp > latest) {
                    idled = Some((stamp, c));
                }
            } else if idled.is_none() {
                let load = queued_load(&rqs[c as usize], tasks, *now);
                let own = load == lightest.0 && c == cpu && rules < Balancer::V417;
                if load < lightest.0 || own {
                    lightest = (load, c);
                }
            }
        }
        idled.map_or(lightest.1, |(_, c)| c)
    }
}

/// Tasks a group of `weight` threads has cores for: as many as cores, nor more than its capacity has whole CPUs, but one
/// for a thread (`core`: its domain is a core's).
pub fn cores_of(weight: u32, full: u64, core: bool) -> u32 {
    let threads = (1024 * u64::from(weight)).div_ceil(full.max(1)) as u32;
    match (weight / threads.max(1)).min(((full + 512) / 1024) as u32) {
        0 => u32::from(core),
        n => n,
    }
}

/// Utilisation of a CPU, at most its capacity; from 4.17 on with the estimate of its tasks.
fn util(rules: Balancer, rq: &mut Rq, capacity: u64, now_ns: u64) -> u64 {
    rq.refresh(now_ns);
    let util = if rules < Balancer::V417 { rq.pelt.util } else { rq.util() };
    util.min(capacity)
}
