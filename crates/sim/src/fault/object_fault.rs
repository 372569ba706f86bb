//! Faults on files and shared memory: an absent entry of a page that several processes may map (kernel: `do_fault`,
//! `do_fault_around`).

use crate::mm::cow_fault::copy_for_write;
use crate::mm::fill::{fill_grain_ns, fill_ns};
use crate::mm::lru::add_shared_to_lru_batch;
use crate::mm::page_alloc::{alloc_base_page, alloc_cache_page, alloc_grain};
use crate::mm::page_lock::{is_on_another_page, wait_on_page};
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use numalab_base::node_mask::NodeId;
use numalab_kernel::mm::{PageRef, VmaKind, NEVER};

/// Handles an absent entry of a mapping of a file or of shared memory. Returns the time, ns, and how the fault ends.
pub(crate) fn object_fault(sim: &mut Simulation<'_>, s: &PageSite) -> (u64, FaultEnd) {
    let v = sim.processes[s.process].space.vma(s.vma);
    let (kind, object) = (v.kind, v.objects[0]);
    let at = PageRef { object, chunk: s.chunk as u32, page: s.page as u16 };
    if sim.mm.shared.locked(at) {
        return if is_on_another_page(sim, at) { (0, FaultEnd::Pass) } else { wait_on_page(sim, s, at) };
    }
    let faults = faults_of_entry(sim, s);
    let mut ns = faults as f64 * sim.machine.costs.exception_ns;
    if !sim.mm.shared.object(object).resident(s.chunk, s.page) {
        match object_page(sim, s, at, true) {
            Some(fetched) => ns = fetched,
            None => return (0, FaultEnd::OutOfMemory),
        }
    }
    sim.kernel.vm.pgfault += faults;
    if s.write && kind == VmaKind::CowData {
        // The process gets its own copy at once; the page of the file is only read.
        return copy_for_write(sim, s, (at, sim.now_ns), false);
    }
    if s.write && kind.notifies_writes() {
        sim.mm.shared.block_of(at).dirty.set(s.page);
    }
    let grain = sim.processes[s.process].space.vma(s.vma).grain.pages() as u32;
    let mapped = map_around(sim, s, at) * grain;
    // Each fault takes whole ns, those of a grain too.
    let (each_ns, entries) = (ns / faults as f64, f64::from(mapped) / faults as f64);
    (faults * (each_ns as u64 + (entries * sim.machine.costs.fork_pte_ns) as u64), FaultEnd::Go)
}

/// Base pages of an entry of shared memory that one fault maps: the window around the page if an access reads a page
/// that is in memory, else one.
pub(crate) fn pages_of_one_fault(sim: &Simulation<'_>, s: &PageSite) -> u64 {
    let v = sim.processes[s.process].space.vma(s.vma);
    let Some(&object) = v.objects.first() else { return 1 };
    let around = !s.write && v.is_absent(s.chunk, s.page) && sim.mm.shared.object(object).resident(s.chunk, s.page);
    if around {
        v.grain.pages().min(sim.cfg.mm.vm.fault_around_pages() as u64)
    } else {
        1
    }
}

/// Faults that map what an absent entry stands for, one after the other.
fn faults_of_entry(sim: &Simulation<'_>, s: &PageSite) -> u64 {
    match sim.processes[s.process].space.vma(s.vma).grain.pages() {
        1 => 1,
        pages => pages / pages_of_one_fault(sim, s),
    }
}

/// Brings a page of an object into memory: from the page cache if it is still there, else as a new page. `mapped` tells
/// that an entry will map it. Returns the time, ns; `None` when memory is exhausted.
pub(crate) fn object_page(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef, mapped: bool) -> Option<f64> {
    let b = sim.mm.shared.block_of(at);
    let mut left = None;
    if b.cached.get(s.page) {
        b.cached.clear(s.page);
        let node = usize::from(b.node.get(s.page));
        left = sim.mm.physical.take_from_page_cache(node).map(|frame| (node, frame));
    }
    let (node, frame, ns) = match left {
        Some((node, frame)) => (node, frame, sim.machine.costs.exception_ns),
        None => {
            let (class, mut waited) = (sim.mm.shared.object(at.object).backing.class(false), 0);
            let grain = sim.mm.shared.object(at.object).grain();
            if grain > 1 {
                let got = alloc_grain(sim, s, (class, grain), sim.now_ns, &mut waited)?;
                let fill_ns = fill_grain_ns(sim, s.cpu, got.node, grain, sim.now_ns);
                (got.node, got.frame, fill_ns + waited as f64)
            } else {
                let alloc = if mapped { alloc_base_page } else { alloc_cache_page };
                let got = alloc(sim, s, class, sim.now_ns, &mut waited)?;
                (got.node, got.frame, fill_ns(sim, s.cpu, got.node, 1, sim.now_ns) + waited as f64)
            }
        }
    };
    let b = sim.mm.shared.block_of(at);
    b.resident.set(s.page);
    b.dirty.clear(s.page);
    b.node.set(s.page, node as NodeId);
    (b.last[s.page], b.frame[s.page]) = (NEVER, frame);
    let grain = sim.mm.shared.object(at.object).grain();
    Some(ns + add_shared_to_lru_batch(sim, s.cpu, at, (node, grain), sim.now_ns + ns as u64) as f64)
}

/// Maps a page, and for a read all resident pages of its fault-around window. Returns how many entries are set.
fn map_around(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef) -> u32 {
    let v = sim.processes[s.process].space.vma_mut(s.vma);
    let around = (sim.cfg.mm.vm.fault_around_pages() as u64 / v.grain.pages()).max(1) as usize;
    let window = if s.write { 1 } else { around };
    let from = s.page / window * window;
    v.map_around(s.chunk, (from, from + window), sim.mm.shared.block_of(at))
}
