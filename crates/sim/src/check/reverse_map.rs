//! The reverse map against the page tables: who maps a shared page.

use crate::check::view::View;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{Mapper, PageRef, SharedBlock, SharedObject};

/// A block of an object: its number, and where it is.
type At<'o> = (u32, usize, &'o SharedObject);

/// Every page of a block is shown as often as its mapcount says.
fn check_mapcounts(sim: &Simulation<'_>, (object, chunk, of): At<'_>, b: &SharedBlock) -> Result<(), String> {
    let mut from = 0;
    while let Some(page) = b.resident.next(from) {
        let at = PageRef { object, chunk: chunk as u32, page: page as u16 };
        let shown = of.mappers.iter().filter(|m| {
            let p = &sim.processes[m.process as usize];
            p.started && !p.ended && p.space.vma(m.vma as usize).maps(at)
        });
        let (shown, mapcount) = (shown.count(), b.mapcount[page]);
        if shown != mapcount as usize {
            return Err(format!("{at:?} is shown {shown} times, its mapcount is {mapcount}"));
        }
        from = page + 1;
    }
    Ok(())
}

/// Every slot of a block is named by as many entries as it counts.
fn check_slots(sim: &Simulation<'_>, (_, chunk, of): At<'_>, b: &SharedBlock) -> Result<(), String> {
    let all = (0..512).filter_map(|page| b.slot(page).map(|(slot, entries)| (page, slot, entries)));
    for (page, slot, entries) in all {
        let frame_map = |m: &Mapper| {
            let process = &sim.processes[m.process as usize];
            process.space.vma(m.vma as usize).frame_map.slot(chunk, page)
        };
        let named = of.mappers.iter().filter(|m| frame_map(m) == Some(slot)).count();
        if named != entries as usize {
            return Err(format!("slot {slot} is named by {named} entries, {entries} are noted"));
        }
    }
    Ok(())
}

/// Checks pages in memory and slots of all shared objects.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    for (id, object) in v.sim.mm.shared.iter() {
        for (chunk, block) in object.blocks() {
            check_mapcounts(v.sim, (id, chunk, object), block)?;
            check_slots(v.sim, (id, chunk, object), block)?;
        }
    }
    Ok(())
}
