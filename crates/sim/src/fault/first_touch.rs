//! The first access to an anonymous page, which allocates it (kernel: `do_anonymous_page`,
//! `do_huge_pmd_anonymous_page`).

use crate::fault::concurrent_first_touch::concurrent_first_touch;
use crate::fault::hugetlb_fault::hugetlb_fault;
use crate::fault::zero_page::{map_zero_page, replace_zero_page};
use crate::mm::fill::fill_ns;
use crate::mm::lru::add_to_lru_batch;
use crate::mm::page_alloc::{alloc_anon_folio, AllocatedFolio};
use crate::mm::swap_in::swap_in;
use crate::record::log::log_first_touch;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use numalab_kernel::mm::VmaKind;

pub(crate) fn first_touch(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> (u64, FaultEnd) {
    sim.kernel.vm.pgfault += 1;
    if sim.processes[s.process].space.vma(s.vma).kind == VmaKind::Hugetlb {
        return hugetlb_fault(sim, s, clock);
    }
    if sim.processes[s.process].space.vma(s.vma).frame_map.slot(s.chunk, s.page).is_some() {
        return swap_in(sim, s, clock).map_or((0, FaultEnd::OutOfMemory), |ns| (ns, FaultEnd::Go));
    }
    if !s.write {
        if let Some(ns) = map_zero_page(sim, s, clock) {
            return (ns, FaultEnd::Go);
        }
    }
    // Before the zero page goes: an entry that maps it gets a base page.
    let order = sim.processes[s.process].space.vma(s.vma).folio_fault_order(s.chunk, s.page);
    let mut ns = replace_zero_page(sim, s);
    let Some(folio) = alloc_anon_folio(sim, s, order, clock, &mut ns) else { return (ns, FaultEnd::OutOfMemory) };
    let AllocatedFolio { huge, pages, got } = folio;
    let vma = sim.processes[s.process].space.vma_mut(s.vma);
    if folio.is_large() {
        vma.populate_folio(s.chunk, s.page & !(pages as usize - 1), got.node, &sim.mm.folio_frames);
        sim.mm.lru_batches.drain(s.cpu, &mut sim.mm.shared);
    } else if huge {
        vma.populate_huge(s.chunk, got.node, got.frame);
        // A huge page goes to the LRU at once, and the batch of its CPU with it (folio_add_lru).
        sim.mm.lru_batches.drain(s.cpu, &mut sim.mm.shared);
    } else {
        vma.populate(s.chunk, s.page, got.node, got.frame);
        ns += add_to_lru_batch(sim, s, got.node, clock + ns);
    }
    let fault = fill_ns(sim, s.cpu, got.node, pages, clock + ns);
    log_first_touch(&mut sim.record.log, got.node, u64::from(pages));
    concurrent_first_touch(sim, s, folio, clock, ns + fault as u64);
    if huge && sim.cfg.mm.vm.fault_holds_mmap_lock {
        let p = &mut sim.processes[s.process];
        p.filling_until_ns = p.filling_until_ns.max(clock + ns + fault as u64);
    }
    (ns + fault as u64, FaultEnd::Go)
}
