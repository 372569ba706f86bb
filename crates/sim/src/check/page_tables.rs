//! Page tables: the entries of every mapping, and the pages that the tables take themselves.

use crate::check::view::View;
use numalab_kernel::mm::PageClass;

/// The bitmaps of every mapping agree with its counts, mappings lie in order, and every page table belongs to one
/// mapping.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    let sim = v.sim;
    for (number, p) in sim.processes.iter().enumerate() {
        p.space.check().map_err(|why| format!("process {number}: {why}"))?;
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
