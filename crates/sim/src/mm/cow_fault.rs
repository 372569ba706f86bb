//! Copy-on-write: a store to a write-protected page that several processes may map (kernel: `do_wp_page`,
//! `do_huge_pmd_wp_page`).

use crate::charge::core::copy_slowdown;
use crate::charge::tlb_flush::shoot_down;
use crate::hardware::access_rates::When;
use crate::mm::lru::add_to_lru_batch;
use crate::mm::page_alloc::{alloc_base_page, alloc_thp_for_cow};
use crate::mm::shrink_pages::ProcessAddressSpaces;
use crate::record::log::log_first_touch;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{rmap, AllocatedPage, Backing, PageClass, PageRef, CHUNK_PAGES, NEVER};

/// Handles a store to the write-protected entry of a shared page, at `clock`. Returns the time, ns, and how the fault
/// ends.
pub(crate) fn shared_write_fault(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef, clock: u64) -> (u64, FaultEnd) {
    sim.kernel.vm.pgfault += 1;
    let v = sim.processes[s.process].space.vma_mut(s.vma);
    let backing = sim.mm.shared.object(at.object).backing;
    let b = sim.mm.shared.block_of(at);
    let page = usize::from(at.page);
    let last_owner = backing == Backing::Anon && b.mapcount[page] == 1 && b.slot(page).is_none();
    if v.kind.is_shared() || last_owner {
        b.dirty.set(page);
        if !b.huge {
            b.last[page] = NEVER;
        }
        v.reuse_for_write(s.chunk, s.page);
        sim.kernel.numa.counters.pgreuse += 1;
        return (sim.machine.costs.exception_ns as u64, FaultEnd::Go);
    }
    let mut ns = 0;
    let mut at = at;
    if b.huge {
        if sim.cfg.mm.thp.cow_copies_huge {
            if let Some(got) = alloc_thp_for_cow(sim, s, sim.now_ns, &mut ns) {
                return (ns + copy_huge(sim, s, at, got), FaultEnd::Go);
            }
        }
        ns += split_shared(sim, at);
        at.page = s.page as u16;
    }
    let (copy, end) = copy_for_write(sim, s, (at, clock), true);
    (ns + copy, end)
}

/// Splits the writer's huge page in every mapping. (From 5.8 on the kernel splits only the writer's entry and keeps the
/// huge page; simplification.) Returns the time, ns.
fn split_shared(sim: &mut Simulation<'_>, at: PageRef) -> u64 {
    rmap::split(at, &mut sim.mm.shared, &mut ProcessAddressSpaces(&mut sim.processes), &mut sim.mm.physical);
    sim.mm.physical.events.thp_split_page += 1;
    sim.mm.physical.events.thp_split_pmd += 1;
    sim.hw.costs.split_ns() as u64
}

/// Gives the writer a huge page of its own with the contents of a shared one; returns the time.
fn copy_huge(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef, got: AllocatedPage) -> u64 {
    let old = usize::from(sim.mm.shared.block_of(at).node.get(0));
    let v = sim.processes[s.process].space.vma_mut(s.vma);
    v.break_cow_huge(s.chunk, old, (got.node, got.frame));
    let memory = &mut sim.mm.physical;
    sim.mm.shared.unmap(at, &mut |gone| memory.free_unmapped(gone));
    let copy_ns = sim.hw.costs.copy_2m_ns(old, got.node, copy_slowdown(sim, s.cpu, old, got.node));
    let mut ns = sim.hw.contention.copied(
        old,
        got.node,
        sim.cfg.base_page().bytes_of(CHUNK_PAGES),
        When::now(sim.now_ns),
        copy_ns,
    ) as u64;
    for _ in 0..shootdowns(FlushOp::CowReplace, &sim.cfg.flush, false) {
        ns += shoot_down(sim, s.cpu, s.task, 1);
    }
    ns + sim.machine.costs.huge_fault_ns as u64
}

/// Gives the writer a page of its own with the contents of a shared one, at `clock`. `mapped` tells whether its entry
/// maps the shared page now.
pub(crate) fn copy_for_write(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    (at, clock): (PageRef, u64),
    mapped: bool,
) -> (u64, FaultEnd) {
    let mut waited = 0;
    let Some(got) = alloc_base_page(sim, s, PageClass::Anon, clock, &mut waited) else {
        return (waited, FaultEnd::OutOfMemory);
    };
    let node = got.node;
    let old = usize::from(sim.mm.shared.block_of(at).node.get(s.page));
    let v = sim.processes[s.process].space.vma_mut(s.vma);
    if mapped {
        v.break_cow(s.chunk, s.page, old, (node, got.frame));
        let memory = &mut sim.mm.physical;
        sim.mm.shared.unmap(at, &mut |gone| memory.free_unmapped(gone));
    } else {
        v.populate(s.chunk, s.page, node, got.frame);
        waited += add_to_lru_batch(sim, s, node, clock + waited);
        let memory = &mut sim.mm.physical;
        sim.mm.shared.leave_in_page_cache(at, &mut |gone| memory.free_unmapped(gone));
    }
    log_first_touch(&mut sim.record.log, node, 1);
    let copy_ns = sim.hw.costs.cow_fault_ns(old, node, copy_slowdown(sim, s.cpu, old, node));
    let when = When { now_ns: sim.now_ns, from_ns: clock };
    let copy_ns = sim.hw.contention.copied(old, node, sim.cfg.base_page().bytes(), when, copy_ns);
    let mut ns = waited + copy_ns as u64;
    if mapped {
        for _ in 0..shootdowns(FlushOp::CowReplace, &sim.cfg.flush, false) {
            ns += shoot_down(sim, s.cpu, s.task, 1);
        }
    }
    (ns, FaultEnd::Go)
}
