//! What the CPUs share: hardware threads of a core, clock rates, lines that go from cache to cache.

use crate::state::cpu::CpuState;
use crate::state::simulation::Simulation;
use crate::state::task::Activity;
use numalab_kernel::hw::smt::{stream_share, Sibling};
use numalab_nouns::machine::Machine;

/// What the other hardware threads of the core do.
pub(crate) fn sibling(sim: &Simulation<'_>, cpu: usize) -> Sibling {
    let (mut out, mut working) = (Sibling::Idle, 0);
    for &s in &sim.cpus[cpu].siblings {
        match sim.cpus[s as usize].task.map(|t| sim.tasks[t as usize].activity) {
            None => {}
            Some(Activity::Spinning { .. }) if out == Sibling::Idle => out = Sibling::Spinning,
            Some(Activity::Spinning { .. }) => {}
            Some(_) => {
                working += 1;
                out = Sibling::Working(working);
            }
        }
    }
    out
}

/// Clock rate of a CPU relative to the sustained rate.
pub(crate) fn boost(sim: &Simulation<'_>, cpu: usize) -> f64 {
    sim.hw.boost.speed(sim.hw.busy_cores[sim.machine.cpus[cpu].socket] as usize)
}

/// Cache lines that the receiver of a message reads one after the other: queue, descriptor, lock, head (estimate).
const MESSAGE_LINES: f64 = 10.0;

/// Time for CPU `to` to read a message that CPU `from` has just written, ns. Dirty lines come from the other CPU's
/// cache.
pub(crate) fn message_ns(machine: &Machine, cpus: &[CpuState], from: usize, to: usize) -> u64 {
    let (from, to) = (&cpus[from], &cpus[to]);
    if from.llc == to.llc {
        return 0;
    }
    (MESSAGE_LINES * machine.core_to_core_ns(to.llc, from.llc)) as u64
}

/// How many times longer than on the idle machine a copy by `cpu` from memory of node `from` to memory of node `to`
/// takes. The slower of the read and the write decides. Beside a busy hardware thread the copy has a stream's share of
/// the core's lines in flight (machines.md section 7).
pub(crate) fn copy_slowdown(sim: &Simulation<'_>, cpu: usize, from: usize, to: usize) -> f64 {
    let here = sim.cpus[cpu].node;
    let leg = |memory| sim.hw.costs.copy_4k_ns(here, memory, sim.hw.contention.latency_factor(here, memory));
    let slower = (leg(from).max(leg(to)) / sim.hw.costs.copy_4k_ns(from, to, 1.0)).max(1.0);
    slower / stream_share(sibling(sim, cpu))
}
