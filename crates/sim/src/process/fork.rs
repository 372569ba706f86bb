//! Creating processes and threads (kernel: `copy_process`).

use crate::charge::tlb_flush::shoot_down;
use crate::mm::page_alloc::{alloc_anon_folio, alloc_page_table, work_ns, AllocatedFolio};
use crate::numa_2012::hooks::fork;
use crate::process::background::start_machine_thread;
use crate::process::program_pages::{forks_across_pages, page_of_stack, stack_frame_page, use_page};
use crate::record::log::log_task_created;
use crate::state::page_site::PageSite;
use crate::state::process::{ProcessState, CONTROL_BLOCK, FRAME};
use crate::state::simulation::Simulation;
use crate::state::task::{Stage, Task};
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{CopiedEntries, Work};
use numalab_kernel::numa::init_numa_balancing::CloneKind;
use numalab_nouns::record::Status;
use numalab_nouns::workload::{ForkPoint, Op, Workload};

/// Kernel time of `clone` without page tables, in exceptions.
const CLONE_EXCEPTIONS: f64 = 10.0;

/// Share of the time of `clone` that is exponentially distributed. Source: 512 `pthread_create` on a Zen 5 core took
/// 13.5 us at the 5th percentile, 15 at the median, 18 on average and 28 at the 95th percentile of CPU time.
const CLONE_CHANCE: f64 = 0.25;

/// The program of a thread of a process.
pub(crate) fn program(workload: &Workload, process: usize, thread: usize) -> &[Op] {
    &workload.processes[process].threads[thread].ops
}

/// The stage of life that a task is in.
pub(crate) fn stage(tasks: &[Task<'_>], task: u32) -> Stage {
    tasks[task as usize].stage
}

/// Starts a process; a forked one gets the mappings it inherits. Returns what the fork copied.
pub(crate) fn start_process(
    sim: &mut Simulation<'_>,
    process: usize,
    parent_cpu: u32,
    parent: Option<u32>,
) -> CopiedEntries {
    if sim.is_machine_thread(process) {
        start_machine_thread(sim, process, parent_cpu);
        return CopiedEntries::default();
    }
    let spec = &sim.workload.processes[process];
    let (nodes, mems) = (sim.machine.node_count(), sim.processes[process].mems);
    let mut p = std::mem::replace(&mut sim.processes[process], ProcessState::new(sim.cfg.base_page(), nodes, mems));
    let mut copied = CopiedEntries::default();
    p.started = true;
    if let Some(of) = spec.parent.filter(|_| parent.is_some()) {
        let all = spec.fork == ForkPoint::AfterPrologue;
        copied = p.inherit(
            &mut sim.processes[of],
            (of as u32, process as u32),
            all,
            (&mut sim.mm.physical, &mut sim.mm.shared),
        );
    }
    if copied.ptes + copied.pmds > 0 {
        p.table_node = Some(sim.cpus[parent_cpu as usize].node);
    }
    let samples = process >= sim.workload.processes.len() - sim.cfg.background;
    p.map_program(nodes, spec.parent.is_none().then_some(sim.cfg.harness.of_process(samples)));
    let how = (&sim.cfg.mm.thp, &sim.mm.grain_orders[process][..]);
    p.map_regions(process as u32, spec, how, &sim.mm.physical, &mut sim.mm.shared);
    for (_, &vma) in spec.regions.iter().zip(p.own_regions()).filter(|(region, _)| region.pinned) {
        sim.mm.pins.pin_mapping(process as u32, vma);
    }
    sim.processes[process] = p;
    create_task(sim, process, 0, parent_cpu, parent);
    copied
}

fn create_task(sim: &mut Simulation<'_>, process: usize, thread: usize, parent_cpu: u32, parent: Option<u32>) {
    let first = thread == 0;
    let stage = if first { Stage::ForkEarly(0) } else { Stage::Body };
    let ops = if first { &[] } else { program(sim.workload, process, thread) };
    let pid = sim.kernel.next_pid;
    sim.kernel.next_pid += 1;
    let affinity = sim.workload.processes[process].threads[thread].affinity.clone();
    let id = match sim.kernel.sched.add_task(affinity.as_deref(), 0) {
        Ok(id) => id,
        Err(e) => {
            sim.status = Status::Failed(e.to_string());
            return;
        }
    };
    debug_assert_eq!(id as usize, sim.tasks.len());
    if let Some(group) = sim.workload.processes[process].cpu_group {
        sim.kernel.sched.join_group(id, group.id);
    }
    let random_spans = sim.hw.working_sets.colds();
    let mut t = Task::new(process as u32, thread as u32, ops, stage, random_spans);
    if let Some(parent) = parent.filter(|_| !first) {
        t.policy = sim.tasks[parent as usize].policy.clone();
    }
    sim.tasks.push(t);
    let p = &mut sim.processes[process];
    p.live_threads += 1;
    if !first {
        if !sim.cfg.harness.cpus_take_turns() {
            p.share_locks(sim.machine.node_count(), sim.cfg.mm.vm.fault_holds_mmap_lock);
        }
        p.map_stack(sim.machine.node_count(), sim.cfg.harness);
    }
    let now = sim.now_ns / sim.cfg.jiffy_ns();
    match parent {
        None => sim.kernel.numa.start(id, Some(process as u32), pid),
        Some(parent) => {
            let rss = sim.processes[sim.tasks[parent as usize].process as usize].space.rss_pages();
            let clone = if first { CloneKind::Process(process as u32) } else { CloneKind::Thread };
            sim.kernel.numa.fork(parent, id, clone, pid, now, rss);
        }
    }
    sim.kernel.sched.set_process(id, process as u32);
    let selected = fork(&mut sim.kernel.numa_2012, process, parent);
    let preferred = sim.kernel.numa.tasks[id as usize].numa_preferred_nid.map(|n| n as u32);
    sim.kernel.sched.set_preferred_nid(id, preferred.or(selected));
    sim.kernel.sched.fork(parent_cpu, id, sim.now_ns);
    if parent.is_some() {
        sim.cpus[parent_cpu as usize].debt_ns += clone_ns(sim, parent_cpu);
        if !first {
            // The C library maps the new stack first, and waits for that until no fault holds the lock of the address
            // space.
            let filling = sim.processes[process].filling_until_ns.saturating_sub(sim.now_ns);
            sim.cpus[parent_cpu as usize].debt_ns += filling;
        }
    }
    log_task_created(sim, id);
}

/// Time of one `clone` in the kernel without page tables, ns. It varies at random: two processes that create threads at
/// the same time would otherwise take strict turns, and each would get a node of its own.
fn clone_ns(sim: &mut Simulation<'_>, cpu: u32) -> u64 {
    // The slow path of CPU selection looks at every CPU of every domain that it descends.
    let domains = sim.kernel.sched.domains();
    let looked: u32 = domains.ids(cpu).map(|d| domains.domain(d).weight).sum();
    let mean = CLONE_EXCEPTIONS * sim.machine.costs.exception_ns + sim.hw.costs.balance_ns(looked);
    (mean * (1.0 - CLONE_CHANCE) + sim.rng.exponential(mean * CLONE_CHANCE)) as u64
}

/// `task` creates thread `n` of `process`.
pub(crate) fn clone_thread(sim: &mut Simulation<'_>, cpu: usize, task: u32, process: usize, n: usize) {
    create_task(sim, process, n, cpu as u32, Some(task));
    // The creator writes the control block of the new thread, which lies at the top of its stack.
    if let Some(stack) = sim.processes[process].stack_of(n as u32) {
        let (chunk, page) = page_of_stack(sim.processes[process].space.vma(stack), CONTROL_BLOCK);
        use_page(sim, cpu, task, (stack, chunk, page), true);
    }
}

/// Forks the first child at or after `from` that is due at this point; returns its number.
pub(crate) fn fork_child(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    point: ForkPoint,
    from: usize,
) -> Option<usize> {
    let process = sim.tasks[task as usize].process as usize;
    let all = &sim.workload.processes;
    let child = (from..all.len()).find(|&i| all[i].parent == Some(process) && all[i].fork == point)?;
    let copied = start_process(sim, child, cpu as u32, Some(task));
    fork_tables(sim, cpu, task, child);
    let tables = sim.hw.costs.fork_ns(copied.ptes, copied.pmds);
    sim.cpus[cpu].debt_ns += tables as u64;
    let changed = copied.ptes + copied.pmds;
    for _ in 0..shootdowns(FlushOp::ForkProtect { changed }, &sim.cfg.flush, false) {
        let ns = shoot_down(sim, cpu, task, changed);
        sim.cpus[cpu].debt_ns += ns;
    }
    leave_stack(sim, cpu, task, child);
    Some(child)
}

/// After a fork the parent goes on before the child runs, and writes to its stack first. So the parent gets the copy,
/// and the child keeps the old page on the parent's node.
fn leave_stack(sim: &mut Simulation<'_>, cpu: usize, task: u32, child: usize) {
    let Some(vma) = sim.processes[child].stack_of(0) else { return };
    let below = forks_across_pages(sim.cfg).then_some(FRAME);
    for page in std::iter::once(stack_frame_page(sim.cfg)).chain(below) {
        let (chunk, page) = page_of_stack(sim.processes[child].space.vma(vma), page);
        let s = PageSite { cpu, task, process: child, vma, chunk, page, write: true };
        let mut ns = 0;
        if let Some(AllocatedFolio { got, .. }) = alloc_anon_folio(sim, &s, 0, sim.now_ns, &mut ns) {
            sim.processes[child].space.vma_mut(vma).populate(chunk, page, got.node, got.frame);
            sim.kernel.vm.pgfault += 1;
            sim.cpus[cpu].debt_ns += ns + sim.hw.costs.cow_fault_ns(got.node, got.node, 1.0) as u64;
        }
    }
}

/// Page tables for what a fork copied into `child`, by the policy of the parent's task; adds the time to its CPU.
fn fork_tables(sim: &mut Simulation<'_>, cpu: usize, task: u32, child: usize) {
    let mut work = Work::default();
    for position in 0..sim.processes[child].space.len() {
        let vma = sim.processes[child].space.id_at(position);
        for chunk in 0..sim.processes[child].space.vma(vma).chunk_count() {
            if sim.processes[child].space.vma(vma).lacks_table(chunk) {
                alloc_page_table(
                    sim,
                    &PageSite { cpu, task, process: child, vma, chunk, page: 0, write: false },
                    &mut work,
                );
            }
        }
    }
    let now = sim.now_ns;
    sim.cpus[cpu].debt_ns += work_ns(sim, &work, now);
}
