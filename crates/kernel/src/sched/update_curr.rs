//! Accounting of the running task (kernel: `update_curr`).

use crate::sched::rq::eevdf;
use crate::sched::rq::sched_entity::NONE;
use crate::sched::rules::Form;
use crate::sched::state::Scheduler;

impl Scheduler {
    /// Charges the current task of `cpu` up to now. Returns the time since the last accounting, ns.
    ///
    /// Ticks, wake-ups onto the CPU and moves account too. Use [`Scheduler::runtime_ns`] for totals.
    pub fn account(&mut self, cpu: u32, now_ns: u64) -> u64 {
        self.clock(now_ns);
        self.update_curr(cpu)
    }
    pub(super) fn update_curr(&mut self, cpu: u32) -> u64 {
        if self.unseen[cpu as usize].tick_ns != 0 {
            self.disturb(cpu);
        }
        let rq = &mut self.rqs[cpu as usize];
        if rq.cur == NONE {
            return 0;
        }
        let t = &mut self.tasks[rq.cur as usize];
        let delta = self.now as i64 - t.exec_start;
        if delta <= 0 {
            return 0;
        }
        t.exec_start = self.now as i64;
        t.runtime_ns += delta as u64;
        t.vruntime += t.virtual_ns(delta);
        if self.cache_aware.active {
            self.account_process(cpu, delta as u64);
        }
        let Self { rqs, tasks, .. } = self;
        let rq = &mut rqs[cpu as usize];
        let t = &mut tasks[rq.cur as usize];
        let eevdf = self.params.form == Form::V612;
        let renewed = eevdf && eevdf::update_deadline(&self.params, t);
        if rq.list.len() == 1 {
            rq.min_vruntime = rq.min_vruntime.max(t.vruntime);
        } else {
            rq.update_min_vruntime(&self.tasks);
            if renewed || eevdf && self.params.complete_eevdf && eevdf::did_preempt_short(rq, &self.tasks) {
                self.resched(cpu);
            }
        }
        delta as u64
    }
}
