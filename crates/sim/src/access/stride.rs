//! Strided accesses: one line every so many bytes.

use crate::access::access_cost::{sweep_costs, touched_counts, want_moved, SweepCosts, Times};
use crate::access::walk::{draws_of_pass, Going, Next, Walker};
use crate::charge::blocking::is_blocked;
use crate::fault::handle_fault::handle_mm_fault;
use crate::float::{real, whole, LINE_BYTES};
use crate::hardware::access_rates::waiting_ns;
use crate::mm::fill::write_back_cleared;
use crate::state::cpu::Pending;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use numalab_base::grain::Grain;
use numalab_kernel::mm::{Vma, CHUNK_PAGES};
use numalab_nouns::workload::Access;

/// One line every stride: like a sweep that touches only some lines of each page.
pub(crate) struct Stride {
    stride_bytes: u64,
    /// Line whose page may be accessed this once.
    passed: Option<u64>,
    costs: SweepCosts,
}

impl Stride {
    pub(crate) fn new(stride_bytes: u64) -> Self {
        Self { stride_bytes, passed: None, costs: SweepCosts::NONE }
    }

    /// Faults on a page; how the access leaves the CPU if it does.
    fn fault(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>, (chunk, page): (usize, usize)) -> Next {
        if at.is_behind_turn() {
            return Next::End(Step::Stop(Pending::Resume));
        }
        sim.mm.cleared = None;
        let (ns, fate) = handle_mm_fault(sim, &at.site(chunk, page, at.write), at.clock);
        at.kernel_ns += ns;
        at.clock += ns;
        at.clock += write_back_cleared(sim, at.cpu, at.clock - ns, ns);
        self.passed = (fate == FaultEnd::Pass).then_some(at.done);
        match fate.stops() {
            Some(stop) => Next::End(stop),
            None if is_blocked(sim, at.task) => Next::End(Step::Go),
            None => Next::Go,
        }
    }
}

impl Walker for Stride {
    const UNIT_BYTES: u64 = LINE_BYTES;

    fn units(&self, a: &Access) -> u64 {
        a.span.len_bytes.div_ceil(self.stride_bytes)
    }

    fn begin(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>) {
        self.costs = sweep_costs(sim, &at.pace, at.access);
    }

    fn stretch(&mut self, sim: &mut Simulation<'_>, at: &mut Going<'_>) -> Next {
        let (stride, pace, costs) = (self.stride_bytes, &at.pace, &self.costs);
        let vma = sim.processes[at.process].space.vma(at.vma);
        let addr = vma.start + at.access.span.offset_bytes + at.done * stride;
        let chunk = vma.chunk_of(addr);
        let base = vma.chunk_base(chunk);
        let page = vma.grain.count(addr - base) as usize;
        let from = page + usize::from(self.passed == Some(at.done));
        let fault = vma.next_fault(chunk, from, CHUNK_PAGES as usize, at.write);
        if fault == Some(page) {
            return self.fault(sim, at, (chunk, page));
        }
        // All lines up to the next page that faults, or the end of the chunk, take the same time.
        // A page that may be accessed this once faults again at its next line.
        let clear = match fault {
            _ if self.passed == Some(at.done) => addr + 1,
            Some(p) => vma.page_addr(chunk, p),
            None => base + vma.chunk_bytes(),
        };
        let ahead = (clear - addr).div_ceil(stride).min(at.all - at.done);
        let lines = (addr - base, stride);
        let all = stride <= vma.grain.bytes() && ahead * stride > vma.chunk_bytes() - stride;
        let touched = &mut sim.hw.touched_pages;
        let count = |out: &mut [u16]| vma.count_pages(chunk, pages(vma.grain, lines, ahead), &sim.mm.shared, out);
        let (counts, present) = touched_counts((vma, chunk), all, touched, count);
        let of_pages = sim.hw.contention.ns_of_pages(pace.kind, pace.place, counts);
        let Times { per_byte, memory, .. } = costs.times(of_pages, present);
        // At least 1 ns per line keeps the clock moving on machines faster than that.
        let line_ns = (per_byte * LINE_BYTES as f64 + 0.5).max(1.0) as u64;
        let room_ns = at.limit - at.clock;
        let n = ahead.min(room_ns.div_ceil(line_ns));
        let (mut n, mut took_ns, mut stalled_ns) = (n, n * line_ns, 0.0);
        let (hw, far) = ((&mut sim.hw.contention, &mut sim.hw.working_sets), real(n * LINE_BYTES) * costs.far);
        if want_moved(hw, sim.cpus[at.cpu].llc, pace, far) || memory > 0.0 {
            let contention = &mut sim.hw.contention;
            let bytes = real(n * LINE_BYTES) * costs.traffic();
            contention.want_of_pages(pace.kind, pace.place, (counts, None), bytes);
            let served = contention.serve(sim.now_ns, at.clock, real(took_ns), real(room_ns));
            if served.share < 1.0 || served.ns > real(took_ns) {
                n = whole(real(n) * served.share);
                took_ns = whole(served.ns + 0.5);
                stalled_ns = real(took_ns.saturating_sub(n * line_ns));
            }
        }
        let ns = waiting_ns(real(n * LINE_BYTES) * memory, stalled_ns);
        sim.hw.contention.occupy(pace.kind, pace.place, (counts, None), of_pages, ns, (at.clock, real(took_ns)));
        if n > 0 {
            touch_lines(sim.processes[at.process].space.vma_mut(at.vma), chunk, lines, n);
        }
        at.clock += took_ns;
        at.done += n;
        Next::Go
    }

    fn draws(&self, a: &Access, chunks: u64, _times: f64) -> (f64, f64) {
        draws_of_pass(a.accesses as f64, chunks)
    }
}

/// Pages of `n` lines, one every `stride` bytes from byte `at` of the chunk on, each page once.
fn pages(page: Grain, (at, stride): (u64, u64), n: u64) -> impl Iterator<Item = usize> {
    let (step, n) = if stride < page.bytes() {
        (page.bytes(), page.count(at - page.floor(at) + (n - 1) * stride) + 1)
    } else {
        (stride, n)
    };
    (0..n).map(move |i| page.count(at + i * step) as usize)
}

/// Notes that `n` lines of a chunk are used, one every `stride` bytes from byte `at` on.
fn touch_lines(vma: &mut Vma, chunk: usize, (at, stride): (u64, u64), n: u64) {
    let size = vma.grain;
    let page = |line: u64| size.count(at + line * stride) as usize;
    if stride <= size.bytes() {
        return vma.touch(chunk, page(0), page(n - 1) + 1);
    }
    (0..n).map(page).for_each(|p| vma.touch(chunk, p, p + 1));
}
