//! An address space as the scanner walks it.

use crate::numa::counters::SkipReason;
use crate::numa::mark::MarkRules;
use crate::numa::state::VmaNuma;

/// A VMA as the scanner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmaView {
    /// First address.
    pub start: u64,
    /// Address after it.
    pub end: u64,
    /// It is not migratable: I/O or PFN-mapped, DAX, hugetlb, or a file whose allocation zone is below the policy zone.
    pub unmigratable: bool,
    /// Its effective policy lacks migrate-on-fault. That is the policy of the VMA, else of the scanning task, else the
    /// default.
    pub policy_without_mof: bool,
    /// It is shared memory (`shmem_get_policy`) whose object has no policy here.
    pub shmem_without_policy: bool,
    /// It is a mixed map.
    pub mixed_map: bool,
    /// It is file-backed, readable and not writable.
    pub shared_ro: bool,
    /// No access to it is permitted.
    pub inaccessible: bool,
    /// It is a shared mapping.
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

/// Result of marking a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// Base pages newly marked PROT_NONE (512 per huge entry).
    pub updates: u64,
    /// Number of huge entries marked.
    pub huge: u64,
    /// Address of the page at which a filter ended the VMA ([`Verdict::SkipVma`](crate::numa::page_filter::Verdict)).
    pub stop_at: Option<u64>,
}

/// An address space as the scanner walks it. The simulator's page tables implement it.
pub trait ScanSpace {
    /// Tries to take the mm's lock for reading; false while a writer holds it.
    fn try_lock(&mut self) -> bool {
        true
    }
    /// Number of VMAs; they are indexed in address order.
    fn vma_count(&self) -> usize;
    /// Index of the first VMA whose end is above `addr`, or the number of VMAs if there is none.
    fn first_vma_with_end_above(&self, addr: u64) -> usize;
    /// The VMA with this index.
    fn vma(&self, index: usize) -> VmaView;
    /// Scan state of the VMA with this index.
    fn state(&mut self, index: usize) -> &mut Option<VmaNuma>;
    /// Marks `start..end` of a VMA by the rules: every present entry that is not yet PROT_NONE, in address order.
    fn mark(&mut self, index: usize, start: u64, end: u64, rules: &MarkRules) -> Marked;
    /// Tells that the walk skipped a VMA; for logs.
    #[inline]
    fn passed_over(&mut self, _index: usize, _reason: SkipReason) {}
}
