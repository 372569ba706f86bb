//! Periodic balancing of all domains of a CPU (kernel-scheduler.md §4.1).

use super::due_domains::Work;
use crate::sched::event::{Event, Why};
use crate::sched::numa_view::NumaView;
use crate::sched::state::{CpuIdleType, Scheduler};

impl Scheduler {
    /// Balances the domains of the ticking `cpu` that are due.
    pub(in crate::sched) fn sched_balance_softirq<V: NumaView>(&mut self, cpu: u32, view: &V) {
        let idle = if self.idle.contains(cpu) { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
        let Work { passes, cpus, ns } = self.sched_balance_domains(cpu, idle, Why::Periodic, view);
        if passes > 0 {
            self.events.push(Event::Balanced { cpu, why: Why::Periodic, passes, ns, cpus, stretch_ns: ns });
        }
    }

    /// Balances the domains of `cpu` that are due. Returns the passes made.
    pub(in crate::sched) fn sched_balance_domains<V: NumaView>(
        &mut self,
        cpu: u32,
        idle: CpuIdleType,
        why: Why,
        view: &V,
    ) -> Work {
        self.balance_due_domains(cpu, idle, |sched, dom, idle| sched.sched_balance_rq(cpu, dom, idle, why, view))
    }
    /// Whether the periodic balance of `cpu` is due at its tick. AutoNUMA's hook runs at the end of that softirq.
    pub fn balance_due(&self, cpu: u32, now_ns: u64) -> bool {
        now_ns / self.params.jiffy_ns >= self.rqs[cpu as usize].next_balance
    }
}
