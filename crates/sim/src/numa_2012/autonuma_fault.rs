//! AutoNUMA's hinting fault (`numa_hinting_fault`, `pmd_numa_fixup`; designs-2012.md section 1).

use crate::numa_2012::autonuma_migrate::autonuma_migrate;
use crate::numa_2012::timers::last_tick_ms;
use crate::state::mmap_lock::LONG_FAULT_NS;
use crate::state::page_site::{MarkedPage, PageSite};
use crate::state::simulation::Simulation;
use numalab_kernel::mm::block::NEVER;
use numalab_kernel::numa::autonuma::first_fault::Verdict;
use numalab_kernel::numa::design::Faults;
use numalab_kernel::numa::migrate::nearly_full;
use numalab_kernel::numa::migrate::ZoneInfo as _;

/// Handles a hinting fault, with all its migrations under the lock of the address space. Returns its CPU time, ns. The
/// task may sleep as well.
pub(crate) fn autonuma_fault(sim: &mut Simulation<'_>, cpu: usize, task: u32, f: &MarkedPage, clock: u64) -> u64 {
    sim.kernel.vm.pgfault += 1;
    let process = sim.tasks[task as usize].process as usize;
    let slept_ns = sim.tasks[task as usize].wait.block_ns;
    let ns = autonuma_pages(sim, cpu, task, process, f, clock);
    let takes_ns = ns + sim.tasks[task as usize].wait.block_ns - slept_ns;
    if takes_ns >= LONG_FAULT_NS {
        sim.kernel.numa_2012.long_read_locks.begin(process, (clock, clock + takes_ns), sim.now_ns);
    }
    ns
}

/// Removes the mark, then looks at every page under it in the context of this thread. Returns the time, ns.
fn autonuma_pages(sim: &mut Simulation<'_>, cpu: usize, task: u32, process: usize, f: &MarkedPage, clock: u64) -> u64 {
    let (mut ns, slept_ns) = (sim.machine.costs.hint_fault_ns, sim.tasks[task as usize].wait.block_ns);
    let ignored = !sim.tasks[task as usize].policy.migrates_on_fault();
    if f.pages > 1 {
        sim.processes[process].space.vma_mut(f.vma).unmark(f.chunk, f.page);
        if !ignored {
            ns += autonuma_page(sim, cpu, task, f, clock);
        }
        return ns as u64;
    }
    let (mut page, whole) = if sim.kernel.numa_2012.cfg.autonuma.scan_pmd { (0, true) } else { (f.page, false) };
    while let Some(p) = sim.processes[process].space.vma(f.vma).next_marked(f.chunk, page) {
        let vma = sim.processes[process].space.vma_mut(f.vma);
        let (node, last) = match vma.page(f.chunk, p, &sim.mm.shared) {
            numalab_kernel::mm::PageState::Marked { node, last, .. } => (usize::from(node), last),
            _ => (f.node, f.last),
        };
        vma.unmark(f.chunk, p);
        if whole {
            ns += sim.machine.costs.hint_page_ns;
        }
        if !ignored {
            let found = MarkedPage { page: p, node, last, pages: 1, ..*f };
            let begins_ns = clock + ns as u64 + sim.tasks[task as usize].wait.block_ns - slept_ns;
            ns += autonuma_page(sim, cpu, task, &found, begins_ns);
        }
        if !whole {
            break;
        }
        page = p + 1;
    }
    ns as u64
}

/// Handles an access to an absent page whose table carries the mark. It traps for the table first, because
/// `pmd_numa_fixup` runs before the entry is looked at, and this thread handles all present pages. Returns the time,
/// ns; 0 without a mark.
pub(crate) fn table_trap(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> u64 {
    let by_table = sim.kernel.numa_2012.cfg.faults == Faults::AutoNuma && sim.kernel.numa_2012.cfg.autonuma.scan_pmd;
    let marked = |sim: &Simulation<'_>| sim.processes[s.process].space.vma(s.vma).next_marked(s.chunk, 0);
    let Some(page) = by_table.then(|| marked(sim)).flatten() else { return 0 };
    let first = MarkedPage { vma: s.vma, chunk: s.chunk, page, node: sim.cpus[s.cpu].node, last: NEVER, pages: 1 };
    autonuma_fault(sim, s.cpu, s.task, &first, clock)
}

/// `numa_hinting_fault` for one page (or huge page); returns the time beyond the trap.
fn autonuma_page(sim: &mut Simulation<'_>, cpu: usize, task: u32, f: &MarkedPage, clock: u64) -> f64 {
    let here = sim.cpus[cpu].node;
    let process = sim.tasks[task as usize].process as usize;
    let seen = (f.last != NEVER).then_some(f.last);
    let (verdict, last) = sim.kernel.numa_2012.autonuma.decide(seen, f.node, here);
    if last != f.last {
        sim.processes[process].space.vma_mut(f.vma).set_last_cpupid(f.chunk, f.page, last);
    }
    sim.kernel.numa.counters.numa_hint_faults += 1;
    sim.kernel.numa.counters.numa_hint_faults_local += u64::from(verdict == Verdict::Here);
    sim.kernel.numa_2012.counters.filtered += u64::from(verdict == Verdict::Filtered);
    let mut dest = f.node;
    let mut ns = 0.0;
    if verdict == Verdict::Migrate && autonuma_admits(sim, here, f.pages, clock) {
        let moved = autonuma_migrate(sim, cpu, task, &MarkedPage { last, ..*f }, clock);
        if let Some(time) = moved {
            ns = time;
            dest = here;
        }
    }
    sim.kernel.numa_2012.autonuma.account(task, process as u32, dest, u64::from(f.pages));
    ns
}

fn autonuma_admits(sim: &mut Simulation<'_>, node: usize, pages: u32, clock: u64) -> bool {
    if !sim.kernel.numa_2012.autonuma.admit(node, last_tick_ms(sim.cfg.jiffy_ns(), clock), pages) {
        sim.kernel.numa_2012.counters.rate_limited += 1;
        return false;
    }
    let full = nearly_full(sim.mm.physical.zones(node), pages);
    sim.kernel.numa_2012.counters.nearly_full += u64::from(full);
    !full
}
