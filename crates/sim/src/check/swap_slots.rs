//! Slots of the swap device.

use crate::check::view::View;

/// Every slot of the swap device belongs to one mapping or one shared page, and is used or free.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    let (sim, device) = (v.sim, &v.sim.mm.physical.swap);
    device.check()?;
    let vmas = sim.processes.iter().flat_map(|p| p.space.iter());
    let swapped: u64 = vmas.map(|v| v.frame_map.swapped()).sum();
    let (common, entries) = sim.mm.shared.slots();
    let (pages, slots) = (swapped + common, device.used_slots());
    if pages != slots + entries {
        return Err(format!("{swapped} entries, {entries} of {common} shared slots, name {slots} used slots"));
    }
    Ok(())
}
