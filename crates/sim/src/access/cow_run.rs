//! Copies of a sweep after a fork, page after page, as one step.
//!
//! Problem: a sweep that writes memory which a fork has in common copies every page. Each copy was an event of its own,
//! since faults on pages that several processes may map happen in the order of time.
//! Approach: write-protected pages side by side to which no other thread of the process comes meanwhile are one *run*.
//! Each page is copied, or reused, by itself; the bytes swept behind the faults cross the pipes as one stretch. The run
//! is cut at the end of the slice and of the 2 MiB, at marked, locked and huge pages, and where the task has to leave
//! its CPU.
//! What is left out: another process that writes the same page in the same slice comes to it behind the run.

use crate::access::access_cost::{SweepAhead, SweepCosts, Times};
use crate::access::hint_run::end_run;
use crate::access::touch_run::times_of_node;
use crate::access::walk::Going;
use crate::charge::blocking::is_blocked;
use crate::float::real;
use crate::mm::contenders::{pages_alone, Who};
use crate::mm::cow_fault::shared_write_fault;
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use numalab_kernel::mm::CHUNK_PAGES;

/// Handles the run of copies that begins at the page where the sweep faults, and adds its time to the sweep. Returns
/// how many pages it has and what sweeping them costs; `None` if the page has to be handled alone. The pages by node
/// are in `run_pages` then.
pub(crate) fn cow_run(
    sim: &mut Simulation<'_>,
    at: &mut Going<'_>,
    costs: &SweepCosts,
    ahead: &SweepAhead,
    left: u64,
) -> Option<(u64, Times)> {
    let (page, chunk) = (ahead.fault?, ahead.chunk);
    let vma = sim.processes[at.process].space.vma(at.vma);
    let most = vma.write_protected_run(chunk, page, vma.grain.count(left).min(CHUNK_PAGES) as usize) as u64;
    if most < 2 || sim.processes[at.process].mmap_write_locks.wait_ns(at.clock) > 0 {
        return None;
    }
    let here = sim.cpus[at.cpu].node;
    let at_page = vma.page_ref(chunk, page)?;
    let from = usize::from(sim.mm.shared.block_of(at_page).node.get(page));
    let copy_ns = sim.hw.costs.cow_fault_ns(from, here, sim.hw.contention.latency_factor(here, from));
    let page_ns = copy_ns + real(sim.cfg.base_page().bytes()) * times_of_node(sim, at, costs, here).per_byte;
    let pages = pages_alone(sim, (at.task, at.vma, Who::Writers), (chunk, page), most, (at.clock, page_ns));
    if pages < 2 {
        return None;
    }
    let began = at.clock;
    let done = copy_pages(sim, at, (chunk, page, pages), page_ns - copy_ns);
    end_run(sim, at, costs, (chunk, page, done), began)
}

/// Copies up to `pages` pages from `page` of a chunk on, as long as the slice lasts and the task keeps its CPU; the
/// sweep over each takes `sweep_ns`. Returns how many, and leaves them by node in `run_pages`.
fn copy_pages(
    sim: &mut Simulation<'_>,
    at: &mut Going<'_>,
    (chunk, page, pages): (usize, usize, u64),
    sweep_ns: f64,
) -> u64 {
    let mut done = 0;
    sim.hw.run_pages.fill(0);
    while done < pages && real(at.clock) + done as f64 * sweep_ns < real(at.limit.min(at.turn_end)) {
        let page = page + done as usize;
        let vma = sim.processes[at.process].space.vma(at.vma);
        let Some(shared) = vma.page_ref(chunk, page).filter(|_| vma.is_read_only(chunk, page)) else { break };
        if sim.mm.shared.locked(shared) {
            break;
        }
        let (ns, end) =
            shared_write_fault(sim, &at.site(chunk, page, true), shared, at.clock + (done as f64 * sweep_ns) as u64);
        if end != FaultEnd::Go {
            break;
        }
        at.kernel_ns += ns;
        at.clock += ns;
        done += 1;
        let vma = sim.processes[at.process].space.vma(at.vma);
        let block = vma.page_ref(chunk, page).map(|p| usize::from(sim.mm.shared.block_of(p).node.get(page)));
        if let Some(node) = block.or_else(|| vma.exclusive_node(chunk, page)) {
            sim.hw.run_pages[node] += 1;
        }
        if !sim.task_migrations.decided.is_empty() || is_blocked(sim, at.task) {
            break;
        }
    }
    done
}
