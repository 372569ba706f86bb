//! schednuma's scan in the context of a task (designs-2012.md section 2).

use crate::charge::blocking::block_task;
use crate::charge::time::charge_system;
use crate::charge::tlb_flush::shoot_down;
use crate::numa_2012::mark_2012::{count_marks, mark_range};
use crate::state::simulation::Simulation;
use crate::state::wait::NOBODY;
use numalab_kernel::hw::cost::ScanWork;
use numalab_kernel::mm::CHUNK_PAGES;
use numalab_kernel::numa::schednuma::scan::walk;

/// Runs the queued scan work of `task` at `clock`; returns its time, ns.
pub(crate) fn schednuma_scan(sim: &mut Simulation<'_>, cpu: usize, task: u32, clock: u64) -> u64 {
    let process = sim.tasks[task as usize].process as usize;
    let costs = sim.machine.costs;
    if !sim.kernel.numa_2012.schednuma.claim(task, process as u32, clock / 1_000_000) {
        let ns = costs.exception_ns as u64;
        charge_system(sim, task, ns);
        return ns;
    }
    let space = &sim.processes[process].space;
    let mut stretches = Vec::new();
    let mut mm = sim.kernel.numa_2012.schednuma.mms[process];
    let before = mm.seq;
    let bounds = |i: usize| {
        let v = space.vma(space.id_at(i));
        (v.start, v.end)
    };
    walk(&sim.kernel.numa_2012.cfg.schednuma, &mut mm, space.len(), bounds, |s| {
        stretches.push((space.id_at(s.vma), s))
    });
    sim.kernel.numa_2012.schednuma.mms[process] = mm;
    if mm.seq != before {
        let stats = &mut sim.kernel.numa_2012.autonuma.mms[process];
        stats.end_pass();
        stats.begin_pass();
    }
    // The lock is taken for writing (`down_write`, patches 26 and 28 of 31): copies under way hold it for reading.
    let (free_ns, copier) = sim.kernel.numa_2012.inflight_thp_copies.last_cpupid(process).unwrap_or((0, NOBODY));
    let waited = free_ns.saturating_sub(clock);
    block_task(sim, task, waited, copier);
    let mut work = ScanWork { vmas: stretches.len() as u64, ..ScanWork::default() };
    let (mut ns, mut huge_passed) = (0, 0);
    for (id, s) in stretches {
        let m = mark_range(sim, process, id, s.from, s.to);
        count_marks(&mut sim.kernel, &m);
        work.marked_pmds += m.huge;
        huge_passed += m.huge_passed;
        work.marked_ptes += m.ptes;
        work.skipped_ptes += (m.pages - m.huge * CHUNK_PAGES).saturating_sub(m.ptes);
        if m.huge + m.ptes > 0 {
            ns += shoot_down(sim, cpu, task, m.pages);
        }
    }
    ns += sim.hw.costs.scan_ns(&work, 0.0) as u64;
    ns += huge_passed * huge_residue_ns(sim, cpu, process);
    // The lock is held for the whole walk; faults of the process wait for it (`wait_for_mmap_lock`).
    let p = &mut sim.processes[process];
    (p.protecting_until_ns, p.protector) = (clock + waited + ns, task);
    sim.kernel.numa_2012.counters.scans += 1;
    charge_system(sim, task, ns);
    ns
}

/// Time of a scan for each huge page that it passes, beyond its known parts, ns. The work waits for memory, so it grows
/// as memory gets slower. On idle memory it is about the time to look at the 512 page descriptors.
fn huge_residue_ns(sim: &Simulation<'_>, cpu: usize, process: usize) -> u64 {
    let here = sim.cpus[cpu].node;
    let (mut pages, mut weighted) = (0, 0.0);
    for v in sim.processes[process].space.iter() {
        for (n, p) in v.pages_on_node().iter().enumerate() {
            pages += p;
            weighted += *p as f64 * sim.hw.contention.latency_factor(here, n);
        }
    }
    let slower = if pages > 0 { weighted / pages as f64 } else { 1.0 };
    (f64::from(sim.kernel.numa_2012.cfg.schednuma.huge_residue_us) * 1000.0 * slower) as u64
}
