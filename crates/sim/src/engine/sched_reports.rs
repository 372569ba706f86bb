//! What the scheduler reports: CPUs that must look for work, time spent balancing, tasks that have moved.

use crate::engine::carry_out::Engine;
use crate::record::log::log_moved;
use crate::state::event_queue::Event;
use numalab_kernel::sched::{Event as SchedEvent, Why as SchedWhy};

impl Engine<'_> {
    /// Handles what the scheduler reported: CPUs that must look for work, time spent balancing, moves.
    pub(crate) fn after_sched(&mut self) {
        let mut events = std::mem::take(&mut self.sched_events);
        loop {
            self.sim.kernel.sched.swap_events(&mut events);
            if events.is_empty() {
                break;
            }
            for e in &events {
                match *e {
                    SchedEvent::Resched { cpu } => self.kick(cpu as usize),
                    SchedEvent::Disturbed { cpu } => self.disturb(cpu as usize),
                    SchedEvent::QuietEnds => self.disturb_all(None),
                    SchedEvent::SecondTask => self.disturb_soon(),
                    SchedEvent::Moved { task, from, to, why } => {
                        log_moved(&mut self.sim, task, from, to, why);
                        if self.sim.cpus[from as usize].node != self.sim.cpus[to as usize].node {
                            let rss =
                                self.sim.processes[self.sim.tasks[task as usize].process as usize].space.rss_pages();
                            self.sim.kernel.numa.update_scan_period(task, from as usize, to as usize, rss);
                        }
                        if self.sim.cpus[from as usize].task == Some(task) {
                            self.task_moved_away(from as usize, task);
                        }
                    }
                    SchedEvent::Push { from, to, cpus } => {
                        let ns = self.sim.hw.costs.balance_ns(cpus) + self.sim.hw.costs.switch_ns(false);
                        self.queue.push(self.sim.now_ns + ns as u64, Event::Push { from, to });
                    }
                    // That time has passed already, and no task had the CPU.
                    SchedEvent::Balanced { why: SchedWhy::Newidle, .. } => {}
                    SchedEvent::Balanced { cpu, ns, stretch_ns, .. } => self.balanced(cpu, ns, stretch_ns),
                    SchedEvent::Waited { cpu, ns } => self.balanced(cpu, ns, ns),
                }
            }
        }
        self.sched_events = events;
    }

    /// `cpu` has looked at others for work for `ns`, or spun for a lock. Its task pays for that. An idle CPU spends the
    /// time while it is idle; work that arrives ends a search after the present stretch (`_nohz_idle_balance`).
    pub(crate) fn balanced(&mut self, cpu: u32, ns: u64, stretch_ns: u64) {
        self.disturb(cpu as usize);
        let c = &mut self.sim.cpus[cpu as usize];
        if self.sim.kernel.sched.current(cpu).is_some() {
            c.debt_ns += ns;
        } else {
            let longest_ns = if c.busy_until_ns > self.sim.now_ns { c.busy_stretch_ns } else { 0 };
            c.busy_until_ns = c.busy_until_ns.max(self.sim.now_ns) + ns;
            c.busy_stretch_ns = longest_ns.max(stretch_ns);
        }
    }
}
