//! Hint faults of a sweep, page after page, as one step.
//!
//! Problem: a sweep over marked pages faults on every page, and each fault was a stretch through the pipes and a search
//! for other threads of its own.
//! Approach: marked pages that lie side by side, that one process maps, and to which nobody else comes meanwhile, are
//! one *run*. NUMA balancing decides about each page, and each moves by itself. The bytes swept behind the faults cross
//! the pipes as one stretch. The run is cut at the end of the slice and of the 2 MiB, at the first page that another
//! thread may come to, and where the task has to leave its CPU.
//! What is left out: lines of a run cross the pipes behind its last fault, rather than behind each.

use crate::access::access_cost::{SweepAhead, SweepCosts, Times};
use crate::access::touch_run::times_of_node;
use crate::access::walk::Going;
use crate::charge::blocking::is_blocked;
use crate::float::real;
use crate::mm::contenders::{pages_alone, Who};
use crate::mm::fault_lock::take_fault_locks;
use crate::numa::hint_fault::hint_fault_alone;
use crate::state::page_site::MarkedPage;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::CHUNK_PAGES;

/// Handles the run of hint faults that begins at the page where the sweep faults, and adds its time to the sweep.
/// Returns how many pages it has and what sweeping them costs; `None` if the page has to be handled alone. The pages by
/// node are in `run_pages` then.
pub(crate) fn hint_run(
    sim: &mut Simulation<'_>,
    at: &mut Going<'_>,
    costs: &SweepCosts,
    ahead: &SweepAhead,
    left: u64,
) -> Option<(u64, Times)> {
    let (page, chunk) = (ahead.fault?, ahead.chunk);
    let vma = sim.processes[at.process].space.vma(at.vma);
    let most = vma.marked_run(chunk, page, vma.grain.count(left).min(CHUNK_PAGES) as usize) as u64;
    if most < 2 || sim.processes[at.process].mmap_write_locks.wait_ns(at.clock) > 0 {
        return None;
    }
    let node = vma.exclusive_node(chunk, page)?;
    let page_ns = longest_ns(sim, at, costs, node);
    let pages = pages_alone(sim, (at.task, at.vma, Who::Anybody), (chunk, page), most, (at.clock, page_ns));
    if pages < 2 {
        return None;
    }
    let began = at.clock;
    let done = fault_on_pages(sim, at, costs, (chunk, page, pages));
    end_run(sim, at, costs, (chunk, page, done), began)
}

/// Ends a run that began at `began` and has handled the faults of `done` pages from `page` of a chunk on: they are
/// touched, and their faults take locks. Returns the pages and what sweeping them costs; `None` without any.
pub(crate) fn end_run(
    sim: &mut Simulation<'_>,
    at: &mut Going<'_>,
    costs: &SweepCosts,
    (chunk, page, done): (usize, usize, u64),
    began: u64,
) -> Option<(u64, Times)> {
    if done == 0 {
        return None;
    }
    sim.processes[at.process].space.vma_mut(at.vma).touch(chunk, page, page + done as usize);
    let each_ns = real(at.clock - began) / done as f64;
    let locks_ns = take_fault_locks(sim, (at.cpu, at.task), at.vma, began, (done, each_ns));
    at.kernel_ns += locks_ns;
    at.clock += locks_ns;
    let of_pages = sim.hw.contention.ns_of_pages(at.pace.kind, at.pace.place, &sim.hw.run_pages);
    Some((done, costs.times(of_pages, done as u16)))
}

/// The longest time of a page of a run, ns: its fault, a move to the node of the CPU, and the sweep over it.
fn longest_ns(sim: &mut Simulation<'_>, at: &Going<'_>, costs: &SweepCosts, node: usize) -> f64 {
    let here = sim.cpus[at.cpu].node;
    let per_byte = times_of_node(sim, at, costs, node).per_byte;
    let slower = sim.hw.contention.latency_factor(here, node);
    sim.machine.costs.hint_fault_ns
        + sim.hw.costs.migrate_folio_ns(1, (node, here), slower)
        + real(sim.cfg.base_page().bytes()) * per_byte
}

/// Faults on up to `pages` pages from `page` of a chunk on, as long as the slice lasts and the task keeps its CPU.
/// Returns how many, and leaves them by node in `run_pages`.
fn fault_on_pages(
    sim: &mut Simulation<'_>,
    at: &mut Going<'_>,
    costs: &SweepCosts,
    (chunk, page, pages): (usize, usize, u64),
) -> u64 {
    let page_bytes = sim.cfg.base_page().bytes();
    // How long the sweep behind the faults so far takes, if the pipes let it.
    let (mut done, mut swept_ns, mut on) = (0, 0.0, None);
    sim.hw.run_pages.fill(0);
    while done < pages && (at.clock + swept_ns as u64) < at.limit.min(at.turn_end) {
        let page = page + done as usize;
        let vma = sim.processes[at.process].space.vma(at.vma);
        let Some((node, last)) = vma.marked_page(chunk, page) else { break };
        let found = MarkedPage { vma: at.vma, chunk, page, node, last, pages: 1 };
        let ns = hint_fault_alone(sim, (at.cpu, at.task), &found, at.write, at.clock + swept_ns as u64);
        at.kernel_ns += ns;
        at.clock += ns;
        done += 1;
        let node = sim.processes[at.process].space.vma(at.vma).exclusive_node(chunk, page).unwrap_or(node);
        sim.hw.run_pages[node] += 1;
        if on.is_none_or(|(before, _)| before != node) {
            on = Some((node, times_of_node(sim, at, costs, node).per_byte));
        }
        swept_ns += on.map_or(0.0, |(_, per_byte)| real(page_bytes) * per_byte);
        if !sim.task_migrations.decided.is_empty() || is_blocked(sim, at.task) {
            break;
        }
    }
    done
}
