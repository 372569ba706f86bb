//! Looking at one page of each region (`damon_va_prepare_access_checks`, `damon_va_check_accesses`).

use crate::state::damon_state::{Damon, Sampled};
use crate::state::process::ProcessState;
use numalab_kernel::mm::{CHUNK_BYTES, PAGE_BYTES};

/// CPU time of a look at a page: a walk to its entry, its lock, the bit (estimate).
const LOOK_NS: u64 = 250;

/// Chooses a page of each region at random and clears its accessed bit. Returns the CPU time, ns.
pub(super) fn prepare_access_checks(processes: &mut [ProcessState], damon: &mut Damon) -> u64 {
    damon.sampled.clear();
    for (region, r) in damon.regions.list.iter().enumerate() {
        let page = r.at.start + damon.rng.below(r.at.pages().max(1));
        let (process, addr) = (r.at.process as usize, page * PAGE_BYTES);
        if processes[process].ended {
            continue;
        }
        let space = &mut processes[process].space;
        let position = space.find_vma(addr);
        if position >= space.len() {
            continue;
        }
        let id = space.id_at(position);
        if space.vma(id).start > addr {
            continue;
        }
        let v = space.vma_mut(id);
        let chunk = v.chunk_of(addr);
        let page = (addr % CHUNK_BYTES / PAGE_BYTES) as usize;
        let before = v.begin_access_sample(chunk);
        damon.sampled.push(Sampled { region, at: (process, id, chunk, page), before });
    }
    damon.sampled_pages += damon.sampled.len() as u64;
    damon.regions.list.len() as u64 * LOOK_NS
}

/// Counts the accesses since then. Returns the CPU time, ns.
pub(super) fn check_accesses(processes: &mut [ProcessState], damon: &mut Damon) -> u64 {
    let sampled = std::mem::take(&mut damon.sampled);
    for s in &sampled {
        let (process, id, chunk, page) = s.at;
        if processes[process].ended {
            continue;
        }
        let v = processes[process].space.vma(id);
        if v.accessed_since(chunk, page, &s.before, &mut damon.rng) {
            damon.regions.list[s.region].nr_accesses += 1;
        }
    }
    // Two regions may have a page in the same chunk, so all have looked before anything is put back.
    for s in &sampled {
        let (process, id, chunk, _) = s.at;
        if processes[process].ended {
            continue;
        }
        processes[process].space.vma_mut(id).end_access_sample(chunk, &s.before);
    }
    let looked = sampled.len() as u64;
    damon.sampled = sampled;
    damon.sampled.clear();
    looked * LOOK_NS
}
