//! Making a write-protected page of a task's own writable again (kernel: `wp_page_reuse`).

use crate::state::page_site::PageSite;
use crate::state::process::ProcessState;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::ChunkKind;

pub(crate) fn is_huge(processes: &[ProcessState], s: &PageSite) -> bool {
    processes[s.process].space.vma(s.vma).chunk(s.chunk).kind == ChunkKind::Huge
}

/// Makes a read-only entry writable again, and returns the time, ns. A huge page does not count as reuse
/// (`do_huge_pmd_wp_page`).
pub(crate) fn write_fault(sim: &mut Simulation<'_>, process: usize, vma: usize, chunk: usize, page: usize) -> u64 {
    sim.kernel.vm.pgfault += 1;
    let vma = sim.processes[process].space.vma_mut(vma);
    sim.kernel.numa.counters.pgreuse += u64::from(vma.chunk(chunk).kind != ChunkKind::Huge);
    vma.reuse_for_write(chunk, page);
    sim.machine.costs.exception_ns as u64
}
