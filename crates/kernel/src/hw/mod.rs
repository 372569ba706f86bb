//! The modelled hardware: what an access, a copy, a flush and a cache miss cost on a [`Machine`].
//!
//! * [`math`] logarithm and exponential that give the same bits everywhere;
//! * [`rng`] the project's frozen generator and the draws made from it.
//!
//! Times are ns and rates GB/s (10^9 B/s), so that one GB/s is one byte per ns. Indices are the dense
//! ones of the machine. Nothing here knows which kernel is running or what the clock says.
//!
//! [`Machine`]: numalab_model::machine::Machine

pub mod math;
pub mod rng;
