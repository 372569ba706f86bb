//! Regions in the address space: their addresses, mappings, advice and memory policies.
//!
//! Addresses follow from the job alone, so a job has the same addresses in every run. Regions lie far above everything
//! else in a process, in the order of the job. A gap between neighbours keeps the kernel from merging two regions into
//! one VMA.

use crate::backing;
use crate::job::{Job, JobError};
use crate::sys::{self, Backing, RawPolicy};
use numalab_nouns::workload::{HugeAdvice, Policy, PolicyMode, Region, RegionKind};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Address of the first region in a process that inherits none.
pub const ARENA_START: u64 = 0x1000_0000_0000;
/// End of the arena: 64 TiB of address space.
pub const ARENA_END: u64 = 0x5000_0000_0000;

const HUGE_BYTES: u64 = 2 << 20;
/// Gap between regions: one huge page, so that no huge page spans two regions.
const GAP_BYTES: u64 = HUGE_BYTES;

/// A region as a process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Process that maps it.
    pub owner: usize,
    /// Index among that process's regions.
    pub index: usize,
    /// Start address.
    pub address: u64,
    /// Length, bytes.
    pub bytes: u64,
}

/// Addresses of the regions that each process sees: `plan[p][visible region]`.
///
/// # Errors
/// The regions do not fit into the arena.
pub fn plan(job: &Job) -> Result<Vec<Vec<Placed>>, JobError> {
    let mut out: Vec<Vec<Placed>> = Vec::new();
    for (p, process) in job.workload.processes.iter().enumerate() {
        let inherited = job.inherited_regions(p).len();
        let mut placed: Vec<Placed> = match process.parent {
            Some(q) => out[q][..inherited].to_vec(),
            None => Vec::new(),
        };
        let mut cursor = placed.last().map_or(ARENA_START, |r| r.address + r.bytes + GAP_BYTES);
        for (index, region) in process.regions.iter().enumerate() {
            let address = cursor.next_multiple_of(HUGE_BYTES) + region.misalign_bytes % HUGE_BYTES;
            let end = address.checked_add(region.size_bytes).filter(|&e| e < ARENA_END);
            let end = end.ok_or_else(|| JobError(format!("regions of {} exceed 64 TiB", process.name)))?;
            placed.push(Placed { owner: p, index, address, bytes: region.size_bytes });
            cursor = end + GAP_BYTES;
        }
        out.push(placed);
    }
    Ok(out)
}

/// A workload policy in the kernel's form, with node numbers of the running system.
///
/// # Errors
/// A node that the job does not map, or a node id above 63.
pub fn raw_policy(policy: &Policy, node_ids: &[u32]) -> Result<RawPolicy, JobError> {
    const MPOL_F_NUMA_BALANCING: i32 = 1 << 13;
    let mode = match policy.mode {
        PolicyMode::Default => 0,
        PolicyMode::Preferred => 1,
        PolicyMode::Bind => 2,
        PolicyMode::Interleave => 3,
        PolicyMode::Local => 4,
        PolicyMode::PreferredMany => 5,
        PolicyMode::WeightedInterleave => 6,
    };
    let mut nodes = 0u64;
    for &n in &policy.nodes {
        let id = node_ids.get(n as usize).copied().filter(|&id| id < 64);
        nodes |= 1 << id.ok_or_else(|| JobError(format!("policy names node {n}, which this system lacks")))?;
    }
    let flag = if policy.numa_balancing { MPOL_F_NUMA_BALANCING } else { 0 };
    Ok(RawPolicy { mode: mode | flag, nodes })
}

/// Of the mode of `mbind`: for huge pages of the range alone. Kernels with the patches of `linux/` have it
/// (`MPOL_F_NUMALAB_HUGE`); others answer `EINVAL`.
const HUGE_PAGES_ALONE: i32 = 1 << 12;

/// Policies of a region, for the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policies {
    /// That of all of its pages.
    pub own: Option<RawPolicy>,
    /// That of its huge pages alone.
    pub huge: Option<RawPolicy>,
}

impl Policies {
    /// Those of a region, on nodes with these ids.
    ///
    /// # Errors
    /// See [`raw_policy`].
    pub fn of(region: &Region, node_ids: &[u32]) -> Result<Self, JobError> {
        let raw = |p: &Option<Policy>| p.as_ref().map(|p| raw_policy(p, node_ids)).transpose();
        Ok(Self { own: raw(&region.policy)?, huge: raw(&region.huge_policy)? })
    }

    /// Gives them to a range. The ordinary one comes first, because it would end the other.
    fn give(self, address: u64, bytes: u64, name: &str) -> Result<(), String> {
        let fail = |e: io::Error| format!("mbind of region {name} ({bytes} bytes): {e}");
        if let Some(policy) = self.own {
            sys::mbind(address, bytes, policy).map_err(fail)?;
        }
        let Some(huge) = self.huge else { return Ok(()) };
        let huge = RawPolicy { mode: huge.mode | HUGE_PAGES_ALONE, ..huge };
        sys::mbind(address, bytes, huge).map_err(|e| match e.raw_os_error() {
            Some(libc::EINVAL) => format!(
                "region {name}: this kernel has no such policy for huge pages alone; expected one with the patches of \
                 linux/, such as series:linux, or the simulator"
            ),
            _ => fail(e),
        })
    }
}

/// Maps a region at its planned address and sets its advice and policies. No page is touched. A region that is read has
/// its `file` already.
///
/// # Errors
/// The kernel's error, with the call that failed.
pub fn map(region: &Region, address: u64, policies: Policies, file: Option<Arc<OwnedFd>>) -> Result<(), String> {
    let bytes = region.size_bytes;
    if region.second_level_fault_ns > 0 {
        let name = &region.name;
        return Err(format!(
            "region {name}: the worker runs no virtual machine, so nothing has second-level faults; use the simulator"
        ));
    }
    if region.pinned {
        let name = &region.name;
        return Err(format!("region {name}: the worker has no device that pins memory for good; use the simulator"));
    }
    let fail = |what: &str, e: io::Error| format!("{what} of region {} ({bytes} bytes): {e}", region.name);
    let file = match (region.kind, file) {
        (RegionKind::PrivateAnon | RegionKind::SharedAnon | RegionKind::Hugetlb, _) => None,
        (_, Some(file)) => Some(file),
        (RegionKind::CowData | RegionKind::FileRead | RegionKind::FileShared, None) => {
            let file: OwnedFd = backing::page_cache_file(bytes).map_err(|e| fail("backing file", e))?.into();
            Some(Arc::new(file))
        }
    };
    let backing = match (region.kind, &file) {
        (RegionKind::SharedAnon, _) => Backing::Shared,
        (RegionKind::Hugetlb, _) => Backing::Hugetlb,
        (RegionKind::CowData, Some(f)) => Backing::FilePrivate(f),
        (RegionKind::FileRead | RegionKind::FileShared, Some(f)) => Backing::FileShared(f),
        _ => Backing::Private,
    };
    sys::map_at(address, bytes, region.write, backing).map_err(|e| fail("mmap", e))?;
    let advice = match region.advice {
        HugeAdvice::Default => None,
        HugeAdvice::Huge => Some(libc::MADV_HUGEPAGE),
        HugeAdvice::NoHuge => Some(libc::MADV_NOHUGEPAGE),
    };
    if let Some(advice) = advice {
        // SAFETY: the range was just mapped for the workload alone, and advice on huge pages keeps its content.
        unsafe { sys::advise(address, bytes, advice) }.map_err(|e| fail("madvise", e))?;
    }
    policies.give(address, bytes, &region.name)
}

/// The `madvise` advice that frees the pages of a region of this kind.
pub fn discard_advice(kind: RegionKind) -> i32 {
    match kind {
        // The pages of a file stay in the page cache.
        RegionKind::PrivateAnon
        | RegionKind::CowData
        | RegionKind::FileRead
        | RegionKind::FileShared
        | RegionKind::Hugetlb => libc::MADV_DONTNEED,
        // Shared memory keeps its pages when one mapping drops them, so a hole is punched.
        RegionKind::SharedAnon => libc::MADV_REMOVE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_job::samples::{job, process, region};
    use numalab_nouns::workload::ForkPoint;

    #[test]
    fn children_inherit_regions_by_fork_point_and_map_theirs_behind() {
        let mut parent = process("a", vec![region("x", 4096), region("y", 5 << 20)], vec![]);
        parent.regions[1].misalign_bytes = 8192;
        let mut before = process("b", vec![region("z", 4096)], vec![]);
        (before.parent, before.fork) = (Some(0), ForkPoint::BeforePrologue);
        let mut after = process("c", vec![region("z", 4096)], vec![]);
        (after.parent, after.fork) = (Some(0), ForkPoint::AfterPrologue);
        let plan = plan(&job(vec![parent, before, after])).unwrap();
        assert_eq!(plan[0][0].address, ARENA_START);
        assert_eq!(plan[0][1].address % HUGE_BYTES, 8192);
        assert!(plan[0][1].address >= plan[0][0].address + 4096 + GAP_BYTES);
        assert_eq!(plan[1].len(), 1);
        assert_eq!(plan[1][0].address, ARENA_START);
        assert_eq!(plan[2].len(), 3);
        assert_eq!(plan[2][..2], plan[0][..]);
        assert!(plan[2][2].address > plan[0][1].address + (5 << 20));
    }

    #[test]
    fn policies_use_the_kernels_numbers() {
        let policy = Policy { mode: PolicyMode::Bind, nodes: vec![0, 1], weights: vec![], numa_balancing: true };
        assert_eq!(raw_policy(&policy, &[4, 6]).unwrap(), RawPolicy { mode: 2 | 8192, nodes: 0b101_0000 });
        assert!(raw_policy(&policy, &[0]).is_err());
    }

    /// No released kernel has the flag, so the one below a test refuses it, unless it has the patches or no `mbind`.
    #[test]
    fn a_kernel_without_policies_of_huge_pages_is_told() {
        let policy = Policy { mode: PolicyMode::Bind, nodes: vec![0], weights: vec![], numa_balancing: false };
        let region = Region { huge_policy: Some(policy), ..region("r", 4096) };
        let policies = Policies::of(&region, &[0]).unwrap();
        assert_eq!((policies.own, policies.huge), (None, Some(RawPolicy { mode: 2, nodes: 1 })));
        let e = policies.give(ARENA_START, 4096, "r").unwrap_err();
        assert!(e.starts_with("region r: this kernel has no such policy") || e.starts_with("mbind of region r"), "{e}");
    }
}
