//! Parameters of the contention model, and the queueing curve that they define.

/// Highest utilisation of a resource.
pub const UTILISATION_CAP: f64 = 0.96;
/// Longest queue, `u/(1-u)` at the cap.
pub(super) const QUEUE_CAP: f64 = UTILISATION_CAP / (1.0 - UTILISATION_CAP);
/// Queueing coefficient q of DRAM.
pub const DRAM_Q: f64 = 0.125;
/// Queueing coefficient q of a link direction.
pub const LINK_Q: f64 = 0.15;
/// Queueing coefficient q of a CXL expander.
pub const CXL_Q: f64 = 0.25;
/// Part of a CXL expander's bandwidth at which its queue behaves as DRAM's does at all of it.
pub const CXL_KNEE: f64 = 0.8;
/// Part of the bandwidth lost when all traffic is writes.
pub const WRITE_PENALTY: f64 = 0.25;
/// Part of a DRAM's bandwidth that random lines reach.
pub const RANDOM_FACTOR: f64 = 0.6;
/// Background copies are counted up to this part of what a resource can deliver, so that threads never stop (model).
pub const BACKGROUND_CAP: f64 = 0.8;
/// Line size, bytes.
pub const LINE_BYTES: f64 = 64.0;
/// A snoop or its answer on a link, bytes: one flit, which carries 8 (Intel Xeon Processor 7500 Series Uncore
/// Programming Guide, 2010: a data response is 9 flits for 64 bytes, home and snoop messages are 1).
pub const MESSAGE_BYTES: f64 = 8.0;
/// Queueing term of a resource, ns: idle latency `base_ns`, coefficient `q`, utilisation `u` (0..), and
/// `knee`, the part of the bandwidth at which the curve ends (1 for DRAM and links, [`CXL_KNEE`] for CXL). The published
/// curve itself (machines.md section 6.1, vector 13), against which tests hold the solver, which works with queue lengths.
pub fn queue_ns(base_ns: f64, q: f64, u: f64, knee: f64) -> f64 {
    let u = (u / knee).clamp(0.0, UTILISATION_CAP);
    q * base_ns * u / (1.0 - u)
}
