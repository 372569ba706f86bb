//! The scheduler tick of busy and idle CPUs.

use crate::engine::carry_out::Engine;
use crate::engine::next_tick::next_tick;
use crate::numa::task_migration::apply_due_migrations;
use crate::numa_2012::hooks::tick;
use crate::state::event_queue::Event;

impl Engine<'_> {
    pub(crate) fn tick(&mut self, cpu: usize) {
        let now = self.sim.now_ns;
        self.sim.record.ticks += 1;
        self.sim.cpus[cpu].debt_ns += self.sim.hw.costs.tick_ns() as u64;
        let balanced = self.sim.kernel.numa_2012.active() && self.sim.kernel.sched.balance_due(cpu as u32, now);
        self.sim.kernel.sched.tick(cpu as u32, now, &self.sim.kernel.numa);
        let Some(task) = self.sim.cpus[cpu].task else { return };
        if !self.sim.task_migrations.due.is_empty() {
            apply_due_migrations(&mut self.sim, cpu);
        }
        tick(&mut self.sim, cpu, task, balanced);
        if !self.sim.kernel.numa_2012.leaves_scans()
            || !self.sim.cfg.numa_enabled()
            || !self.sim.kernel.numa.trigger_due(task, self.sim.kernel.sched.runtime_ns(task))
        {
            return;
        }
        let jiffies = now / self.sim.cfg.jiffy_ns();
        let rss = self.sim.processes[self.sim.tasks[task as usize].process as usize].space.rss_pages();
        self.sim.kernel.numa.task_tick_numa(task, self.sim.kernel.sched.runtime_ns(task), jiffies, rss);
    }

    /// Asks for the next tick of `cpu` if it idles with its tick on.
    pub(crate) fn arm_idle_tick(&mut self, cpu: usize) {
        if self.sim.kernel.sched.idles_ticking(cpu as u32) {
            let at = next_tick(&mut self.sim, cpu);
            if self.sim.cpus[cpu].idle_tick_ns < at {
                self.sim.cpus[cpu].idle_tick_ns = at;
                self.queue.push(at, Event::IdleTick { cpu: cpu as u32 });
            }
        }
    }

    pub(crate) fn idle_tick(&mut self, cpu: usize) {
        self.sim.kernel.sched.idle_tick(cpu as u32, self.sim.now_ns, &self.sim.kernel.numa);
        self.after_sched();
        self.arm_idle_tick(cpu);
    }
}
