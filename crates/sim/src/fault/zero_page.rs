//! Anonymous memory that was never written: reads map the shared page of zeros, stores replace it (kernel:
//! `do_anonymous_page`, `do_huge_pmd_anonymous_page`).

use crate::charge::tlb_flush::shoot_down;
use crate::mm::page_alloc::{alloc_page_table, work_ns};
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::Work;

/// Maps zeros for a read of an empty entry: the huge zero page if the mapping may have huge pages there, else the base
/// zero page (`do_huge_pmd_anonymous_page`, `do_anonymous_page`). Returns the time, ns; `None` if a huge page has to be
/// allocated.
pub(crate) fn map_zero_page(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> Option<u64> {
    let vma = sim.processes[s.process].space.vma(s.vma);
    let huge = vma.huge_fault_fits(s.chunk);
    if huge && !sim.cfg.mm.thp.use_zero_page {
        return None;
    }
    if !vma.maps_zero_page(s.chunk, s.page) {
        let vma = sim.processes[s.process].space.vma_mut(s.vma);
        if huge {
            vma.map_huge_zero_page(s.chunk);
            // The kernel allocates the huge zero page once and keeps it.
            sim.mm.physical.events.thp_zero_page_alloc = 1;
        } else {
            vma.map_zero_page(s.chunk, s.page);
        }
    }
    let mut work = Work::default();
    alloc_page_table(sim, s, &mut work);
    Some(sim.machine.costs.exception_ns as u64 + work_ns(sim, &work, clock))
}

/// Prepares a store to an entry that shows zeros. A huge entry becomes base entries first, unless the kernel allocates
/// a huge page there. TLBs that may hold the translation are flushed. Returns the time, ns.
pub(crate) fn replace_zero_page(sim: &mut Simulation<'_>, s: &PageSite) -> u64 {
    let vma = sim.processes[s.process].space.vma(s.vma);
    if !vma.maps_zero_page(s.chunk, s.page) {
        return 0;
    }
    if vma.is_huge_zero_page(s.chunk) && !sim.cfg.mm.thp.zero_page_write_huge {
        sim.mm.physical.events.thp_split_pmd += 1;
    }
    let flushes = shootdowns(FlushOp::CowReplace, &sim.cfg.flush, false);
    (0..flushes).map(|_| shoot_down(sim, s.cpu, s.task, 1)).sum()
}
