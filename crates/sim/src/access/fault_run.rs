//! Faults of random accesses, one after the other, as one step.
//!
//! Problem: accesses between two faults were a stretch through the pipes of their own, and a process that comes to a
//! large pool faults every microsecond.
//! Approach: faults that do not interfere with other processes ([`fault_ahead`]) follow each other in one *run*. It
//! ends with the slice, with the accesses of the step, at the first other fault, and where the task leaves its CPU.
//! Its lines cross the pipes as one stretch over its whole time.
//! What is left out: where pages are holds for the run; when lines cross is not told apart within it.

use crate::access::random_pages::{RandomPages, Weights};
use crate::access::walk::Going;
use crate::charge::blocking::is_blocked;
use crate::fault::fault_ahead::fault_ahead;
use crate::numa::grain_refusals::batched_page_fault;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use numalab_kernel::mm::PendingKind;

/// A page that an access has met: chunk, page, and whether it is a store.
pub(crate) type Met = (usize, usize, bool);

/// Accesses up to the next fault that is no part of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Accesses, that with the last fault among them.
    pub(crate) accesses: u64,
    /// Time of the faults between them, ns.
    pub(crate) kernel_ns: u64,
    pub(crate) end: End,
}

/// How a run ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// Without a fault.
    None,
    /// The last access faults, on a page that is not drawn yet.
    Fault,
    /// The last access faults on this page.
    Met(Met),
    /// The last access has faulted on this page, and the task leaves its CPU.
    Left(Met, Step),
}

/// Draws the page of a kind on which an access faults, of about `more` accesses to come with these weights; `None` if
/// it goes on.
pub(crate) fn draw_fault(
    sim: &mut Simulation<'_>,
    at: &Going<'_>,
    pages: &RandomPages,
    (kind, weights): (PendingKind, &Weights),
    more: u64,
) -> Option<Met> {
    let more = weights.expected(kind, more, pages.count());
    let vma = sim.processes[at.process].space.vma(at.vma);
    let span = pages.span(at, vma, kind);
    let (chunk, page) = sim.pending_counts.draw(&span, more, &sim.mm.shared, &mut sim.rng)?;
    // Where only stores fault, a read goes on. Of the lines of a block in a page, one at least is written.
    let always =
        kind == PendingKind::ReadOnly || at.access.write >= 1.0 || at.access.pattern.scattered_block_bytes().is_some();
    let store = at.write && (always || sim.rng.unit() < at.access.write);
    if !store && !vma.is_pending(chunk, page, false) {
        return None;
    }
    pages.faults(sim, &at.site(chunk, page, store), kind).then_some((chunk, page, store))
}

/// Goes on with accesses of `per_access` ns each, and with their faults, for as long as they are a run. It has at most
/// `most` accesses.
pub(crate) fn fault_run(
    sim: &mut Simulation<'_>,
    at: &mut Going<'_>,
    pages: &RandomPages,
    (per_access, most): (f64, u64),
) -> Run {
    let drawn = sim.tasks[at.task as usize].drawn_accesses;
    if drawn > 0 {
        return Run { accesses: most.min(drawn), kernel_ns: 0, end: End::None };
    }
    let mut run = Run { accesses: 0, kernel_ns: 0, end: End::None };
    let room_ns = at.limit - at.clock;
    loop {
        let weights = pages.weights((&sim.pending_counts, sim.mm.lru_batches.of_objects()), at.pace.span);
        let sum = weights.sum();
        let to_fault = if sum == 0.0 { u64::MAX } else { sim.rng.next_success(sum / pages.count()) };
        let spent_ns = run.accesses as f64 * per_access + run.kernel_ns as f64;
        let room = ((room_ns as f64 - spent_ns).max(0.0) / per_access) as u64 + 1;
        let left = room.min(most - run.accesses);
        run.accesses += left.min(to_fault);
        if to_fault > left {
            return run;
        }
        let met = match pages.kind(sim, &weights) {
            Some(kind) => draw_fault(sim, at, pages, (kind, &weights), left - to_fault),
            None => {
                let clock = clock_of(at, &run, per_access);
                run.kernel_ns += batched_page_fault(sim, &at.site(0, 0, false), pages.range(), clock);
                None
            }
        };
        let Some(met) = met else {
            if run.accesses == most || left == to_fault {
                return run;
            }
            continue;
        };
        if clock_of(at, &run, per_access) > at.turn_end {
            run.end = End::Met(met);
            return run;
        }
        run.end = fault(sim, at, met, (per_access, &mut run));
        let ends = !matches!(run.end, End::None) || run.accesses == most;
        let out_of_time = run.accesses as f64 * per_access + run.kernel_ns as f64 >= room_ns as f64;
        if ends || out_of_time || !sim.task_migrations.decided.is_empty() || is_blocked(sim, at.task) {
            return run;
        }
    }
}

/// When the next access of a run begins, ns.
fn clock_of(at: &Going<'_>, run: &Run, per_access: f64) -> u64 {
    at.clock + run.kernel_ns + (run.accesses as f64 * per_access) as u64
}

/// Handles a fault of a run, and adds its time. Returns how the run ends with it.
fn fault(sim: &mut Simulation<'_>, at: &Going<'_>, met: Met, (per_access, run): (f64, &mut Run)) -> End {
    let (chunk, page, store) = met;
    let clock = clock_of(at, run, per_access);
    let before = sim.processes[at.process].space.vma(at.vma).pending_of_chunk(chunk);
    let Some((ns, fate)) = fault_ahead(sim, &at.site(chunk, page, store), clock) else { return End::Met(met) };
    run.kernel_ns += ns;
    if let Some(stop) = fate.stops() {
        return End::Left(met, stop);
    }
    if fate != FaultEnd::Go {
        return End::None;
    }
    let vma = sim.processes[at.process].space.vma(at.vma);
    sim.pending_counts.resolved(at.pace.span, &before.saturating_sub(&vma.pending_of_chunk(chunk)));
    if vma.is_pending(chunk, page, store) {
        End::Met(met)
    } else {
        End::None
    }
}
