//! `read(2)` of a file: through the page cache into a buffer (kernel: `filemap_read`).
//!
//! A page that is not in the page cache is allocated under the policy of the task that reads it, which also clears it:
//! the files have no data. It is mapped nowhere, so that NUMA balancing has no entry to mark, and it stays where it is.
//! The CPU copies each page to the buffer, whose pages it faults in as any store does. The copy takes the bandwidth of
//! both memories, also where the caches hold a small buffer (simplification).
//!
//! Who reads a page first matters to all processes. So each call begins at the present time of the run.

use crate::charge::core::copy_slowdown;
use crate::charge::time::charge_system;
use crate::fault::handle_fault::handle_mm_fault;
use crate::fault::object_fault::object_page;
use crate::hardware::access_rates::When;
use crate::mm::fill::write_back_cleared;
use crate::state::cpu::Pending;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use numalab_kernel::mm::{PageRef, PageState, CHUNK_PAGES};
use numalab_nouns::workload::{ReadFile, Span};

/// Reads up to `end`, page by page. Its time is system time of the task.
pub(crate) fn read_file(
    sim: &mut Simulation<'_>,
    (cpu, task): (usize, u32),
    r: &ReadFile,
    clock: &mut u64,
    end: u64,
) -> Step {
    let process = sim.tasks[task as usize].process as usize;
    let page = sim.cfg.base_page();
    let per_call = page.pages(r.bytes);
    let started = *clock;
    let mut out = Step::Go;
    while *clock < end {
        let t = &mut sim.tasks[task as usize];
        if page.bytes_of(t.done) >= r.span.len_bytes {
            t.advance();
            break;
        }
        let (done, in_call) = (t.done, t.done % per_call);
        if in_call == 0 && !t.entered {
            if *clock > sim.now_ns {
                out = Step::Stop(Pending::Resume);
                break;
            }
            t.entered = true;
            *clock += sim.machine.costs.exception_ns as u64;
        }
        let from = site(sim, (cpu, task, process), &r.span, done);
        let to = PageSite { write: true, ..site(sim, (cpu, task, process), &r.into, in_call) };
        if let Some(stop) = fault_in(sim, &to, clock) {
            out = stop;
            break;
        }
        if !copy_page(sim, &from, &to, clock) {
            out = Step::Stop(Pending::Exit);
            break;
        }
        let t = &mut sim.tasks[task as usize];
        t.done += 1;
        t.entered &= !t.done.is_multiple_of(per_call);
        if !sim.task_migrations.decided.is_empty() || sim.tasks[task as usize].wait.block_ns > 0 {
            break;
        }
    }
    charge_system(sim, task, *clock - started);
    out
}

/// Page number `n` of a span.
fn site(sim: &Simulation<'_>, (cpu, task, process): (usize, u32, usize), span: &Span, n: u64) -> PageSite {
    let p = &sim.processes[process];
    let vma = p.region_vma[span.region as usize] as usize;
    let v = p.space.vma(vma);
    let at = v.page_number(v.start + span.offset_bytes) + n;
    let (chunk, page) = ((at / CHUNK_PAGES) as usize, (at % CHUNK_PAGES) as usize);
    PageSite { cpu, task, process, vma, chunk, page, write: false }
}

/// Faults in the page of the buffer that is written. Returns how the step ends if that ends it.
fn fault_in(sim: &mut Simulation<'_>, to: &PageSite, clock: &mut u64) -> Option<Step> {
    loop {
        let v = sim.processes[to.process].space.vma(to.vma);
        if matches!(v.page(to.chunk, to.page, &sim.mm.shared), PageState::Ready { .. }) {
            sim.processes[to.process].space.vma_mut(to.vma).touch(to.chunk, to.page, to.page + 1);
            return None;
        }
        let (ns, fate) = handle_mm_fault(sim, to, *clock);
        *clock += ns;
        if let Some(stop) = fate.stops() {
            return Some(stop);
        }
        if fate == FaultEnd::Pass {
            return None;
        }
    }
}

/// Copies a page from the page cache, where it is brought if it is not there. Returns false if memory is exhausted.
fn copy_page(sim: &mut Simulation<'_>, from: &PageSite, to: &PageSite, clock: &mut u64) -> bool {
    let v = sim.processes[from.process].space.vma(from.vma);
    let at = PageRef { object: v.objects[0], chunk: from.chunk as u32, page: from.page as u16 };
    if !sim.mm.shared.object(at.object).resident(from.chunk, from.page) {
        let misses = sim.mm.physical.counters.numa_hit + sim.mm.physical.counters.numa_miss;
        let Some(ns) = object_page(sim, from, at, false) else { return false };
        let memory = &mut sim.mm.physical;
        sim.mm.shared.leave_in_page_cache(at, &mut |gone| memory.free_unmapped(gone));
        let allocated = memory.counters.numa_hit + memory.counters.numa_miss > misses;
        *clock += if allocated { ns as u64 } else { sim.machine.costs.pte_skip_ns as u64 };
        *clock += write_back_cleared(sim, from.cpu, *clock, ns as u64);
    }
    let node = usize::from(sim.mm.shared.block_of(at).node.get(from.page));
    let buffer = sim.processes[to.process].space.vma(to.vma).page(to.chunk, to.page, &sim.mm.shared);
    let PageState::Ready { node: target } = buffer else { return true };
    let target = usize::from(target);
    let copy_ns = sim.hw.costs.copy_4k_ns(node, target, copy_slowdown(sim, to.cpu, node, target));
    let when = When { now_ns: sim.now_ns, from_ns: *clock };
    *clock += sim.hw.contention.copied(node, target, sim.cfg.base_page().bytes(), when, copy_ns) as u64;
    true
}
