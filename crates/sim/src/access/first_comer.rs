//! Who comes first to a marked huge page, of threads that go through rounds of one loop.
//!
//! Problem: a slice runs ahead to its tick. In that time a thread comes to thousands of places, so the slice that is
//! planned first after a scan would take the faults of all huge pages that it has marked, whatever its node.
//! Approach: threads of a process that are in rounds side by side come to its huge pages equally often. So the first to
//! come to a marked one is any of them that is on a CPU, by lot. Its fault is handled then, and its CPU owes the time.
//! What is left out: threads on other nodes are slower, so they come a little later. Marks of base pages are many, and
//! a slice meets few of them: they go to the slice that meets them.

use crate::access::fault_run::Met;
use crate::access::walk::Going;
use crate::fault::handle_fault::handle_mm_fault;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{ChunkKind, PendingPages};

/// Draws for each CPU until one is found that runs such a thread. The one that asks is one of them.
const DRAWS_PER_CPU: u64 = 4;

/// Lets another thread take the fault on a marked huge page, if it comes there first. Whether one has.
pub(crate) fn fault_of_first_comer(sim: &mut Simulation<'_>, at: &Going<'_>, (chunk, page, write): Met) -> bool {
    if !sim.tasks[at.task as usize].together || sim.processes[at.process].live_threads == 1 {
        return false;
    }
    let vma = sim.processes[at.process].space.vma(at.vma);
    if vma.chunk(chunk).kind != ChunkKind::Huge || !vma.is_marked(chunk, page) {
        return false;
    }
    let Some((cpu, task)) = first_comer(sim, at.process).filter(|(_, task)| *task != at.task) else { return false };
    let before = vma_pending(sim, at, chunk);
    let s = PageSite { cpu, task, process: at.process, vma: at.vma, chunk, page, write };
    let (ns, _) = handle_mm_fault(sim, &s, at.clock);
    sim.cpus[cpu].debt_ns += ns;
    let after = vma_pending(sim, at, chunk);
    sim.pending_counts.resolved(at.pace.span, &before.saturating_sub(&after));
    true
}

fn vma_pending(sim: &Simulation<'_>, at: &Going<'_>, chunk: usize) -> PendingPages {
    sim.processes[at.process].space.vma(at.vma).pending_of_chunk(chunk)
}

/// A CPU, by lot of those that run a thread of `process` in rounds, and that thread.
fn first_comer(sim: &mut Simulation<'_>, process: usize) -> Option<(usize, u32)> {
    let cpus = sim.cpus.len() as u64;
    for _ in 0..DRAWS_PER_CPU * cpus {
        let cpu = sim.rng.below(cpus) as usize;
        let Some(task) = sim.kernel.sched.current(cpu as u32) else { continue };
        let t = &sim.tasks[task as usize];
        if t.process as usize == process && t.together {
            return Some((cpu, task));
        }
    }
    None
}
