//! `read(2)` of a file: through the page cache into a buffer (kernel: `filemap_read`).
//!
//! A page that is not in the page cache is allocated under the policy of the task that reads it, which also clears it:
//! the files have no data. It is mapped nowhere, so that NUMA balancing has no entry to mark, and it stays where it is.
//! The CPU copies each page to the buffer, whose pages it faults in as any store does. The copy takes the bandwidth of
//! both memories, also where the caches hold a small buffer (simplification).
//!
//! Who reads a page first matters to all processes. So a call that brings pages begins at the present time of the run.
//!
//! Pages of a call that lie on one node, and go to one node, are copied as one stretch.

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
use numalab_kernel::mm::block::Bits512;
use numalab_kernel::mm::{PageRef, PageState, CHUNK_PAGES};
use numalab_nouns::workload::{ReadFile, Span};

/// Reads up to `end`. Its time is system time of the task.
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
        let entered = t.entered;
        let from = site(sim, (cpu, task, process), &r.span, done);
        let left = (per_call - in_call).min(page.pages(r.span.len_bytes) - done);
        if in_call == 0 && !entered {
            if *clock > sim.now_ns && !is_cached(sim, &from, left) {
                out = Step::Stop(Pending::Resume);
                break;
            }
            sim.tasks[task as usize].entered = true;
            *clock += sim.machine.costs.exception_ns as u64;
        }
        let to = PageSite { write: true, ..site(sim, (cpu, task, process), &r.into, in_call) };
        if let Some(stop) = fault_in(sim, &to, clock) {
            out = stop;
            break;
        }
        let Some(copied) = copy_pages(sim, (&from, &to), left, clock, end) else {
            out = Step::Stop(Pending::Exit);
            break;
        };
        let t = &mut sim.tasks[task as usize];
        t.done += copied;
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

/// Whether the page cache has `pages` pages of a file from that of `from` on, as far as they lie in its 2 MiB.
fn is_cached(sim: &Simulation<'_>, from: &PageSite, pages: u64) -> bool {
    let object = sim.processes[from.process].space.vma(from.vma).objects[0];
    let wanted = Bits512::range(from.page, (from.page + pages as usize).min(CHUNK_PAGES as usize));
    let block = sim.mm.shared.object(object).block(from.chunk);
    let there = block.map(|b| b.resident.zip(&b.cached, |resident, cached| resident | cached));
    there.is_some_and(|there| there.zip(&wanted, |there, wanted| !there & wanted).count() == 0)
}

/// Copies up to `most` pages from that of `from` on to the buffer, and brings those that are not in the page cache. The
/// buffer's first page is there; others have to be on its node. Returns how many; `None` if memory is exhausted.
fn copy_pages(
    sim: &mut Simulation<'_>,
    (from, to): (&PageSite, &PageSite),
    most: u64,
    clock: &mut u64,
    end: u64,
) -> Option<u64> {
    let buffer = |sim: &Simulation<'_>, i: usize| {
        let v = sim.processes[to.process].space.vma(to.vma);
        match v.page(to.chunk, to.page + i, &sim.mm.shared) {
            PageState::Ready { node } => Some(usize::from(node)),
            _ => None,
        }
    };
    let target = buffer(sim, 0);
    let room = CHUNK_PAGES as usize - from.page.max(to.page);
    let most = if sim.cfg.exact || target.is_none() { 1 } else { room.min(most as usize) };
    // Pages that are found and not copied yet: how many, on one node.
    let (mut found, mut on, mut page_ns, mut pages) = (0, usize::MAX, 0.0, 0);
    while pages < most && (pages == 0 || buffer(sim, pages) == target) {
        let node = find_page(sim, &PageSite { page: from.page + pages, ..*from }, clock)?;
        pages += 1;
        let Some(target) = target else { break };
        if node != on {
            *clock += copy(sim, (on, target), (found, page_ns), *clock);
            page_ns = sim.hw.costs.copy_4k_ns(node, target, copy_slowdown(sim, to.cpu, node, target));
            (found, on) = (0, node);
        }
        found += 1;
        if *clock as f64 + found as f64 * page_ns >= end as f64 {
            break;
        }
    }
    if let Some(target) = target {
        *clock += copy(sim, (on, target), (found, page_ns), *clock);
        sim.processes[to.process].space.vma_mut(to.vma).touch(to.chunk, to.page, to.page + pages);
    }
    Some(pages as u64)
}

/// Copies pages from one node to another from `clock` on, each of which takes `page_ns` if all pipes let it through.
/// Returns the time, ns.
fn copy(sim: &mut Simulation<'_>, (node, target): (usize, usize), (pages, page_ns): (u64, f64), clock: u64) -> u64 {
    if pages == 0 {
        return 0;
    }
    let when = When { now_ns: sim.now_ns, from_ns: clock };
    let bytes = sim.cfg.base_page().bytes_of(pages);
    sim.hw.contention.copied(node, target, bytes, when, pages as f64 * page_ns) as u64
}

/// Finds a page in the page cache, where it is brought if it is not there, and adds the time. Returns its node; `None`
/// if memory is exhausted.
fn find_page(sim: &mut Simulation<'_>, from: &PageSite, clock: &mut u64) -> Option<usize> {
    let v = sim.processes[from.process].space.vma(from.vma);
    let at = PageRef { object: v.objects[0], chunk: from.chunk as u32, page: from.page as u16 };
    let b = sim.mm.shared.block_of(at);
    let node = usize::from(b.node.get(from.page));
    if b.resident.get(from.page) {
        return Some(node);
    }
    if b.cached.get(from.page) && sim.mm.physical.has_page_cache(node) {
        *clock += sim.machine.costs.pte_skip_ns as u64;
        return Some(node);
    }
    let ns = object_page(sim, from, at, false)? as u64;
    let memory = &mut sim.mm.physical;
    sim.mm.shared.leave_in_page_cache(at, &mut |gone| memory.free_unmapped(gone));
    *clock += ns;
    *clock += write_back_cleared(sim, from.cpu, *clock, ns);
    Some(usize::from(sim.mm.shared.block_of(at).node.get(from.page)))
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
