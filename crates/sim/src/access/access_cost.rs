//! How an access proceeds during a slice: which caches answer it, and what a byte costs.

use crate::charge::core::{boost, sibling};
use crate::charge::working_set::use_group;
use crate::float::LINE_BYTES;
use crate::hardware::access_rates::AccessRates;
use crate::hardware::working_sets::{WorkingSets, NEVER_WARM};
use crate::process::program_pages::{touch_program, touch_stack};
use crate::state::simulation::Simulation;
use crate::state::task::NOT_LOADED;
use numalab_kernel::hw::cache::cyclic_hit;
use numalab_kernel::hw::smt::{self, Sibling};
use numalab_kernel::mm::Vma;
use numalab_nouns::access::{CacheFit, Order, Walk};
use numalab_nouns::workload::Access;

/// A share of lines below which all are in caches.
const NOTHING: f64 = 1e-12;

/// Enters an access if it is new, and finds out how it proceeds.
pub(crate) fn access_cost(sim: &mut Simulation<'_>, cpu: usize, task: u32, a: &Access) -> AccessCost {
    let t = &sim.tasks[task as usize];
    let (info, fresh) = (sim.hw.working_sets.info(t.process, t.program(), t.pc), !t.entered);
    if fresh {
        sim.tasks[task as usize].entered = true;
        if sim.tasks[task as usize].group != info.group {
            use_group(sim, cpu, task, info.group);
        }
    }
    // The worker reads its clock and counters all the time, so it meets marks on its stack and data at once. A program
    // that zeroes or sums in registers calls a function now and then; its data are its regions.
    let scans = sim.processes[sim.tasks[task as usize].process as usize].marking_scans;
    if sim.cfg.harness.is_worker() && sim.tasks[task as usize].marking_scans != scans {
        sim.tasks[task as usize].marking_scans = scans;
        touch_program(sim, cpu, task);
    } else if fresh {
        touch_stack(sim, cpu, task);
    }
    let sibling = sibling(sim, cpu);
    let llc = sim.cpus[cpu].llc;
    let t = &sim.tasks[task as usize];
    let warm = info.bit != NEVER_WARM && t.warm >> info.bit & 1 != 0;
    let l2_bytes = sim.hw.cache.l2_share_bytes(sibling.works());
    let (round_bytes, round_ms) = sim.hw.working_sets.round(info.group);
    let (fetched, turn_ns) = lockstep_share(sim, (llc, round_ms), t.process, info.set as usize, a);
    let t = &mut sim.tasks[task as usize];
    let (l2, llc) = match a.pattern.cache_fit() {
        _ if fetched < 1.0 || a.bypass => (0.0, 0.0),
        CacheFit::None => (0.0, 0.0),
        CacheFit::Cyclic if !warm => (0.0, 0.0),
        CacheFit::Cyclic => (cyclic_hit(round_bytes, l2_bytes), sim.hw.working_sets.loads.cyclic_hit(llc, round_ms)),
        fit @ (CacheFit::Uniform | CacheFit::Reuse { .. }) => {
            let cold = &mut t.cold_lines[info.cold as usize];
            if *cold == NOT_LOADED {
                *cold = sim.hw.working_sets.loads.held_bytes(llc, info.set as usize) / LINE_BYTES;
            }
            if let CacheFit::Reuse { .. } = fit {
                // The LLC includes what the L2 holds.
                let l2 = f64::from(info.l2[usize::from(sibling.works())]);
                let either = sim.hw.working_sets.loads.reuse_hit(llc, info.set as usize).max(l2);
                (l2, (either - l2) / (1.0 - l2).max(f64::EPSILON))
            } else {
                let bytes = round_bytes.max(sim.hw.working_sets.set_bytes(info.set));
                let l2 = if bytes <= l2_bytes { 1.0 } else { l2_bytes as f64 / bytes as f64 };
                let llc = sim.hw.working_sets.loads.random_hit(llc, info.set as usize);
                match a.pattern.histogram().map(|n| &sim.workload.histograms[n as usize]) {
                    Some(histogram) => (histogram.cached(l2), histogram.cached(llc)),
                    None => (l2, llc),
                }
            }
        }
    };
    let on_llc = sim.cpus[cpu].llc;
    let place = sim.hw.contention.place(on_llc);
    let (l2, llc) = (l2, (1.0 - l2) * llc);
    let moved = if a.bypass { Moved::NONE } else { moved(sim, on_llc, info.set as usize, (l2, llc), a) };
    AccessCost {
        kind: info.kinds.beside(sibling),
        place,
        span: info.span,
        cold: info.cold,
        set: info.set,
        l2: l2 * moved.left,
        llc: llc * moved.left,
        moved,
        fetched,
        turn_ns,
        zeros: 0.0,
        sibling,
        boost: boost(sim, cpu),
    }
}

/// Threads that write one buffer in address order, begun together on one LLC, stay in step: a thread that is behind
/// finds lines in the cache and catches up. There a line goes from core to core, written by each. One of them fetches
/// it from memory, and all wait for that and for their turn. Returns the share of the lines that a thread fetches, and
/// the wait per line, ns. Measured with two threads: docs/reference/workloads.md, "Threads that write one buffer". As
/// long as pages are missing, the faults of the leading thread decide, and threads do not count as in step.
fn lockstep_share(
    sim: &Simulation<'_>,
    (llc, round_ms): (usize, f64),
    process: u32,
    set: usize,
    a: &Access,
) -> (f64, f64) {
    let in_address_order = a.pattern.walk() == Walk::Sweep(Order::Address);
    let Some(transfer_ns) = sim.machine.cache.transfer_ns.filter(|_| in_address_order) else {
        return (1.0, 0.0);
    };
    let (threads, cores) = sim.hw.working_sets.loads.users(llc, set);
    let p = &sim.processes[process as usize];
    let rss_pages = p.space.vma(p.region_vma[a.span.region as usize] as usize).rss_pages();
    let missing = sim.cfg.base_page().bytes_of(rss_pages) < a.span.len_bytes;
    if a.write == 0.0 || a.bypass || threads < 2 || missing || sim.hw.working_sets.loads.fits(llc, round_ms) {
        return (1.0, 0.0);
    }
    let turns = if cores > 1 { f64::from(cores) } else { 0.0 };
    (1.0 / f64::from(threads), a.write * turns * transfer_ns)
}

/// Present pages by node, and their number, of some pages of a chunk. Where the chunk lies on one node, and where `all`
/// of it is meant, its own counts say enough. Else `count` does it, in `scratch`.
// `contains` of so few numbers would be a call, at every page of a first touch.
#[allow(clippy::manual_contains)]
#[inline]
pub(crate) fn touched_counts<'a>(
    (vma, chunk): (&'a Vma, usize),
    all: bool,
    scratch: &'a mut [u16],
    count: impl FnOnce(&mut [u16]) -> u16,
) -> (&'a [u16], u16) {
    let (counts, present) = (vma.node_counts(chunk), vma.chunk(chunk).present);
    if all || counts.iter().any(|&pages| pages == present) {
        return (counts, present);
    }
    let present = count(scratch);
    (scratch, present)
}

/// What a sweep costs apart from where its pages lie, which stays the same for a slice.
pub(crate) fn sweep_costs(sim: &Simulation<'_>, pace: &AccessCost, a: &Access) -> SweepCosts {
    // A line that is written is fetched before and written back later, from memory or the LLC alike; not by a fill that
    // goes past the caches.
    let traffic = if a.bypass { 1.0 } else { sim.machine.cache.lines_of_write(a.write) };
    let share = smt::stream_share(pace.sibling);
    let alone = a.compute_ns / (LINE_BYTES as f64 * pace.boost);
    // Prefetching does not reach into other cores' caches, and no line comes from there sooner than from the LLC.
    let moved = (pace.moved.ns / (sim.machine.stream.lines_random * share * LINE_BYTES as f64))
        .max(pace.moved.share * traffic / (sim.hw.cache.llc_gbps * share));
    SweepCosts {
        missing: pace.missing() * traffic,
        far: pace.moved.far,
        fetched: pace.fetched,
        cached: pace.llc * traffic / (sim.hw.cache.llc_gbps * share)
            + pace.l2 / (sim.hw.cache.l2_gbps * share)
            + moved
            + pace.turn_ns / LINE_BYTES as f64,
        zeros: 1.0 / (sim.hw.cache.l2_gbps * share),
        alone,
        longest: alone / smt::speed(0.0, pace.sibling),
        // With one line in flight there is no prefetching: a line is asked for when the one before has been used.
        overlaps: sim.machine.stream.lines_sequential > 1.0,
        sibling: pace.sibling,
    }
}

/// How an access proceeds during a slice.
#[derive(Clone, Copy, Debug)]
pub struct AccessCost {
    /// Kind of traffic.
    pub kind: usize,
    /// Where its requests enter the memory system.
    pub place: usize,
    /// Number of its span, if accessed at random.
    pub span: u32,
    /// The same among those of the task's program.
    pub cold: u32,
    /// Its part of the working set.
    pub set: u32,
    /// Share of its lines found in the L2.
    pub l2: f64,
    /// Share found in the LLC.
    pub llc: f64,
    /// Lines that come from other cores' caches.
    pub moved: Moved,
    /// Share of its misses that it fetches itself; the others are handed on by threads that sweep along.
    pub fetched: f64,
    /// Time per line until it is this core's turn to write it, ns.
    pub turn_ns: f64,
    /// Share of the mapped pages that show zeros (random accesses).
    pub zeros: f64,
    /// What the other hardware thread does.
    pub sibling: Sibling,
    /// Clock of the core relative to the sustained one.
    pub boost: f64,
}

impl AccessCost {
    /// Share of its lines that come from memory.
    pub fn missing(&self) -> f64 {
        let missing = 1.0 - self.l2 - self.llc - self.moved.share;
        // Where caches have all of it, rounding may leave a rest, for which nobody need look at memory.
        if missing < NOTHING {
            0.0
        } else {
            missing
        }
    }
}

/// Lines of an access that come from other cores' caches.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// Share of the hits of the own caches that are still hits.
    pub left: f64,
    /// Share of all lines that other caches send.
    pub share: f64,
    /// The part of it that comes from another LLC.
    pub far: f64,
    /// Sum of the latencies of the lines sent, ns per line of the access.
    pub ns: f64,
}

impl Moved {
    /// Nobody else is there.
    pub const NONE: Self = Self { left: 1.0, share: 0.0, far: 0.0, ns: 0.0 };
}

/// What becomes of the hits of the own caches, as shares of all lines, where others use the set and somebody writes.
fn moved(sim: &mut Simulation<'_>, llc: usize, set: usize, (l2, in_llc): (f64, f64), a: &Access) -> Moved {
    if l2 + in_llc <= 0.0 {
        return Moved::NONE;
    }
    let sweep = a.pattern.cache_fit() == CacheFit::Cyclic;
    let sets = &mut sim.hw.working_sets;
    let Some(met) = sets.shared.meet(&sets.loads, set, llc, (a.write, sweep)) else { return Moved::NONE };
    let (hits, here) = (l2 + in_llc, 1.0 - met.lost);
    let beside_ns = sim.machine.core_to_core_ns(llc, llc);
    Moved {
        left: here * (1.0 - met.beside),
        share: hits * (met.far + here * met.beside),
        far: hits * met.far,
        ns: hits * (met.far_ns + here * met.beside * beside_ns),
    }
}

/// The next stretch to be served on `llc` has `bytes` from other LLCs' caches. Whether there is anything to serve: a
/// few lines go with later ones.
#[inline]
pub(crate) fn want_moved(hw: (&mut AccessRates, &mut WorkingSets), llc: usize, pace: &AccessCost, bytes: f64) -> bool {
    let (contention, sets) = hw;
    if bytes <= 0.0 || !contention.gather(pace.place, bytes) {
        return false;
    }
    contention.want_from_caches(pace.place, sets.shared.sources(&sets.loads, pace.set as usize, llc));
    true
}

/// What a sweep meets next in the chunk that it is in.
#[derive(Clone, Copy, Debug)]
pub struct SweepAhead {
    /// The chunk.
    pub chunk: usize,
    /// Where it begins, a virtual address.
    pub base: u64,
    /// First page ahead, counted in the chunk.
    pub lo: usize,
    /// Next page that faults, if one does before the run or the chunk ends.
    pub fault: Option<usize>,
    /// Up to where nothing faults, a virtual address.
    pub clear: u64,
}

impl SweepAhead {
    /// From `addr` on, of a run of `left` bytes; `passed` may be accessed this once.
    #[inline]
    pub fn of(vma: &Vma, addr: u64, left: u64, write: bool, passed: Option<usize>) -> Self {
        let chunk = vma.chunk_of(addr);
        let base = vma.chunk_base(chunk);
        let stop = (base + vma.chunk_bytes()).min(addr + left);
        let lo = vma.grain.count(addr - base) as usize;
        let hi = vma.grain.count_up(stop - base) as usize;
        let mut fault = vma.next_fault(chunk, lo, hi, write);
        if fault.is_some() && fault == passed {
            fault = vma.next_fault(chunk, lo + 1, hi, write);
        }
        let clear = fault.map_or(stop, |p| addr.max(vma.page_addr(chunk, p)));
        Self { chunk, base, lo, fault, clear }
    }
    /// Whether the first byte behind what is clear is that of a page that faults.
    #[inline]
    pub fn faults_at_once(&self, vma: &Vma) -> bool {
        self.fault.is_some_and(|page| vma.page_addr(self.chunk, page) == self.clear)
    }
}

/// What a sweep costs apart from where its pages lie.
#[derive(Clone, Copy, Debug)]
pub struct SweepCosts {
    /// Bytes of memory traffic per byte swept.
    pub missing: f64,
    /// Bytes per byte swept that come from other LLCs.
    pub far: f64,
    /// Share of that which the thread fetches itself.
    pub fetched: f64,
    /// Time per byte on what the caches hold, ns.
    pub cached: f64,
    /// Time per byte where there is no page, ns: such entries show zeros, which the L2 holds.
    pub zeros: f64,
    /// Computing per byte with the core alone, ns.
    pub alone: f64,
    /// Computing per byte beside the sibling without any wait, ns.
    pub longest: f64,
    /// Whether the core computes while it waits for lines: more than one is in flight.
    pub overlaps: bool,
    /// What the other hardware thread does.
    pub sibling: Sibling,
}

/// Times of a sweep over pages that lie in one way.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Time per byte, ns.
    pub per_byte: f64,
    /// The part of it spent on memory, for lines that it fetches itself.
    pub memory: f64,
    /// What `AccessRates::ns_of_pages` says of the pages.
    pub of_pages: f64,
}

impl SweepCosts {
    /// Before a sweep has begun.
    pub const NONE: Self = Self {
        missing: 0.0,
        far: 0.0,
        fetched: 0.0,
        cached: 0.0,
        zeros: 0.0,
        alone: 0.0,
        longest: 0.0,
        overlaps: true,
        sibling: Sibling::Idle,
    };

    /// Traffic per byte swept that the thread fetches itself, bytes.
    #[inline]
    pub fn traffic(&self) -> f64 {
        self.missing * self.fetched
    }

    /// Times over `present` pages of which `ns_of_pages` is `of_pages`; over zeros if none is present.
    #[inline]
    pub fn times(&self, of_pages: f64, present: u16) -> Times {
        let (memory, waiting) = if present == 0 {
            (0.0, self.zeros)
        } else {
            let memory = self.missing * (of_pages / f64::from(present));
            (memory, memory + self.cached)
        };
        if !self.overlaps {
            return Times { per_byte: waiting + self.longest, memory: memory * self.fetched, of_pages };
        }
        // Computing is never slower than without a wait: usually memory alone decides.
        if waiting >= self.longest {
            return Times { per_byte: waiting, memory: memory * self.fetched, of_pages };
        }
        let stalled = smt::memory_share(self.alone, (waiting - self.alone).max(0.0));
        let per_byte = waiting.max(self.alone / smt::speed(stalled, self.sibling));
        Times { per_byte, memory: memory * self.fetched, of_pages }
    }
}

/// Times of the last chunk that lay on one node. They hold for the next chunk there, because nothing that they depend
/// on changes inside a slice. Most chunks lie on one node.
#[derive(Clone, Copy, Debug)]
pub struct LastChunkTimes {
    /// Its node and pages.
    chunk: (usize, u16),
    times: Times,
}

impl LastChunkTimes {
    /// No chunk has been swept yet.
    pub const NONE: Self = Self { chunk: (0, u16::MAX), times: Times { per_byte: 0.0, memory: 0.0, of_pages: 0.0 } };
    /// The times of a chunk with pages spread as `counts`, worked out by `f` if they are not known, and the node that
    /// all of them lie on, if one does.
    #[inline]
    pub fn or_else(
        &mut self,
        counts: &[u16],
        present: u16,
        f: impl FnOnce(&[u16], u16) -> Times,
    ) -> (Times, Option<usize>) {
        let (node, pages) = self.chunk;
        if pages == present && counts[node] == present {
            return (self.times, Some(node));
        }
        let times = f(counts, present);
        let node = counts.iter().position(|&c| c == present);
        if let Some(node) = node {
            *self = Self { chunk: (node, present), times };
        }
        (times, node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shortcut gives the result of the full formula wherever it is taken.
    #[test]
    fn memory_alone_decides_from_the_longest_time_of_computing_on() {
        for sibling in Sibling::all(4) {
            let alone = 0.3;
            let longest = alone / smt::speed(0.0, sibling);
            for step in 0..2000u32 {
                let of_pages = f64::from(step) * 0.001;
                let c = SweepCosts {
                    missing: 1.0,
                    far: 0.0,
                    fetched: 1.0,
                    cached: 0.01,
                    zeros: 0.02,
                    alone,
                    longest,
                    overlaps: true,
                    sibling,
                };
                let waiting = of_pages / 3.0 + 0.01;
                let stalled = smt::memory_share(alone, (waiting - alone).max(0.0));
                let want = waiting.max(alone / smt::speed(stalled, sibling));
                assert_eq!(c.times(of_pages, 3).per_byte, want, "{sibling:?} {step}");
                let in_order = SweepCosts { overlaps: false, ..c };
                assert_eq!(in_order.times(of_pages, 3).per_byte, waiting + longest, "{sibling:?} {step}");
            }
        }
    }
}
