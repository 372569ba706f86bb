//! Pages on which an access faults: what a mapping counts as a whole against what its chunks count.

use crate::check::view::View;

/// The pages that are absent or marked PROT_NONE are as many in all as in the chunks, for reads and for stores.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    for (number, p) in v.sim.processes.iter().enumerate() {
        for (id, vma) in p.space.iter().enumerate() {
            vma.check_pending().map_err(|why| format!("process {number}, mapping {id}: {why}"))?;
        }
    }
    Ok(())
}
