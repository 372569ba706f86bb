//! Faults on pages that are on the swap device (kernel: `do_swap_page`).

use crate::mm::fill::fill_ns;
use crate::mm::page_alloc::{alloc_base_page, work_ns};
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::rmap::SwapEntry;
use numalab_kernel::mm::{PageClass, PageRef, Work};

/// Brings a page back from the swap device, to where the policy of the faulting task wants it. Returns the time, ns.
pub(crate) fn swap_in(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> Option<u64> {
    let mut ns = 0;
    let entry =
        |sim: &Simulation<'_>| sim.processes[s.process].space.vma(s.vma).swap_entry(s.chunk, s.page, &sim.mm.shared);
    if let Some(SwapEntry::Cached(at)) = entry(sim) {
        show_again(sim, s, at);
        return Some(sim.machine.costs.exception_ns as u64);
    }
    let mut got = alloc_base_page(sim, s, PageClass::Anon, clock, &mut ns)?;
    if let Some(slot) = sim.processes[s.process].space.vma(s.vma).frame_map.slot(s.chunk, s.page) {
        got.frame = sim.mm.physical.refault(slot, got);
    }
    // Reclaim for the new page may evict other pages of the chunk, but never brings one back.
    match entry(sim) {
        Some(SwapEntry::Shared(at)) => {
            sim.mm.shared.read_back(at, (got.node, got.frame));
            show_again(sim, s, at);
        }
        _ => {
            let memory = &mut sim.mm.physical;
            let vma = sim.processes[s.process].space.vma_mut(s.vma);
            vma.release_slot(s.chunk, s.page, &mut sim.mm.shared, &mut |gone| memory.free_unmapped(gone));
            vma.populate(s.chunk, s.page, got.node, got.frame);
        }
    }
    sim.mm.physical.events.pswpin += 1;
    sim.mm.physical.events.pgmajfault += 1;
    ns += work_ns(sim, &Work { swapped_in: 1, ..Work::default() }, clock + ns);
    Some(ns + fill_ns(sim, s.cpu, got.node, 1, clock + ns) as u64)
}

/// Makes the entry of a swapped page map the page, which is in memory again.
fn show_again(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef) {
    let memory = &mut sim.mm.physical;
    let vma = sim.processes[s.process].space.vma_mut(s.vma);
    vma.swap_in_shared(at, &mut sim.mm.shared, &mut |gone| memory.free_unmapped(gone));
}
