//! Parameters of the contention model (machines.md section 6).

/// Highest utilisation of a resource.
pub const UTILISATION_CAP: f64 = 0.96;
/// Longest queue: `u/(1-u)` at [`UTILISATION_CAP`].
pub(super) const QUEUE_CAP: f64 = UTILISATION_CAP / (1.0 - UTILISATION_CAP);
/// Queueing coefficient q of DRAM.
pub const DRAM_Q: f64 = 0.125;
/// Queueing coefficient q of a link direction.
pub const LINK_Q: f64 = 0.15;
/// Queueing coefficient q of a CXL expander.
pub const CXL_Q: f64 = 0.25;
/// Part of a CXL expander's bandwidth at which its queue is as long as that of DRAM at full bandwidth.
pub const CXL_KNEE: f64 = 0.8;
/// Part of the bandwidth lost when all traffic is writes.
pub const WRITE_PENALTY: f64 = 0.25;
/// Largest part of a resource that background copies can load, so that threads never stop (model).
pub const BACKGROUND_CAP: f64 = 0.8;
/// Line size, bytes.
pub const LINE_BYTES: f64 = 64.0;
/// Size of a snoop message or its answer on a link, bytes: one flit, which carries 8 (Intel Xeon Processor 7500 Series
/// Uncore Programming Guide, 2010: a data response has 9 flits for 64 bytes, home and snoop messages have 1).
pub const MESSAGE_BYTES: f64 = 8.0;

/// Load of one byte of traffic with write share `write`, relative to a byte read.
pub(super) fn byte_weight(write: f64) -> f64 {
    1.0 / (1.0 - WRITE_PENALTY * write.clamp(0.0, 1.0))
}
