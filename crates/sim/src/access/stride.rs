//! Strided accesses: one line every so many bytes.

use crate::access::access_cost::{access_cost, sweep_costs, Times};
use crate::access::progress::{finish_step, lookahead_ns};
use crate::charge::blocking::is_blocked;
use crate::charge::time::charge_part;
use crate::fault::handle_fault::handle_mm_fault;
use crate::float::{real, whole, LINE_BYTES};
use crate::hardware::contention::waiting_ns;
use crate::mm::fill::write_back_cleared;
use crate::state::cpu::Pending;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use numalab_kernel::mm::{Vma, CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
use numalab_model::workload::Access;

/// One line every stride: like a sweep that touches only some lines of each page.
#[allow(clippy::too_many_lines)] // One walk: its steps share all that they touch.
pub(crate) fn stride(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    a: &Access,
    stride: u64,
    clock: &mut u64,
    end: u64,
) -> Step {
    let pace = access_cost(sim, cpu, task, a);
    let process = sim.tasks[task as usize].process as usize;
    let id = sim.processes[process].region_vma[a.span.region as usize] as usize;
    let write = a.write > 0.0;
    let started = *clock;
    let lines = a.span.len_bytes.div_ceil(stride);
    let mut done = sim.tasks[task as usize].done;
    let mut kernel_ns = 0;
    let mut out = Step::Go;
    let mut passed = None;
    let limit = lookahead_ns(sim, process, end);
    let costs = sweep_costs(sim, &pace, a);
    while *clock < limit && done < lines {
        let vma = sim.processes[process].space.vma(id);
        let addr = vma.start + a.span.offset_bytes + done * stride;
        let chunk = vma.chunk_of(addr);
        let base = vma.chunk_base(chunk);
        let page = ((addr - base) / PAGE_BYTES) as usize;
        let from = page + usize::from(passed == Some(done));
        let fault = vma.next_fault(chunk, from, CHUNK_PAGES as usize, write);
        if fault == Some(page) {
            sim.mm.cleared_page = None;
            let (ns, fate) = handle_mm_fault(sim, cpu, task, id, chunk, page, write, *clock);
            kernel_ns += ns;
            *clock += ns;
            *clock += write_back_cleared(sim, cpu, *clock - ns, ns);
            passed = (fate == FaultEnd::Pass).then_some(done);
            if let Some(stop) = fate.stops() {
                out = stop;
                break;
            }
            if is_blocked(sim, task) {
                break;
            }
            continue;
        }
        let counts = vma.node_counts(chunk);
        let of_pages = sim.hw.contention.ns_of_pages(pace.kind, pace.place, counts);
        let Times { per_byte, memory, .. } = costs.times(of_pages, vma.chunk(chunk).present);
        // At least 1 ns per line keeps the clock moving on machines faster than that.
        let line_ns = (per_byte * LINE_BYTES as f64 + 0.5).max(1.0) as u64;
        // All lines up to the next page that faults, or the end of the chunk, take the same time.
        // A page that may be accessed this once faults again at its next line.
        let clear = match fault {
            _ if passed == Some(done) => addr + 1,
            Some(p) => base + p as u64 * PAGE_BYTES,
            None => base + CHUNK_BYTES,
        };
        let n = (clear - addr).div_ceil(stride).min(lines - done).min((limit - *clock).div_ceil(line_ns));
        let (mut n, mut took_ns, mut stalled_ns) = (n, n * line_ns, 0.0);
        if memory > 0.0 {
            let contention = &mut sim.hw.contention;
            let bytes = real(n * LINE_BYTES) * costs.traffic();
            contention.want_of_pages(pace.kind, pace.place, (counts, None), bytes);
            let served = contention.serve(sim.now_ns, *clock, real(took_ns), real(limit - *clock));
            if served.share < 1.0 || served.ns > real(took_ns) {
                n = whole(real(n) * served.share);
                took_ns = whole(served.ns + 0.5);
                stalled_ns = real(took_ns.saturating_sub(n * line_ns));
            }
        }
        let ns = waiting_ns(real(n * LINE_BYTES) * memory, stalled_ns);
        sim.hw.contention.occupy(pace.kind, pace.place, (counts, None), of_pages, ns, (*clock, real(took_ns)));
        if n > 0 {
            touch_lines(sim.processes[process].space.vma_mut(id), chunk, addr - base, (stride, n));
        }
        *clock += took_ns;
        done += n;
    }
    if out == Step::Go && *clock >= limit && limit < end {
        out = Step::Stop(Pending::Resume);
    }
    finish_step(sim, task, a, done, lines);
    charge_part(sim, task, *clock - started, kernel_ns);
    out
}

/// Notes that `n` lines of a chunk are used, one every `stride` bytes from byte `at` on.
fn touch_lines(vma: &mut Vma, chunk: usize, at: u64, (stride, n): (u64, u64)) {
    let page = |line: u64| ((at + line * stride) / PAGE_BYTES) as usize;
    if stride <= PAGE_BYTES {
        return vma.touch(chunk, page(0), page(n - 1) + 1);
    }
    (0..n).map(page).for_each(|p| vma.touch(chunk, p, p + 1));
}
