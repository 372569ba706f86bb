//! Statistics only: no I/O, no clock, no report layout.
//!
//! Problem: kernel people read comparison tables whose figures follow the rules of mmtests; newer rules
//! (Welch, Mann-Whitney, bootstrap, Holm) say more about a difference but must stand beside them, not replace them.
//! Approach: one file per idea, every function pure over slices of `f64`; `None` where a figure does not exist
//! (a standard deviation of one sample, a harmonic mean with a zero), never a silent 0.
//! Units: whatever the samples are in; percentages are in percent, probabilities in 0 to 1.
//! Invariant: the same input gives the same output everywhere; random methods take a seed and use [`SplitMix64`](numalab_base::rng::SplitMix64).
//!
//! Source of the mmtests rules: mmtests-report.md §1.4 to §1.6.

pub mod describe;
pub mod dist;
pub mod holm;
pub mod mann_whitney;
pub mod percent;
pub mod power;
pub mod resample;
pub mod star;
pub mod welch;

pub use describe::{Better, Mean};
pub use star::{StarRule, Verdict};
