//! First touches of a sweep under a policy that chooses a node for each page, as one step.
//!
//! Problem: under interleaving, pages side by side come from different zones, so no [`touch_run`] has two of them.
//! Approach: the pages are taken one by one, each from the zone of its node, which costs little. The time of the
//! faults, of their locks and of the sweep over them is that of the whole run.
//! What is left out: which of the pages are far is known for the run as a whole, and not from page to page.
//!
//! [`touch_run`]: crate::access::touch_run::touch_run

use crate::access::access_cost::{SweepCosts, Times};
use crate::access::walk::Going;
use crate::float::real;
use crate::mm::contenders::{pages_alone, Who};
use crate::mm::fault_lock::{take_fault_locks, take_listed_pages};
use crate::mm::fill::fill_ns;
use crate::mm::lru::add_to_lru_batch;
use crate::mm::page_alloc::interleaved_pages;
use crate::record::log::log_first_touch;
use crate::state::interleaved_pages::InterleavedPages;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;

/// Handles up to `most` first touches from (chunk, page) on, and adds their time to the sweep. Returns how many pages
/// it has and what sweeping them costs; `None` if the page has to be handled alone. `run_pages` has them by node then.
pub(crate) fn interleaved_run(
    sim: &mut Simulation<'_>,
    at: &mut Going<'_>,
    costs: &SweepCosts,
    first: (usize, usize),
    most: u64,
) -> Option<(u64, Times, Option<usize>)> {
    let mut places = std::mem::take(&mut sim.mm.interleaved);
    let run = run(sim, at, costs, (first, most), &mut places);
    sim.mm.interleaved = places;
    run
}

fn run(
    sim: &mut Simulation<'_>,
    at: &mut Going<'_>,
    costs: &SweepCosts,
    (first, most): ((usize, usize), u64),
    places: &mut InterleavedPages,
) -> Option<(u64, Times, Option<usize>)> {
    let site = at.site(first.0, first.1, true);
    interleaved_pages(sim, &site, most, places);
    if sim.cpus[at.cpu].freed_page.is_some_and(|f| places.nodes.contains(&f.node)) {
        return None;
    }
    let most = places.sources.iter().map(|s| s.most).min()?.min(places.nodes.len() as u64);
    if most < 2 {
        return None;
    }
    places.nodes.truncate(most as usize);
    let (fault_ns, times) = cost(sim, at, costs, places);
    let page_ns = fault_ns + real(sim.cfg.base_page().bytes()) * times.per_byte;
    let most = most.min((real(at.room_for_faults_ns()) / page_ns) as u64);
    if most < 2 {
        return None;
    }
    let pages = pages_alone(sim, (at.task, at.vma, Who::Writers), first, most, (at.clock, page_ns));
    if pages < 2 {
        return None;
    }
    places.nodes.truncate(pages as usize);
    let locks_ns = touch(sim, &site, places, (at.clock, page_ns));
    if places.nodes.is_empty() {
        return None;
    }
    let (fault_ns, times) = cost(sim, at, costs, places);
    let pages = places.nodes.len() as u64;
    let ns = (real(pages) * fault_ns) as u64 + locks_ns;
    at.kernel_ns += ns;
    at.clock += ns;
    Some((pages, times, None))
}

/// Time of the fault on one of these pages in the mean, ns, and what sweeping them costs. Leaves their number by node
/// in `run_pages`.
fn cost(sim: &mut Simulation<'_>, at: &Going<'_>, costs: &SweepCosts, places: &InterleavedPages) -> (f64, Times) {
    sim.hw.run_pages.fill(0);
    for &node in &places.nodes {
        sim.hw.run_pages[usize::from(node)] += 1;
    }
    let mut faults_ns = 0.0;
    for source in &places.sources {
        faults_ns += f64::from(sim.hw.run_pages[source.node]) * fill_ns(sim, at.cpu, source.node, 1, at.clock);
    }
    let of_pages = sim.hw.contention.ns_of_pages(at.pace.kind, at.pace.place, &sim.hw.run_pages);
    (faults_ns / places.nodes.len() as f64, costs.times(of_pages, places.nodes.len() as u16))
}

/// Allocates and maps the pages from that of `s` on; `places` has no others afterwards. The first fault is at `clock`,
/// and another every `page_ns`. Returns the waits for locks and the transfers of their lines, ns.
fn touch(sim: &mut Simulation<'_>, s: &PageSite, places: &mut InterleavedPages, (clock, page_ns): (u64, f64)) -> u64 {
    let mut done = 0;
    for &node in &places.nodes {
        let source = places.sources.iter().find(|s| s.node == usize::from(node));
        let Some((got, _)) = source.and_then(|from| sim.mm.physical.take_run(from, 1)) else { break };
        let vma = sim.processes[s.process].space.vma_mut(s.vma);
        vma.populate(s.chunk, s.page + done, got.node, got.frame);
        done += 1;
    }
    places.nodes.truncate(done);
    sim.kernel.vm.pgfault += done as u64;
    let mut locks_ns = take_fault_locks(sim, (s.cpu, s.task), s.vma, clock, (done as u64, page_ns));
    for source in &places.sources {
        let pages = places.nodes.iter().filter(|&&n| usize::from(n) == source.node).count() as u64;
        locks_ns += take_listed_pages(sim, s.cpu, source.node, pages, clock + locks_ns);
        log_first_touch(&mut sim.record.log, source.node, pages);
    }
    for (i, &node) in places.nodes.iter().enumerate() {
        let page = PageSite { page: s.page + i, ..*s };
        locks_ns += add_to_lru_batch(sim, &page, usize::from(node), clock + locks_ns);
    }
    locks_ns
}
