//! The remembered cost of newly-idle passes (kernel: `update_newidle_cost`).

use crate::sched::domains::DomId;
use crate::sched::rules::Newidle;
use crate::sched::state::Scheduler;

impl Scheduler {
    /// Remembers the largest cost of a newly-idle pass. From 5.16 on a pass that costs no more lets the remembered cost
    /// decay (e60b56e46b38); before, only the tick does.
    pub(in crate::sched) fn update_newidle_cost(&mut self, dom: DomId, cost_ns: u64) {
        let state = &mut self.dom[dom as usize];
        if cost_ns > state.max_newidle_cost_ns {
            state.max_newidle_cost_ns = cost_ns;
            if self.params.newidle == Newidle::V516 {
                state.last_decay = self.jiffy;
            }
        } else if self.params.newidle == Newidle::V516 {
            self.decay_newidle_cost(dom);
        }
    }
    /// Lets the remembered cost of newly-idle passes decay once a second; returns whether it did.
    pub(super) fn decay_newidle_cost(&mut self, dom: DomId) -> bool {
        let state = &mut self.dom[dom as usize];
        let due = self.jiffy > state.last_decay + self.params.hz;
        if due {
            state.max_newidle_cost_ns = state.max_newidle_cost_ns * 253 / 256;
            state.last_decay = self.jiffy;
        }
        due
    }
}
