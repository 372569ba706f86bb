//! The random numbers of the project. They are frozen: changing one of them changes every recorded result.
//!
//! Problem: a run must be a pure function of its plan, on every platform and with every later version of a library.
//! Approach: the generator (xoshiro256++, seeded by SplitMix64) and all distributions are written here, with the
//! deterministic logarithm of [`math`](crate::math). Tests pin their first outputs.
//!
//! Every (run seed, thread, purpose) has its own stream, so that one more draw for one purpose does not shift the
//! draws for another.
//!
//! * `xoshiro`: the generator and uniform draws;
//! * `draw`: exponential, normal, geometric and binomial; `ziggurat`: a quicker exponential;
//! * `split_mix64`: the generator of seeds, and of statistics and tests;
//! * `below`: integers below a bound, for both generators.

mod below;
mod draw;
mod split_mix64;
mod xoshiro;
mod ziggurat;

pub use split_mix64::SplitMix64;
pub use xoshiro::Rng;
