//! The first access to a hugetlb page, which takes it from the pool (kernel: `hugetlb_no_page`).

use crate::mm::fill::fill_ns;
use crate::mm::vma_policy::policy;
use crate::record::log::log_first_touch;
use crate::state::page_site::PageSite;
use crate::state::policies::page_index;
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use numalab_kernel::mm::{CHUNK_BYTES, CHUNK_PAGES};
use numalab_nouns::machine::Machine;
use numalab_nouns::record::Status;
use numalab_nouns::workload::{RegionKind, Workload};

/// Maps a page of the pool, cleared. A read needs one too, since hugetlb has no zero page. The huge entry lies in the
/// table of the level above, so there is no page table to allocate.
pub(crate) fn hugetlb_fault(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> (u64, FaultEnd) {
    let p = &sim.processes[s.process];
    let index = page_index(p.space.vma(s.vma), s.chunk, 0, 9);
    let nodes = policy(sim, s).policy_nodes(sim.cpus[s.cpu].node, index);
    let Some(got) = sim.mm.physical.take_hugetlb(&nodes, p.mems) else {
        let spec = &sim.workload.processes[s.process];
        let text = format!(
            "{} touched `{}`, and no node that its policy and cpuset allow has a hugetlb page left (SIGBUS): give the \
             region a larger `pool`",
            spec.name,
            p.name_of(s.vma, (s.process, &sim.workload.processes))
        );
        sim.status = Status::Failed(text);
        return (0, FaultEnd::OutOfMemory);
    };
    sim.processes[s.process].space.vma_mut(s.vma).populate_huge(s.chunk, got.node, got.frame);
    log_first_touch(&mut sim.record.log, got.node, CHUNK_PAGES);
    (fill_ns(sim, s.cpu, got.node, CHUNK_PAGES as u32, clock) as u64, FaultEnd::Go)
}

/// Sets aside what the hugetlb regions of a workload need, on each node with memory.
///
/// # Errors
/// A node without so much room, or a design that would treat these pages as others, as a sentence.
pub(crate) fn fill_hugetlb_pools(sim: &mut Simulation<'_>) -> Result<(), String> {
    let pages = pool_pages(sim.workload);
    if pages == 0 {
        return Ok(());
    }
    if sim.cfg.design.active() || sim.kernel.damon.is_some() || sim.kernel.userspace_balance.is_some() {
        return Err(
            "hugetlb regions are modelled on kernels that balance as Linux does: without AutoNUMA, schednuma, \
                    DAMON's migration and `userspace-balance`"
                .into(),
        );
    }
    for node in nodes_with_memory(sim.machine) {
        sim.mm.physical.fill_hugetlb_pool(node, pages).map_err(|room| {
            format!("node {node} has room for {room} of {pages} hugetlb pages: smaller regions, or a smaller `pool`")
        })?;
    }
    Ok(())
}

/// Hugetlb pages that each node with memory sets aside.
fn pool_pages(workload: &Workload) -> u64 {
    let regions = workload.processes.iter().flat_map(|p| &p.regions);
    regions.filter(|r| r.kind == RegionKind::Hugetlb).map(|r| r.pool_bytes / CHUNK_BYTES).sum()
}

fn nodes_with_memory(machine: &Machine) -> impl Iterator<Item = usize> + '_ {
    (0..machine.node_count()).filter(|n| machine.nodes[*n].memory_bytes > 0)
}
