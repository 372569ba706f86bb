//! First touches of anonymous base pages that lie side by side, by one thread that nobody meets there.

use crate::mm::fault_lock::{take_fault_locks, take_listed_pages};
use crate::mm::lru::add_run_to_lru_batches;
use crate::record::log::log_first_touch;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::alloc::RunSource;

/// What first touches of a run have done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TouchedPages {
    /// Pages mapped.
    pub(crate) pages: u64,
    /// Waits for locks, and transfers of their lines, ns.
    pub(crate) locks_ns: u64,
}

/// Allocates up to `most` pages of one pageblock and maps them from the page of `s` on, where nothing is mapped. The
/// first fault is at `clock`, and another every `page_ns`.
pub(crate) fn touch_pages(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    from: &RunSource,
    most: u64,
    (clock, page_ns): (u64, f64),
) -> TouchedPages {
    let Some((got, pages)) = sim.mm.physical.take_run(from, most) else {
        return TouchedPages { pages: 0, locks_ns: 0 };
    };
    let vma = sim.processes[s.process].space.vma_mut(s.vma);
    vma.populate_run(s.chunk, s.page, pages as usize, (got.node, got.frame));
    sim.kernel.vm.pgfault += pages;
    let mut locks_ns = take_fault_locks(sim, (s.cpu, s.task), s.vma, clock, (pages, page_ns));
    locks_ns += take_listed_pages(sim, s.cpu, got.node, pages, clock + locks_ns);
    locks_ns += add_run_to_lru_batches(sim, s, (got.node, pages), clock + locks_ns);
    log_first_touch(&mut sim.record.log, got.node, pages);
    TouchedPages { pages, locks_ns }
}
