//! Faults on files and shared memory: an absent entry of a page that several processes may map (kernel: `do_fault`,
//! `do_fault_around`).

use crate::mm::cow_fault::copy_for_write;
use crate::mm::fault_lock::add_batch_to_lru;
use crate::mm::fill::fill_ns;
use crate::mm::page_alloc::{alloc_base_page, alloc_cache_page};
use crate::mm::page_lock::wait_on_page;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use numalab_kernel::mm::{PageRef, VmaKind, NEVER};

/// Handles an absent entry of a mapping of a file or of shared memory. Returns the time, ns, and how the fault ends.
pub(crate) fn object_fault(sim: &mut Simulation<'_>, s: &PageSite) -> (u64, FaultEnd) {
    let v = sim.processes[s.process].space.vma(s.vma);
    let (kind, object) = (v.kind, v.objects[0]);
    let at = PageRef { object, chunk: s.chunk as u32, page: s.page as u16 };
    if sim.mm.shared.locked(at) {
        return wait_on_page(sim, s, at);
    }
    let mut ns = sim.machine.costs.exception_ns;
    if !sim.mm.shared.object(object).resident(s.chunk, s.page) {
        match object_page(sim, s, at, true) {
            Some(fetched) => ns = fetched,
            None => return (0, FaultEnd::OutOfMemory),
        }
    }
    sim.kernel.vm.pgfault += 1;
    if s.write && kind == VmaKind::CowData {
        // The process gets its own copy at once; the page of the file is only read.
        return copy_for_write(sim, s, at, false);
    }
    if s.write && kind.notifies_writes() {
        sim.mm.shared.block_of(at).dirty.set(s.page);
    }
    let mapped = map_around(sim, s, at);
    (ns as u64 + (f64::from(mapped) * sim.machine.costs.fork_pte_ns) as u64, FaultEnd::Go)
}

/// Brings a page of an object into memory: from the page cache if it is still there, else as a new page. `mapped` tells
/// that an entry will map it. Returns the time, ns; `None` when memory is exhausted.
pub(crate) fn object_page(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef, mapped: bool) -> Option<f64> {
    let b = sim.mm.shared.block_of(at);
    let mut left = None;
    if b.cached.get(s.page) {
        b.cached.clear(s.page);
        let node = usize::from(b.node[s.page]);
        left = sim.mm.physical.take_from_page_cache(node).map(|frame| (node, frame));
    }
    let (node, frame, ns) = match left {
        Some((node, frame)) => (node, frame, sim.machine.costs.exception_ns),
        None => {
            let (class, mut waited) = (sim.mm.shared.object(at.object).backing.class(false), 0);
            let alloc = if mapped { alloc_base_page } else { alloc_cache_page };
            let got = alloc(sim, s, class, sim.now_ns, &mut waited)?;
            (got.node, got.frame, fill_ns(sim, s.cpu, got.node, 1, sim.now_ns) + waited as f64)
        }
    };
    let b = sim.mm.shared.block_of(at);
    b.resident.set(s.page);
    b.dirty.clear(s.page);
    (b.node[s.page], b.last[s.page], b.frame[s.page]) = (node as u8, NEVER, frame);
    let mut ns = ns;
    if sim.mm.lru_batches.add(s.cpu, at, &mut sim.mm.shared) {
        let pages = sim.mm.lru_batches.size() as u32;
        ns += add_batch_to_lru(sim, s.cpu, (node, pages), sim.now_ns + ns as u64) as f64;
    }
    Some(ns)
}

/// Maps a page, and for a read all resident pages of its fault-around window. Returns how many entries are set.
fn map_around(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef) -> u32 {
    let v = sim.processes[s.process].space.vma_mut(s.vma);
    let window = if s.write { 1 } else { sim.cfg.mm.vm.fault_around_pages() };
    let from = s.page / window * window;
    v.map_around(s.chunk, (from, from + window), sim.mm.shared.block_of(at))
}
