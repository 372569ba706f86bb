//! Physical memory is conserved: on each node, and in each of its zones by order.

use crate::check::view::View;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::pageblock::Frame;
use numalab_kernel::mm::{PageClass, CHUNK_PAGES};

/// Pages allocated for migrations that are under way: node, frame, base pages, whether anonymous.
pub(crate) fn in_flight<'s>(sim: &'s Simulation<'_>) -> impl Iterator<Item = (usize, Frame, u64, bool)> + 's {
    let shared = sim.tasks.iter().filter_map(|t| t.migration.as_deref()).map(move |m| {
        let anon = sim.mm.shared.object(m.at.object).backing.class(m.facts.huge).is_anon();
        (m.target, m.frame, u64::from(m.facts.base_pages()), anon)
    });
    shared.chain(sim.kernel.numa_2012.inflight_thp_copies.iter().map(|c| (c.to, c.frame, CHUNK_PAGES, true)))
}

/// Every page in use has one use: it is mapped, a page table, in the page cache, or in the
/// hugetlb pool. No node without memory holds any.
/// Free and used pages add up to those of the zone, and free blocks of each order to the free pages.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    let (sim, physical) = (v.sim, &v.sim.mm.physical);
    physical.check()?;
    let mut used = vec![0u64; sim.machine.node_count()];
    sim.processes.iter().for_each(|p| p.space.add_exclusive_on_node(&mut used));
    sim.mm.shared.add_pages_on_node(&mut used);
    for (node, _, pages, _) in in_flight(sim) {
        used[node] += pages;
    }
    for (n, &u) in used.iter().enumerate() {
        let a = physical.account(n);
        let kept = a.pages(PageClass::PageTables) + a.file() + physical.free_hugetlb(n) * CHUNK_PAGES;
        if u + kept != physical.used(n) {
            let all = physical.used(n);
            return Err(format!("node {n}: {u} pages mapped, {kept} tables, cache and pool, {all} allocated"));
        }
        if u > 0 && sim.machine.nodes[n].memory_bytes == 0 {
            return Err(format!("node {n} has no memory but holds {u} pages"));
        }
    }
    Ok(())
}
