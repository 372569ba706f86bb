//! The published curve of latency against load, against which the solver is tested.

use numalab_kernel::hw::contention::UTILISATION_CAP;

/// The published queueing curve (machines.md section 6.1, vector 13), ns: idle latency `base_ns`, coefficient `q`,
/// utilisation `u` (0..), and `knee`, the part of the bandwidth at which the curve ends (1 for DRAM and links).
pub fn queue_ns(base_ns: f64, q: f64, u: f64, knee: f64) -> f64 {
    let u = (u / knee).clamp(0.0, UTILISATION_CAP);
    q * base_ns * u / (1.0 - u)
}
