//! Random accesses: how long they take, and which of them fault.

use crate::access::access_cost::{want_moved, AccessCost};
use crate::access::fault_run::{draw_fault, fault_run, End, Run};
use crate::access::first_comer::fault_of_first_comer;
use crate::access::random_pages::{range_of, RandomPages, Weights};
use crate::access::scattered_blocks::ScatteredBlocks;
use crate::access::walk::{Going, Next, Walker};
use crate::charge::blocking::is_blocked;
use crate::fault::fault_ahead::fault_ahead;
use crate::fault::handle_fault::handle_mm_fault;
use crate::float::LINE_BYTES;
use crate::hardware::access_rates::{waiting_ns, AccessRates, EPOCH_NS};
use crate::mm::fill::write_back_cleared;
use crate::numa::grain_refusals::batched_page_fault;
use crate::state::cpu::Pending;
use crate::state::recorded_odds::RecordedSpan;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use numalab_kernel::hw::smt;
use numalab_kernel::hw::smt::Sibling;
use numalab_kernel::hw::tlb::{Accessed, Walk};
use numalab_kernel::mm::{PendingKind, Vma};
use numalab_nouns::access::Traffic;
use numalab_nouns::workload::Access;

/// No access is shorter than this, ns.
const SHORTEST_NS: f64 = 0.1;

/// Random accesses. The number of accesses up to the next pending page is drawn from its geometric distribution, so
/// that accesses without a fault cost nothing to simulate. Speed and traffic are worked out once for a slice.
#[derive(Default)]
pub(crate) struct Random {
    /// The pages that it draws from.
    pub(super) pages: Option<RandomPages>,
    walk: Walk,
    /// Number under which the accesses are noted with the mapping.
    uses: usize,
    /// Access that a fault has interrupted.
    pub(super) again: Option<(usize, usize, bool)>,
    /// Number of the histogram that it draws from.
    recorded: Option<u32>,
    /// Its accesses are lines of blocks.
    blocks: Option<ScatteredBlocks>,
    times: RandomTimes,
    traffic: RandomTraffic,
}

impl Random {
    /// How long an access takes with the zeros that there are now.
    fn look(&mut self, sim: &Simulation<'_>, at: &mut Going<'_>) {
        at.pace.zeros = sim.pending_counts.zero_share(at.pace.span);
        let tables = sim.processes[at.process].space.vma(at.vma).tables_on_node();
        let on_node = sim.pending_counts.on_node(at.pace.span);
        if let Some(blocks) = &self.blocks {
            let byte_ns = sim.hw.contention.ns_per_byte_of_all(at.pace.kind, at.pace.place, on_node);
            self.times = RandomTimes::of_blocks(blocks, byte_ns, at.pace.zeros);
            return;
        }
        self.times = random_ns(sim, &at.pace, at.access, on_node, tables, self.walk);
    }
}

/// How random accesses proceed now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Paced {
    /// Time of one, ns.
    pub(super) per_access: f64,
    /// Share that misses the caches.
    pub(super) missing: f64,
    /// So many at most; then caches are loaded.
    pub(super) most: u64,
}

impl Random {
    /// How they proceed from here on.
    pub(super) fn pace(&mut self, sim: &Simulation<'_>, at: &mut Going<'_>) -> Paced {
        if at.pace.zeros > 0.0 {
            self.look(sim, at);
        }
        if let Some(blocks) = &self.blocks {
            return Paced { per_access: self.times.warm, missing: blocks.missing(), most: u64::MAX };
        }
        let cold = sim.tasks[at.task as usize].cold_lines[at.pace.cold as usize];
        if cold > 0 {
            Paced { per_access: self.times.cold, missing: 1.0, most: cold }
        } else {
            Paced { per_access: self.times.warm, missing: at.pace.missing(), most: u64::MAX }
        }
    }

    /// Accesses up to the next fault, of at most `most` that take `per_access` ns each.
    pub(super) fn run_ahead(
        &self,
        sim: &mut Simulation<'_>,
        at: &mut Going<'_>,
        (pages, pending): (&RandomPages, &Weights),
        (per_access, most): (f64, u64),
    ) -> Run {
        if pages.runs() {
            return fault_run(sim, at, pages, (per_access, most));
        }
        let odds = match self.recorded {
            None => pending.sum() / pages.count(),
            Some(_) => sim.recorded_odds.total(at.pace.span),
        };
        let to_fault = if odds == 0.0 { u64::MAX } else { sim.rng.next_success(odds) };
        Run { accesses: most.min(to_fault), kernel_ns: 0, end: if to_fault > most { End::None } else { End::Fault } }
    }

    /// How long `n` accesses occupy memory that a share `missing` of them comes to, ns.
    pub(super) fn lines_ns(&self, n: f64, missing: f64) -> f64 {
        n * missing * self.times.line
    }

    /// Wants the lines of `n` accesses from the pipes.
    pub(super) fn want(&self, sim: &mut Simulation<'_>, at: &Going<'_>, n: f64, missing: f64) {
        let vma = sim.processes[at.process].space.vma(at.vma);
        let lines = ((1.0 - at.pace.zeros) * missing, self.walk.leaf_miss);
        let (on_node, tables) = (sim.pending_counts.on_node(at.pace.span), vma.tables_on_node());
        let contention = &mut sim.hw.contention;
        let cold =
            if self.blocks.is_some() { 0 } else { sim.tasks[at.task as usize].cold_lines[at.pace.cold as usize] };
        let far = if cold > 0 { 0.0 } else { n * at.pace.moved.far * LINE_BYTES as f64 };
        want_moved((&mut *contention, &mut sim.hw.working_sets), sim.cpus[at.cpu].llc, &at.pace, far);
        want_lines(contention, &at.pace, (on_node, lines.0), (tables, lines.1), n);
    }

    /// Lets what is wanted for a run cross the pipes. `per_access` is the time of an access, ns, and `room_ns` what is
    /// left of the slice. Returns how many accesses came through, and for how long they stood still, ns.
    pub(super) fn cross(
        sim: &mut Simulation<'_>,
        at: &mut Going<'_>,
        run: &Run,
        (per_access, room_ns): (f64, f64),
    ) -> (u64, f64) {
        let (n, kernel_ns) = (run.accesses, run.kernel_ns as f64);
        let served = sim.hw.contention.serve(sim.now_ns, at.clock, n as f64 * per_access + kernel_ns, room_ns);
        let n = if served.share < 1.0 { (n as f64 * served.share) as u64 } else { n };
        at.done += n;
        at.kernel_ns += run.kernel_ns;
        at.clock += (served.ns + 0.5) as u64;
        (n, (served.ns - n as f64 * per_access - kernel_ns).max(0.0))
    }

    /// Notes `n` accesses that stood still for `stalled_ns`.
    pub(super) fn did(&mut self, sim: &mut Simulation<'_>, at: &Going<'_>, n: f64, (missing, stalled_ns): (f64, f64)) {
        if self.blocks.is_none() {
            let cold = &mut sim.tasks[at.task as usize].cold_lines[at.pace.cold as usize];
            *cold -= (n as u64).min(*cold);
        }
        self.traffic.add(n, missing, &self.times, stalled_ns);
    }

    /// Accesses up to the next one that faults.
    pub(super) fn to_fault(&self, sim: &mut Simulation<'_>, at: &Going<'_>) -> u64 {
        let Some(pages) = self.pages else { return u64::MAX };
        let pending = pages.weights((&sim.pending_counts, sim.mm.lru_batches.of_objects()), at.pace.span);
        let odds = pending.sum() / pages.count();
        if odds == 0.0 {
            u64::MAX
        } else {
            sim.rng.next_success(odds)
        }
    }

    /// Handles the fault of an access on a page that is not drawn yet.
    pub(super) fn fault_somewhere(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>) -> Next {
        let Some(pages) = self.pages else { return Next::Go };
        let weights = pages.weights((&sim.pending_counts, sim.mm.lru_batches.of_objects()), at.pace.span);
        let Some(kind) = pages.kind(sim, &weights) else {
            let ns = batched_page_fault(sim, &at.site(0, 0, false), pages.range(), at.clock);
            (at.clock, at.kernel_ns) = (at.clock + ns, at.kernel_ns + ns);
            return Next::Go;
        };
        let met = draw_fault(sim, at, &pages, (kind, &weights), 0);
        met.map_or(Next::Go, |met| random_fault(sim, at, met))
    }

    /// What follows a run of which `n` accesses came through, and which could have had `most`.
    pub(super) fn after(
        &mut self,
        sim: &mut Simulation<'_>,
        at: &mut Going<'_>,
        (pages, run): (&RandomPages, &Run),
        (n, most, pending): (u64, u64, &Weights),
    ) -> Next {
        let met = match run.end {
            End::None if !pages.runs() => return Next::Go,
            End::None => None,
            End::Fault if n < run.accesses => return Next::Go,
            End::Fault => {
                let met = match self.recorded {
                    Some(_) => draw_recorded(sim, at, pages),
                    None => {
                        let kind = pages.kind(sim, pending);
                        kind.and_then(|kind| draw_fault(sim, at, pages, (kind, pending), most - n))
                    }
                };
                return met.map_or(Next::Go, |met| random_fault(sim, at, met));
            }
            End::Met(access) | End::Left(access, _) => Some(access),
        };
        let t = &mut sim.tasks[at.task as usize];
        // Those that did not come through have their faults behind them, but for the last one.
        t.drawn_accesses = t.drawn_accesses.saturating_sub(n).max(run.accesses - n);
        if n < run.accesses && met.is_some() {
            t.drawn_accesses -= 1;
        }
        match (run.end, met) {
            (End::Left(access, stop), _) => {
                at.done -= u64::from(n == run.accesses);
                t.pending_access = Some(access);
                Next::End(stop)
            }
            (_, Some(access)) if n == run.accesses => random_fault(sim, at, access),
            (_, met) => {
                self.again = met;
                Next::Go
            }
        }
    }
}

impl Walker for Random {
    const UNIT_BYTES: u64 = LINE_BYTES;

    fn units(&self, a: &Access) -> u64 {
        a.accesses
    }

    /// Where pages are and how fast memory is holds for the whole slice.
    fn begin(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>) {
        let mut pages = RandomPages::of(sim, at);
        let (from, to) = pages.range();
        let vma = sim.processes[at.process].space.vma(at.vma);
        self.blocks = ScatteredBlocks::of(sim, &at.pace, at.access, vma);
        match &self.blocks {
            Some(blocks) => pages = pages.with_parts(blocks.pages_per_line),
            None => self.walk = random_walk(sim, at, to - from, vma.huge_share()),
        }
        self.uses = sim.processes[at.process].space.vma_mut(at.vma).random_span(from, to);
        self.again = sim.tasks[at.task as usize].pending_access.take();
        let vma = sim.processes[at.process].space.vma(at.vma);
        sim.pending_counts.look(&pages.pending_span(at, vma), sim.now_ns, EPOCH_NS);
        self.pages = Some(pages);
        self.recorded = at.access.pattern.histogram();
        if let Some(histogram) = self.recorded.map(|n| &sim.workload.histograms[n as usize]) {
            let (vma, span) = (sim.processes[at.process].space.vma(at.vma), pages.range());
            let span = recorded_span(at, vma, span);
            let on_node = sim.pending_counts.on_node_mut(at.pace.span);
            sim.recorded_odds.look(&span, histogram, (sim.now_ns, EPOCH_NS), on_node);
        }
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
        let Some(pages) = self.pages else { return Next::End(Step::Go) };
        let pending = pages.weights((&sim.pending_counts, sim.mm.lru_batches.of_objects()), at.pace.span);
        let Paced { per_access, missing, most } = self.pace(sim, at);
        let room_ns = (at.limit - at.clock) as f64;
        let most = most.min((room_ns / per_access) as u64 + 1).min(at.all - at.done);
        let run = self.run_ahead(sim, at, (&pages, &pending), (per_access, most));
        self.want(sim, at, run.accesses as f64, missing);
        let (n, stalled_ns) = Self::cross(sim, at, &run, (per_access, room_ns));
        self.did(sim, at, n as f64, (missing, stalled_ns));
        self.after(sim, at, (&pages, &run), (n, most, &pending))
    }

    fn draws(&self, a: &Access, _chunks: u64, times: f64) -> (f64, f64) {
        let draws = a.accesses as f64 * times;
        (draws, draws * a.write)
    }

    fn end(&mut self, sim: &mut Simulation<'_>, at: &Going<'_>) {
        if let Some(again) = self.again.take() {
            sim.tasks[at.task as usize].pending_access = Some(again);
        }
        let when = (at.started, (at.clock - at.started) as f64);
        let lines_of_page = self.blocks.map_or(1.0, |b| 1.0 / b.pages_per_line);
        self.traffic.note(sim, &at.pace, (at.process, at.vma, self.uses), lines_of_page, when);
    }
}

/// Accesses of a slice, and how long they occupy memory.
#[derive(Clone, Copy, Debug, Default)]
struct RandomTraffic {
    accesses: f64,
    /// Time for lines of the pages, ns.
    lines_ns: f64,
    /// Time for lines of the page tables, ns.
    tables_ns: f64,
}

impl RandomTraffic {
    /// Adds accesses that waited `stalled_ns` for a full pipe.
    fn add(&mut self, accesses: f64, missing: f64, times: &RandomTimes, stalled_ns: f64) {
        self.accesses += accesses;
        self.lines_ns += waiting_ns(accesses * missing * times.line, stalled_ns);
        self.tables_ns += accesses * times.table;
    }
    /// Notes the accesses with the mapping, under the number `uses`, and with the rates of memory. So many of them come
    /// to a page one after the other. `when` is their start and how long they took.
    fn note(
        &self,
        sim: &mut Simulation<'_>,
        pace: &AccessCost,
        (process, id, uses): (usize, usize, usize),
        lines_of_page: f64,
        when: (u64, f64),
    ) {
        if self.accesses == 0.0 {
            return;
        }
        let vma = sim.processes[process].space.vma_mut(id);
        vma.note_random_accesses(uses, (self.accesses / lines_of_page) as u64);
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
    match at.access.pattern.histogram().map(|n| &sim.workload.histograms[n as usize]) {
        None => sim.hw.tlb.mean_walk(huge_share, &accessed),
        // Hot parts have their entries beside those of hotter ones.
        Some(histogram) => histogram.levels().iter().fold(Walk::default(), |sum, level| {
            let part = Accessed { bytes: (bytes as f64 * level.span) as u64, ..accessed };
            sum.and(sim.hw.tlb.mean_walk(huge_share, &part).part(level.visits))
        }),
    }
}

/// Handles the fault of a random access, which counts as done, and the one after it: a store to a marked page may find
/// the entry read-only afterwards. If a fault ends the step, the access to the same page is made again later.
pub(super) fn random_fault(sim: &mut Simulation<'_>, at: &mut Going<'_>, access: (usize, usize, bool)) -> Next {
    let (chunk, page, write) = access;
    let (cpu, task, process) = (at.cpu, at.task, at.process);
    if at.is_behind_turn() {
        sim.tasks[task as usize].pending_access = Some(access);
        at.done -= 1;
        return Next::End(Step::Stop(Pending::Resume));
    }
    if fault_of_first_comer(sim, at, access) {
        return Next::Go;
    }
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
        if at.access.pattern.histogram().is_some() {
            sim.recorded_odds.resolved(&recorded_span(at, vma, range_of(vma, &at.access.span)), chunk);
        }
        if !vma.is_pending(chunk, page, write) {
            return Next::Go;
        }
    }
}

/// The span of an access that draws from a histogram.
fn recorded_span<'a>(at: &Going<'_>, vma: &'a Vma, range: (u64, u64)) -> RecordedSpan<'a> {
    RecordedSpan { number: at.pace.span, vma, range, kind: PendingKind::of(at.write) }
}

/// Draws the page on which an access of a histogram faults; `None` if it goes on.
fn draw_recorded(sim: &mut Simulation<'_>, at: &Going<'_>, pages: &RandomPages) -> Option<(usize, usize, bool)> {
    let vma = sim.processes[at.process].space.vma(at.vma);
    let span = recorded_span(at, vma, pages.range());
    let (chunk, page) = sim.recorded_odds.draw(&span, &mut sim.rng)?;
    let store = at.write && (at.access.write >= 1.0 || sim.rng.unit() < at.access.write);
    // Where only stores fault, a read goes on.
    (store || vma.is_pending(chunk, page, false)).then_some((chunk, page, store))
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

impl RandomTimes {
    /// Of lines of blocks: prefetching walks the page tables ahead of them.
    fn of_blocks(blocks: &ScatteredBlocks, byte_ns: f64, zeros: f64) -> Self {
        let times = blocks.times(byte_ns, zeros);
        Self { cold: times.line_ns, warm: times.line_ns, line: times.memory_ns, table: 0.0 }
    }
}
