//! The walk of khugepaged: all address spaces in order, in each all mappings, in each all slots of 2 MiB (kernel:
//! `khugepaged_scan_mm_slot`).

use crate::state::process::ProcessState;
use numalab_kernel::mm::Vma;

/// Where khugepaged is.
#[derive(Clone, Copy, Debug, Default)]
pub struct KhugepagedCursor {
    process: usize,
    /// The address space has been entered.
    entered: bool,
    /// Position of the mapping in its address space.
    position: usize,
    chunk: usize,
}

/// What the walk comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkStep {
    /// All address spaces have been seen; the next round begins.
    EndOfList,
    /// An address space ends, or has nothing.
    EndOfMm,
    /// An address space begins.
    EnterMm,
    /// A mapping that may have no huge pages is passed over.
    SkipVma,
    /// A mapping ends.
    EndOfVma,
    /// A slot: process, mapping and chunk.
    Slot(usize, usize, usize),
}

impl KhugepagedCursor {
    /// Goes on by one step; `suitable` tells which mappings may have huge pages.
    pub fn advance(&mut self, processes: &[ProcessState], suitable: impl Fn(&Vma) -> bool) -> WalkStep {
        let Some(p) = processes.get(self.process) else {
            *self = Self::default();
            return WalkStep::EndOfList;
        };
        if !p.started || p.ended || self.position >= p.space.len() {
            *self = Self { process: self.process + 1, ..Self::default() };
            return WalkStep::EndOfMm;
        }
        if !self.entered {
            self.entered = true;
            return WalkStep::EnterMm;
        }
        let id = p.space.id_at(self.position);
        let vma = p.space.vma(id);
        let suits = suitable(vma);
        if !suits || self.chunk >= vma.chunk_count() {
            (self.position, self.chunk) = (self.position + 1, 0);
            return if suits { WalkStep::EndOfVma } else { WalkStep::SkipVma };
        }
        self.chunk += 1;
        WalkStep::Slot(self.process, id, self.chunk - 1)
    }
}
