//! The timer interrupt of a busy CPU (kernel: `sched_tick`, `task_tick_fair`).

use crate::sched::numa_view::NumaView;
use crate::sched::rq::cfs;
use crate::sched::rq::sched_entity::NONE;
use crate::sched::rules::{Balancer, Form};
use crate::sched::state::Scheduler;

impl Scheduler {
    /// Timer interrupt of a busy CPU: accounting, pre-emption by the fair class, periodic balance when due, and a kick
    /// for tickless idle CPUs. Does nothing on an idle CPU.
    pub fn tick<V: NumaView>(&mut self, cpu: u32, now_ns: u64, view: &V) {
        self.clock(now_ns);
        if self.rqs[cpu as usize].cur == NONE {
            return;
        }
        self.update_curr(cpu);
        self.update_cfs_group(cpu);
        if self.cache_aware.active {
            self.elect_cache(cpu, view);
        }
        if self.params.balancer.by_past_load() && self.rqs[cpu as usize].past_jiffy != self.jiffy {
            let load = match self.params.balancer {
                Balancer::V37 => self.rqs[cpu as usize].weight,
                _ => self.queued_load(cpu),
            };
            self.rqs[cpu as usize].update_cpu_load(load, self.jiffy);
        }
        if self.params.form == Form::V61
            && cfs::check_preempt_tick(&self.params, &mut self.rqs[cpu as usize], &self.tasks)
        {
            self.resched(cpu);
        }
        let kick = self.nohz_balancer_kick(cpu);
        if self.jiffy >= self.rqs[cpu as usize].next_balance {
            self.sched_balance_softirq(cpu, view);
        }
        if let Some(kick) = kick {
            self.nohz_idle_balance(kick, view);
        }
    }
    /// First tick of `cpu` at or after `at_ns`. Ticks come every jiffy, shifted by [`Scheduler::tick_offset_ns`].
    pub fn tick_at_or_after(&self, cpu: u32, at_ns: u64) -> u64 {
        let offset = self.tick_offset_ns(cpu);
        let jiffy = self.params.jiffy_ns;
        offset + at_ns.saturating_sub(offset).div_ceil(jiffy) * jiffy
    }
}
