//! Marking memory for the scanners of 2012.

use crate::state::simulation::{Kernel, Simulation};
use numalab_kernel::mm::ChunkKind;
use numalab_kernel::numa::design::Faults;
use numalab_kernel::numa::mark::MarkRules;

/// What marking a range of a mapping did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Present base pages passed.
    pub pages: u64,
    /// Huge entries passed, marked by this or an earlier scan.
    pub huge_passed: u64,
    /// Huge entries marked.
    pub huge: u64,
    /// Page-table entries marked.
    pub ptes: u64,
    /// Chunks of base pages marked as a whole.
    pub tables: u64,
}

/// Marks the pages of `from..to` of a mapping, and counts them for the statistics of the process.
pub(crate) fn mark_range(sim: &mut Simulation<'_>, process: usize, id: usize, from: u64, to: u64) -> Marks {
    let d = &mut sim.kernel.numa_2012;
    let tables = d.cfg.faults == Faults::AutoNuma && d.cfg.autonuma.scan_pmd;
    let working_set = d.cfg.autonuma.mm_working_set;
    let stats = &mut d.autonuma.mms[process];
    let vma = sim.processes[process].space.vma_mut(id);
    let mut out = Marks::default();
    let mut addr = from;
    while addr < to {
        let chunk = vma.chunk_of(addr);
        let base = vma.chunk_base(chunk);
        let stop = to.min(base + numalab_kernel::mm::CHUNK_BYTES);
        let c = *vma.chunk(chunk);
        // Pages that still carry the mark were not touched since the last pass.
        let (seen, whole) = match c.kind {
            ChunkKind::Empty => (0, true),
            ChunkKind::Huge => (u64::from(c.pmd_marked) * u64::from(c.present), true),
            ChunkKind::Small => (if tables { 0 } else { u64::from(c.marked) }, tables),
        };
        out.pages += u64::from(c.present);
        out.huge_passed += u64::from(c.kind == ChunkKind::Huge);
        if c.present > 0 && !(working_set && whole && seen > 0) {
            let untouched = if working_set { seen } else { 0 };
            let counted = u64::from(c.present) - untouched;
            for (n, k) in vma.node_counts(chunk).iter().enumerate() {
                stats.count(n, u64::from(*k) * counted / u64::from(c.present));
            }
        }
        let m = vma.mark_range(addr, stop, &MarkRules::OWN_PAGES, &mut sim.mm.shared);
        out.huge += m.huge;
        if c.kind == ChunkKind::Small {
            out.ptes += m.updates;
            out.tables += u64::from(m.updates > 0);
        }
        addr = stop;
    }
    out
}

pub(crate) fn count_marks(kernel: &mut Kernel, m: &Marks) {
    let c = &mut kernel.numa.counters;
    // There is no counter of huge entries yet (3.13). This one grows once per area and scan with schednuma's patches,
    // per entry with AutoNUMA's (section 5.4).
    c.numa_pte_updates += match kernel.numa_2012.cfg.faults {
        Faults::AutoNuma if kernel.numa_2012.cfg.autonuma.scan_pmd => m.huge,
        Faults::AutoNuma => m.huge + m.ptes,
        _ => u64::from(m.pages > 0),
    };
}
