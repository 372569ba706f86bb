//! Sweeps: accesses in address order, over a whole span or block by block.

use crate::access::access_cost::{
    sweep_costs, touched_counts, want_moved, AccessCost, LastChunkTimes, SweepAhead, SweepCosts, Times,
};
use crate::access::cow_run::cow_run;
use crate::access::hint_run::hint_run;
use crate::access::progress::sharing;
use crate::access::touch_run::{touch_run, Runs};
use crate::access::walk::{draws_of_pass, Going, Next, Walker};
use crate::charge::blocking::{block_task, is_blocked};
use crate::fault::handle_fault::handle_mm_fault;
use crate::float::{real, whole, LINE_BYTES};
use crate::hardware::access_rates::{waiting_ns, AccessRates};
use crate::hardware::working_sets::WorkingSets;
use crate::numa::concurrent_hint_fault::contender_is_first;
use crate::state::cpu::Pending;
use crate::state::page_migration::PlannedSweep;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use crate::state::task::Block;
use numalab_kernel::mm::{CHUNK_BYTES, CHUNK_PAGES};
use numalab_nouns::access::Order;
use numalab_nouns::workload::Access;

/// For so many pages behind a fault that had to be handled alone no run is tried: what was in its way is there for a
/// while.
const SINGLE_PAGES: u64 = 16;

/// Accesses in address order: one pass over the span, or blocks of it.
pub(crate) struct Sweep {
    order: Order,
    sharing: bool,
    /// Faults that may be runs.
    runs: Runs,
    /// Up to this address a fault was not the first of a run, and others are not tried.
    single_to: u64,
    /// Page that may be accessed this once.
    passed: Option<usize>,
    last: LastChunkTimes,
    costs: SweepCosts,
}

impl Sweep {
    pub(crate) fn new(order: Order) -> Self {
        Self {
            order,
            sharing: false,
            runs: Runs::None,
            single_to: 0,
            passed: None,
            last: LastChunkTimes::NONE,
            costs: SweepCosts::NONE,
        }
    }

    /// Goes up to `ahead.clear`, where nothing faults; how the access leaves the CPU if it does.
    #[inline]
    fn clear(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>, addr: u64, ahead: &SweepAhead) -> Option<Step> {
        let &SweepAhead { chunk, base, lo, clear, .. } = ahead;
        let (pace, costs) = (&at.pace, &self.costs);
        let vma = sim.processes[at.process].space.vma(at.vma);
        let (page, hi) = (vma.grain, vma.grain.count_up(clear - base) as usize);
        let ahead = lo..hi;
        let (all, touched) = (ahead.len() as u64 == CHUNK_PAGES, &mut sim.hw.touched_pages);
        let (counts, present) =
            touched_counts((vma, chunk), all, touched, |out| vma.count_range(chunk, ahead, &sim.mm.shared, out));
        let known = self
            .last
            .or_else(counts, present, |c, p| costs.times(sim.hw.contention.ns_of_pages(pace.kind, pace.place, c), p));
        let (times, node) = known;
        let ways = Ways { rates: &mut sim.hw.contention, sets: &mut sim.hw.working_sets, llc: sim.cpus[at.cpu].llc };
        let over = Stretch::over(ways, (pace, costs), &times, (counts, node), clear - addr, (sim.now_ns, at));
        let Stretch { bytes, ns, per_byte, full, .. } = over;
        if self.sharing {
            let (pc, vma, offset) = (sim.tasks[at.task as usize].pc, at.vma as u32, addr - base);
            let stretch = PlannedSweep { pc, vma, chunk, at: offset, done: at.done, from_ns: at.clock, per_byte };
            sim.tasks[at.task as usize].planned_sweep = Some(stretch);
        }
        at.done += bytes;
        if bytes > 0 {
            sim.tasks[at.task as usize].ns_per_byte = per_byte;
        }
        let reached = page.count_up(addr - base + bytes) as usize;
        sim.processes[at.process].space.vma_mut(at.vma).touch(chunk, lo, reached);
        at.clock += whole(ns + 0.5);
        if !sim.kernel.numa_2012.split_thp_migrations.is_empty() {
            wait_for_moves(sim, at.task, (at.process, at.vma, chunk), (lo, reached), at.clock, ns as u64);
        }
        if full {
            Some(Step::Go)
        } else if self.sharing {
            Some(Step::Stop(Pending::Resume))
        } else {
            is_blocked(sim, at.task).then_some(Step::Go)
        }
    }

    /// Handles the faults on pages side by side as one step; `None` if the page of the fault has to be handled alone.
    fn run(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>, ahead: &SweepAhead, left: u64) -> Option<Next> {
        let (pages, times, node) = if self.runs == Runs::Common {
            let (pages, times) = cow_run(sim, at, &self.costs, ahead, left)?;
            (pages, times, None)
        } else if let Some((pages, times)) = hint_run(sim, at, &self.costs, ahead, left) {
            (pages, times, None)
        } else {
            touch_run(sim, at, &self.costs, ahead, left)?
        };
        let ways = Ways { rates: &mut sim.hw.contention, sets: &mut sim.hw.working_sets, llc: sim.cpus[at.cpu].llc };
        let (on, want, pace) =
            ((&sim.hw.run_pages[..], node), sim.cfg.base_page().bytes_of(pages), (&at.pace, &self.costs));
        let over = Stretch::over(ways, pace, &times, on, want, (sim.now_ns, at));
        at.done += over.bytes;
        if over.bytes > 0 {
            sim.tasks[at.task as usize].ns_per_byte = over.per_byte;
        }
        at.clock += whole(over.ns + 0.5);
        let leaves = !sim.task_migrations.decided.is_empty() || is_blocked(sim, at.task);
        Some(if over.full || leaves { Next::End(Step::Go) } else { Next::Go })
    }

    /// Faults on a page; how the access leaves the CPU if it does.
    fn fault(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>, (chunk, page): (usize, usize)) -> Option<Step> {
        if at.clock >= at.end {
            return Some(Step::Go);
        }
        if at.is_behind_turn() {
            return Some(Step::Stop(Pending::Resume));
        }
        if contender_is_first(sim, at.task, at.vma, chunk, page, at.clock) {
            return Some(Step::Stop(Pending::Resume));
        }
        let (ns, fate) = handle_mm_fault(sim, &at.site(chunk, page, at.write), at.clock);
        at.kernel_ns += ns;
        at.clock += ns;
        self.passed = (fate == FaultEnd::Pass).then_some(page);
        let leaves = !sim.task_migrations.decided.is_empty() || is_blocked(sim, at.task);
        fate.stops().or(leaves.then_some(Step::Go))
    }
}

impl Walker for Sweep {
    const UNIT_BYTES: u64 = 1;

    fn units(&self, a: &Access) -> u64 {
        match self.order {
            Order::Address => a.span.len_bytes,
            Order::Blocks { .. } => a.accesses * LINE_BYTES,
        }
    }

    /// A sweep over shared pages under migration stops after each stretch instead.
    fn limit(_sim: &Simulation<'_>, _mapping: (usize, usize), end: u64) -> u64 {
        end
    }

    fn begin(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>) {
        self.sharing = sharing(sim, at.process);
        self.runs = if self.sharing { Runs::None } else { Runs::of(sim, at) };
        self.costs = sweep_costs(sim, &at.pace, at.access);
    }

    #[inline]
    fn stretch(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>) -> Next {
        let (offset, left) = run_ahead(sim, at.task, (at.access, self.order), at.done, at.all);
        let vma = sim.processes[at.process].space.vma(at.vma);
        let addr = vma.start + at.access.span.offset_bytes + offset;
        let ahead = SweepAhead::of(vma, addr, left, at.write, self.passed);
        let run_may_begin = self.runs != Runs::None && ahead.clear >= self.single_to && ahead.faults_at_once(vma);
        let run_may_begin = run_may_begin && at.clock >= sim.tasks[at.task as usize].crowded_until_ns;
        if ahead.clear > addr {
            if let Some(step) = self.clear(sim, at, addr, &ahead) {
                return Next::End(step);
            }
        }
        if run_may_begin && at.clock < at.end && !at.is_behind_turn() {
            if let Some(next) = self.run(sim, at, &ahead, addr + left - ahead.clear) {
                return next;
            }
            self.single_to = ahead.clear + sim.cfg.base_page().bytes_of(SINGLE_PAGES);
        }
        match ahead.fault.and_then(|page| self.fault(sim, at, (ahead.chunk, page))) {
            Some(step) => Next::End(step),
            None => Next::Go,
        }
    }

    fn draws(&self, a: &Access, chunks: u64, times: f64) -> (f64, f64) {
        let Order::Blocks { block_bytes, .. } = self.order else { return draws_of_pass(a.accesses as f64, chunks) };
        let block = block_bytes.max(LINE_BYTES) as f64;
        let blocks = (a.accesses as f64 * LINE_BYTES as f64 / block).max(1.0) * times;
        let draws = blocks * (block / CHUNK_BYTES as f64).max(1.0);
        (draws, draws)
    }

    /// The next pass goes on in the block that this one leaves unfinished.
    fn end(&mut self, sim: &mut Simulation<'_>, at: &Going<'_>) {
        let by_blocks = matches!(self.order, Order::Blocks { .. });
        if let Some(b) = sim.tasks[at.task as usize].block.as_mut().filter(|b| by_blocks && b.span == at.access.span) {
            b.begun -= if at.done >= at.all { at.all as i64 } else { 0 };
        }
    }
}

/// Part of a sweep without a fault.
struct Stretch {
    bytes: u64,
    /// Time, ns.
    ns: f64,
    /// Time per byte, ns; infinite if it stands still.
    per_byte: f64,
    /// Time that it stands still because a pipe has no more to give, ns.
    stalled_ns: f64,
    /// It lasts to the end of the slice, and there is more to sweep.
    full: bool,
}

/// What a stretch crosses on its way to memory, from a CPU of an LLC.
struct Ways<'a> {
    rates: &'a mut AccessRates,
    sets: &'a mut WorkingSets,
    llc: usize,
}

impl Stretch {
    /// Goes over up to `want` bytes of pages that lie as `pages` say, in the time that the slice has left, and sends
    /// them through the pipes.
    #[inline]
    fn over(
        ways: Ways<'_>,
        (pace, costs): (&AccessCost, &SweepCosts),
        times: &Times,
        pages: (&[u16], Option<usize>),
        want: u64,
        (now_ns, at): (u64, &Going<'_>),
    ) -> Self {
        let &Times { per_byte, memory, of_pages } = times;
        let room = real(at.end.saturating_sub(at.clock));
        let want_ns = real(want) * per_byte;
        let (bytes, ns) =
            if want_ns > room { (whole(room / per_byte) & !(LINE_BYTES - 1), room) } else { (want, want_ns) };
        let mut run = Self { bytes, ns, per_byte, stalled_ns: 0.0, full: want_ns > room };
        let Ways { rates, sets, llc } = ways;
        if want_moved((&mut *rates, sets), llc, pace, real(bytes) * costs.far) || memory > 0.0 {
            run.cross(rates, pace, pages, costs.traffic(), (now_ns, at.clock), room);
        }
        let busy_ns = waiting_ns(real(run.bytes) * memory, run.stalled_ns);
        rates.occupy(pace.kind, pace.place, pages, of_pages, busy_ns, (at.clock, run.ns));
        run
    }
    /// Sends the stretch, with `traffic` bytes per byte to memory of these pages, through the pipes of the machine,
    /// from `from_ns` on. If they let less through than its rate asks for, it takes longer, up to `room_ns`, or gets
    /// less far.
    #[inline]
    fn cross(
        &mut self,
        contention: &mut AccessRates,
        pace: &AccessCost,
        pages: (&[u16], Option<usize>),
        traffic: f64,
        (now_ns, from_ns): (u64, u64),
        room_ns: f64,
    ) {
        contention.want_of_pages(pace.kind, pace.place, pages, real(self.bytes) * traffic);
        let served = contention.serve(now_ns, from_ns, self.ns, room_ns);
        if served.share == 1.0 && served.ns == self.ns {
            return;
        }
        if served.share < 1.0 {
            self.full = true;
            self.bytes = whole(real(self.bytes) * served.share) & !(LINE_BYTES - 1);
        }
        self.stalled_ns = (served.ns - real(self.bytes) * self.per_byte).max(0.0);
        (self.ns, self.per_byte) = (served.ns, served.ns / real(self.bytes));
    }
}

/// Blocks the task behind the migration of a chunk's pages, if its sweep, which took `swept_ns` up to `clock`, has met
/// one.
fn wait_for_moves(
    sim: &mut Simulation<'_>,
    task: u32,
    at: (usize, usize, usize),
    pages: (usize, usize),
    clock: u64,
    swept_ns: u64,
) {
    let (waited, mover) =
        sim.kernel.numa_2012.split_thp_migrations.wait_ns(at, pages, clock.saturating_sub(swept_ns), clock);
    block_task(sim, task, waited, mover);
}

/// The place in its span of a sweep that has done `done` of `all` bytes, and how many bytes lie ahead in one run: all
/// that is left, or the rest of a block. The next block is drawn when one is used up.
fn run_ahead(sim: &mut Simulation<'_>, task: u32, (a, order): (&Access, Order), done: u64, all: u64) -> (u64, u64) {
    let Order::Blocks { block_bytes, histogram } = order else { return (done, all - done) };
    let open = sim.tasks[task as usize].block.filter(|b| b.span == a.span && b.bytes == block_bytes);
    let within = open.map_or(block_bytes, |b| (done as i64 - b.begun) as u64);
    let (start, within) = match open {
        Some(b) if within < block_bytes => (b.start, within),
        _ => {
            let start = draw_block(sim, a.span.len_bytes / block_bytes, histogram) * block_bytes;
            let block = Block { span: a.span, bytes: block_bytes, start, begun: done as i64 };
            sim.tasks[task as usize].block = Some(block);
            (start, 0)
        }
    };
    (start + within, (block_bytes - within).min(all - done))
}

/// The number of the next of so many blocks: any, or as often as a recording has visited each.
fn draw_block(sim: &mut Simulation<'_>, blocks: u64, histogram: Option<u32>) -> u64 {
    match histogram.map(|n| &sim.workload.histograms[n as usize]) {
        None => sim.rng.below(blocks),
        Some(histogram) => ((histogram.place(sim.rng.unit()) * blocks as f64) as u64).min(blocks - 1),
    }
}
