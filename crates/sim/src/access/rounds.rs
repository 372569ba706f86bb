//! Rounds of a loop whose ops go on side by side.
//!
//! Problem: a query of a database is a round of a loop that takes some hundred microseconds, and a million of them a
//! second each cost their steps, though they differ by chance alone.
//! Approach: where a loop only accesses memory at random, by lines or blocks, computes and counts, all its ops go on at
//! the same time, each at its share of the round. One access *leads*: progress is counted in units of it. A slice is
//! one stretch, up to its next fault, and asks the pipes for the mean of a round.
//! What is left out: the order of ops within a round. Threads come to their ops at different times, so what all of
//! them ask for together is the same. Ops of a kind in turn would bring all threads to one memory at once.

use crate::access::access_cost::access_cost;
use crate::access::random::{random_fault, Paced, Random};
use crate::access::walk::{Going, Next, Walker};
use crate::charge::blocking::is_blocked;
use crate::charge::core::{boost, sibling};
use crate::charge::time::charge_part;
use crate::mm::fault_lock::end_of_turn;
use crate::state::cpu::Pending;
use crate::state::simulation::Simulation;
use crate::state::step::Step;
use crate::state::task::LoopFrame;
use numalab_kernel::hw::smt;
use numalab_nouns::access::Walk;
use numalab_nouns::workload::{Access, Op};

/// Most accesses of a round beside the leading one.
const MOST_OTHERS: usize = 3;

/// The op that leads the rounds of the loop whose body begins at op `body`: its first access for which `leads` holds.
/// `None` if its ops do not go on side by side.
pub(crate) fn leading_op(ops: &[Op], body: usize, leads: impl Fn(&Access) -> bool) -> Option<usize> {
    let (mut leading, mut accesses) = (None, 0);
    for (op, number) in ops.get(body..)?.iter().zip(body..) {
        match op {
            Op::LoopEnd => return leading.filter(|_| accesses <= 1 + MOST_OTHERS),
            Op::Access(a) => {
                let random = matches!(a.pattern.walk(), Walk::Random(_)) && a.pattern.histogram().is_none();
                if !random && a.pattern.scattered_block_bytes().is_none() {
                    return None;
                }
                accesses += usize::from(a.accesses > 0);
                leading = leading.or_else(|| (random && a.accesses > 0 && leads(a)).then_some(number));
            }
            Op::Compute { .. } | Op::Score { .. } => {}
            _ => return None,
        }
    }
    None
}

/// Whether more than one op of the loop whose body begins at op `body` takes time. One alone is a step of many accesses
/// already.
pub(crate) fn has_several_ops(ops: &[Op], body: usize) -> bool {
    let of_round = ops.iter().skip(body).take_while(|op| !matches!(op, Op::LoopEnd));
    of_round.filter(|op| matches!(op, Op::Access(a) if a.accesses > 0) || matches!(op, Op::Compute { .. })).count() > 1
}

/// An access of a round.
struct Part<'a> {
    walker: Random,
    at: Going<'a>,
    /// Its op.
    op: usize,
    /// Accesses for each one of the leading part.
    share: f64,
}

/// A slice of rounds: its accesses, and what holds for all of them.
struct Rounds<'a> {
    leading: Part<'a>,
    others: [Option<Part<'a>>; MOST_OTHERS],
    /// Computing for each access of the leading part, ns.
    compute_ns: f64,
    /// Accesses of the leading part in a round.
    of_round: u64,
    /// Rounds that may still begin after the current one, if they are counted, and up to when they may.
    left: u64,
    until_ns: u64,
}

/// Carries out rounds of the innermost loop of `task` up to `end`.
pub(crate) fn rounds(sim: &mut Simulation<'_>, by: (usize, u32), clock: &mut u64, end: u64) -> Step {
    let (cpu, task) = by;
    let Some(frame) = sim.tasks[task as usize].loops.last().copied() else { return Step::Go };
    let Some(mut slice) = Rounds::begin(sim, by, (*clock, end), &frame) else { return Step::Go };
    let mut out = Step::Go;
    while slice.leading.at.clock < slice.leading.at.limit && !slice.is_over() {
        if let Next::End(step) = slice.stretch(sim) {
            out = step;
            break;
        }
    }
    if out == Step::Go && slice.leading.at.clock >= slice.leading.at.limit && slice.leading.at.limit < end {
        out = Step::Stop(Pending::Resume);
    }
    *clock = slice.leading.at.clock;
    slice.end(sim, cpu);
    out
}

impl<'a> Rounds<'a> {
    /// A slice that begins now; `None` if the loop's ops are not what [`leading_op`] found.
    fn begin(sim: &mut Simulation<'a>, by: (usize, u32), (clock, end): (u64, u64), frame: &LoopFrame) -> Option<Self> {
        let (cpu, task) = by;
        let speed = smt::speed(0.0, sibling(sim, cpu)) * boost(sim, cpu);
        let t = &mut sim.tasks[task as usize];
        let (ops, leads) = (t.ops, frame.leading?);
        // An access that a fault has interrupted goes on with its own op.
        let (again, interrupted) = (t.pending_access.take(), t.pc);
        t.entered = false;
        let Op::Access(first) = ops.get(leads)? else { return None };
        let mut leading = Part::begin(sim, by, (clock, end), (leads, first), 1.0);
        leading.at.done = sim.tasks[task as usize].done;
        let (mut others, mut next, mut computing_ns) = ([const { None }; MOST_OTHERS], 0, 0);
        for (op, number) in ops[frame.body..].iter().zip(frame.body..) {
            match op {
                Op::LoopEnd => break,
                Op::Compute { ns } => computing_ns += ns,
                Op::Access(a) if number != leads && a.accesses > 0 => {
                    let share = a.accesses as f64 / first.accesses as f64;
                    *others.get_mut(next)? = Some(Part::begin(sim, by, (clock, end), (number, a), share));
                    next += 1;
                }
                _ => {}
            }
        }
        sim.tasks[task as usize].pc = leads;
        let compute_ns = computing_ns as f64 / (speed * first.accesses as f64);
        let (of_round, left, until_ns) = (first.accesses, frame.left, frame.until_ns);
        let mut slice = Self { leading, others, compute_ns, of_round, left, until_ns };
        slice.part(interrupted).walker.again = again;
        Some(slice)
    }

    /// The part of an op; the leading one for any other op.
    fn part(&mut self, op: usize) -> &mut Part<'a> {
        self.others.iter_mut().flatten().find(|p| p.op == op).unwrap_or(&mut self.leading)
    }

    /// Accesses that are left of the current round; none once the loop is over.
    fn left_of_round(&self) -> u64 {
        self.of_round - self.leading.at.done % self.of_round
    }

    /// Whether the last round has ended.
    fn is_over(&self) -> bool {
        if self.leading.walker.again.is_some() || self.others.iter().flatten().any(|p| p.walker.again.is_some()) {
            return false;
        }
        let done = self.leading.at.done;
        if self.until_ns == u64::MAX {
            return done / self.of_round > self.left;
        }
        done.is_multiple_of(self.of_round) && self.leading.at.clock >= self.until_ns
    }

    /// Accesses up to the end of the last round that may begin, each of which takes `per_access` ns.
    fn most(&self, per_access: f64) -> u64 {
        let first = self.left_of_round();
        let more = if self.until_ns == u64::MAX {
            self.left - (self.leading.at.done / self.of_round).min(self.left)
        } else {
            let after_ns = self.until_ns as f64 - (self.leading.at.clock as f64 + first as f64 * per_access);
            (after_ns.max(0.0) / (per_access * self.of_round as f64)).ceil() as u64
        };
        first.saturating_add(more.saturating_mul(self.of_round))
    }

    /// Goes on to the next fault, or to the end of the slice or of what can be told at once.
    fn stretch(&mut self, sim: &mut Simulation<'_>) -> Next {
        if is_blocked(sim, self.leading.at.task) {
            return Next::End(Step::Go);
        }
        if let Some(next) = self.finish_interrupted(sim) {
            return next;
        }
        let paced = self.leading.walker.pace(sim, &mut self.leading.at);
        let (mut per_access, mut most) = (paced.per_access + self.compute_ns, paced.most);
        let mut others = [Paced::default(); MOST_OTHERS];
        for (part, paced) in self.others.iter_mut().flatten().zip(&mut others) {
            *paced = part.walker.pace(sim, &mut part.at);
            per_access += part.share * paced.per_access;
            most = most.min((paced.most as f64 / part.share).ceil() as u64);
        }
        let (at, room_ns) = (&self.leading.at, (self.leading.at.limit - self.leading.at.clock) as f64);
        let most = most.min((room_ns / per_access) as u64 + 1).min(self.most(per_access)).max(1);
        let (most, faulting) = self.first_fault_of_others(sim, most);
        let Some(pages) = self.leading.walker.pages else { return Next::End(Step::Go) };
        let weights = pages.weights((&sim.pending_counts, sim.mm.lru_batches.of_objects()), at.pace.span);
        let leading = &mut self.leading;
        let run = leading.walker.run_ahead(sim, &mut leading.at, (&pages, &weights), (per_access, most));
        let wanted = run.accesses as f64;
        let mut lines_ns = self.leading.walker.lines_ns(1.0, paced.missing);
        self.leading.walker.want(sim, &self.leading.at, wanted, paced.missing);
        for (part, paced) in self.others.iter().flatten().zip(&others) {
            lines_ns += part.walker.lines_ns(part.share, paced.missing);
            part.walker.want(sim, &part.at, wanted * part.share, paced.missing);
        }
        let (n, stalled_ns) = Random::cross(sim, &mut self.leading.at, &run, (per_access, room_ns));
        // They stand still for what they wait for together, each for its part of it.
        let stalled_per_line_ns = if lines_ns > 0.0 { stalled_ns / lines_ns } else { 0.0 };
        self.leading.did(sim, n as f64, (paced.missing, stalled_per_line_ns));
        for (part, paced) in self.others.iter_mut().flatten().zip(&others) {
            part.at.done += (n as f64 * part.share) as u64;
            part.did(sim, n as f64 * part.share, (paced.missing, stalled_per_line_ns));
        }
        match self.leading.walker.after(sim, &mut self.leading.at, (&pages, &run), (n, most, &weights)) {
            Next::Go => {}
            end @ Next::End(_) => return end,
        }
        match faulting {
            Some(other) if n == most => self.fault_of_other(sim, other),
            _ => Next::Go,
        }
    }

    /// Makes the access of another part again that a fault has interrupted, if there is one.
    fn finish_interrupted(&mut self, sim: &mut Simulation<'_>) -> Option<Next> {
        if let Some(again) = self.leading.walker.again.take() {
            self.leading.at.done += 1;
            return Some(random_fault(sim, &mut self.leading.at, again));
        }
        let other = self.others.iter().flatten().position(|p| p.walker.again.is_some())?;
        Some(self.fault_of_other(sim, other))
    }

    /// Of `most` accesses of the leading part, those up to the first fault of another one, and which part that is.
    fn first_fault_of_others(&self, sim: &mut Simulation<'_>, mut most: u64) -> (u64, Option<usize>) {
        let mut faulting = None;
        for (number, part) in self.others.iter().flatten().enumerate() {
            let to_fault = part.walker.to_fault(sim, &part.at);
            let leading = (to_fault as f64 / part.share).ceil();
            if leading <= most as f64 {
                (most, faulting) = ((leading as u64).max(1), Some(number));
            }
        }
        (most, faulting)
    }

    /// Handles the fault that another part has met, on a page that is not drawn yet or that it goes back to.
    fn fault_of_other(&mut self, sim: &mut Simulation<'_>, number: usize) -> Next {
        let Some(part) = self.others.iter_mut().flatten().nth(number) else { return Next::Go };
        let at = &mut self.leading.at;
        (part.at.clock, part.at.kernel_ns) = (at.clock, 0);
        // A fault that interrupts takes its access back.
        part.at.done += 1;
        let next = match part.walker.again.take() {
            Some(again) => random_fault(sim, &mut part.at, again),
            None => part.walker.fault_somewhere(sim, &mut part.at),
        };
        (at.clock, at.kernel_ns) = (part.at.clock, at.kernel_ns + part.at.kernel_ns);
        if let Next::End(_) = next {
            sim.tasks[part.at.task as usize].pc = part.op;
        }
        next
    }

    /// Notes what the slice has done: rounds count their scores, and the loop ends with the last of them.
    fn end(mut self, sim: &mut Simulation<'_>, cpu: usize) {
        let (task, done) = (self.leading.at.task as usize, self.leading.at.done);
        let interrupted = sim.tasks[task].pending_access.is_some().then_some(sim.tasks[task].pc);
        let again = self.others.iter().flatten().find(|p| p.walker.again.is_some()).map(|p| p.op);
        let over = self.is_over() && interrupted.is_none();
        // A round whose last access still has its fault before it is not over.
        let open = (interrupted.is_some() || again.is_some()) && done > 0 && done.is_multiple_of(self.of_round);
        let (clock, rounds) = (self.leading.at.clock, done / self.of_round - u64::from(open));
        self.leading.end(sim, cpu, (done.saturating_sub(sim.tasks[task].done), clock));
        for part in self.others.iter_mut().flatten() {
            let n = part.at.done;
            part.end(sim, cpu, (n, clock));
        }
        charge_part(sim, task as u32, clock - self.leading.at.started, self.leading.at.kernel_ns);
        let t = &mut sim.tasks[task];
        t.pc = interrupted.or(again).unwrap_or(self.leading.op);
        t.done = done - rounds * self.of_round;
        let Some(frame) = t.loops.last_mut() else { return };
        if self.until_ns == u64::MAX {
            frame.left -= rounds.min(frame.left);
        }
        for op in &t.ops[frame.body..] {
            match op {
                Op::LoopEnd => break,
                Op::Score { id, amount } => sim.record.scores[*id as usize] += amount * rounds as f64,
                _ => {}
            }
        }
        if over {
            t.leave_loop();
        }
    }
}

impl<'a> Part<'a> {
    fn begin(
        sim: &mut Simulation<'a>,
        (cpu, task): (usize, u32),
        (clock, end): (u64, u64),
        (op, access): (usize, &'a Access),
        share: f64,
    ) -> Self {
        sim.tasks[task as usize].pc = op;
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
            started: clock,
            clock,
            end,
            limit: Random::limit(sim, (process, vma), end),
            turn_end: end_of_turn(sim, process),
            done: 0,
            all: u64::MAX,
            kernel_ns: 0,
        };
        let mut walker = Random::default();
        walker.begin(sim, &mut at);
        Self { walker, at, op, share }
    }

    /// Notes `n` accesses, of which a share was `missing` its caches. The thread stood still for `stalled_per_line_ns`
    /// for each ns that they occupied memory, per access of the leading part.
    fn did(&mut self, sim: &mut Simulation<'_>, n: f64, (missing, stalled_per_line_ns): (f64, f64)) {
        let stalled_ns = self.walker.lines_ns(self.share, missing) * stalled_per_line_ns;
        self.walker.did(sim, &self.at, n, (missing, stalled_ns));
    }

    /// Notes that it has made `accesses`, up to `clock`.
    fn end(&mut self, sim: &mut Simulation<'_>, cpu: usize, (accesses, clock): (u64, u64)) {
        self.at.clock = clock;
        let access = self.at.access;
        self.walker.end(sim, &self.at);
        sim.hw.working_sets.shared.count(self.at.pace.set as usize, sim.cpus[cpu].llc, accesses as f64, access.write);
        if let Some((id, per_byte)) = access.score {
            sim.record.scores[id as usize] += per_byte * (accesses * Random::UNIT_BYTES) as f64;
        }
    }
}
