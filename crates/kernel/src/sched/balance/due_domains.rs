//! Which domains of a CPU are due for a balance pass, and when the next one will be.

use super::lb_env::PassResult;
use crate::sched::domains::{BusyInterval, DomId};
use crate::sched::state::{CpuIdleType, Scheduler};

/// Jiffies between passes over a domain whose interval is `ms`, on a machine of `cpus` CPUs. While the CPU is `busy`,
/// the interval is longer. The result is at least one jiffy and at most a tenth of a second per CPU.
pub fn get_sd_balance_interval(ms: u64, busy: Option<BusyInterval>, hz: u64, cpus: u64) -> u64 {
    let jiffies = |ms: u64| (ms * hz).div_ceil(1000);
    let wanted = busy.map_or(jiffies(ms), |b| jiffies(ms * b.factor).saturating_sub(b.less));
    wanted.clamp(1, (hz * cpus / 10).max(1))
}

/// Balance passes that were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sched) struct Work {
    /// Their number.
    pub passes: u32,
    /// CPUs that they looked at.
    pub cpus: u32,
    /// How long they took, ns.
    pub ns: u64,
}

impl Scheduler {
    /// Balance interval of a domain, jiffies.
    pub(in crate::sched) fn get_sd_balance_interval(&self, dom: DomId, busy: bool) -> u64 {
        let busy = busy.then_some(self.topo.domain(dom).busy);
        get_sd_balance_interval(self.dom[dom as usize].interval_ms, busy, self.params.hz, self.topo.cpus() as u64)
    }
    /// Makes a `pass` over each domain of `cpu` that is due. Returns the passes made.
    pub(in crate::sched) fn balance_due_domains(
        &mut self,
        cpu: u32,
        idle: CpuIdleType,
        mut pass: impl FnMut(&mut Self, DomId, CpuIdleType) -> PassResult,
    ) -> Work {
        let mut idle = idle;
        let mut go_on = true;
        let mut next: Option<u64> = None;
        let mut work = Work::default();
        let mut decayed = false;
        let mut max_cost = 0;
        for d in self.topo.ids(cpu) {
            decayed = self.decay_newidle_cost(d);
            max_cost += self.dom[d as usize].max_newidle_cost_ns;
            if !go_on {
                if decayed {
                    continue;
                }
                break;
            }
            let mut interval = self.get_sd_balance_interval(d, idle == CpuIdleType::NotIdle);
            if self.jiffy >= self.dom[d as usize].last_balance + interval {
                let before = self.counters.passes;
                let result = pass(self, d, idle);
                if self.counters.passes > before {
                    work.passes += 1;
                    work.cpus += self.topo.domain(d).weight;
                    work.ns += self.pass_ns(d);
                }
                go_on = result.go_on;
                if result.moved > 0 {
                    idle = if self.idle.contains(cpu) { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
                }
                if !result.skipped {
                    self.dom[d as usize].last_balance = self.jiffy;
                }
                interval = self.get_sd_balance_interval(d, idle == CpuIdleType::NotIdle);
            }
            let due = self.dom[d as usize].last_balance + interval;
            next = Some(next.map_or(due, |n| n.min(due)));
        }
        let rq = &mut self.rqs[cpu as usize];
        if decayed {
            rq.max_idle_cost_ns = (self.params.migration_cost_ns.max(0) as u64).max(max_cost);
        }
        if let Some(next) = next {
            rq.next_balance = next.min(self.jiffy + 60 * self.params.hz);
        }
        work
    }
}
