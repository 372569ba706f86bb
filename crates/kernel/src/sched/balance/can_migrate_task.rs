//! Whether a task may leave its queue (kernel-scheduler.md §4.6).

use super::lb_env::LbEnv;
use super::migrate_degrades_locality::{migrate_degrades_locality, NodePull};
use crate::sched::domains::Flags;
use crate::sched::numa_view::NumaView;
use crate::sched::rq::task::TaskId;
use crate::sched::rules::Balancer;
use crate::sched::state::{CpuIdleType, Scheduler};

impl Scheduler {
    /// Whether the pass may move the task: affinity, not running, and locality or cache heat unless passes have failed.
    pub(super) fn can_migrate_task<V: NumaView>(&mut self, env: &mut LbEnv, t: TaskId, view: &V) -> bool {
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
            verdict = migrate_degrades_locality(t, self.preferred_nid(t), &pull, view);
        }
        if verdict < 0 {
            verdict = i32::from(self.task_hot(env, t) || self.home_hot(env, t));
        }
        let tries = domain.cache_nice_tries;
        let may = verdict <= 0 || self.dom[env.dom as usize].nr_balance_failed > tries;
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
