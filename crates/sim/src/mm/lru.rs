//! Pages on their way to the LRU lists: the batches of each CPU (kernel: `folio_add_lru`, `lru_add_drain`).

use crate::mm::fault_lock::add_batch_to_lru;
use crate::state::page_site::{MarkedPage, PageSite};
use crate::state::simulation::{Memory, Simulation};
use numalab_kernel::mm::{OwnPage, PageRef};

/// Puts a new exclusive page of `node` into the LRU batch of its CPU at `clock`. Returns what the lock of the list
/// takes if that was full, ns.
#[inline]
pub(crate) fn add_to_lru_batch(sim: &mut Simulation<'_>, s: &PageSite, node: usize, clock: u64) -> u64 {
    let page = OwnPage { process: s.process as u32, vma: s.vma as u32, chunk: s.chunk as u32, page: s.page as u16 };
    if !sim.mm.lru_batches.add_own(s.cpu, page, &mut sim.mm.shared) {
        return 0;
    }
    let pages = sim.mm.lru_batches.size() as u32;
    add_batch_to_lru(sim, s.cpu, (node, pages), clock)
}

/// As [`add_to_lru_batch`], for `pages` new pages of the chunk side by side from that of `s` on.
pub(crate) fn add_run_to_lru_batches(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    (node, pages): (usize, u64),
    clock: u64,
) -> u64 {
    let first = OwnPage { process: s.process as u32, vma: s.vma as u32, chunk: s.chunk as u32, page: s.page as u16 };
    let size = sim.mm.lru_batches.size() as u32;
    let (mut done, mut ns) = (0, 0);
    while done < pages {
        let page = OwnPage { page: first.page + done as u16, ..first };
        let (added, full) = sim.mm.lru_batches.add_own_run(s.cpu, page, pages - done, &mut sim.mm.shared);
        done += added;
        if full {
            ns += add_batch_to_lru(sim, s.cpu, (node, size), clock + ns);
        }
    }
    ns
}

/// Puts the pages of `grain` base pages of a shared object, new on `node`, into the LRU batch of a CPU at `clock`.
/// Returns what the lock of the list takes whenever that was full, ns.
pub(crate) fn add_shared_to_lru_batch(
    sim: &mut Simulation<'_>,
    cpu: usize,
    at: PageRef,
    (node, grain): (usize, u64),
    clock: u64,
) -> u64 {
    let mut ns = 0;
    for _ in 0..grain {
        if sim.mm.lru_batches.add(cpu, at, &mut sim.mm.shared) {
            let pages = sim.mm.lru_batches.size() as u32;
            ns += add_batch_to_lru(sim, cpu, (node, pages), clock + ns);
        }
    }
    ns
}

/// Whether a base page is still on its way to the LRU.
pub(crate) fn is_in_lru_batch(mm: &Memory, process: usize, f: &MarkedPage) -> bool {
    let (process, vma, chunk, page) = (process as u32, f.vma as u32, f.chunk as u32, f.page as u16);
    f.pages == 1 && mm.lru_batches.holds_own(OwnPage { process, vma, chunk, page })
}

/// Puts an exclusive page that has moved onto the LRU. A base page goes through the batch of the CPU, unless
/// `numa.migration_drains_lru` is set. A huge page goes there at once, with the batch (`folio_add_lru`).
pub(crate) fn add_migrated_to_lru(sim: &mut Simulation<'_>, cpu: usize, process: usize, f: &MarkedPage) {
    if f.pages > 1 || sim.kernel.numa.cfg.switches.migration_drains_lru {
        sim.mm.lru_batches.drain(cpu, &mut sim.mm.shared);
        return;
    }
    let page = OwnPage { process: process as u32, vma: f.vma as u32, chunk: f.chunk as u32, page: f.page as u16 };
    sim.mm.lru_batches.add_own(cpu, page, &mut sim.mm.shared);
}
