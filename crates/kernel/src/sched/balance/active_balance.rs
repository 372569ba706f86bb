//! Active balance: pushes of running tasks (kernel-scheduler.md §4.8).

use super::lb_env::LbEnv;
use super::locality::{passes, Wanted};
use crate::sched::domains::DomId;
use crate::sched::event::{Event, Why};
use crate::sched::rq::sched_entity::{State, TaskId, NONE};
use crate::sched::rules::Balancer;
use crate::sched::state::{CpuIdleType, Scheduler};

impl Scheduler {
    /// Has the stopper of the source push a task. During a periodic pass the push comes at once, since the stopper runs
    /// while the pass goes on. After a newly-idle search it comes later: otherwise two idle CPUs with old failures
    /// could hand one task to each other for ever without time passing.
    pub(super) fn start_active_balance(&mut self, env: &LbEnv) {
        if env.idle == CpuIdleType::NewlyIdle {
            self.ask_stopper(env);
        } else if !self.rqs[env.src as usize].active_balance {
            self.active_load_balance_cpu_stop(env.src, env.cpu);
        }
    }
    /// Asks the stopper of the source to push a task, unless it has been asked already.
    pub(super) fn ask_stopper(&mut self, env: &LbEnv) {
        let asked = std::mem::replace(&mut self.rqs[env.src as usize].active_balance, true);
        if !asked {
            let cpus = self.topo.domain(env.dom).weight;
            self.events.push(Event::Push { from: env.src, to: env.cpu, cpus });
        }
    }
    /// Runs the stopper that [`Event::Push`] announced: pushes a task of `from`, if there still is one, to `to`.
    pub fn push(&mut self, from: u32, to: u32, now_ns: u64) {
        self.clock(now_ns);
        self.update_curr(from);
        self.update_curr(to);
        self.rqs[from as usize].active_balance = false;
        self.active_load_balance_cpu_stop(from, to);
    }
    /// Pushes the running task of `src`, or another one, to `dst`. The stopper pre-empts the running task, so only
    /// affinity and locality decide. Both designs of 2012 look over the queue twice, as for an idle CPU
    /// (`move_one_task`). From 4.10 on a push resets the failures of the lowest domain that spans both CPUs.
    fn active_load_balance_cpu_stop(&mut self, src: u32, dst: u32) {
        let spanning = |d: &DomId| self.topo.domain(*d).span.contains(src);
        let Some(dom) = self.topo.ids(dst).find(spanning) else { return };
        if self.rqs[src as usize].list.is_empty() {
            return;
        }
        // The stopper is a second task on that CPU (`add_nr_running` counts it).
        self.overload = true;
        let running = self.rqs[src as usize].cur;
        self.put_prev_task(src);
        let may =
            |t: &&TaskId, pass: Wanted| self.allowed(**t, dst) && self.in_pass((dst, CpuIdleType::Idle), **t, pass);
        let list = &self.rqs[src as usize].list;
        let pushed = passes(&self.params).iter().find_map(|pass| list.iter().find(|t| may(t, *pass))).copied();
        if let Some(t) = pushed {
            self.detach_task(t);
            self.attach_task(t, src, dst, Why::Active);
            if self.params.balancer >= Balancer::V413 {
                self.dom[dom as usize].nr_balance_failed = 0;
            }
            self.counters.active += 1;
        }
        if running != NONE && self.rqs[src as usize].cur == NONE && self.tasks[running as usize].state != State::Dead {
            self.resched(src);
        }
    }
}
