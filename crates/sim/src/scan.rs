//! The scanner's view of an address space, and what a scan costs.

use crate::process::ProcessState;
use numalab_kernel::mm::{AddressSpace, VmaKind};
use numalab_kernel::numa::{Marked, ScanSpace, VmaNuma, VmaView};

/// Borrowed parts of a process while one of its threads scans it.
pub struct ScanView<'a> {
    space: &'a mut AddressSpace,
    states: &'a mut [Option<VmaNuma>],
    /// The scanning thread's own policy forbids migration on fault.
    unsuitable: bool,
    /// Node spared by the single-user shortcut.
    spare_node: Option<usize>,
    /// Nodes never marked in this mode (top tier when only tiering is on).
    spare_mask: u64,
    /// Entries looked at and left alone, for the cost.
    pub skipped: u64,
    /// Calls that changed something, each followed by one flush.
    pub flushes: u64,
}

impl<'a> ScanView<'a> {
    /// A view for one scan.
    pub fn new(p: &'a mut ProcessState, unsuitable: bool, spare_node: Option<usize>, spare_mask: u64) -> Self {
        Self {
            space: &mut p.space,
            states: &mut p.vma_numa,
            unsuitable,
            spare_node,
            spare_mask,
            skipped: 0,
            flushes: 0,
        }
    }
}

impl ScanSpace for ScanView<'_> {
    fn vma_count(&self) -> usize {
        self.space.len()
    }
    fn first_vma_with_end_above(&self, addr: u64) -> usize {
        self.space.first_above(addr)
    }
    fn vma(&self, i: usize) -> VmaView {
        let v = self.space.vma(self.space.id_at(i));
        debug_assert!(matches!(v.kind, VmaKind::PrivateAnon | VmaKind::Stack));
        VmaView { start: v.start, end: v.end, unsuitable: self.unsuitable, shared_ro: false, inaccessible: false }
    }
    fn state(&mut self, i: usize) -> &mut Option<VmaNuma> {
        &mut self.states[self.space.id_at(i)]
    }
    fn mark(&mut self, i: usize, start: u64, end: u64) -> Marked {
        let id = self.space.id_at(i);
        let out = self.space.vma_mut(id).mark_range(start, end, self.spare_node, self.spare_mask);
        self.skipped += out.skipped;
        self.flushes += u64::from(out.updates > 0);
        Marked { updates: out.updates, huge: out.huge, stop_at: None }
    }
}
