//! `read(2)` of a file: through the page cache into a buffer (kernel: `filemap_read`).
//!
//! A page that is not in the page cache is allocated under the policy of the task that reads it, which also clears it:
//! the files have no data. It is mapped nowhere, so that NUMA balancing has no entry to mark, and it stays where it is.
//! The CPU copies each page to the buffer, whose pages it faults in as any store does. The copy takes the bandwidth of
//! both memories, also where the caches hold a small buffer (simplification).
//!
//! Who reads a page first matters to all processes. So a call that brings pages begins at the present time of the run.
//!
//! Pages of a call go through the pipes once for each pair of nodes that they come from and go to.
//! What is left out: the order in which the call comes to these pairs.

use crate::charge::core::copy_slowdown;
use crate::charge::time::charge_system;
use crate::fault::handle_fault::handle_mm_fault;
use crate::fault::object_fault::object_page;
use crate::hardware::access_rates::When;
use crate::state::cpu::Pending;
use crate::state::file_pages::{FilePages, PagesOfPair};
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
/// buffer's first page is there; it ends before one that is not. Returns how many; `None` if memory is exhausted.
fn copy_pages(
    sim: &mut Simulation<'_>,
    (from, to): (&PageSite, &PageSite),
    most: u64,
    clock: &mut u64,
    end: u64,
) -> Option<u64> {
    let mut found = std::mem::take(&mut sim.mm.file_pages);
    let v = sim.processes[to.process].space.vma(to.vma);
    let room = if sim.cfg.exact { 1 } else { (CHUNK_PAGES as usize - from.page.max(to.page)).min(most as usize) };
    v.ready_nodes(to.chunk, to.page, room, (&sim.mm.shared, &mut found.targets));
    let pages = find_pages(sim, from, &mut found, (clock, end));
    *clock += copy(sim, to.cpu, &found, *clock);
    let is_ready = !found.targets.is_empty();
    sim.mm.file_pages = found;
    let pages = pages?;
    if is_ready {
        sim.processes[to.process].space.vma_mut(to.vma).touch(to.chunk, to.page, to.page + pages);
    }
    Some(pages as u64)
}

/// Finds pages from that of `from` on, until copying them takes to `end`: as many as the buffer has ready. One if it
/// has none: nothing is copied to a page that is just being moved. Returns how many; `None` if memory is exhausted.
fn find_pages(
    sim: &mut Simulation<'_>,
    from: &PageSite,
    found: &mut FilePages,
    (clock, end): (&mut u64, u64),
) -> Option<usize> {
    if let Some(pages) = find_cached(sim, from, found, (clock, end)) {
        return Some(pages);
    }
    found.clear();
    let (most, mut all_ns) = (found.targets.len().max(1), 0.0);
    for pages in 0..most {
        let (node, brought_ns) = find_page(sim, &PageSite { page: from.page + pages, ..*from }, clock)?;
        let pair = found.add(node, found.targets.get(pages).copied());
        if pair.pages == 1 {
            pair.copy_ns = copy_ns(sim, from.cpu, pair);
        }
        all_ns += pair.copy_ns;
        if let (1.., Some((_, cleared))) = (brought_ns, sim.mm.cleared) {
            sim.mm.cleared = None;
            pair.cleared += u64::from(cleared);
            pair.cleared_ns += brought_ns;
        }
        if *clock as f64 + all_ns >= end as f64 {
            return Some(pages + 1);
        }
    }
    Some(most)
}

/// As [`find_pages`] where the page cache has all pages, no process maps one, and the copy ends before `end`; else
/// `None`.
fn find_cached(
    sim: &Simulation<'_>,
    from: &PageSite,
    found: &mut FilePages,
    (clock, end): (&mut u64, u64),
) -> Option<usize> {
    let object = sim.processes[from.process].space.vma(from.vma).objects[0];
    let b = sim.mm.shared.object(object).block(from.chunk)?;
    let pages = from.page..from.page + found.targets.len();
    let missing = b.cached.zip(&Bits512::range(pages.start, pages.end), |cached, wanted| !cached & wanted);
    if pages.is_empty() || missing.count() > 0 {
        return None;
    }
    found.sources.clear();
    b.node.append_to(pages, &mut found.sources);
    found.count();
    let mut all_ns = 0.0;
    for pair in &mut found.pairs {
        if !sim.mm.physical.has_page_cache(pair.node) {
            return None;
        }
        pair.copy_ns = copy_ns(sim, from.cpu, pair);
        all_ns += pair.pages as f64 * pair.copy_ns;
    }
    let pages = found.sources.len();
    let found_at = *clock + pages as u64 * sim.machine.costs.pte_skip_ns as u64;
    (found_at as f64 + all_ns < end as f64).then(|| {
        *clock = found_at;
        pages
    })
}

/// Time to copy a page of a pair, ns.
fn copy_ns(sim: &Simulation<'_>, cpu: usize, pair: &PagesOfPair) -> f64 {
    let Some(target) = pair.target.map(usize::from) else { return 0.0 };
    sim.hw.costs.copy_4k_ns(pair.node, target, copy_slowdown(sim, cpu, pair.node, target))
}

/// Copies pages from `clock` on, after those that were cleared have been written back. Returns the time, ns.
fn copy(sim: &mut Simulation<'_>, cpu: usize, found: &FilePages, clock: u64) -> u64 {
    let (here, page, now_ns) = (sim.cpus[cpu].node, sim.cfg.base_page(), sim.now_ns);
    let mut ns = 0;
    for n in &found.pairs {
        if n.cleared > 0 {
            let (bytes, when) = (page.bytes_of(n.cleared), When { now_ns, from_ns: clock + ns });
            let all = sim.hw.contention.cleared(here, n.node, bytes, when, n.cleared_ns as f64);
            ns += (all as u64).saturating_sub(n.cleared_ns);
        }
        if let Some(target) = n.target {
            let (bytes, when) = (page.bytes_of(n.pages), When { now_ns, from_ns: clock + ns });
            let copy_ns = n.pages as f64 * n.copy_ns;
            ns += sim.hw.contention.copied(n.node, usize::from(target), bytes, when, copy_ns) as u64;
        }
    }
    ns
}

/// Finds a page in the page cache, where it is brought if it is not there, and adds the time. Returns its node and the
/// time that bringing it took, ns; `None` if memory is exhausted.
fn find_page(sim: &mut Simulation<'_>, from: &PageSite, clock: &mut u64) -> Option<(usize, u64)> {
    let v = sim.processes[from.process].space.vma(from.vma);
    let at = PageRef { object: v.objects[0], chunk: from.chunk as u32, page: from.page as u16 };
    let b = sim.mm.shared.block_of(at);
    let node = usize::from(b.node.get(from.page));
    if b.resident.get(from.page) {
        return Some((node, 0));
    }
    if b.cached.get(from.page) && sim.mm.physical.has_page_cache(node) {
        *clock += sim.machine.costs.pte_skip_ns as u64;
        return Some((node, 0));
    }
    let ns = object_page(sim, from, at, false)? as u64;
    let memory = &mut sim.mm.physical;
    sim.mm.shared.leave_in_page_cache(at, &mut |gone| memory.free_unmapped(gone));
    *clock += ns;
    Some((usize::from(sim.mm.shared.block_of(at).node.get(from.page)), ns))
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
