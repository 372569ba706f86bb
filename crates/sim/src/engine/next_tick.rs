//! When a CPU ticks next.

use crate::state::simulation::Simulation;

/// Next tick of a CPU strictly after now; CPUs tick at staggered offsets.
pub(crate) fn next_tick(sim: &mut Simulation<'_>, cpu: usize) -> u64 {
    let last = sim.cpus[cpu].next_tick_ns;
    if last <= sim.now_ns {
        // The next tick nearly always follows the last one, and a division costs more than the rest of this function.
        let next = last + sim.cfg.jiffy_ns();
        let follows = last > 0 && next > sim.now_ns;
        sim.cpus[cpu].next_tick_ns =
            if follows { next } else { sim.kernel.sched.tick_at_or_after(cpu as u32, sim.now_ns + 1) };
    }
    sim.cpus[cpu].next_tick_ns
}
