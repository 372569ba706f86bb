//! The project's frozen random numbers.
//!
//! Problem: a run must be a pure function of its plan, on every platform and with every later version
//! of a library. Approach: the generator (xoshiro256++, seeded through splitmix64) and every
//! distribution are written here, with the deterministic logarithm of [`math`](crate::math), and their
//! first outputs are pinned by tests. Changing any of them changes every result ever recorded.
//!
//! Each (run seed, thread, purpose) has a stream of its own, so that one more draw in one place never
//! shifts the draws of another.
//!
//! * `xoshiro`: the generator and uniform draws;
//! * `draw`: exponential, normal, geometric and binomial;
//! * `split_mix64`: the generator of seeds, and of statistics;
//! * `below`: integers below a bound, for both.

mod below;
mod draw;
mod split_mix64;
mod xoshiro;

pub use split_mix64::SplitMix64;
pub use xoshiro::Rng;
