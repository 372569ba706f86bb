//! Core clock by the number of busy cores of a socket.
//!
//! The cores of a socket share its power. The dynamic power of a core grows about with the cube of its clock, because
//! the voltage follows the clock. With `n` of `N` cores busy, each can run at
//!
//! ```text
//!   f(n) = min(single, sustained * (N/n)^(1/3))
//! ```
//!
//! This is the sustained clock with all cores busy, and at most the clock of a single core. Boost without fixed bins
//! works like this (Zen from 2018 on: "as many cores as the power budget allows"). Machines without boost have `single
//! = sustained` and always run at that clock.
//!
//! Units: speeds relative to the sustained clock. A single-core clock below the sustained one is ignored, so speeds
//! are at least 1.

use numalab_base::math::powf;
use numalab_nouns::machine::Machine;

/// Speed of a core by the number of busy cores of its socket.
#[derive(Clone, Debug, PartialEq)]
pub struct Boost {
    /// Relative speed with `n` busy cores, for `n` from 0 to all cores of a socket.
    speed: Vec<f64>,
}

impl Boost {
    /// Speeds for the sockets of `machine`; where sockets differ, those of the largest.
    pub fn new(machine: &Machine) -> Self {
        let mut cores = vec![0usize; machine.sockets.max(1)];
        let mut seen = vec![false; machine.cores];
        for cpu in &machine.cpus {
            if !std::mem::replace(&mut seen[cpu.core], true) {
                cores[cpu.socket] += 1;
            }
        }
        let all = cores.iter().copied().max().unwrap_or(1).max(1);
        let most = (machine.clock.single_ghz / machine.clock.sustained_ghz).max(1.0);
        let at = |n: usize| most.min(powf(all as f64 / n.max(1) as f64, 1.0 / 3.0));
        Self { speed: (0..=all).map(at).collect() }
    }
    /// Speed, relative to the sustained clock, with `busy` cores of the socket busy.
    #[inline]
    pub fn speed(&self, busy: usize) -> f64 {
        self.speed[busy.min(self.speed.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::shapes::Shape;

    fn boost(sustained: f64, single: f64) -> Boost {
        let mut machine = Shape::t1().machine("t1");
        machine.clock.sustained_ghz = sustained;
        machine.clock.single_ghz = single;
        Boost::new(&machine)
    }

    #[test]
    fn all_cores_run_at_the_sustained_clock_and_few_at_the_single_one() {
        let b = boost(3.0, 3.6);
        assert_eq!(b.speed(64), 1.0);
        assert_eq!(b.speed(1), 1.2);
        assert_eq!(b.speed(0), 1.2);
        // The power budget allows 64 / 1.2^3 = 37.04 cores to run at the single-core clock.
        assert_eq!(b.speed(37), 1.2);
        assert!(b.speed(38) < 1.2);
        assert!((b.speed(48) - 1.100_642).abs() < 1e-6, "cube root of 4/3: {}", b.speed(48));
        assert_eq!(b.speed(1000), 1.0);
    }

    #[test]
    fn a_fixed_clock_stays_fixed() {
        let b = boost(1.87, 1.87);
        assert!((0..=64).all(|n| b.speed(n) == 1.0));
        assert!((0..=64).all(|n| boost(3.0, 2.0).speed(n) == 1.0), "a lower single clock counts for nothing");
    }
}
