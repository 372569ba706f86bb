//! What a CPU runs next (kernel: `__schedule`, `pick_next_task_fair`), and how a task leaves its CPU: sleep and exit.

use crate::sched::balance::newidle::Outcome;
use crate::sched::numa_view::NumaView;
use crate::sched::rq::sched_entity::{State, TaskId, NONE};
use crate::sched::rq::{cfs, eevdf};
use crate::sched::rules::Form;
use crate::sched::state::Scheduler;

impl Scheduler {
    /// Chooses what `cpu` runs next and makes it current. If nothing is queued, the CPU first searches others
    /// (`sched_balance_newidle`). Returns `None` if the CPU is idle, or if its search takes time
    /// ([`Scheduler::newidle_pass_ns`]).
    pub fn pick_next<V: NumaView>(&mut self, cpu: u32, now_ns: u64, view: &V) -> Option<TaskId> {
        self.clock(now_ns);
        // Suppresses a request to reschedule, which this call answers.
        self.rqs[cpu as usize].need_resched = true;
        self.update_curr(cpu);
        let next = self.pick_next_task_fair(cpu, view);
        self.rqs[cpu as usize].need_resched = false;
        next
    }
    /// How long the pass of `cpu`'s newly-idle search takes, ns; `None` if no search is under way. The caller calls
    /// [`Scheduler::pick_next`] again when that time is over. Tasks queued on the CPU meanwhile wait.
    pub fn newidle_pass_ns(&self, cpu: u32) -> Option<u64> {
        self.rqs[cpu as usize].newidle.map(|search| self.pass_ns(search.at))
    }
    /// [`Scheduler::pick_next`] with searches that take no time, for callers whose clock does not advance meanwhile.
    pub fn pick_at_once<V: NumaView>(&mut self, cpu: u32, now_ns: u64, view: &V) -> Option<TaskId> {
        loop {
            let next = self.pick_next(cpu, now_ns, view);
            if self.newidle_pass_ns(cpu).is_none() {
                return next;
            }
        }
    }
    fn pick_next_task_fair<V: NumaView>(&mut self, cpu: u32, view: &V) -> Option<TaskId> {
        loop {
            let rq = &self.rqs[cpu as usize];
            if rq.newidle.is_some() || rq.list.is_empty() && !rq.in_idle {
                match self.sched_balance_newidle(cpu, view) {
                    Outcome::Found => continue,
                    Outcome::Looking => return None,
                    Outcome::Nothing => {}
                }
            }
            let rq = &self.rqs[cpu as usize];
            if rq.list.is_empty() {
                self.enter_idle(cpu);
                return None;
            }
            let next = match self.params.form {
                Form::V61 => cfs::pick_next_entity(&self.params, rq, &self.tasks),
                Form::V612 => eevdf::pick_eevdf(rq, &self.tasks),
            }?;
            if self.tasks[next as usize].state == State::Delayed {
                self.dequeue_delayed(next);
                continue;
            }
            if next != rq.cur {
                self.put_prev_task(cpu);
                self.set_next_task(cpu, next);
            }
            return Some(next);
        }
    }
    /// Puts the current task of `cpu` to sleep and returns it. Call [`Scheduler::pick_next`] afterwards.
    pub fn block_current(&mut self, cpu: u32, now_ns: u64) -> Option<TaskId> {
        self.clock(now_ns);
        self.update_curr(cpu);
        let t = self.rqs[cpu as usize].cur;
        if t == NONE {
            return None;
        }
        self.rqs[cpu as usize].last_sleeper = t;
        let delays = self.params.form == Form::V612 && self.params.complete_eevdf;
        let stays = delays && !eevdf::entity_eligible(&self.rqs[cpu as usize], &self.tasks, t);
        if stays {
            self.set_delayed(cpu, t);
        } else {
            self.deactivate_task(t, true);
            self.tasks[t as usize].state = State::Blocked;
        }
        Some(t)
    }
    /// Ends the current task of `cpu` and returns it. Call [`Scheduler::pick_next`] afterwards.
    pub fn exit_current(&mut self, cpu: u32, now_ns: u64) -> Option<TaskId> {
        self.clock(now_ns);
        self.update_curr(cpu);
        let t = self.rqs[cpu as usize].cur;
        if t == NONE {
            return None;
        }
        self.deactivate_task(t, true);
        self.detach_entity_load_avg(t);
        self.leave_process(t);
        self.tasks[t as usize].state = State::Dead;
        Some(t)
    }
}
