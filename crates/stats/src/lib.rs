//! Statistics only: no I/O, no clock, no report layout.
//!
//! Problem: kernel developers read comparison tables whose figures follow the rules of mmtests. Other methods (Welch,
//! Mann-Whitney, bootstrap, Holm) say more about a difference, but must be shown beside those rules and not replace
//! them.
//! Approach: one file per method; every function is pure over slices of `f64`. A figure that does not exist (a standard
//! deviation of one sample, a harmonic mean with a zero) is `None`, never a silent 0.
//! Units: figures are in the unit of the samples, percentages in percent, probabilities from 0 to 1.
//! Invariant: the same input gives the same output everywhere. Random methods take a seed and use
//! [`SplitMix64`](numalab_base::rng::SplitMix64).
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
