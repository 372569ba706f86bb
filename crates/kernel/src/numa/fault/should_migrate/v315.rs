//! 3.15 to 4.5: after the two-stage filter, pages migrate at private faults and at faults of ungrouped tasks. At a
//! fault of a grouped task the page stays off nodes where the group is not active, leaves such nodes, and moves between
//! active nodes from the one where the group has clearly more memory.

use super::facts::MigrationFacts;
use super::v313;
use crate::numa::counters::Denial;

/// Applies the rule of active nodes.
///
/// # Errors
/// [`Denial::TwoStage`], [`Denial::Group`].
pub fn decide(f: &MigrationFacts<'_>) -> Result<(), Denial> {
    v313::decide(f)?;
    if f.last.matches(f.task.pid) {
        return Ok(());
    }
    let Some(group) = f.group else { return Ok(()) };
    let nodes = f.topo.nodes();
    if !group.in_active_mask(f.dst) {
        return Err(Denial::Group);
    }
    // A hysteresis of a quarter.
    let spreads = || group.mem(nodes, f.dst) < group.mem(nodes, f.src).wrapping_mul(3) / 4;
    if !group.in_active_mask(f.src) || spreads() {
        Ok(())
    } else {
        Err(Denial::Group)
    }
}
