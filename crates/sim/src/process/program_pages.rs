//! Pages that every program has beside its regions: control blocks, stacks, static data. Threads touch them now and
//! then.

use crate::fault::handle_fault::handle_mm_fault;
use crate::sim_config::{Harness, SimConfig};
use crate::state::page_site::PageSite;
use crate::state::process::{CONTROL_BLOCK, FRAME};
use crate::state::simulation::Simulation;
use crate::state::task::Activity;
use numalab_base::base_page::BasePage;
use numalab_kernel::mm::{Vma, CHUNK_PAGES};

/// Touches the thread's control block, its stack and the program's data.
pub(crate) fn touch_program(sim: &mut Simulation<'_>, cpu: usize, task: u32) {
    touch_stack_page(sim, cpu, task, CONTROL_BLOCK);
    touch_stack(sim, cpu, task);
    let (process, thread) = (sim.tasks[task as usize].process as usize, sim.tasks[task as usize].thread);
    let data = sim.processes[process].data();
    for page in 0..sim.processes[process].data_pages() {
        // The initial thread writes the data that the others only read.
        use_page(sim, cpu, task, (data, 0, page), thread == 0);
    }
}

/// Touches the same before the program's first step. A process of the worker prepares its programs before the start of
/// the run, on any CPU, and binds itself then. So these pages of a bound one lie on any node.
pub(crate) fn touch_program_at_start(sim: &mut Simulation<'_>, cpu: usize, task: u32) {
    let t = &sim.tasks[task as usize];
    let spec = &sim.workload.processes[t.process as usize];
    let bound = spec.parent.is_none() && spec.threads[t.thread as usize].affinity.is_some();
    let elsewhere = bound && sim.cfg.harness.is_current_worker();
    let cpu = if elsewhere { sim.rng.below(sim.cpus.len() as u64) as usize } else { cpu };
    touch_program(sim, cpu, task);
}

/// Whether the loop in which the worker forks has its frame on another page of the stack than what it calls. A guest
/// has no random addresses, so that is so in every run (with strings of other lengths below the stack it was so in one
/// of eight). The parent writes both pages between two forks; a child comes back to the loop at its end.
pub(crate) fn forks_across_pages(cfg: &SimConfig) -> bool {
    cfg.harness.is_current_worker()
}

/// A forked child of the worker comes back to the loop that forked it.
pub(crate) fn touch_frame_of_fork(sim: &mut Simulation<'_>, cpu: usize, task: u32) {
    let t = &sim.tasks[task as usize];
    let forked = t.thread == 0 && sim.workload.processes[t.process as usize].parent.is_some();
    if forked && forks_across_pages(sim.cfg) {
        touch_stack_page(sim, cpu, task, FRAME);
    }
}

/// Touches the stack, as a thread does that calls functions at the start of a pass. It does not touch the control
/// block, which only the start and the end of a thread need.
pub(crate) fn touch_stack(sim: &mut Simulation<'_>, cpu: usize, task: u32) {
    touch_stack_page(sim, cpu, task, stack_frame_page(sim.cfg));
}

/// The page of a stack that holds its frames, counted from 1 at the top.
pub(crate) fn stack_frame_page(cfg: &SimConfig) -> usize {
    match cfg.harness {
        // A page of 16 or 64 KiB has room for both.
        Harness::Program | Harness::GuestProgram if cfg.base_page() != BasePage::Kib4 => CONTROL_BLOCK,
        Harness::Program | Harness::GuestProgram => FRAME,
        // The worker's C library has small frames: a thread's stack uses one page in all (read in /proc/PID/smaps).
        Harness::Worker | Harness::EarlierWorker | Harness::ParallelWorker => CONTROL_BLOCK,
    }
}

/// Chunk and page of the page of a stack that is counted from 1 at the top.
pub(crate) fn page_of_stack(stack: &Vma, page: usize) -> (usize, usize) {
    let at = stack.page_number(stack.end) - page as u64;
    ((at / CHUNK_PAGES) as usize, (at % CHUNK_PAGES) as usize)
}

/// Touches a page of the thread's stack, counted from 1 at the top.
fn touch_stack_page(sim: &mut Simulation<'_>, cpu: usize, task: u32, page: usize) {
    let (process, thread) = (sim.tasks[task as usize].process as usize, sim.tasks[task as usize].thread);
    let p = &sim.processes[process];
    if let Some(stack) = p.stack_of(thread) {
        let (chunk, page) = page_of_stack(p.space.vma(stack), page);
        use_page(sim, cpu, task, (stack, chunk, page), true);
    }
}

/// Accesses the page at (mapping, chunk, page), and takes the fault if there is one.
pub(crate) fn use_page(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    (vma, chunk, page): (usize, usize, usize),
    write: bool,
) {
    let process = sim.tasks[task as usize].process as usize;
    if sim.processes[process].space.vma(vma).next_fault(chunk, page, page + 1, write).is_some() {
        let clock = sim.now_ns;
        let site = PageSite { cpu, task, process, vma, chunk, page, write };
        let (ns, _) = handle_mm_fault(sim, &site, clock);
        sim.cpus[cpu].debt_ns += ns;
    }
}

/// Threads of the worker program read clocks and counters all the time. So those that run on other CPUs meet the marks
/// on their stacks and on the program's data while the scan still walks, in the pass that the walk may end.
pub(crate) fn others_touch_program(sim: &mut Simulation<'_>, cpu: usize, process: usize) {
    if !sim.cfg.harness.is_worker() {
        return;
    }
    for other in (0..sim.cpus.len()).filter(|&other| other != cpu) {
        let Some(task) = sim.cpus[other].task else { continue };
        let t = &mut sim.tasks[task as usize];
        if t.process as usize == process && t.activity == Activity::Running {
            t.marking_scans = sim.processes[process].marking_scans;
            touch_program(sim, other, task);
        }
    }
}
