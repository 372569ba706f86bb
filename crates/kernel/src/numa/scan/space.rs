//! An address space as the scanner walks it.

use crate::numa::counters::SkipReason;
use crate::numa::mark::MarkRules;
use crate::numa::state::VmaNuma;

/// What the scanner sees of a VMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmaView {
    /// First address.
    pub start: u64,
    /// Address after it.
    pub end: u64,
    /// Not migratable: I/O or PFN-mapped, DAX, hugetlb, or a file whose allocation zone is below the policy zone.
    pub unmigratable: bool,
    /// Its effective policy (VMA, else scanning task, else default) lacks migrate-on-fault.
    pub policy_without_mof: bool,
    /// Shared memory (`shmem_get_policy`) whose object has no policy here.
    pub shmem_without_policy: bool,
    /// Mixed map.
    pub mixed_map: bool,
    /// File-backed, readable, not writable.
    pub shared_ro: bool,
    /// No access permitted.
    pub inaccessible: bool,
    /// Shared mapping.
    pub shared: bool,
}

impl VmaView {
    /// A private anonymous writable VMA.
    pub fn anonymous(start: u64, end: u64) -> Self {
        Self {
            start,
            end,
            unmigratable: false,
            policy_without_mof: false,
            shmem_without_policy: false,
            mixed_map: false,
            shared_ro: false,
            inaccessible: false,
            shared: false,
        }
    }
}

/// What marking a range did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// Base pages newly marked PROT_NONE (512 per huge entry).
    pub updates: u64,
    /// Huge entries marked.
    pub huge: u64,
    /// Address of the page at which a filter ended the VMA ([`Verdict::SkipVma`](crate::numa::page_filter::Verdict)).
    pub stop_at: Option<u64>,
}

/// An address space as the scanner walks it; the simulator's page tables implement it.
pub trait ScanSpace {
    /// Tries to take the mm's lock for reading; false while a writer holds it.
    fn try_lock(&mut self) -> bool {
        true
    }
    /// Number of VMAs; they are indexed in address order.
    fn vma_count(&self) -> usize;
    /// Index of the first VMA whose end is above `addr`, or the number of VMAs if there is none.
    fn first_vma_with_end_above(&self, addr: u64) -> usize;
    /// A VMA.
    fn vma(&self, index: usize) -> VmaView;
    /// Its scan state.
    fn state(&mut self, index: usize) -> &mut Option<VmaNuma>;
    /// Marks `start..end` of a VMA by the rules: every present entry that is not yet PROT_NONE, in address order.
    fn mark(&mut self, index: usize, start: u64, end: u64, rules: &MarkRules) -> Marked;
    /// The walk passed over a VMA; for logs.
    #[inline]
    fn passed_over(&mut self, _index: usize, _reason: SkipReason) {}
}
