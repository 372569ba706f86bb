//! Computing for a given CPU time.
//!
//! `compute` in a workload means CPU time at full speed of an unshared core, so it is carried out as a
//! number of loop turns, not as a wait for a clock: a thread that shares its core or CPU takes longer.
//! The turns per second are measured once, by the coordinator, before anything runs. The best of several
//! short trials is taken: under emulation and on busy hosts every disturbance makes a trial slower.

use crate::sys;
use std::hint::black_box;

/// Turns `turns` times through an empty loop that the compiler keeps.
#[inline(never)]
pub fn spin(turns: u64) {
    let mut i = 0u64;
    while i < turns {
        i = black_box(i) + 1;
    }
}

/// Loop turns per second of this CPU.
pub fn calibrate() -> u64 {
    let turns = 20_000u64;
    let best = (0..9).map(|_| time_ns(|| spin(turns))).min().unwrap_or(1).max(1);
    (u128::from(turns) * 1_000_000_000 / u128::from(best)) as u64
}

/// Elapsed time of `work`, ns.
pub fn time_ns(work: impl FnOnce()) -> u64 {
    let start = sys::now_ns();
    work();
    sys::now_ns() - start
}

/// Turns for `ns` of CPU time at `per_second` turns per second.
pub fn turns(ns: f64, per_second: u64) -> f64 {
    ns.max(0.0) * per_second as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_the_rate() {
        assert_eq!(turns(1000.0, 2_000_000_000), 2000.0);
        assert_eq!(turns(-5.0, 2_000_000_000), 0.0);
    }

    #[test]
    fn calibrated_spin_takes_about_its_time() {
        let rate = calibrate();
        let n = turns(2e6, rate) as u64;
        let best = (0..5).map(|_| time_ns(|| spin(n))).min().unwrap();
        assert!((1_000_000..6_000_000).contains(&best), "2 ms of compute took {best} ns");
    }
}
