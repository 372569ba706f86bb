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
use numalab_kernel::mm::{PageRef, Vma, VmaKind, CHUNK_PAGES, NEVER};

/// Handles an absent entry of a mapping of a file or of shared memory. Returns the time, ns, and how the fault ends.
pub(crate) fn object_fault(sim: &mut Simulation<'_>, s: &PageSite) -> (u64, FaultEnd) {
    let v = sim.processes[s.process].space.vma(s.vma);
    let (kind, object) = (v.kind, v.objects[0]);
    let at = PageRef { object, chunk: s.chunk as u32, page: s.page as u16 };
    if sim.mm.shared.locked(at) {
        return if is_on_another_page(sim, at) { (0, FaultEnd::Pass) } else { wait_on_page(sim, s, at) };
    }
    if is_read_of_full(sim, s) {
        return map_grains(sim, s, at);
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

/// Whether an access reads a grain of an object that is in memory as a whole. Then each process only maps what is
/// there, and which of its grains it maps first is chance.
fn is_read_of_full(sim: &Simulation<'_>, s: &PageSite) -> bool {
    let v = sim.processes[s.process].space.vma(s.vma);
    !s.write && v.is_absent(s.chunk, s.page) && grains_of_one_read(sim, v) > 1
}

/// Neighbouring grains of a mapping that a read of one of them maps, each by the faults of its own pages: those of
/// 2 MiB, if all of the mapping is in memory.
pub(crate) fn grains_of_one_read(sim: &Simulation<'_>, v: &Vma) -> u64 {
    let pages = v.grain.pages();
    let filled = v.objects.first().map_or(0, |&object| sim.mm.shared.object(object).filled());
    if pages > 1 && filled > 0 && filled == v.grain.count(v.end - v.start) {
        CHUNK_PAGES / pages
    } else {
        1
    }
}

/// Maps the grains around one that are in memory, by as many faults as their pages take.
fn map_grains(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef) -> (u64, FaultEnd) {
    let v = sim.processes[s.process].space.vma(s.vma);
    let (grain, many) = (v.grain.pages(), grains_of_one_read(sim, v) as usize);
    let window = sim.cfg.mm.vm.fault_around_pages() as u64;
    let from = s.page / many * many;
    let v = sim.processes[s.process].space.vma_mut(s.vma);
    let mapped = u64::from(v.map_around(s.chunk, (from, from + many), sim.mm.shared.block_of(at)));
    let faults = (mapped * grain).div_ceil(window);
    sim.kernel.vm.pgfault += faults;
    let (costs, entries) = (&sim.machine.costs, (mapped * grain) as f64 / faults as f64);
    // Each fault takes whole ns.
    (faults * (costs.exception_ns as u64 + (entries * costs.fork_pte_ns) as u64), FaultEnd::Go)
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
    let object = sim.mm.shared.object_mut(at.object);
    let grain = object.grain();
    if grain > 1 {
        object.fill();
    }
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
