//! Random accesses: how long they take, and which of them fault.

use crate::access::access_cost::{want_moved, AccessCost};
use crate::access::thinned::{meets_grain, thinned};
use crate::access::walk::{Going, Next, Walker};
use crate::charge::blocking::is_blocked;
use crate::fault::fault_ahead::fault_ahead;
use crate::fault::handle_fault::handle_mm_fault;
use crate::float::LINE_BYTES;
use crate::hardware::access_rates::{waiting_ns, AccessRates, EPOCH_NS};
use crate::mm::fill::write_back_cleared;
use crate::state::pending_counts::RandomSpan;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use numalab_base::grain::Grain;
use numalab_kernel::hw::smt;
use numalab_kernel::hw::smt::Sibling;
use numalab_kernel::hw::tlb::{Accessed, Walk};
use numalab_kernel::mm::Vma;
use numalab_nouns::access::Traffic;
use numalab_nouns::workload::Access;

/// No access is shorter than this, ns.
const SHORTEST_NS: f64 = 0.1;

/// The pages that `len_bytes` from `start` on lie in: first address, and that behind them.
fn whole_pages(page: Grain, start: u64, len_bytes: u64) -> (u64, u64) {
    (page.floor(start), page.ceil(start + len_bytes))
}

/// Random accesses. The number of accesses up to the next pending page is drawn from its geometric distribution, so
/// that accesses without a fault cost nothing to simulate. Speed and traffic are worked out once for a slice.
#[derive(Default)]
pub(crate) struct Random {
    /// The pages that it draws from: first address, and that behind them.
    range: (u64, u64),
    /// Their number: grains, where the mapping has them.
    pages: u64,
    /// Share of the accesses to a pending page that are looked at, because a fault on a grain stands for many.
    thinned: f64,
    walk: Walk,
    /// Number under which the accesses are noted with the mapping.
    uses: usize,
    /// Access that a fault has interrupted.
    again: Option<(usize, usize, bool)>,
    times: RandomTimes,
    traffic: RandomTraffic,
}

impl Random {
    fn pages(&self) -> f64 {
        self.pages as f64
    }

    fn span<'a>(&self, at: &Going<'_>, vma: &'a Vma) -> RandomSpan<'a> {
        RandomSpan { number: at.pace.span, vma, range: self.range, write: at.write }
    }

    /// How long an access takes with the zeros that there are now.
    fn look(&mut self, sim: &Simulation<'_>, at: &mut Going<'_>) {
        at.pace.zeros = sim.pending_counts.zero_share(at.pace.span);
        let tables = sim.processes[at.process].space.vma(at.vma).tables_on_node();
        let on_node = sim.pending_counts.on_node(at.pace.span);
        self.times = random_ns(sim, &at.pace, at.access, on_node, tables, self.walk);
    }
}

impl Walker for Random {
    const UNIT_BYTES: u64 = LINE_BYTES;

    fn units(&self, a: &Access) -> u64 {
        a.accesses
    }

    /// Where pages are and how fast memory is holds for the whole slice.
    fn begin(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>) {
        let vma = sim.processes[at.process].space.vma(at.vma);
        let (from, to) = whole_pages(vma.grain, vma.start + at.access.span.offset_bytes, at.access.span.len_bytes);
        self.range = (from, to);
        self.pages = vma.grain.count(to - from);
        self.walk = random_walk(sim, at, to - from, vma.huge_share());
        self.uses = sim.processes[at.process].space.vma_mut(at.vma).random_span(from, to);
        self.again = sim.tasks[at.task as usize].pending_access.take();
        let vma = sim.processes[at.process].space.vma(at.vma);
        sim.pending_counts.look(&self.span(at, vma), sim.now_ns, EPOCH_NS);
        self.thinned = thinned(sim, at);
        self.look(sim, at);
    }

    fn stretch(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>) -> Next {
        if is_blocked(sim, at.task) {
            return Next::End(Step::Go);
        }
        if let Some(again) = self.again.take() {
            at.done += 1;
            return random_fault(sim, at, again);
        }
        let pending = sim.pending_counts.pending(at.pace.span, at.write);
        if at.pace.zeros > 0.0 {
            self.look(sim, at);
        }
        let vma = sim.processes[at.process].space.vma(at.vma);
        let cold = sim.tasks[at.task as usize].cold_lines[at.pace.cold as usize];
        let (per_access, missing) =
            if cold > 0 { (self.times.cold, 1.0) } else { (self.times.warm, at.pace.missing()) };
        let room_ns = (at.limit - at.clock) as f64;
        let room = ((room_ns / per_access) as u64 + 1).min(if cold > 0 { cold } else { u64::MAX });
        let fault_odds = pending as f64 / self.pages() * self.thinned;
        let to_fault = if pending == 0 { u64::MAX } else { sim.rng.next_success(fault_odds) };
        let n = to_fault.min(room).min(at.all - at.done);
        let lines = ((1.0 - at.pace.zeros) * missing, self.walk.leaf_miss);
        let (on_node, tables) = (sim.pending_counts.on_node(at.pace.span), vma.tables_on_node());
        let contention = &mut sim.hw.contention;
        let far = if cold > 0 { 0.0 } else { n as f64 * at.pace.moved.far * LINE_BYTES as f64 };
        want_moved((&mut *contention, &mut sim.hw.working_sets), sim.cpus[at.cpu].llc, &at.pace, far);
        want_lines(contention, &at.pace, (on_node, lines.0), (tables, lines.1), n as f64);
        let served = contention.serve(sim.now_ns, at.clock, n as f64 * per_access, room_ns);
        let n = if served.share < 1.0 { (n as f64 * served.share) as u64 } else { n };
        let (ns, stalled_ns) = (served.ns, (served.ns - n as f64 * per_access).max(0.0));
        at.done += n;
        sim.tasks[at.task as usize].cold_lines[at.pace.cold as usize] -= n.min(cold);
        self.traffic.add(n, missing, &self.times, stalled_ns);
        at.clock += (ns + 0.5) as u64;
        if n < to_fault {
            return Next::Go;
        }
        let more = ((room - n).min(at.all - at.done) as f64 * pending as f64 / self.pages() * self.thinned) as u64;
        let span = self.span(at, vma);
        let Some((chunk, page)) = sim.pending_counts.draw(&span, more, &sim.mm.shared, &mut sim.rng) else {
            return Next::Go;
        };
        // Where only stores fault, a read goes on.
        let store = at.write && (at.access.write >= 1.0 || sim.rng.unit() < at.access.write);
        if !store && !vma.is_pending(chunk, page, false) {
            return Next::Go;
        }
        let site = at.site(chunk, page, store);
        if !meets_grain(sim, &site, self.thinned) {
            return Next::Go;
        }
        random_fault(sim, at, (chunk, page, store))
    }

    fn draws(&self, a: &Access, _chunks: u64, times: f64) -> (f64, f64) {
        let draws = a.accesses as f64 * times;
        (draws, draws * a.write)
    }

    fn end(&mut self, sim: &mut Simulation<'_>, at: &Going<'_>) {
        let when = (at.started, (at.clock - at.started) as f64);
        self.traffic.note(sim, &at.pace, (at.process, at.vma, self.uses), when);
    }
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
    /// Notes the accesses with the mapping, under the number `uses`, and with the rates of memory. `when` is their
    /// start and how long they took.
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

/// Wants the lines of `n` accesses from the pipes of the machine: each misses `data.1` lines of pages spread as
/// `data.0`, and `tables.1` lines of page tables spread as `tables.0`.
fn want_lines(contention: &mut AccessRates, pace: &AccessCost, data: (&[u64], f64), tables: (&[u64], f64), n: f64) {
    for (pages, lines) in [data, tables] {
        if lines > 0.0 {
            contention.want_of_all_pages(pace.kind, pace.place, pages, n * lines * LINE_BYTES as f64);
        }
    }
}

/// Page walk of a random access to `bytes` of memory of which `huge_share` is in huge pages.
fn random_walk(sim: &Simulation<'_>, at: &Going<'_>, bytes: u64, huge_share: f64) -> Walk {
    let held_bytes = sim.hw.working_sets.loads.held_bytes(sim.cpus[at.cpu].llc, at.pace.set as usize);
    let accessed = Accessed {
        bytes,
        alpha: at.access.pattern.cache_fit().alpha(),
        l2_bytes: sim.hw.cache.l2_share_bytes(at.pace.sibling.works()),
        llc_bytes: held_bytes,
    };
    sim.hw.tlb.mean_walk(huge_share, &accessed)
}

/// Handles the fault of a random access, which counts as done, and the one after it: a store to a marked page may find
/// the entry read-only afterwards. If a fault ends the step, the access to the same page is made again later.
fn random_fault(sim: &mut Simulation<'_>, at: &mut Going<'_>, access: (usize, usize, bool)) -> Next {
    let (chunk, page, write) = access;
    let (cpu, task, process) = (at.cpu, at.task, at.process);
    loop {
        let before = sim.processes[process].space.vma(at.vma).pending_of_chunk(chunk);
        sim.mm.cleared = None;
        let site = at.site(chunk, page, write);
        let (ns, fate) = fault_ahead(sim, &site, at.clock).unwrap_or_else(|| handle_mm_fault(sim, &site, at.clock));
        at.kernel_ns += ns;
        at.clock += ns;
        at.clock += write_back_cleared(sim, cpu, at.clock - ns, ns);
        if let Some(stop) = fate.stops() {
            sim.tasks[task as usize].pending_access = Some(access);
            at.done -= 1;
            return Next::End(stop);
        }
        if fate != FaultEnd::Go {
            return Next::Go;
        }
        let vma = sim.processes[process].space.vma(at.vma);
        sim.pending_counts.resolved(at.pace.span, &before.saturating_sub(&vma.pending_of_chunk(chunk)));
        if !vma.is_pending(chunk, page, write) {
            return Next::Go;
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
    let walked = (walk.tlb_ns + walk.fixed_ns + table) * slower;
    // Independent accesses overlap, but no more of their walks than the core has walkers.
    let walking = if let Sibling::Working(others) = pace.sibling { 1 + u32::from(others) } else { 1 };
    let walkers_ns = sim.hw.tlb.walkers_ns(walk.fixed_ns + table, walking);
    let missed = (line + sim.hw.tlb.overhead_ns()) * slower;
    let cached = (pace.llc * sim.hw.cache.llc_ns + pace.l2 * sim.hw.cache.l2_ns + pace.moved.ns) * slower;
    let floor = |ns: f64| ns.max(SHORTEST_NS).max(walkers_ns);
    RandomTimes {
        cold: floor(own * missed + walked + compute),
        warm: floor(own * (pace.missing() * missed + cached) + walked + compute),
        line: own * line / in_flight,
        table: table / in_flight,
    }
}

/// Times of a random access, ns.
#[derive(Clone, Copy, Debug, Default)]
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
