//! A flow while it is solved, and the rate that comes of it.

use super::flow::{Flow, Rate};
use super::parameters::LINE_BYTES;

/// State of a flow with threads; one cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Bytes in flight of one thread.
    pub inflight: f64,
    /// Time per line with the present queues and `extra_ns`, ns.
    pub line_ns: f64,
    /// Smallest of the flow's own cap and the limits of saturated resources, GB/s.
    pub limit_gbps: f64,
    /// `inflight` over the idle time per line, GB/s: the claim of a thread on a saturated resource, and the most that
    /// it can ever use.
    pub claim_gbps: f64,
    pub cap_gbps: f64,
    /// Part of the flow's load that its requests do not meet: the load of their own thread, for a chain.
    pub unmet: f64,
    /// Load per GB/s of one thread, in DRAM and on links: threads times the weight of a byte, with lines written back.
    pub dram_load: f64,
    pub link_load: f64,
}

impl State {
    /// Load of the flow on a resource per GB/s of one of its threads.
    pub fn load(&self, dram: bool) -> f64 {
        if dram {
            self.dram_load
        } else {
            self.link_load
        }
    }

    /// Own traffic that a thread does not meet, GB/s per thread of the flow.
    pub fn unmet_gbps(&self) -> f64 {
        self.unmet * self.limit_gbps.min(self.inflight / self.line_ns)
    }
}

/// Queue length that a request meets, and its derivative by `y`. The whole load makes the queue `y`; the request meets
/// `unmet` less of the utilisation.
pub(super) fn queue_met(y: f64, unmet: f64) -> (f64, f64) {
    if unmet == 0.0 {
        return (y, 1.0);
    }
    // 1/(1 + met) = 1 - (u - unmet) and 1/(1 + y) = 1 - u.
    let more = 1.0 + unmet * (1.0 + y);
    let met = (1.0 + y) / more - 1.0;
    if met > 0.0 {
        (met, 1.0 / (more * more))
    } else {
        (0.0, 0.0)
    }
}

/// Lines read and written back that a flow asks for, in threads; 0 without threads.
pub(super) fn link_load(flow: &Flow) -> f64 {
    flow.threads.max(0.0) * (1.0 + flow.writebacks)
}

/// Rate of a flow without threads, whose line takes `base_ns` on the idle machine and `line_ns` now, under a `limit`.
pub(super) fn idle_rate(flow: &Flow, base_ns: f64, line_ns: f64, limit: f64) -> Rate {
    let inflight = flow.lines * LINE_BYTES;
    let limit_gbps = flow.cap_gbps.min(limit * (inflight / base_ns));
    let demand = flow.cap_gbps.min(inflight / line_ns);
    rate(flow, line_ns, demand, limit_gbps)
}

/// Rate of a thread of `flow` that demands `demand` and is limited to `limit_gbps`.
pub(super) fn rate(flow: &Flow, line_ns: f64, demand: f64, limit_gbps: f64) -> Rate {
    let gbps = demand.min(limit_gbps);
    // A limited flow waits longer in proportion to the part that it does not get.
    let latency_ns = line_ns * (demand / gbps) - flow.extra_ns;
    Rate { latency_ns, gbps }
}
