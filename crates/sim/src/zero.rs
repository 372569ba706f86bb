//! Faults on anonymous memory that was never written: reads map the shared page of zeros, stores replace it.

use crate::engine::World;
use crate::fault::Site;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::Work;

impl World<'_> {
    /// A read of an empty entry maps zeros: a huge page of them if the mapping may have huge pages there, else a base page
    /// (`do_huge_pmd_anonymous_page`, `do_anonymous_page`). Returns the time; `None` if a huge page has to be allocated.
    pub(crate) fn read_zeros(&mut self, s: &Site, clock: u64) -> Option<u64> {
        let vma = self.processes[s.process].space.vma(s.vma);
        let huge = vma.huge_fault_fits(s.chunk);
        if huge && !self.cfg.mm.thp.use_zero_page {
            return None;
        }
        if !vma.shows_zeros(s.chunk, s.page) {
            let vma = self.processes[s.process].space.vma_mut(s.vma);
            if huge {
                vma.map_huge_zero(s.chunk);
                // The kernel allocates it once and keeps it.
                self.memory.events.thp_zero_page_alloc = 1;
            } else {
                vma.map_zero(s.chunk, s.page);
            }
        }
        let mut work = Work::default();
        self.place_table(s, &mut work);
        Some(self.machine.costs.exception_ns as u64 + self.pay(&work, clock))
    }

    /// A store to an entry that shows zeros: a huge one becomes base entries first, unless the kernel allocates a huge page
    /// there; others may hold the translation. Returns the time.
    pub(crate) fn break_zeros(&mut self, s: &Site) -> u64 {
        let vma = self.processes[s.process].space.vma(s.vma);
        if !vma.shows_zeros(s.chunk, s.page) {
            return 0;
        }
        if vma.is_huge_zero(s.chunk) && !self.cfg.mm.thp.zero_page_write_huge {
            self.memory.events.thp_split_pmd += 1;
        }
        let flushes = shootdowns(FlushOp::CowReplace, &self.cfg.flush, false);
        (0..flushes).map(|_| self.shoot_down(s.cpu, s.task, 1)).sum()
    }
}
