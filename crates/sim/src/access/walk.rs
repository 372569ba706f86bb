//! The loop in which every access goes through memory, and what a walk has to say for it.
//!
//! Problem: a sweep, a stride and random accesses share a beginning, an end and the rules of a slice; what differs is
//! how far nothing happens, and what is met then.
//! Approach: a walk implements [`Walker`], which carries out one stretch at a time. [`go`] is the only loop.

use crate::access::access_cost::{access_cost, AccessCost};
use crate::access::progress::{finish_step, lookahead_ns};
use crate::charge::time::charge_part;
use crate::float::LINE_BYTES;
use crate::mm::fault_lock::end_of_turn;
use crate::state::cpu::Pending;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::step::Step;
use numalab_base::math::ln_1p;
use numalab_nouns::workload::Access;

/// An access during a slice: who makes it, and how far it has come.
pub(crate) struct Going<'a> {
    pub(crate) cpu: usize,
    pub(crate) task: u32,
    pub(crate) access: &'a Access,
    pub(crate) process: usize,
    /// Number of the mapping in its process.
    pub(crate) vma: usize,
    /// Some of its accesses write.
    pub(crate) write: bool,
    pub(crate) pace: AccessCost,
    /// Time at its beginning and now, ns.
    pub(crate) started: u64,
    pub(crate) clock: u64,
    /// Where the slice ends, and how far it may run ahead, ns.
    pub(crate) end: u64,
    pub(crate) limit: u64,
    /// Later faults wait for a slice that begins with them, ns.
    pub(crate) turn_end: u64,
    /// Units ([`Walker::UNIT_BYTES`]) that are done, and all.
    pub(crate) done: u64,
    pub(crate) all: u64,
    /// Time spent in the kernel, ns.
    pub(crate) kernel_ns: u64,
}

impl Going<'_> {
    /// Whether a fault now is further ahead than faults may be handled.
    #[inline]
    pub(crate) fn is_behind_turn(&self) -> bool {
        self.clock > self.turn_end
    }

    /// How long faults side by side may take from now on, ns.
    #[inline]
    pub(crate) fn room_for_faults_ns(&self) -> u64 {
        self.limit.min(self.turn_end).saturating_sub(self.clock)
    }

    /// A page of the mapping, and whether the access to it is a store.
    pub(crate) fn site(&self, chunk: usize, page: usize, write: bool) -> PageSite {
        PageSite { cpu: self.cpu, task: self.task, process: self.process, vma: self.vma, chunk, page, write }
    }
}

/// What follows a stretch.
pub(crate) enum Next {
    /// The next one, if the slice has time left.
    Go,
    /// The access leaves the CPU in this way.
    End(Step),
}

/// A walk through a span: state that holds for one slice.
pub(crate) trait Walker: Sized {
    /// Bytes of a unit of progress.
    const UNIT_BYTES: u64;
    /// Units of the whole access.
    fn units(&self, a: &Access) -> u64;
    /// How far a slice that ends at `end` may run ahead in a mapping of a process, ns.
    fn limit(sim: &Simulation<'_>, mapping: (usize, usize), end: u64) -> u64 {
        lookahead_ns(sim, mapping, end)
    }
    /// Prepares the slice. What it works out holds up to its end.
    fn begin(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>);
    /// Goes on to the next fault, or to the end of the slice or of what can be told at once.
    fn stretch(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>) -> Next;
    /// Draws from `chunks` chunks that find as many as the access touches when it is made `times` times, and as it
    /// writes to; for the prediction of memory.
    fn draws(&self, a: &Access, chunks: u64, times: f64) -> (f64, f64);
    /// Notes what the slice has done.
    fn end(&mut self, _sim: &mut Simulation<'_>, _at: &Going<'_>) {}
}

/// Carries out an access up to `end`.
pub(crate) fn go<W: Walker>(
    walker: &mut W,
    sim: &mut Simulation<'_>,
    (cpu, task): (usize, u32),
    access: &Access,
    clock: &mut u64,
    end: u64,
) -> Step {
    let pace = access_cost(sim, cpu, task, access);
    let process = sim.tasks[task as usize].process as usize;
    let vma = sim.processes[process].region_vma[access.span.region as usize] as usize;
    let mut at = Going {
        cpu,
        task,
        access,
        process,
        vma,
        write: access.write > 0.0,
        pace,
        started: *clock,
        clock: *clock,
        end,
        limit: W::limit(sim, (process, vma), end),
        turn_end: end_of_turn(sim, process),
        done: sim.tasks[task as usize].done,
        all: walker.units(access),
        kernel_ns: 0,
    };
    walker.begin(sim, &mut at);
    let mut out = Step::Go;
    while at.clock < at.limit && at.done < at.all {
        if let Next::End(step) = walker.stretch(sim, &mut at) {
            out = step;
            break;
        }
    }
    walker.end(sim, &at);
    if out == Step::Go && at.clock >= at.limit && at.limit < end {
        out = Step::Stop(Pending::Resume);
    }
    let lines = at.done.saturating_sub(sim.tasks[task as usize].done) * W::UNIT_BYTES;
    let (set, llc) = (at.pace.set as usize, sim.cpus[cpu].llc);
    sim.hw.working_sets.shared.count(set, llc, lines as f64 / LINE_BYTES as f64, access.write);
    finish_step(sim, task, access, (at.done, at.all), W::UNIT_BYTES);
    charge_part(sim, task, at.clock - at.started, at.kernel_ns);
    *clock = at.clock;
    out
}

/// Draws of a pass over the same `lines` lines each time, of `chunks` chunks: chunks that have no line are left out.
pub(crate) fn draws_of_pass(lines: f64, chunks: u64) -> (f64, f64) {
    let n = chunks as f64;
    let draws = if lines >= n { f64::INFINITY } else { -n * ln_1p(-lines / n) };
    (draws, draws)
}
