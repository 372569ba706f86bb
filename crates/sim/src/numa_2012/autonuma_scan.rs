//! knuma_scand, AutoNUMA's scanning daemon (designs-2012.md section 1).

use crate::charge::tlb_flush::flush_from_daemon;
use crate::numa_2012::mark_2012::{mark_range, Marks};
use crate::numa_2012::timers::sleep_daemon;
use crate::state::event_queue::Daemon;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::CHUNK_PAGES;
use numalab_kernel::numa::autonuma::Pause;
use numalab_kernel::numa::design::Faults;

/// knuma_scand wakes up: walks until its burst is spent or the list ends.
pub(crate) fn knuma_scand(sim: &mut Simulation<'_>) {
    let knobs = sim.kernel.numa_2012.cfg.autonuma;
    let pause = loop {
        let mm = sim.kernel.numa_2012.scand.mm;
        if mm >= sim.processes.len() {
            break sim.kernel.numa_2012.scand.end_of_list(&knobs);
        }
        if !sim.processes[mm].started || sim.processes[mm].ended {
            sim.kernel.numa_2012.scand.next_mm();
            continue;
        }
        if sim.kernel.numa_2012.scand.addr == 0 {
            sim.kernel.numa_2012.autonuma.mms[mm].begin_pass();
        }
        match scand_burst(sim, mm) {
            Pause::None => {
                sim.kernel.numa_2012.autonuma.mms[mm].end_pass();
                // schednuma's statistics, where they are used with this scanner, count passes.
                sim.kernel.numa_2012.schednuma.mms[mm].seq += 1;
                sim.kernel.numa_2012.scand.next_mm();
            }
            pause => break pause,
        }
    };
    let ms = match pause {
        Pause::None => 0,
        Pause::Burst(ms) | Pause::Pass(ms) => ms,
    };
    sleep_daemon(&mut sim.effects, sim.now_ns, Daemon::Scand, u64::from(ms) * 1_000_000);
}

/// Walks one process; [`Pause::None`] means that its end was reached.
fn scand_burst(sim: &mut Simulation<'_>, process: usize) -> Pause {
    let knobs = sim.kernel.numa_2012.cfg.autonuma;
    let first = sim.processes[process].space.find_vma(sim.kernel.numa_2012.scand.addr);
    for i in first..sim.processes[process].space.len() {
        let space = &sim.processes[process].space;
        let id = space.id_at(i);
        let (start, end) = (space.vma(id).start, space.vma(id).end);
        let mut from = start.max(sim.kernel.numa_2012.scand.addr);
        let mut marked = Marks::default();
        let mut pause = Pause::None;
        while from < end && pause == Pause::None {
            let v = sim.processes[process].space.vma(id);
            let chunk = v.chunk_of(from);
            let stop = end.min(v.chunk_base(chunk) + numalab_kernel::mm::CHUNK_BYTES);
            let m = mark_range(sim, process, id, from, stop);
            marked.pages += m.pages;
            marked.huge += m.huge;
            marked.ptes += m.ptes;
            marked.tables += m.tables;
            pause = sim.kernel.numa_2012.scand.progress(&knobs, m.pages);
            from = stop;
        }
        sim.kernel.numa_2012.scand.addr = from;
        pay_scand(sim, process, &marked);
        if pause != Pause::None {
            return pause;
        }
    }
    Pause::None
}

fn pay_scand(sim: &mut Simulation<'_>, process: usize, m: &Marks) {
    let c = &sim.machine.costs;
    let by_table = sim.kernel.numa_2012.cfg.autonuma.scan_pmd && sim.kernel.numa_2012.cfg.faults == Faults::AutoNuma;
    let (ptes, tables) = if by_table { (0, m.tables) } else { (m.ptes, 0) };
    let mut ns = c.scan_vma_ns
        + (m.huge + tables) as f64 * c.pmd_mark_ns
        + ptes as f64 * c.pte_mark_ns
        + (m.pages - m.huge * CHUNK_PAGES).saturating_sub(ptes) as f64 * c.pte_skip_ns;
    if m.huge + m.ptes > 0 {
        ns += flush_from_daemon(sim, process, m.pages) as f64;
    }
    sim.kernel.numa_2012.counters.daemon_ns += ns as u64;
    sim.kernel.numa_2012.counters.scans += 1;
    // Marks on page tables are not counted (section 5.4), and huge ones have no counter of their own yet (3.13).
    sim.kernel.numa.counters.numa_pte_updates += m.huge + ptes;
}
