//! Clearing a new page, and what it costs.

use crate::charge::core::sibling;
use crate::hardware::access_rates::When;
use crate::state::cpu::FreedPage;
use crate::state::simulation::Simulation;
use numalab_kernel::hw::smt::{self, stream_share, Sibling};
use numalab_kernel::mm::CHUNK_PAGES;

/// Time of a fault in which `cpu` clears a page of `node` from `clock` on, ns: a base page, a large folio, or a huge
/// page of so many base pages. Beside a busy hardware thread it takes longer, as user work does: the way into the
/// kernel as computing, the clear as a stream.
pub(crate) fn fill_ns(sim: &mut Simulation<'_>, cpu: usize, node: usize, pages: u32, clock: u64) -> f64 {
    if pages == 1 {
        // The lines stay in the CPU's cache. A sweep behind the fault finds them there and is charged for them as for
        // any others.
        sim.mm.cleared = Some((node as u16, 1));
        return fill_base_ns(sim, cpu, node, clock);
    }
    let here = sim.cpus[cpu].node;
    let (slower, sibling) = (sim.hw.contention.latency_factor(here, node), sibling(sim, cpu));
    let costs = &sim.hw.costs;
    let (way, clear) = if u64::from(pages) == CHUNK_PAGES {
        let clear = costs.clear_2m_ns(here, node, slower);
        (costs.huge_fault_ns(here, node, slower) - clear, clear)
    } else {
        let clear = costs.clear_4k_ns(here, node, slower);
        (costs.minor_fault_ns(here, node, slower) - clear, f64::from(pages) * clear)
    };
    let ns = beside(sibling, way, clear);
    let when = When { now_ns: sim.now_ns, from_ns: clock };
    sim.hw.contention.cleared(here, node, sim.cfg.base_page().bytes_of(u64::from(pages)), when, ns)
}

/// As [`fill_ns`], for the base pages of a grain in as many faults, one after the other.
pub(crate) fn fill_grain_ns(sim: &mut Simulation<'_>, cpu: usize, node: usize, pages: u64, clock: u64) -> f64 {
    sim.mm.cleared = Some((node as u16, pages as u32));
    // Only the first may find lines of a freed page.
    let first = fill_base_ns(sim, cpu, node, clock);
    let rest = if pages > 1 { fill_base_ns(sim, cpu, node, clock + first as u64) } else { 0.0 };
    first + (pages - 1) as f64 * rest
}

/// As [`fill_ns`], for a base page that is freed again. A CPU's list gives the page that came last (`free_unref_page`),
/// so the next fault clears lines that are in its cache, unless other work has replaced them by then.
pub(crate) fn fill_freed_page_ns(sim: &mut Simulation<'_>, cpu: usize, node: usize, clock: u64) -> f64 {
    let ns = fill_base_ns(sim, cpu, node, clock);
    keep_freed_page(sim, cpu, node, clock + ns as u64);
    ns
}

/// Notes that `cpu` frees a base page of `node` at `clock`, which it has just cleared.
pub(crate) fn keep_freed_page(sim: &mut Simulation<'_>, cpu: usize, node: usize, clock: u64) {
    let cached_ns = sim.hw.costs.replace_cache_ns(sim.machine.cache.l2_bytes);
    sim.cpus[cpu].freed_page = Some(FreedPage { node: node as u16, until_ns: clock + cached_ns as u64 });
}

/// Time of a fault in which `cpu` clears a base page of `node` from `clock` on, ns.
fn fill_base_ns(sim: &mut Simulation<'_>, cpu: usize, node: usize, clock: u64) -> f64 {
    let (here, costs) = (sim.cpus[cpu].node, &sim.hw.costs);
    let (slower, sibling) = (sim.hw.contention.latency_factor(here, node), sibling(sim, cpu));
    let (all, clear) = (costs.minor_fault_ns(here, node, slower), costs.clear_4k_ns(here, node, slower));
    let freed = &mut sim.cpus[cpu].freed_page;
    let is_cached = freed.is_some_and(|f| usize::from(f.node) == node && clock < f.until_ns);
    if freed.is_some_and(|f| usize::from(f.node) == node) {
        *freed = None;
    }
    if is_cached {
        return beside(sibling, all - clear + costs.clear_cached_4k_ns(), 0.0);
    }
    beside(sibling, all - clear, clear)
}

/// Time of computing for `compute_ns` and streaming for `stream_ns` beside what the sibling does, ns.
fn beside(sibling: Sibling, compute_ns: f64, stream_ns: f64) -> f64 {
    compute_ns / smt::speed(0.0, sibling) + stream_ns / stream_share(sibling)
}

/// Sends the lines of pages to their memory that the last fault, from `clock` on for `fault_ns`, has cleared, for an
/// access that does not go over them. They are written back meanwhile. Returns how long the thread stands still because
/// a pipe is full, ns.
pub(crate) fn write_back_cleared(sim: &mut Simulation<'_>, cpu: usize, clock: u64, fault_ns: u64) -> u64 {
    let Some((node, pages)) = sim.mm.cleared.take() else { return 0 };
    let here = sim.cpus[cpu].node;
    let when = When { now_ns: sim.now_ns, from_ns: clock };
    let bytes = sim.cfg.base_page().bytes_of(u64::from(pages));
    let ns = sim.hw.contention.cleared(here, usize::from(node), bytes, when, fault_ns as f64);
    (ns as u64).saturating_sub(fault_ns)
}
