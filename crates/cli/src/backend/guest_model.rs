//! The model of a guest: what the simulator runs where its figures stand beside those of guests.
//!
//! Problem: a guest runs the worker program and a coordinator, and its clock is not that of a machine. A simulation
//! without them is of another machine. Approach: the worker program as harness, the coordinator as a background process
//! ([`coordinator`]), and the clock of timing `modelled`, in which a write costs as much as a read.

use super::coordinator;
use super::sim::Sim;
use crate::execute::Backend as _;
use crate::failure::Failure;
use numalab_lab::qemu::Timing;
use numalab_model::experiment::Cell;
use numalab_model::machine::Machine;
use numalab_model::plan::PlanInput;
use numalab_model::workload::{Access, Op, Workload};
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
    let mut workload = coordinator::beside(&input.workload);
    if sim.harness.cpus_take_turns() {
        deduct_loops(&mut workload, instructions_ns(&input.machine));
    }
    let workload = Arc::new(workload);
    let own = PlanInput::new(sim.name(), machine, input.kernel.clone(), workload, input.seed);
    let own = own.and_then(|own| own.under(conditions)).map_err(|e| Failure::environment(e.to_string()))?;
    Ok(Cell { iteration, input: own.with_sources(input.sources) })
}

/// Time of the worker's loop per line, ns: what the machine file has for a line in the private cache.
fn instructions_ns(machine: &Machine) -> f64 {
    machine.cache.l2_cycles / machine.clock.sustained_ghz
}

/// The machine by the clock of its guests. That of timing `modelled` has one line in flight. It counts a line that is
/// written once, where it is fetched, and one that another core has written as any other of the cache
/// (docs/explanation/guest-timing.md). So a line costs what the worker's loop takes, and its latency beside it.
fn clock_of_guest(machine: &Machine, harness: Harness) -> Machine {
    let mut out = machine.clone();
    if !harness.cpus_take_turns() {
        return out;
    }
    let loop_ns = instructions_ns(machine);
    out.cache.writes_back = false;
    out.cache.llc_latency_ns += loop_ns;
    for ns in out.latency_ns.iter_mut().flatten() {
        *ns += loop_ns;
    }
    out.cache.core_to_core_ns = [Some(out.cache.llc_latency_ns); 3];
    out
}

/// Takes the worker's loop off the cost of every access: the worker spins only for what its own instructions leave.
fn deduct_loops(workload: &mut Workload, loop_ns: f64) {
    // Threads share lists of ops, and go on sharing them.
    let mut done: Vec<(*const Op, Arc<[Op]>)> = Vec::new();
    for process in &mut workload.processes {
        for ops in std::iter::once(&mut process.prologue).chain(process.threads.iter_mut().map(|t| &mut t.ops)) {
            let key = ops.as_ptr();
            if let Some((_, known)) = done.iter().find(|(k, _)| *k == key) {
                *ops = known.clone();
                continue;
            }
            let own: Arc<[Op]> = ops.iter().map(|op| deducted(op, loop_ns)).collect();
            // The old list stays alive in the input, so its address names it.
            done.push((key, own.clone()));
            *ops = own;
        }
    }
}

fn deducted(op: &Op, loop_ns: f64) -> Op {
    match op {
        Op::Access(a) => Op::Access(Access { compute_ns: (a.compute_ns - loop_ns).max(0.0), ..*a }),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_model::access::Pattern;
    use numalab_model::workload::Span;

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
        assert_eq!(guest.cache.core_to_core_ns[2], Some(guest.cache.llc_latency_ns));
        assert_eq!(clock_of_guest(&machine, Harness::ParallelWorker), machine);
    }

    #[test]
    fn the_loop_counts_towards_the_cost_of_an_access() {
        let left = |compute_ns: f64| {
            let span = Span { region: 0, offset_bytes: 0, len_bytes: 4096 };
            let pattern = Pattern::sequential();
            let access = Access { span, pattern, write: 1.0, bypass: false, compute_ns, accesses: 1, score: None };
            match deducted(&Op::Access(access), 89.0) {
                Op::Access(a) => a.compute_ns,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([4.0, 89.0, 100.0].map(left), [0.0, 0.0, 11.0]);
    }
}
