//! The end of a balance pass that moved nothing: intervals and failures of the domain.

use super::lb_env::{LbEnv, PassResult};
use crate::sched::domains::DomId;
use crate::sched::event::{Event, Why};
use crate::sched::rules::Balancer;
use crate::sched::state::counters::counted;
use crate::sched::state::{CpuIdleType, Scheduler};

/// Limit of the interval while all tasks are pinned, ms.
const MAX_PINNED_INTERVAL_MS: u64 = 512;

/// How a pass ends that moved none of the tasks it looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassEnd {
    Balanced,
    AllPinned,
    OnePinned,
}

impl Scheduler {
    /// The periodic pass of a busy CPU that is known to find nothing.
    pub(in crate::sched) fn pass_without_find(&mut self, cpu: u32, dom: DomId) -> PassResult {
        let designated = self.topo.lead(dom).balance_cpu == Some(cpu);
        if designated {
            self.counters.passes += 1;
            self.counters.no_busy_group += 1;
            self.counters.levels[counted(self.topo.domain(dom).level)].passes += 1;
        } else {
            self.counters.not_designated += 1;
        }
        self.finish_balanced(cpu, dom, CpuIdleType::NotIdle, Why::Periodic);
        PassResult { moved: 0, go_on: designated, skipped: false }
    }
    /// Ends a pass that was not made because another CPU makes one: it counts as balanced.
    pub(super) fn finish_balanced(&mut self, cpu: u32, dom: DomId, idle: CpuIdleType, why: Why) {
        self.finish_pass(&LbEnv::new(cpu, dom, idle, why), PassEnd::Balanced);
    }
    /// Ends a pass that found nothing it should move, or nothing it may move.
    pub(super) fn finish_pass(&mut self, env: &LbEnv, how: PassEnd) -> u32 {
        if how == PassEnd::Balanced && !env.all_pinned {
            self.set_parent_imbalanced(env.dom, false);
        }
        let max = u64::from(self.topo.domain(env.dom).max_interval_ms);
        let state = &mut self.dom[env.dom as usize];
        if how != PassEnd::OnePinned {
            state.nr_balance_failed = 0;
        }
        // Up to 4.20 a pass of a newly idle CPU counts too (3f130a37c442, release from memory).
        let counts = self.params.balancer < Balancer::V420;
        if env.idle != CpuIdleType::NewlyIdle || counts {
            let pinned = env.all_pinned && state.interval_ms < MAX_PINNED_INTERVAL_MS;
            if pinned || state.interval_ms < max {
                state.interval_ms *= 2;
            }
        }
        0
    }
    pub(super) fn set_parent_imbalanced(&mut self, dom: DomId, value: bool) {
        if let Some(record) = self.topo.lead(dom).parent_record {
            let was = std::mem::replace(&mut self.imbalanced[record as usize], value);
            if value && !was {
                self.events.push(Event::QuietEnds);
            }
            self.marked_imbalanced = self.marked_imbalanced + u32::from(value) - u32::from(was);
        }
    }
}
