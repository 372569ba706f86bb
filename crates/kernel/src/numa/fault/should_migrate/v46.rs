//! 4.6 (4142c3ebb685): after the two-stage filter, pages migrate at private faults and at faults of ungrouped tasks. At a fault of a
//! grouped task the page migrates if the group uses this node's CPUs sufficiently more than the source's.

use super::facts::MigrationFacts;
use super::v313;
use crate::numa::counters::Denial;
use crate::numa::group::ACTIVE_NODE_FRACTION;

/// Applies §10 steps 6 to 10.
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
    let (cpu_dst, cpu_src) = (group.cpu(nodes, f.dst), group.cpu(nodes, f.src));
    if cpu_dst > cpu_src.wrapping_mul(ACTIVE_NODE_FRACTION) {
        return Ok(());
    }
    // A hysteresis of 3/4 on faults by CPU times faults by memory.
    let for_dst = cpu_dst.wrapping_mul(group.mem(nodes, f.src)).wrapping_mul(3);
    let for_src = cpu_src.wrapping_mul(group.mem(nodes, f.dst)).wrapping_mul(4);
    if for_dst > for_src {
        Ok(())
    } else {
        Err(Denial::Group)
    }
}
