//! How long a fault waits for the lock of its address space: for a scan of schednuma, which holds it for writing, or
//! for khugepaged.

use crate::charge::blocking::block_task;
use crate::state::numa_2012::Numa2012;
use crate::state::process::ProcessState;
use crate::state::simulation::Simulation;
use crate::state::wait::NOBODY;
use numalab_kernel::numa::design::Scanner;

/// How long a fault of `task` at `clock` sleeps until it gets the lock of its address space
/// ([`block_task`](crate::charge::blocking::block_task)): behind a scan of schednuma's, which holds it for writing, or
/// behind khugepaged.
pub(crate) fn wait_for_mmap_lock(sim: &mut Simulation<'_>, task: u32, process: usize, clock: u64) -> u64 {
    let scan = wait_for_scan_ns(&sim.kernel.numa_2012, &sim.processes[process], clock);
    let collapse = sim.processes[process].mmap_write_locks.wait_ns(clock + scan);
    let waker = if collapse > 0 { NOBODY } else { sim.processes[process].protector };
    block_task(sim, task, scan + collapse, waker);
    scan + collapse
}

/// How long a fault at `clock` waits because another thread of the process is scanning, ns.
#[inline]
fn wait_for_scan_ns(design: &Numa2012, process: &ProcessState, clock: u64) -> u64 {
    if design.cfg.scan != Scanner::PerProcess {
        return 0;
    }
    process.protecting_until_ns.saturating_sub(clock)
}
