//! Random accesses: how long they take, and which of them fault.

use crate::access::access_cost::{access_cost, AccessCost};
use crate::access::page_walk::mean_walk;
use crate::access::progress::{finish_step, lookahead_ns};
use crate::charge::blocking::is_blocked;
use crate::charge::time::charge_part;
use crate::fault::fault_ahead::fault_ahead;
use crate::fault::handle_fault::handle_mm_fault;
use crate::float::LINE_BYTES;
use crate::hardware::contention::{waiting_ns, AccessRates, EPOCH_NS};
use crate::mm::fill::write_back_cleared;
use crate::state::cpu::Pending;
use crate::state::page_site::PageSite;
use crate::state::pending_counts::RandomSpan;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use numalab_kernel::hw::smt;
use numalab_kernel::hw::tlb::Walk;
use numalab_kernel::mm::PAGE_BYTES;
use numalab_model::access::Traffic;
use numalab_model::workload::Access;

/// No access is shorter than this, ns.
const SHORTEST_NS: f64 = 0.1;

/// The pages that `len_bytes` from `start` on lie in: first address, and that behind them.
fn whole_pages(start: u64, len_bytes: u64) -> (u64, u64) {
    (start / PAGE_BYTES * PAGE_BYTES, (start + len_bytes).div_ceil(PAGE_BYTES) * PAGE_BYTES)
}

/// Carries out random accesses. The number of accesses up to the next pending page is drawn from its geometric distribution, so
/// that accesses without a fault cost nothing to simulate. Speed and traffic are worked out once for a slice.
#[allow(clippy::too_many_lines)] // One walk: its steps share all that they touch.
pub(crate) fn random(sim: &mut Simulation<'_>, cpu: usize, task: u32, a: &Access, clock: &mut u64, end: u64) -> Step {
    let mut pace = access_cost(sim, cpu, task, a);
    let process = sim.tasks[task as usize].process as usize;
    let id = sim.processes[process].region_vma[a.span.region as usize] as usize;
    let (write, started) = (a.write > 0.0, *clock);
    let mut done = sim.tasks[task as usize].done;
    let (mut kernel_ns, mut out) = (0, Step::Go);
    let vma = sim.processes[process].space.vma(id);
    let (from, to) = whole_pages(vma.start + a.span.offset_bytes, a.span.len_bytes);
    let pages = (to - from) / PAGE_BYTES;
    let walk = random_walk(sim, cpu, task, a, to - from, vma.huge_share());
    let uses = sim.processes[process].space.vma_mut(id).random_span(from, to);
    let limit = lookahead_ns(sim, process, end);
    let mut pending_access = sim.tasks[task as usize].pending_access.take();
    // Where pages are and how fast memory is holds for the whole slice.
    let vma = sim.processes[process].space.vma(id);
    let span = RandomSpan { number: pace.span, vma, range: (from, to), write };
    sim.pending_counts.look(&span, sim.now_ns, EPOCH_NS);
    pace.zeros = sim.pending_counts.zero_share(pace.span);
    let mut times = random_ns(sim, &pace, a, sim.pending_counts.on_node(pace.span), vma.tables_on_node(), walk);
    let mut traffic = RandomTraffic::default();
    while *clock < limit && done < a.accesses && !is_blocked(sim, task) {
        if let Some(again) = pending_access.take() {
            done += 1;
            if let Some(stop) = random_fault(sim, cpu, task, id, again, pace.span, clock, &mut kernel_ns) {
                done -= 1;
                out = stop;
                break;
            }
            continue;
        }
        let vma = sim.processes[process].space.vma(id);
        let pending = sim.pending_counts.pending(pace.span, write);
        if pace.zeros > 0.0 {
            pace.zeros = sim.pending_counts.zero_share(pace.span);
            times = random_ns(sim, &pace, a, sim.pending_counts.on_node(pace.span), vma.tables_on_node(), walk);
        }
        let cold = sim.tasks[task as usize].cold_lines;
        let (per_access, missing) = if cold > 0 { (times.cold, 1.0) } else { (times.warm, pace.missing()) };
        let room = (((limit - *clock) as f64 / per_access) as u64 + 1).min(if cold > 0 { cold } else { u64::MAX });
        let to_fault = if pending == 0 { u64::MAX } else { sim.rng.next_success(pending as f64 / pages as f64) };
        let n = to_fault.min(room).min(a.accesses - done);
        let lines = ((1.0 - pace.zeros) * missing, walk.leaf_miss);
        let (on_node, tables) = (sim.pending_counts.on_node(pace.span), vma.tables_on_node());
        let contention = &mut sim.hw.contention;
        want_lines(contention, &pace, (on_node, lines.0), (tables, lines.1), n as f64);
        let served = contention.serve(sim.now_ns, *clock, n as f64 * per_access, (limit - *clock) as f64);
        let n = if served.share < 1.0 { (n as f64 * served.share) as u64 } else { n };
        let (ns, stalled_ns) = (served.ns, (served.ns - n as f64 * per_access).max(0.0));
        done += n;
        sim.tasks[task as usize].cold_lines -= n.min(cold);
        traffic.add(n, missing, &times, stalled_ns);
        *clock += (ns + 0.5) as u64;
        if n < to_fault {
            continue;
        }
        let span = RandomSpan { number: pace.span, vma, range: (from, to), write };
        let more = ((room - n).min(a.accesses - done) as f64 * pending as f64 / pages as f64) as u64;
        let Some((chunk, page)) = sim.pending_counts.draw(&span, more, &sim.mm.shared, &mut sim.rng) else {
            continue;
        };
        // Where only stores fault, a read goes on.
        let store = write && (a.write >= 1.0 || sim.rng.unit() < a.write);
        if !store && !vma.is_pending(chunk, page, false) {
            continue;
        }
        let access = (chunk, page, store);
        if let Some(stop) = random_fault(sim, cpu, task, id, access, pace.span, clock, &mut kernel_ns) {
            done -= 1;
            out = stop;
            break;
        }
    }
    traffic.note(sim, &pace, (process, id, uses), (started, (*clock - started) as f64));
    if out == Step::Go && *clock >= limit && limit < end {
        out = Step::Stop(Pending::Resume);
    }
    finish_step(sim, task, a, done, a.accesses);
    charge_part(sim, task, *clock - started, kernel_ns);
    out
}

/// Accesses of a slice, and how long they occupy memory.
#[derive(Clone, Copy, Debug, Default)]
struct RandomTraffic {
    accesses: u64,
    /// Time for lines of the pages, ns.
    lines_ns: f64,
    /// Time for lines of the page tables, ns.
    tables_ns: f64,
}

impl RandomTraffic {
    /// Adds accesses that waited `stalled_ns` for a full pipe.
    fn add(&mut self, accesses: u64, missing: f64, times: &RandomTimes, stalled_ns: f64) {
        self.accesses += accesses;
        self.lines_ns += waiting_ns(accesses as f64 * missing * times.line, stalled_ns);
        self.tables_ns += accesses as f64 * times.table;
    }
    /// Notes the accesses with the mapping, under the number `uses`, and with the rates of memory. `when` is their start and how
    /// long they took.
    fn note(&self, sim: &mut Simulation<'_>, pace: &AccessCost, mapping: (usize, usize, usize), when: (u64, f64)) {
        let (process, id, uses) = mapping;
        if self.accesses == 0 {
            return;
        }
        let vma = sim.processes[process].space.vma_mut(id);
        vma.note_random_accesses(uses, self.accesses);
        let on_node = sim.pending_counts.on_node(pace.span);
        sim.hw.contention.occupy_pages(pace.kind, pace.place, on_node, self.lines_ns, when);
        if self.tables_ns > 0.0 {
            sim.hw.contention.occupy_pages(pace.kind, pace.place, vma.tables_on_node(), self.tables_ns, when);
        }
    }
}

/// Wants the lines of `n` accesses from the pipes of the machine: each misses `data.1` lines of pages spread as `data.0`, and
/// `tables.1` lines of page tables spread as `tables.0`.
fn want_lines(contention: &mut AccessRates, pace: &AccessCost, data: (&[u64], f64), tables: (&[u64], f64), n: f64) {
    for (pages, lines) in [data, tables] {
        if lines > 0.0 {
            contention.want_of_all_pages(pace.kind, pace.place, pages, n * lines * LINE_BYTES as f64);
        }
    }
}

/// Page walk of a random access to `bytes` of memory of which `huge_share` is in huge pages.
fn random_walk(sim: &Simulation<'_>, cpu: usize, task: u32, a: &Access, bytes: u64, huge_share: f64) -> Walk {
    let t = &sim.tasks[task as usize];
    let set = sim.hw.working_sets.info(t.process, t.program(), t.pc).set;
    let llc_share = sim.hw.working_sets.loads.held_bytes(sim.cpus[cpu].llc, set as usize);
    mean_walk(&sim.hw.tlb, bytes, huge_share, llc_share, a.pattern.cache_fit().alpha())
}

/// Handles the fault of a random access, and the one after it: a store to a marked page may find the entry read-only afterwards.
/// If a fault ends the step, the access to the same page is made again later.
#[allow(clippy::too_many_arguments)]
fn random_fault(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    id: usize,
    (chunk, page, write): (usize, usize, bool),
    span: u32,
    clock: &mut u64,
    kernel_ns: &mut u64,
) -> Option<Step> {
    let process = sim.tasks[task as usize].process as usize;
    loop {
        let before = sim.processes[process].space.vma(id).pending_of_chunk(chunk);
        sim.mm.cleared_page = None;
        let site = PageSite { cpu, task, process, vma: id, chunk, page, write };
        let (ns, fate) = fault_ahead(sim, &site, *clock)
            .unwrap_or_else(|| handle_mm_fault(sim, cpu, task, id, chunk, page, write, *clock));
        *kernel_ns += ns;
        *clock += ns;
        *clock += write_back_cleared(sim, cpu, *clock - ns, ns);
        if let Some(stop) = fate.stops() {
            sim.tasks[task as usize].pending_access = Some((chunk, page, write));
            return Some(stop);
        }
        if fate != FaultEnd::Go {
            return None;
        }
        let vma = sim.processes[process].space.vma(id);
        sim.pending_counts.resolved(span, &before.saturating_sub(&vma.pending_of_chunk(chunk)));
        if !vma.is_pending(chunk, page, write) {
            return None;
        }
    }
}

/// Times of a random access to pages spread as `on_node` whose page tables are spread as `tables`, ns.
fn random_ns(
    sim: &Simulation<'_>,
    pace: &AccessCost,
    a: &Access,
    on_node: &[u64],
    tables: &[u64],
    walk: Walk,
) -> RandomTimes {
    let in_flight = if a.pattern.traffic() == Traffic::Dependent { 1.0 } else { sim.machine.stream.lines_random };
    let compute = a.compute_ns / (smt::speed(0.0, pace.sibling) * pace.boost);
    let slower = 1.0 / (in_flight * smt::speed(1.0, pace.sibling));
    let line = sim.hw.contention.latency_ns(pace.kind, pace.place, on_node);
    let table = if walk.leaf_miss > 0.0 {
        walk.leaf_miss * sim.hw.contention.latency_ns(pace.kind, pace.place, tables)
    } else {
        0.0
    };
    // The zero page is in the first-level cache of every thread that reads it.
    let own = 1.0 - pace.zeros;
    let walked = (walk.fixed_ns + table) * slower;
    let missed = (line + sim.hw.tlb.overhead_ns()) * slower;
    let cached = (pace.llc * sim.hw.cache.llc_ns + pace.l2 * sim.hw.cache.l2_ns) * slower;
    let floor = |ns: f64| ns.max(SHORTEST_NS);
    RandomTimes {
        cold: floor(own * missed + walked + compute),
        warm: floor(own * (pace.missing() * missed + cached) + walked + compute),
        line: own * line / in_flight,
        table: table / in_flight,
    }
}

/// Times of a random access, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RandomTimes {
    /// Every line from memory.
    cold: f64,
    /// Caches loaded.
    warm: f64,
    /// How long a miss occupies memory. The overhead around it, and what a busy sibling takes, ask nothing of it.
    line: f64,
    /// How long a miss on a line of the page tables occupies memory, ns.
    table: f64,
}
