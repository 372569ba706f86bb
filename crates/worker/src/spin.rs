//! Computation for a given CPU time, as turns of an empty loop.
//!
//! `compute` in a workload means CPU time at the full speed of an unshared core. It is carried out as a number of loop
//! turns and not as a wait for a clock, so a thread that shares its core or CPU takes longer. The coordinator measures
//! the turns per second once, before the workload starts. A trial lasts several ms: in a deterministic guest CPUs run
//! in turns of up to a ms, and a shorter trial would see one turn only. The second fastest of several trials counts,
//! because disturbances make trials slower, and the fastest may be an outlier.

use crate::sys;
use std::hint::black_box;

/// Runs `turns` turns of an empty loop that the compiler does not remove.
#[inline(never)]
pub fn spin(turns: u64) {
    let mut i = 0u64;
    while i < turns {
        i = black_box(i) + 1;
    }
}

/// Least time of a trial, ns.
const TRIAL_NS: u64 = 4_000_000;
/// Number of trials; the second fastest counts.
const TRIALS: usize = 5;

/// Loop turns per second of this CPU.
pub fn calibrate() -> u64 {
    calibrate_by(sys::now_ns)
}

/// Time per unit of `work`, which does `units` units at a call, ps. A trial repeats `work` until it lasts long enough.
pub fn cost_ps(units: u64, work: &mut dyn FnMut()) -> f64 {
    cost_ps_by(sys::now_ns, units, work)
}

/// [`calibrate`] by a clock in ns.
fn calibrate_by(clock: fn() -> u64) -> u64 {
    (1e12 / cost_ps_by(clock, 1000, &mut || spin(1000))) as u64
}

/// [`cost_ps`] by a clock in ns.
fn cost_ps_by(clock: fn() -> u64, units: u64, work: &mut dyn FnMut()) -> f64 {
    let mut repeats = 1u64;
    let mut trial = |repeats: u64| time_ns(clock, || (0..repeats).for_each(|_| work()));
    while trial(repeats) < TRIAL_NS && repeats < 1 << 30 {
        repeats *= 2;
    }
    let mut times: Vec<u64> = (0..TRIALS).map(|_| trial(repeats)).collect();
    times.sort_unstable();
    (times[1] as f64 * 1000.0 / (repeats * units.max(1)) as f64).max(1.0)
}

/// Time that `work` takes by a clock, ns.
fn time_ns(clock: fn() -> u64, work: impl FnOnce()) -> u64 {
    let start = clock();
    work();
    clock() - start
}

/// Number of turns for `ns` of CPU time at `per_second` turns per second.
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

    /// CPU time of this thread, ns: it does not pass while another thread has the CPU.
    fn cpu_ns() -> u64 {
        sys::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    #[test]
    fn calibrated_spin_takes_about_its_time() {
        // A CPU changes its frequency, and shares its core with others, between a calibration and what follows. So a
        // few are made, and a factor of ten is allowed: a wrong unit is a factor of a thousand in all of them.
        let spun_ns = || {
            let n = turns(2e6, calibrate_by(cpu_ns)) as u64;
            (0..5).map(|_| time_ns(cpu_ns, || spin(n))).min().unwrap()
        };
        let tries: Vec<u64> = (0..10).map(|_| spun_ns()).collect();
        assert!(tries.iter().any(|ns| (200_000..20_000_000).contains(ns)), "2 ms of compute took {tries:?} ns");
    }
}
