//! Where the designs of 2012 hook into a run: fork, tick, and the timers of their daemons.
//!
//! A kernel whose roles are filled by AutoNUMA or schednuma takes its faults, ticks and daemons here instead of the
//! paths of 3.8 and later. Its counters have the names of the published table (`numa-core-autonuma-2012`) and grow
//! where its patches put them, which differs between the two designs (designs-2012.md section 5.4).

use crate::numa_2012::autonuma_balance::autonuma_balance;
use crate::numa_2012::autonuma_scan::knuma_scand;
use crate::numa_2012::collapse_2012::khugepaged;
use crate::numa_2012::timers::sleep_daemon;
use crate::state::event_queue::Daemon;
use crate::state::numa_2012::Numa2012;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::thp::ThpEnabled;
use numalab_kernel::numa::design::{Scanner, TaskMoves};

/// Starts the daemons of the kernel, each at a random point of its sleep.
pub(crate) fn start_daemons(sim: &mut Simulation<'_>) {
    if !sim.kernel.numa_2012.active() {
        return;
    }
    if sim.kernel.numa_2012.cfg.scan == Scanner::Scand {
        let sleep = u64::from(sim.kernel.numa_2012.cfg.autonuma.scan_sleep_pass_millisecs);
        let at = sim.rng.below(sleep.max(1));
        sleep_daemon(&mut sim.effects, sim.now_ns, Daemon::Scand, at * 1_000_000);
    }
    if sim.cfg.mm.thp.enabled != ThpEnabled::Never {
        let sleep = u64::from(sim.kernel.numa_2012.khugepaged.knobs.scan_sleep_millisecs);
        let at = sim.rng.below(sleep.max(1));
        sleep_daemon(&mut sim.effects, sim.now_ns, Daemon::Khugepaged, at * 1_000_000);
    }
}

/// A daemon wakes up.
pub(crate) fn daemon(sim: &mut Simulation<'_>, which: Daemon) {
    match which {
        Daemon::Scand => knuma_scand(sim),
        Daemon::Khugepaged => khugepaged(sim),
    }
}

/// Notes that a task of `process` has been created by `parent`. Returns the node that AutoNUMA's exchange selects for
/// it.
pub(crate) fn fork(design: &mut Numa2012, process: usize, parent: Option<u32>) -> Option<u32> {
    if !design.active() {
        return None;
    }
    design.autonuma.fork(parent);
    design.schednuma.fork(process as u32);
    design.queued.push(false);
    let selected = design.autonuma.tasks.last().and_then(|t| t.selected);
    selected.filter(|_| design.cfg.moves == TaskMoves::Exchange)
}

/// Handles the tick of a task; `balanced` tells that the load-balance softirq ran.
pub(crate) fn tick(sim: &mut Simulation<'_>, cpu: usize, task: u32, balanced: bool) {
    if !sim.kernel.numa_2012.active() {
        return;
    }
    let process = sim.tasks[task as usize].process;
    if sim.is_machine_thread(process as usize) {
        // Both designs leave threads without memory alone.
        return;
    }
    if sim.kernel.numa_2012.cfg.scan == Scanner::PerProcess {
        let runtime = sim.kernel.sched.runtime_ns(task);
        let now_ms = sim.now_ns / 1_000_000;
        if sim.kernel.numa_2012.schednuma.tick(task, process, runtime, now_ms) {
            sim.kernel.numa_2012.queued[task as usize] = true;
        }
    }
    if balanced && sim.kernel.numa_2012.cfg.moves == TaskMoves::Exchange {
        autonuma_balance(sim, cpu, task);
    }
}
