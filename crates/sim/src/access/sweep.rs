//! Sweeps: accesses in address order, over a whole span or block by block.

use crate::access::access_cost::{access_cost, sweep_costs, AccessCost, LastChunkTimes, SweepAhead, Times};
use crate::access::progress::{finish_step, sharing};
use crate::charge::blocking::{block_task, is_blocked};
use crate::charge::time::charge_part;
use crate::fault::handle_fault::handle_mm_fault;
use crate::float::{real, whole, LINE_BYTES};
use crate::hardware::contention::{waiting_ns, AccessRates};
use crate::numa::concurrent_hint_fault::contender_is_first;
use crate::state::cpu::Pending;
use crate::state::page_migration::PlannedSweep;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use crate::state::task::Block;
use numalab_kernel::mm::PAGE_BYTES;
use numalab_model::access::Order;
use numalab_model::workload::Access;

/// One pass in address order, or the blocks of a pass.
#[allow(clippy::too_many_lines)] // One walk: its steps share all that they touch.
pub(crate) fn sweep(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    (a, order): (&Access, Order),
    clock: &mut u64,
    end: u64,
) -> Step {
    let pace = access_cost(sim, cpu, task, a);
    let process = sim.tasks[task as usize].process as usize;
    let id = sim.processes[process].region_vma[a.span.region as usize] as usize;
    let (write, started) = (a.write > 0.0, *clock);
    let mut done = sim.tasks[task as usize].done;
    let (mut kernel_ns, mut out) = (0, Step::Go);
    let sharing = sharing(sim, process);
    let (mut passed, mut last) = (None, LastChunkTimes::NONE);
    let costs = sweep_costs(sim, &pace, a);
    let all = sweep_bytes(a, order);
    while *clock < end && done < all {
        let (at, left) = run_ahead(sim, task, (a, order), done, all);
        let vma = sim.processes[process].space.vma(id);
        let addr = vma.start + a.span.offset_bytes + at;
        let SweepAhead { chunk, base, lo, fault, clear } = SweepAhead::of(vma, addr, left, write, passed);
        if clear > addr {
            let counts = vma.node_counts(chunk);
            let known = last.or_else(counts, vma.chunk(chunk).present, |c, p| {
                costs.times(sim.hw.contention.ns_of_pages(pace.kind, pace.place, c), p)
            });
            let (Times { per_byte, memory, of_pages }, node) = known;
            let room = real(end - *clock);
            let want = real(clear - addr) * per_byte;
            let (bytes, ns) =
                if want > room { (whole(room / per_byte) & !(LINE_BYTES - 1), room) } else { (clear - addr, want) };
            let mut run = Stretch { bytes, ns, per_byte, stalled_ns: 0.0, full: want > room };
            if memory > 0.0 {
                run.cross(&mut sim.hw.contention, &pace, (counts, node), costs.traffic(), (sim.now_ns, *clock), room);
            }
            let Stretch { bytes, ns, per_byte, stalled_ns, full } = run;
            if sharing {
                let (pc, vma, at) = (sim.tasks[task as usize].pc, id as u32, addr - base);
                let stretch = PlannedSweep { pc, vma, chunk, at, done, from_ns: *clock, per_byte };
                sim.tasks[task as usize].planned_sweep = Some(stretch);
                out = Step::Stop(Pending::Resume);
            }
            done += bytes;
            if bytes > 0 {
                sim.tasks[task as usize].ns_per_byte = per_byte;
            }
            let busy_ns = waiting_ns(real(bytes) * memory, stalled_ns);
            sim.hw.contention.occupy(pace.kind, pace.place, (counts, node), of_pages, busy_ns, (*clock, ns));
            let reached = (addr - base + bytes).div_ceil(PAGE_BYTES) as usize;
            sim.processes[process].space.vma_mut(id).touch(chunk, lo, reached);
            *clock += whole(ns + 0.5);
            if !sim.kernel.numa_2012.split_thp_migrations.is_empty() {
                wait_for_moves(sim, task, (process, id, chunk), (lo, reached), *clock, ns as u64);
            }
            if full {
                out = Step::Go;
            }
            if full || sharing || is_blocked(sim, task) {
                break;
            }
        }
        if let Some(p) = fault {
            if *clock >= end {
                break;
            }
            if contender_is_first(sim, task, id, chunk, p, *clock) {
                out = Step::Stop(Pending::Resume);
                break;
            }
            let (ns, fate) = handle_mm_fault(sim, cpu, task, id, chunk, p, write, *clock);
            kernel_ns += ns;
            *clock += ns;
            passed = (fate == FaultEnd::Pass).then_some(p);
            out = fate.stops().unwrap_or(Step::Go);
            if out != Step::Go || !sim.task_migrations.decided.is_empty() || is_blocked(sim, task) {
                break;
            }
        }
    }
    finish_step(sim, task, a, done, all);
    charge_part(sim, task, *clock - started, kernel_ns);
    out
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

impl Stretch {
    /// Sends the stretch, with `traffic` bytes per byte to memory of these pages, through the pipes of the machine, from `from_ns` on.
    /// If they let less through than its rate asks for, it takes longer, up to `room_ns`, or gets less far.
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

/// Blocks the task behind the migration of a chunk's pages, if its sweep, which took `swept_ns` up to `clock`, has met one.
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

/// Bytes that a sweep covers.
fn sweep_bytes(a: &Access, order: Order) -> u64 {
    match order {
        Order::Address => a.span.len_bytes,
        Order::Blocks { .. } => a.accesses * LINE_BYTES,
    }
}

/// The place in its span of a sweep that has done `done` of `all` bytes, and how many bytes lie ahead in one run: all that is left,
/// or the rest of a block. The next block is drawn when one is used up.
fn run_ahead(sim: &mut Simulation<'_>, task: u32, (a, order): (&Access, Order), done: u64, all: u64) -> (u64, u64) {
    let Order::Blocks { block_bytes } = order else { return (done, all - done) };
    let open = sim.tasks[task as usize].block.filter(|b| b.span == a.span && b.bytes == block_bytes);
    let within = open.map_or(block_bytes, |b| (done as i64 - b.begun) as u64);
    let (start, within) = match open {
        Some(b) if within < block_bytes => (b.start, within),
        _ => {
            let start = sim.rng.below(a.span.len_bytes / block_bytes) * block_bytes;
            let block = Block { span: a.span, bytes: block_bytes, start, begun: done as i64 };
            sim.tasks[task as usize].block = Some(block);
            (start, 0)
        }
    };
    (start + within, (block_bytes - within).min(all - done))
}
