//! Whether a task may leave its queue (kernel-scheduler.md §4.6).

use super::lb_env::LbEnv;
use super::migrate_degrades_locality::{locality_verdict, migrate_degrades_locality, NodePull};
use super::migration_type::MigrationType;
use crate::sched::cache_aware::decide::CacheMove;
use crate::sched::cache_aware::state::CachePull;
use crate::sched::domains::Flags;
use crate::sched::numa_view::NumaView;
use crate::sched::rq::eevdf::entity_eligible;
use crate::sched::rq::sched_entity::{State, TaskId};
use crate::sched::rules::{Balancer, Form, LocalityVerdict};
use crate::sched::state::{CpuIdleType, Scheduler};

impl Scheduler {
    /// Whether the pass may move the task: affinity, not running, and locality or cache heat unless passes have failed.
    pub(in crate::sched) fn can_migrate_task<V: NumaView>(&mut self, env: &mut LbEnv, t: TaskId, view: &V) -> bool {
        let failed = self.dom[env.dom as usize].nr_balance_failed;
        if self.params.form == Form::V612 {
            let delayed = self.tasks[t as usize].state == State::Delayed;
            if self.params.pull_keeps_delayed && delayed && env.kind != MigrationType::Load {
                return false;
            }
            let first = self.params.pull_needs_eligible && failed == 0 && self.rqs[env.dst as usize].nr() > 0;
            if first && !entity_eligible(&self.rqs[env.src as usize], &self.tasks, t) {
                return false;
            }
        }
        if !self.allowed(t, env.dst) {
            env.some_pinned = true;
            if env.idle != CpuIdleType::NewlyIdle && env.other_dst.is_none() {
                env.other_dst = self.other_dst(env, t);
            }
            return false;
        }
        env.all_pinned = false;
        if self.rqs[env.src as usize].cur == t {
            return false;
        }
        let domain = self.topo.domain(env.dom);
        let mut verdict = -1;
        if domain.flags.has(Flags::NUMA) {
            let rq = &self.rqs[env.src as usize];
            let (src, dst) = (self.topo.node_of(env.src), self.topo.node_of(env.dst));
            let distance = self.topo.distance(src, dst);
            let pull = NodePull { src, dst, distance, nr: rq.nr(), nr_preferred: rq.nr_preferred, idle: env.idle };
            let preferred = self.preferred_nid(t);
            verdict = match self.params.locality_verdict {
                LocalityVerdict::V46 => migrate_degrades_locality(t, preferred, &pull, view),
                LocalityVerdict::Signed => match locality_verdict(t, preferred, &pull, view) {
                    0 => -1,
                    v => i32::from(v > 0),
                },
            };
        }
        let tries = domain.cache_nice_tries;
        if self.cache_aware.active {
            let asked = (verdict < 0 || self.cache_aware.first()) && failed < tries + 1;
            let wrong = env.kind == MigrationType::LlcTask
                && self.cache_aware.preferred(t) != Some(self.topo.cache_of(env.dst));
            let pull = CachePull { src: env.src, dst: env.dst };
            match if asked { self.cache_verdict(pull, t) } else { CacheMove::Unrestricted } {
                CacheMove::Forbid => {
                    env.llc_pinned = true;
                    return false;
                }
                CacheMove::Towards if self.cache_aware.first() => return true,
                _ if wrong => return false,
                _ => {}
            }
        }
        if verdict < 0 {
            verdict = i32::from(self.task_hot(env, t) || self.home_hot(env, t));
        }
        let may = verdict <= 0 || failed > tries;
        self.counters.hot_refused += u64::from(!may);
        may
    }
    /// Another CPU of the balancing group that the task may use.
    fn other_dst(&self, env: &LbEnv, t: TaskId) -> Option<u32> {
        let domain = self.topo.domain(env.dom);
        let own = &self.topo.group(*domain.groups.first()?).balance_mask;
        let usable = |c: &u32| self.allowed(t, *c) && *c != env.dst && (!env.narrowed || self.candidates.contains(*c));
        own.iter().find(usable)
    }
    /// Whether the task's data is probably still in the cache of the source.
    fn task_hot(&self, env: &LbEnv, t: TaskId) -> bool {
        let core = self.topo.domain(env.dom).flags.has(Flags::SHARE_CPUCAPACITY);
        if core && self.params.balancer >= Balancer::V510 {
            return false;
        }
        let src = &self.rqs[env.src as usize];
        let buddy = src.next_buddy == t || src.last_buddy == t;
        if buddy && self.rqs[env.dst as usize].nr() > 0 {
            return true;
        }
        match self.params.migration_cost_ns {
            cost if cost < 0 => true,
            0 => false,
            cost => self.now as i64 - self.tasks[t as usize].exec_start < cost,
        }
    }
}
