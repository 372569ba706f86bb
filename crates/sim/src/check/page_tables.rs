//! Page tables: the entries of every mapping, and the pages that the tables take themselves.

use crate::check::view::View;
use numalab_base::base_page::BasePage;
use numalab_base::grain::Grain;
use numalab_kernel::mm::{ChunkKind, PageClass, Vma};

/// Every mapping has the kernel's base pages, whole ones, and no huge page or large folio of larger ones. The bitmaps
/// of every mapping agree with its counts, mappings lie in order, and every page table belongs to one mapping.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    let sim = v.sim;
    for (number, p) in sim.processes.iter().enumerate() {
        let whole = p.space.iter().try_for_each(|v| base_pages(v, sim.cfg.base_page()));
        whole.and_then(|()| p.space.check()).map_err(|why| format!("process {number}: {why}"))?;
    }
    let vmas = sim.processes.iter().flat_map(|p| p.space.iter());
    let tables: u64 = vmas.map(|v| v.frame_map.tables()).sum();
    let physical = &sim.mm.physical;
    let allocated: u64 = (0..physical.nodes()).map(|n| physical.account(n).pages(PageClass::PageTables)).sum();
    if tables != allocated {
        return Err(format!("{tables} page tables in mappings, {allocated} allocated"));
    }
    Ok(())
}

fn base_pages(v: &Vma, page: BasePage) -> Result<(), String> {
    let grain = v.grain;
    if grain.base_page() != page || grain.floor(v.start) != v.start || grain.floor(v.end) != v.end {
        return Err(format!("{:#x}..{:#x} is not in whole pages of {} KiB", v.start, v.end, page.word()));
    }
    let huge = (0..v.chunk_count()).any(|c| v.chunk(c).kind == ChunkKind::Huge) || v.has_had_folios();
    if huge && grain != Grain::one(BasePage::Kib4) {
        return Err(format!("{:#x}: a huge page or large folio beside pages of {} KiB", v.start, page.word()));
    }
    Ok(())
}
