//! 4.6 (4142c3ebb685): after the two-stage filter, pages migrate at private faults and at faults of ungrouped tasks. At
//! a fault of a grouped task the page migrates if the group uses this node's CPUs sufficiently more than the source's.

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
    let sides = GroupSides {
        cpu_dst: group.cpu(nodes, f.dst),
        cpu_src: group.cpu(nodes, f.src),
        mem_dst: group.mem(nodes, f.dst),
        mem_src: group.mem(nodes, f.src),
    };
    if sides.wants() {
        Ok(())
    } else {
        Err(Denial::Group)
    }
}

/// A group's use of CPUs and memory on the two nodes of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSides {
    /// Use of the destination's CPUs.
    pub cpu_dst: u64,
    /// Use of the source's CPUs.
    pub cpu_src: u64,
    /// Use of the destination's memory.
    pub mem_dst: u64,
    /// Use of the source's memory.
    pub mem_src: u64,
}

impl GroupSides {
    /// Whether a page of the group migrates: the destination's CPUs are used far more than the source's, or memory is
    /// not distributed as CPU time is, with a hysteresis of 3/4.
    #[inline]
    pub fn wants(&self) -> bool {
        let for_dst = self.cpu_dst.wrapping_mul(self.mem_src).wrapping_mul(3);
        let for_src = self.cpu_src.wrapping_mul(self.mem_dst).wrapping_mul(4);
        self.cpu_dst > self.cpu_src.wrapping_mul(ACTIVE_NODE_FRACTION) || for_dst > for_src
    }
}
