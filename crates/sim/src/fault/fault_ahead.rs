//! Faults of random accesses, where order in time does not matter between processes.
//!
//! Faults on shared pages happen in global time order, because it matters who comes first. Two kinds do not interfere
//! with other processes: mapping a page that is in memory, and a hint fault that leaves the page where it is. The mark
//! and the entry belong to one process, and a random access meets a page that another one handles at the same moment
//! hardly ever. They are handled where the slice is planned, at most one tick early, and the slice goes on. Hint faults
//! on private pages are a third kind: threads of one process meet each other's pages in slices that are planned ahead
//! in any case.

use crate::fault::handle_fault::{handle_mm_fault, second_level_fault};
use crate::fault::object_fault::object_fault;
use crate::mm::fault_lock::take_fault_lock_of_entry;
use crate::numa::shared_page_migration::hint_fault_ahead;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use numalab_kernel::mm::{PageRef, PageState, VmaKind};
use numalab_kernel::numa::design::Faults;

/// Handles the fault if it is one of these kinds; `None` if
/// [`handle_mm_fault`](crate::fault::handle_fault::handle_mm_fault) has to. Returns its time in the kernel, ns, and how
/// it ends.
pub(crate) fn fault_ahead(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> Option<(u64, FaultEnd)> {
    let p = &mut sim.processes[s.process];
    if sim.kernel.numa_2012.cfg.faults != Faults::Kernel || p.mmap_write_locks.wait_ns(clock) > 0 {
        return None;
    }
    let v = p.space.vma(s.vma);
    let state = v.page(s.chunk, s.page, &sim.mm.shared);
    match state {
        PageState::Absent => {
            let object = *v.objects.first()?;
            let at = PageRef { object, chunk: s.chunk as u32, page: s.page as u16 };
            let copies = s.write && v.kind == VmaKind::CowData;
            let swapped = v.frame_map.slot(s.chunk, s.page).is_some();
            let found = sim.mm.shared.object(object).resident(s.chunk, s.page) && !sim.mm.shared.locked(at);
            if v.kind.backing().is_none() || copies || swapped || !found {
                return None;
            }
            p.table_node.get_or_insert(sim.cpus[s.cpu].node);
            let exited = second_level_fault(&mut sim.kernel.vm, &sim.processes, s);
            let locked = take_fault_lock_of_entry(sim, s, clock + exited);
            let (ns, end) = object_fault(sim, s);
            Some((exited + locked + ns, end))
        }
        PageState::Marked { shared: Some(at), .. } if !sim.kernel.numa.cfg.switches.table_marks => {
            let exited = second_level_fault(&mut sim.kernel.vm, &sim.processes, s);
            let locked = take_fault_lock_of_entry(sim, s, clock + exited);
            let (ns, end) = hint_fault_ahead(sim, s, at, clock + exited + locked);
            Some((exited + locked + ns, end))
        }
        PageState::Marked { shared: None, pages: 1, .. } => Some(handle_mm_fault(sim, s, clock)),
        _ => None,
    }
}
