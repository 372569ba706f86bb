//! A domain before levels without effect are removed.

use super::flags::Flags;
use super::level::Level;
use super::ring::Ring;
use numalab_base::cpu_set::CpuSet;

/// A domain of the complete tower. Its position in the tower is its level's position in the level list.
#[derive(Clone, Debug)]
pub(super) struct RawDomain {
    pub level: Level,
    pub span: CpuSet,
    pub mask_weight: u32,
    pub flags: Flags,
    pub groups: Ring,
    pub imb_numa_nr: u32,
}
