//! Strided accesses: one line every so many bytes.

use crate::access::access_cost::{access_cost, sweep_costs, Times};
use crate::access::progress::{finish_step, lookahead_ns};
use crate::charge::blocking::is_blocked;
use crate::charge::time::charge_part;
use crate::fault::handle_fault::handle_mm_fault;
use crate::float::LINE_BYTES;
use crate::state::cpu::Pending;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use numalab_kernel::mm::PAGE_BYTES;
use numalab_model::workload::Access;

/// One line every stride: like a sweep that touches only some lines of each page.
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
        let page = ((addr - vma.chunk_base(chunk)) / PAGE_BYTES) as usize;
        if passed != Some(done) && vma.next_fault(chunk, page, page + 1, write).is_some() {
            let (ns, fate) = handle_mm_fault(sim, cpu, task, id, chunk, page, write, *clock);
            kernel_ns += ns;
            *clock += ns;
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
        let ns = per_byte * LINE_BYTES as f64;
        sim.hw.contention.occupy(pace.kind, pace.place, (counts, None), of_pages, memory * LINE_BYTES as f64);
        sim.processes[process].space.vma_mut(id).touch(chunk, page, page + 1);
        // At least 1 ns per line keeps the clock moving on machines faster than that.
        *clock += (ns + 0.5).max(1.0) as u64;
        done += 1;
    }
    if out == Step::Go && *clock >= limit && limit < end {
        out = Step::Stop(Pending::Resume);
    }
    finish_step(sim, task, a, done, lines);
    charge_part(sim, task, *clock - started, kernel_ns);
    out
}
