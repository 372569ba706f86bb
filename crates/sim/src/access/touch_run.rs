//! First touches of a sweep, page after page, as one step.
//!
//! Problem: a sweep over untouched memory faults on every page. One step for the fault and one for the page behind it
//! cost a thousand times what the page itself does in the simulation.
//! Approach: pages that lie side by side, come from one pageblock and are touched by nobody else are one *run*. It pays
//! for each fault, and its bytes cross the pipes as one stretch. The run is cut where something else may happen: at the
//! end of the slice, of the 2 MiB, of the pageblock or of what the zone gives above its low watermark, and at the first
//! page that another thread may come to. Under a policy that chooses a node for each page, pages come from the zones of
//! all its nodes ([`interleaved_run`]).
//! What is left out: lines of a run cross the pipes from its beginning on, rather than behind each fault.

use crate::access::access_cost::{SweepAhead, SweepCosts, Times};
use crate::access::interleaved_run::interleaved_run;
use crate::access::walk::Going;
use crate::fault::touch_pages::{touch_pages, TouchedPages};
use crate::float::real;
use crate::mm::contenders::{pages_alone, Who};
use crate::mm::fill::fill_ns;
use crate::mm::page_alloc::run_source;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{VmaKind, CHUNK_PAGES};

/// Which faults of a slice may be runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    None,
    /// First touches and hint faults on memory of the process's own.
    Own,
    /// Copies of memory that a fork may have in common.
    Common,
}

impl Runs {
    /// Those of a slice: on anonymous memory in base pages, on a kernel and a machine that handle each alike.
    pub(crate) fn of(sim: &Simulation<'_>, at: &Going<'_>) -> Self {
        let p = &sim.processes[at.process];
        let vma = p.space.vma(at.vma);
        let alike = !sim.cfg.exact
            && vma.kind == VmaKind::PrivateAnon
            && vma.folio_orders == 0
            && p.vma_second_level_fault_ns[at.vma] == 0
            && !sim.cfg.harness.cpus_take_turns()
            && !sim.kernel.numa.cfg.switches.table_marks
            && !sim.cfg.design.active();
        match vma.objects.is_empty() {
            true if alike => Self::Own,
            false if alike && at.write => Self::Common,
            _ => Self::None,
        }
    }
}

/// Handles the run of first touches that begins at the page where the sweep faults, and adds its time to the sweep.
/// Returns how many pages it has, what sweeping them costs, and their node if it is one; `None` if the page has to be
/// handled alone. `run_pages` has the pages by node then, or one of them if all are alike.
pub(crate) fn touch_run(
    sim: &mut Simulation<'_>,
    at: &mut Going<'_>,
    costs: &SweepCosts,
    ahead: &SweepAhead,
    left: u64,
) -> Option<(u64, Times, Option<usize>)> {
    let (page, chunk) = (ahead.fault?, ahead.chunk);
    let vma = sim.processes[at.process].space.vma(at.vma);
    let plain = vma.zero_entries() == 0 && vma.frame_map.swapped_in_chunk(chunk) == 0;
    if !plain || !at.write || !vma.frame_map.has_table(chunk) || vma.huge_fault_fits(chunk) {
        return None;
    }
    let most = vma.absent_run(chunk, page, vma.grain.count(left).min(CHUNK_PAGES) as usize) as u64;
    if most < 2 || sim.processes[at.process].mmap_write_locks.wait_ns(at.clock) > 0 {
        return None;
    }
    let site = at.site(chunk, page, true);
    let Some(source) = run_source(sim, &site) else { return interleaved_run(sim, at, costs, (chunk, page), most) };
    if sim.cpus[at.cpu].freed_page.is_some_and(|f| usize::from(f.node) == source.node) {
        return None;
    }
    let fault_ns = fill_ns(sim, at.cpu, source.node, 1, at.clock) as u64;
    let times = times_of_node(sim, at, costs, source.node);
    let page_ns = fault_ns as f64 + real(sim.cfg.base_page().bytes()) * times.per_byte;
    let in_time = (real(at.room_for_faults_ns()) / page_ns) as u64;
    let most = most.min(in_time).min(source.most);
    if most < 2 {
        return None;
    }
    let pages = pages_alone(sim, (at.task, at.vma, Who::Writers), (chunk, page), most, (at.clock, page_ns));
    if pages < 2 {
        return None;
    }
    let TouchedPages { pages, locks_ns } = touch_pages(sim, &site, &source, pages, (at.clock, page_ns));
    sim.hw.run_pages.fill(0);
    sim.hw.run_pages[source.node] = 1;
    let ns = pages * fault_ns + locks_ns;
    at.kernel_ns += ns;
    at.clock += ns;
    (pages > 0).then_some((pages, times, Some(source.node)))
}

/// What sweeping pages of one node costs.
pub(crate) fn times_of_node(sim: &mut Simulation<'_>, at: &Going<'_>, costs: &SweepCosts, node: usize) -> Times {
    let counts = &mut sim.hw.touched_pages;
    counts.fill(0);
    counts[node] = 1;
    costs.times(sim.hw.contention.ns_of_pages(at.pace.kind, at.pace.place, counts), 1)
}
