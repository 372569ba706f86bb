//! Page faults, by the state of the page that an access finds (kernel: `handle_mm_fault`, `handle_pte_fault`).
//!
//! A missing page goes to [`first_touch`](crate::fault::first_touch) or [`object_fault`](crate::fault::object_fault), a
//! marked one to [`numa::hint_fault`](crate::numa::hint_fault), a write-protected one to
//! [`cow_fault`](crate::mm::cow_fault).
//!
//! Faults on pages that several processes may map happen in global time order, because it matters who comes first. A
//! task that meets one in a slice that is planned ahead ends the slice there, and handles the fault when the run has
//! come to that instant.

use crate::fault::first_touch::first_touch;
use crate::fault::object_fault::object_fault;
use crate::mm::cow_fault::shared_write_fault;
use crate::mm::fault_lock::take_fault_lock_of_entry;
use crate::mm::mmap_lock::wait_for_mmap_lock;
use crate::mm::page_lock::{is_on_another_page, wait_on_page};
use crate::mm::reuse::{is_huge, write_fault};
use crate::numa::hint_fault::{do_pmd_numa_page, hint_fault};
use crate::numa::shared_page_migration::{mapper_number, shared_hint_fault};
use crate::numa_2012::autonuma_fault::{autonuma_fault, table_trap};
use crate::numa_2012::schednuma_fault::{huge_write_fault, schednuma_fault};
use crate::state::cpu::Pending;
use crate::state::page_site::{MarkedPage, PageSite};
use crate::state::process::ProcessState;
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use crate::state::vm_counters::VmCounters;
use numalab_kernel::mm::{PageRef, PageState};
use numalab_kernel::numa::design::Faults;

/// Handles the fault of an access to one page. Returns its time in the kernel, ns, and how it ends.
pub(crate) fn handle_mm_fault(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> (u64, FaultEnd) {
    let PageSite { cpu, task, process, vma, chunk, page, .. } = *s;
    debug_assert_eq!(process, sim.tasks[task as usize].process as usize);
    let p = &mut sim.processes[process];
    p.table_node.get_or_insert(sim.cpus[cpu].node);
    let v = p.space.vma(vma);
    let state = v.page(chunk, page, &sim.mm.shared);
    let of_object = match state {
        PageState::Absent if v.frame_map.slot(chunk, page).is_none() => v.kind.backing().is_some(),
        PageState::Absent => false,
        PageState::Marked { shared, .. } | PageState::ReadOnly { shared, .. } => shared.is_some(),
        PageState::Migrating(_) => true,
        PageState::Ready { .. } => false,
    };
    let in_common = of_object || state == PageState::Absent && v.slot_layer(chunk, page, &sim.mm.shared).is_some();
    if in_common && clock > sim.now_ns {
        return (0, FaultEnd::Stop(Pending::Resume));
    }
    let waited = wait_for_mmap_lock(sim, task, process, clock);
    let exited = second_level_fault(&mut sim.kernel.vm, &sim.processes, s);
    let faults = !matches!(state, PageState::Ready { .. });
    let locked = if faults { take_fault_lock_of_entry(sim, s, clock + waited + exited) } else { 0 };
    let (ns, end) = handle_pte_fault(sim, s, state, of_object, clock + waited + exited + locked);
    (ns + exited + locked, end)
}

/// The exit to KVM that comes before a fault on the memory of a virtual machine (`kvm_tdp_mmu_page_fault`), since a
/// mark, a move or an unmapping empties the second-level entry too (`kvm_mmu_notifier_invalidate_range_start`). All
/// virtual CPUs share these tables, so the first to come takes it. Returns its time, ns; 0 on ordinary memory.
#[inline]
pub(crate) fn second_level_fault(vm: &mut VmCounters, processes: &[ProcessState], s: &PageSite) -> u64 {
    let ns = processes[s.process].vma_second_level_fault_ns[s.vma];
    vm.kvm_pf_taken += u64::from(ns > 0);
    ns
}

/// Handles the fault on a page in this state. `of_object` tells that the page is absent and belongs to a file or shared
/// memory.
fn handle_pte_fault(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    state: PageState,
    of_object: bool,
    clock: u64,
) -> (u64, FaultEnd) {
    let PageSite { cpu, task, process, vma, chunk, page, write } = *s;
    if sim.kernel.numa.cfg.switches.table_marks && sim.processes[process].space.vma_mut(vma).unmark_table(chunk) {
        let table = do_pmd_numa_page(sim, s, clock);
        let (ns, end) = handle_mm_fault(sim, s, clock + table);
        return (table + ns, end);
    }
    match state {
        PageState::Absent => {
            let trap = table_trap(sim, s, clock);
            let (ns, end) = if of_object { object_fault(sim, s) } else { first_touch(sim, s, clock + trap) };
            (trap + ns, end)
        }
        PageState::Marked { shared: Some(at), .. } => shared_hint_fault(sim, s, at),
        PageState::Marked { node, last, pages, .. } => {
            let found = MarkedPage { vma, chunk, page, node: node as usize, last, pages };
            match sim.kernel.numa_2012.cfg.faults {
                Faults::Kernel => {
                    let ns = hint_fault(sim, cpu, task, &found, write, clock);
                    if !found.is_huge() || is_huge(&sim.processes, s) {
                        return (ns, FaultEnd::Go);
                    }
                    // The huge page has been split, and its base pages are still marked.
                    let (more, end) = handle_mm_fault(sim, s, clock + ns);
                    (ns + more, end)
                }
                Faults::AutoNuma => (autonuma_fault(sim, cpu, task, &found, clock), FaultEnd::Go),
                Faults::SchedNuma => schednuma_fault(sim, cpu, task, &found, write, clock),
            }
        }
        PageState::Migrating(at) => migrating_fault(sim, s, at),
        PageState::ReadOnly { shared: Some(at), .. } => shared_write_fault(sim, s, at, sim.now_ns),
        PageState::ReadOnly { .. }
            if sim.kernel.numa_2012.cfg.faults == Faults::SchedNuma && is_huge(&sim.processes, s) =>
        {
            (huge_write_fault(sim, s, clock), FaultEnd::Go)
        }
        PageState::ReadOnly { .. } => (write_fault(sim, process, vma, chunk, page), FaultEnd::Go),
        PageState::Ready { .. } => (0, FaultEnd::Go),
    }
}

/// Handles an access to a migration entry, or to an entry that is about to become one.
fn migrating_fault(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef) -> (u64, FaultEnd) {
    if is_on_another_page(sim, at) {
        return (0, FaultEnd::Pass);
    }
    let Some(&(_, migrator)) = sim.mm.migrating.iter().find(|m| m.0 == at) else {
        return wait_on_page(sim, s, at);
    };
    let number = mapper_number(&sim.mm.shared, at, s.process, s.vma as u32);
    let now = sim.now_ns;
    let Some(m) = &mut sim.tasks[migrator as usize].migration else { return wait_on_page(sim, s, at) };
    match number.and_then(|n| m.entries.get_mut(n)) {
        Some(e) if now < e.replaced_ns => {
            if std::mem::take(&mut e.marked) {
                return shared_hint_fault(sim, s, at);
            }
            if s.write && sim.processes[s.process].space.vma(s.vma).is_read_only(s.chunk, s.page) {
                return shared_write_fault(sim, s, at, sim.now_ns);
            }
            (0, FaultEnd::Pass)
        }
        _ => wait_on_page(sim, s, at),
    }
}
