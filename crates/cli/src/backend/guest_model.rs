//! The model of a guest: what the simulator runs where its figures stand beside those of guests.
//!
//! Problem: a guest runs the worker program and a coordinator, and its clock is not that of a machine. A simulation
//! without them is of another machine. Approach: the worker program as harness, the coordinator as a background process
//! ([`coordinator`]), and the clock of timing `modelled`, in which a write costs as much as a read. A program that runs
//! itself has the same beside it but the worker's loops.

use super::coordinator;
use super::sim::Sim;
use crate::execute::Backend as _;
use crate::failure::Failure;
use numalab_lab::qemu::{Timing, DEFAULT_SHIFT};
use numalab_model::access::{Traffic, Walk, LINE_BYTES};
use numalab_model::experiment::Cell;
use numalab_model::machine::Machine;
use numalab_model::plan::PlanInput;
use numalab_model::workload::{Access, Op, Workload};
use numalab_sim::Harness;
use std::sync::Arc;

/// File of a record that holds a machine which is in no file of its own: that of `numalab validate`.
pub const CALIBRATED: &str = "machine.txt";

/// Who carries out a workload in the guest that is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AsGuest {
    /// The program that the workload was fitted to (`run --backend vm -- PROGRAM`)
    Program,
    /// The worker program, as it carries out every workload (`run --backend vm --workload`)
    Worker,
}

impl AsGuest {
    /// The model of such a guest of timing `modelled`.
    pub fn harness(self) -> Harness {
        match self {
            Self::Program => Harness::GuestProgram,
            Self::Worker => Harness::Worker,
        }
    }
}

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
    if sim.harness.cpus_take_turns() && sim.harness.is_worker() {
        let turns = TURN * INSTRUCTION_NS * others_busy(&workload, input.machine.cpus.len());
        with_loops(&mut workload, written_line_ns(&input.machine) + turns);
    }
    let workload = Arc::new(workload);
    let own = PlanInput::new(sim.name(), machine, input.kernel.clone(), workload, input.seed);
    let own = own.and_then(|own| own.under(conditions)).map_err(|e| Failure::environment(e.to_string()))?;
    Ok(Cell { iteration, input: own.with_sources(input.sources) })
}

/// Time of an instruction of a guest, ns.
const INSTRUCTION_NS: f64 = (1u64 << DEFAULT_SHIFT) as f64;
/// Instructions that a line drawn at random takes more than a swept one. Source of this and the next three: lines of
/// 128 KiB that lie in the private cache, by one thread of a guest. Swept 80.1 and written 88.6 ns, half of them 85.7;
/// random 193 ns; dependent 207.6 and written 226 ns. With four and eight threads swept lines took 82 and 90 ns.
const RANDOM: f64 = 14.0;
/// The same where its address depends on the value before.
const DEPENDENT: f64 = 16.0;
/// Instructions that a swept line takes more if it is written.
const WRITE: f64 = 1.0;
/// The same for a line drawn at random.
const RANDOM_WRITE: f64 = 2.0;
/// Instructions that a swept line takes more if the access counts to a score, 29 a page: swept lines of the same memory
/// without a score take 75.9, 81.0 and 84.0 ns by one thread, with one 80.4, 83.8 and 87.6 (read, half of them written,
/// written).
const COUNT: f64 = 0.45;
/// Instructions that a line takes more for each other busy CPU, since turns end: by the mean of swept lines as above
/// 0.45 ns with two busy CPUs, 1.8 with four and 2.6 with eight.
const TURN: f64 = 0.05;

/// Number of CPUs that are busy beside a thread that sweeps memory again and again.
fn others_busy(workload: &Workload, cpus: usize) -> f64 {
    let threads = workload.processes.iter().flat_map(|p| &p.threads).filter(|t| repeats_accesses(&t.ops)).count();
    threads.min(cpus).saturating_sub(1) as f64
}

/// Whether a loop of these ops accesses memory.
fn repeats_accesses(ops: &[Op]) -> bool {
    let mut depth = 0_usize;
    ops.iter().any(|op| {
        match op {
            Op::LoopStart(_) => depth += 1,
            Op::LoopEnd => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > 0 && matches!(op, Op::Access(_))
    })
}

/// Time of the worker's loop for a swept line that is written and counts to a score, ns: what the machine file has for
/// a line in the private cache. Calibrations sweep, write and count.
fn written_line_ns(machine: &Machine) -> f64 {
    machine.cache.l2_cycles / machine.clock.sustained_ghz
}

/// Time of the worker's instructions for a line of an access, ns.
fn loop_ns(a: &Access, written_line_ns: f64) -> f64 {
    let (walk, write) = match (a.pattern.walk(), a.pattern.traffic()) {
        (Walk::Sweep(_) | Walk::Stride { .. }, _) => (0.0, WRITE),
        (Walk::Random(_), Traffic::Dependent) => (DEPENDENT, RANDOM_WRITE),
        (Walk::Random(_), _) => (RANDOM, RANDOM_WRITE),
    };
    let swept = matches!(a.pattern.walk(), Walk::Sweep(_) | Walk::Stride { .. });
    let uncounted = if swept && a.score.is_none() { COUNT } else { 0.0 };
    written_line_ns + (walk + write * a.write - WRITE - uncounted) * INSTRUCTION_NS
}

/// The machine by the clock of its guests. That of timing `modelled` has one line in flight, and one in the private
/// cache costs nothing beside instructions. It counts a line that is written once, where it is fetched, and one that
/// another core has written as any other of the cache (docs/explanation/guest-timing.md).
fn clock_of_guest(machine: &Machine, harness: Harness) -> Machine {
    let mut out = machine.clone();
    if !harness.cpus_take_turns() {
        return out;
    }
    out.cache.writes_back = false;
    out.cache.l2_cycles = 1.0;
    out.cache.llc_stream_gbps = LINE_BYTES as f64 / out.cache.llc_latency_ns;
    out.cache.core_to_core_ns = [Some(out.cache.llc_latency_ns); 3];
    out
}

/// Gives every access the time of the worker's loop: the worker spins for what that leaves of the cost of a line. With
/// one line in flight a thread computes and waits by turns, so this is beside the latency of the line.
fn with_loops(workload: &mut Workload, written_line_ns: f64) {
    // Threads share lists of ops, and go on sharing them.
    let mut done: Vec<(*const Op, Arc<[Op]>)> = Vec::new();
    for process in &mut workload.processes {
        for ops in std::iter::once(&mut process.prologue).chain(process.threads.iter_mut().map(|t| &mut t.ops)) {
            let key = ops.as_ptr();
            if let Some((_, known)) = done.iter().find(|(k, _)| *k == key) {
                *ops = known.clone();
                continue;
            }
            let own: Arc<[Op]> = ops.iter().map(|op| with_loop(op, written_line_ns)).collect();
            // The old list stays alive in the input, so its address names it.
            done.push((key, own.clone()));
            *ops = own;
        }
    }
}

fn with_loop(op: &Op, written_line_ns: f64) -> Op {
    match op {
        Op::Access(a) => Op::Access(Access { compute_ns: a.compute_ns.max(loop_ns(a, written_line_ns)), ..*a }),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_model::access::Pattern;
    use numalab_model::workload::{Bound, Span};

    #[test]
    fn a_write_costs_no_more_than_a_read_and_a_cached_line_its_latency() {
        let mut machine = Machine::bare("m", Vec::new(), 2, 1 << 30);
        (machine.cache.l2_cycles, machine.cache.llc_latency_ns) = (258.1, 13.5);
        let guest = clock_of_guest(&machine, Harness::Worker);
        assert_eq!((guest.cache.lines_of_write(1.0), machine.cache.lines_of_write(1.0)), (1.0, 2.0));
        assert_eq!(
            (guest.cache.core_to_core_ns[2], guest.latency_ns.clone()),
            (Some(13.5), machine.latency_ns.clone())
        );
        assert!((64.0 / guest.cache.llc_stream_gbps - 13.5).abs() < 1e-9);
        assert_eq!(clock_of_guest(&machine, Harness::ParallelWorker), machine);
    }

    #[test]
    fn threads_that_repeat_accesses_are_the_busy_ones() {
        let access = Op::Access(Access {
            span: Span { region: 0, offset_bytes: 0, len_bytes: 4096 },
            pattern: Pattern::sequential(),
            write: 0.0,
            bypass: false,
            compute_ns: 0.0,
            accesses: 1,
            score: None,
        });
        let looped = [Op::LoopStart(Bound::Count(2)), access.clone(), Op::LoopEnd];
        assert!(repeats_accesses(&looped));
        assert!(!repeats_accesses(&[Op::LoopStart(Bound::Count(2)), Op::LoopEnd, access]));
    }

    /// In guests of 8 ns an instruction: 80.4 and 87.6 ns, half of them written 83.8; without a score 75.9, 84.0 and
    /// 81.0; 193; 207.6 and 226.
    #[test]
    fn a_line_costs_the_instructions_of_its_walk_or_what_is_asked() {
        let line = |pattern: Pattern, write: f64, compute_ns: f64, score: Option<(u32, f64)>| {
            let span = Span { region: 0, offset_bytes: 0, len_bytes: 4096 };
            let access = Access { span, pattern, write, bypass: false, compute_ns, accesses: 1, score };
            match with_loop(&Op::Access(access), 89.0) {
                Op::Access(a) => a.compute_ns,
                other => panic!("{other:?}"),
            }
        };
        let cost = |pattern: Pattern, write: f64, compute_ns: f64| line(pattern, write, compute_ns, None);
        let swept = |score| [0.0, 0.5, 1.0].map(|write| line(Pattern::sequential(), write, 4.0, score));
        assert_eq!(swept(Some((0, 1.0))), [81.0, 85.0, 89.0]);
        assert_eq!(swept(None).map(|ns| (ns * 10.0).round() / 10.0), [77.4, 81.4, 85.4]);
        assert_eq!(cost(Pattern::sequential(), 0.0, 100.0), 100.0, "the worker spins for the rest");
        assert_eq!(cost(Pattern::random(), 0.0, 0.0), 193.0);
        assert_eq!([0.0, 1.0].map(|write| cost(Pattern::chase(), write, 0.0)), [209.0, 225.0]);
    }
}
