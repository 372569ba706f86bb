//! The workload language: expressions, files, the catalog, and bad input.

mod bad;
mod bad_steps;
mod catalog;
mod cpusets;
mod docs;
mod expressions;
mod fuzz;
mod language;
mod machines;
mod programs;
mod sums;

use proptest::test_runner::{Config, RngSeed};

/// Settings of the property tests: a fixed seed, so that every run has the same cases.
fn property_config() -> Config {
    Config {
        cases: Config::default().cases.max(300),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(2012),
        ..Config::default()
    }
}
