//! Taking tasks off the source queue (kernel-scheduler.md §4.6).

use super::lb_env::LbEnv;
use super::locality::{passes, Wanted};
use super::migration_type::MigrationType;
use crate::sched::numa_view::NumaView;
use crate::sched::rq::sched_entity::TaskId;
use crate::sched::rules::Balancer;
use crate::sched::state::{CpuIdleType, Scheduler};

impl Scheduler {
    /// Detaches tasks from the source queue into `self.detached` and returns their number.
    pub(in crate::sched) fn detach_tasks<V: NumaView>(&mut self, env: &mut LbEnv, view: &V) -> u32 {
        let limit = self.rqs[env.src as usize].nr().min(self.params.nr_migrate);
        if self.rqs[env.src as usize].nr() <= 1 {
            env.all_pinned = false;
            return 0;
        }
        let mut count = 0;
        for pass in passes(&self.params) {
            env.examined = 0;
            count += self.detach_pass(env, limit, *pass, view);
            if count > 0 && env.idle == CpuIdleType::NewlyIdle && self.params.preempt_full {
                break;
            }
        }
        count
    }
    fn detach_pass<V: NumaView>(&mut self, env: &mut LbEnv, limit: u32, pass: Wanted, view: &V) -> u32 {
        let mut count = 0;
        while env.amount > 0 {
            let nr = self.rqs[env.src as usize].nr();
            if nr == 0 || (env.idle != CpuIdleType::NotIdle && nr <= 1) || env.examined >= limit {
                break;
            }
            let Some(at) = self.next_in_queue(env, pass) else { break };
            env.examined += 1;
            let t = self.rqs[env.src as usize].list[at];
            let size = if !self.in_pass((env.dst, env.idle), t, pass) {
                None
            } else if self.params.balancer == Balancer::V37 {
                // 3.7 does not ask whether a task that is too heavy may migrate.
                self.size_of(env, t).filter(|_| self.can_migrate_task(env, t, view))
            } else if self.can_migrate_task(env, t, view) {
                self.size_of(env, t)
            } else {
                None
            };
            let Some(size) = size else {
                self.rqs[env.src as usize].requeue_tail(at);
                continue;
            };
            env.amount -= size;
            self.detach_task(t);
            self.detached.push(t);
            count += 1;
            if env.idle == CpuIdleType::NewlyIdle && self.params.preempt_full {
                break;
            }
        }
        count
    }
    /// How much moving the task reduces the amount; `None` if the task is too large. Averages are those of the task's
    /// last run, arrival or move, as `task_h_load` and `task_util_est` read them.
    pub(in crate::sched) fn size_of(&self, env: &LbEnv, t: TaskId) -> Option<i64> {
        if matches!(env.kind, MigrationType::Task | MigrationType::LlcTask) {
            return Some(1);
        }
        if self.params.balancer == Balancer::V37 {
            let weight = self.tasks[t as usize].weight as i64;
            return (weight / 2 <= env.amount).then_some(weight);
        }
        let task = &self.tasks[t as usize];
        if self.params.balancer.by_load() {
            return (task.pelt.load / 2 <= env.amount as u64).then_some(task.pelt.load as i64);
        }
        let size = match env.kind {
            MigrationType::Load => task.pelt.load.max(1),
            _ => task.util_estimate(),
        };
        if env.kind == MigrationType::Load && self.params.balancer < Balancer::V510 {
            // 6cf82d559e1a: after some failures any task may move.
            let tries = self.topo.domain(env.dom).cache_nice_tries;
            let any = self.dom[env.dom as usize].nr_balance_failed > tries;
            return (any || (size / 2) as i64 <= env.amount).then_some(size as i64);
        }
        let relaxed = env.kind == MigrationType::Load || self.params.relax_util;
        let failed = if relaxed { self.dom[env.dom as usize].nr_balance_failed.min(63) } else { 0 };
        ((size >> failed) as i64 <= env.amount).then_some(size as i64)
    }
}
