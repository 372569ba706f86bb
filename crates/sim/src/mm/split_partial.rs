//! Huge pages that a mapping shows only in part, which are split before something else happens to them (kernel:
//! `deferred_split_folio`).

use crate::state::simulation::Simulation;

/// Splits the huge page of a chunk if it is mapped in part, before something else happens to it; returns the time.
pub(crate) fn split_deferred_thp(sim: &mut Simulation<'_>, process: usize, vma: usize, chunk: usize) -> u64 {
    let vma = sim.processes[process].space.vma_mut(vma);
    if vma.partly_mapped_thps() == 0 || vma.split_deferred_thp(chunk, &mut sim.mm.physical).is_none() {
        return 0;
    }
    sim.hw.costs.split_ns() as u64
}
