//! Moving a page that one process maps to a frame of another node (kernel: the end of `migrate_folio`).

use crate::mm::split_partial::split_deferred_thp;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{AllocatedPage, PageClass, PhysicalMemory, Vma};

/// Moves the exclusive page, or huge page, at (chunk, page) of `vma` from node `from` to the frame `to`, and frees its
/// old frame. `pages` are its base pages; `last` is its last cpupid on the new node.
pub(crate) fn move_page(
    physical: &mut PhysicalMemory,
    vma: &mut Vma,
    (chunk, page): (usize, usize),
    from: usize,
    to: AllocatedPage,
    pages: u64,
    last: u32,
) {
    let frame = physical.carry_flags(vma.frame(chunk, page), to.node, to.frame, pages);
    let old = vma.move_page(chunk, page, to.node, frame, last);
    physical.free_page(from, old, if pages > 1 { PageClass::AnonHuge } else { PageClass::Anon });
}

/// Allocates a base page on node `to` for a CPU there, and moves the page at (mapping, chunk, page) of a process from
/// node `from` to it. The mark of the page is removed. Returns whether the allocation succeeded.
pub(crate) fn move_base_page(
    sim: &mut Simulation<'_>,
    process: usize,
    (vma, chunk, page): (usize, usize, usize),
    from: usize,
    to: usize,
    last: u32,
) -> bool {
    let Some(frame) = sim.mm.physical.alloc_on(to, to, 1) else { return false };
    split_deferred_thp(sim, process, vma, chunk);
    let vma = sim.processes[process].space.vma_mut(vma);
    vma.unmark(chunk, page);
    move_page(&mut sim.mm.physical, vma, (chunk, page), from, AllocatedPage { node: to, frame }, 1, last);
    true
}
