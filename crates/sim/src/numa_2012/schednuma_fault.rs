//! schednuma's hinting fault (designs-2012.md section 2).

use crate::charge::blocking::block_task;
use crate::charge::tlb_flush::shoot_down;
use crate::mm::contenders::{find_contenders, offset_in_vma, sort_contenders};
use crate::numa_2012::schednuma_copy::{begin_copy, end_copy, schednuma_migrate_base, schednuma_record};
use crate::numa_2012::timers::last_tick_ms;
use crate::state::page_site::{MarkedPage, PageSite};
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use numalab_kernel::mm::block::NEVER;
use numalab_kernel::mm::CHUNK_PAGES;
use numalab_kernel::numa::schednuma::misplaced::Verdict;

/// Handles a hinting fault. Returns the time, ns, and how the fault ends.
pub(crate) fn schednuma_fault(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    f: &MarkedPage,
    write: bool,
    clock: u64,
) -> (u64, FaultEnd) {
    sim.kernel.vm.pgfault += 1;
    let process = sim.tasks[task as usize].process as usize;
    let here = sim.cpus[cpu].node;
    let own_policy = !sim.tasks[task as usize].policy.migrates_on_fault();
    let mut ns = sim.machine.costs.hint_fault_ns as u64;
    let copying = if f.pages > 1 && !sim.kernel.numa_2012.inflight_thp_copies.is_empty() {
        sim.kernel.numa_2012.inflight_thp_copies.of_chunk(process, f.vma, f.chunk).copied()
    } else {
        None
    };
    if let Some(copy) = copying.filter(|c| c.until_ns <= clock) {
        end_copy(sim, process, f.vma, f.chunk);
        if !copy.lost {
            return (ns, FaultEnd::Go);
        }
    }
    let seen = (f.last != NEVER).then_some(f.last);
    let (verdict, last) = sim.kernel.numa_2012.schednuma.misplaced(task, own_policy, seen, f.node, here);
    let vma = sim.processes[process].space.vma_mut(f.vma);
    if last != seen {
        vma.set_last_cpupid(f.chunk, f.page, last.unwrap_or(NEVER));
    }
    sim.kernel.numa_2012.counters.filtered += u64::from(verdict == Verdict::Filtered);
    let copying = copying.filter(|c| c.until_ns > clock && !c.lost);
    if verdict == Verdict::Misplaced {
        if let Some(copy) = copying {
            // This thread wants to migrate the page too, and sleeps until it is unlocked (`lock_page`, patch 22 of 31).
            block_task(sim, task, (copy.until_ns - clock).saturating_sub(ns), copy.task);
            return (ns, FaultEnd::Go);
        }
        if sim.kernel.numa_2012.schednuma.admit(here, last_tick_ms(sim.cfg.jiffy_ns(), clock), f.pages) {
            if f.pages > 1 {
                if let Some(time) = begin_copy(sim, cpu, task, f, clock) {
                    return (ns + time, FaultEnd::Copying);
                }
            } else if let Some(time) = schednuma_migrate_base(sim, cpu, task, f, last) {
                ns += time;
                schednuma_record(&mut sim.kernel, task, process, here, 1);
                sim.kernel.numa.counters.numa_hint_faults += 1;
                return (ns, FaultEnd::Go);
            }
        }
    }
    // Access is restored. That changes the entry under a copy in progress.
    sim.processes[process].space.vma_mut(f.vma).unmark(f.chunk, f.page);
    if f.pages > 1 && sim.kernel.numa_2012.cfg.schednuma.huge_loses_write {
        sim.processes[process].space.vma_mut(f.vma).set_read_only(f.chunk, f.page);
        if write {
            // The store that caused the fault meets the read-only entry at once.
            let s = PageSite { cpu, task, process, vma: f.vma, chunk: f.chunk, page: f.page, write };
            ns += huge_write_fault(sim, &s, clock + ns);
        }
    }
    if let Some(copy) =
        sim.kernel.numa_2012.inflight_thp_copies.of_chunk(process, f.vma, f.chunk).filter(|_| copying.is_some())
    {
        copy.lost = sim.kernel.numa_2012.cfg.schednuma.copies_lost;
    }
    sim.kernel.numa.counters.numa_hint_faults += 1;
    sim.kernel.numa.counters.numa_hint_faults_local += 1;
    schednuma_record(&mut sim.kernel, task, process, f.node, u64::from(f.pages));
    (ns, FaultEnd::Go)
}

/// Handles the first store to a huge page that a hint fault left read-only (`do_huge_pmd_wp_page`). Until 3.8 ("x86/mm:
/// Don't flush the TLB on #WP pmd fixups") `pmdp_set_access_flags` flushes the TLBs of all CPUs of the process, under
/// the page-table lock. Other threads that come to the page meanwhile fault as well and spin for that lock. Returns the
/// time, ns.
pub(crate) fn huge_write_fault(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> u64 {
    sim.kernel.vm.pgfault += 1;
    sim.kernel.numa.counters.pgreuse += 1;
    sim.processes[s.process].space.vma_mut(s.vma).reuse_for_write(s.chunk, 0);
    let ns = sim.machine.costs.exception_ns as u64 + shoot_down(sim, s.cpu, s.task, CHUNK_PAGES);
    let (place, until_ns) = (offset_in_vma(&sim.processes, &sim.tasks, s.task, s.vma, s.chunk, 0), (clock + ns) as f64);
    find_contenders(sim, s.task, s.vma, place, until_ns);
    sort_contenders(&sim.kernel.sched, &mut sim.sweep_positions);
    for i in 0..sim.sweep_positions.contenders.len() {
        let c = sim.sweep_positions.contenders[i];
        let cpu = sim.kernel.sched.cpu_of(c.task) as usize;
        sim.cpus[cpu].debt_ns += (until_ns - c.ns.max(clock as f64)) as u64;
        sim.sweep_positions.hold_up(c.task, place, until_ns);
    }
    ns
}
