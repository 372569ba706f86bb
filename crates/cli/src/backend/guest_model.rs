//! The model of a guest: what the simulator runs where its figures stand beside those of guests.
//!
//! Problem: a guest runs the worker program and a coordinator, and its clock is not that of a machine. A simulation
//! without them is of another machine. Approach: the worker program as harness, the coordinator as a background process
//! ([`coordinator`]), and the clock of timing `modelled`, in which a write costs as much as a read.

use super::{coordinator, Sim};
use crate::execute::Backend as _;
use crate::failure::Failure;
use numalab_lab::qemu::Timing;
use numalab_model::experiment::Cell;
use numalab_model::machine::Machine;
use numalab_model::plan::PlanInput;
use numalab_sim::Harness;
use std::sync::Arc;

/// The program that carries out workloads in guests of a timing. With `counters` their CPUs run at the same time.
pub fn harness(timing: Timing) -> Harness {
    match timing {
        Timing::Modelled => Harness::Worker,
        Timing::Counters => Harness::ParallelWorker,
    }
}

/// A cell of the simulator as it runs in a guest of `sim`'s harness.
///
/// # Errors
/// Those of [`PlanInput::new`].
pub fn in_guest(cell: Cell, sim: &Sim) -> Result<Cell, Failure> {
    let Cell { iteration, input } = cell;
    let conditions = input.plan.conditions.iter().cloned().chain(sim.conditions()).collect();
    let machine = Arc::new(clock_of_guest(&input.machine, sim.harness));
    let workload = Arc::new(coordinator::beside(&input.workload));
    let own = PlanInput::new(sim.name(), machine, input.kernel.clone(), workload, input.seed);
    let own = own.and_then(|own| own.under(conditions)).map_err(|e| Failure::environment(e.to_string()))?;
    Ok(Cell { iteration, input: own.with_sources(input.sources) })
}

/// The machine by the clock of its guests. That of timing `modelled` has one line in flight, and counts a line that is
/// written once, where it is fetched (docs/explanation/guest-timing.md). So a line costs what the worker's loop takes,
/// which is the time of a line in the private cache, and its latency beside it.
fn clock_of_guest(machine: &Machine, harness: Harness) -> Machine {
    let mut out = machine.clone();
    if !harness.cpus_take_turns() {
        return out;
    }
    let instructions_ns = out.cache.l2_cycles / out.clock.sustained_ghz;
    out.cache.writes_back = false;
    out.cache.llc_latency_ns += instructions_ns;
    for ns in out.latency_ns.iter_mut().flatten() {
        *ns += instructions_ns;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A near line took 199 ns in a guest of a machine with 110 ns and 89 ns of instructions, a far one 286 ns.
    #[test]
    fn a_line_costs_instructions_and_latency_and_a_write_no_more() {
        let mut machine = Machine::bare("m", Vec::new(), 2, 1 << 30);
        machine.clock.sustained_ghz = 2.9;
        machine.cache.l2_cycles = 258.1;
        machine.latency_ns = vec![vec![110.0, 200.0], vec![200.0, 110.0]];
        let guest = clock_of_guest(&machine, Harness::Worker);
        assert!((guest.latency_ns[0][0] - 199.0).abs() < 0.1 && (guest.latency_ns[0][1] - 289.0).abs() < 0.1);
        assert_eq!((guest.cache.lines_of_write(1.0), machine.cache.lines_of_write(1.0)), (1.0, 2.0));
        assert_eq!(clock_of_guest(&machine, Harness::ParallelWorker), machine);
    }
}
