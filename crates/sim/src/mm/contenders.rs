//! Which other threads come to a page soon: those that sweep the same mapping, and when each of them arrives.

use crate::state::contender::Contender;
use crate::state::convoy::Convoy;
use crate::state::cpu::CpuState;
use crate::state::process::ProcessState;
use crate::state::simulation::Simulation;
use crate::state::sweep_positions::{SweepPosition, SweepPositions};
use crate::state::task::{Activity, Task};
use numalab_kernel::sched::Scheduler;
use numalab_nouns::access::{Order, Walk};
use numalab_nouns::workload::Op;

/// Brings [`SweepPositions`](crate::state::sweep_positions::SweepPositions) up to date for the slice of `first`, which
/// is being simulated. Returns false if `first` is alone in its process.
fn update_sweep_positions(sim: &mut Simulation<'_>, first: u32) -> bool {
    sim.sweep_positions.begin_slice((first, sim.now_ns));
    if sim.processes[sim.tasks[first as usize].process as usize].live_threads < 2 {
        return false;
    }
    while let Some(task) = sim.sweep_positions.stale.pop() {
        let sweep = current_sweep(sim, task);
        sim.sweep_positions.is_stale[task as usize] = false;
        sim.sweep_positions.set(task, sweep);
    }
    true
}

/// Kernel work of its CPU and sleep that lie before a task goes on with its sweep, ns.
fn time_before_sweep_ns(sim: &Simulation<'_>, task: u32) -> u64 {
    owes_ns(&sim.cpus[sim.kernel.sched.cpu_of(task) as usize], &sim.tasks[task as usize], task)
}

/// As [`time_before_sweep_ns`], from the state of the CPU and the task.
fn owes_ns(cpu: &CpuState, t: &Task<'_>, task: u32) -> u64 {
    let debt_ns = if cpu.task == Some(task) { cpu.debt_ns } else { 0 };
    debt_ns + t.wait.block_ns
}

/// Calls `f` with every other thread that comes to byte `place` of a mapping before `before_ns`, in the slice of
/// `first`, which is being simulated. The order is not defined. Stops when `f` returns false.
pub(crate) fn each_contender(
    sim: &mut Simulation<'_>,
    (first, vma): (u32, usize),
    place: u64,
    before_ns: f64,
    f: impl FnMut(Contender) -> bool,
) {
    if update_sweep_positions(sim, first) {
        let (now_ns, of) = (sim.now_ns as f64, (sim.tasks[first as usize].process, vma as u32));
        sim.sweep_positions.each_contender(
            (of, first),
            (place, before_ns),
            now_ns,
            |task| time_before_sweep_ns(sim, task),
            f,
        );
    }
}

/// Finds the threads that come to byte `place` of a mapping before `before_ns`, and leaves them in
/// `sim.sweep_positions.contenders`, in no order.
pub(crate) fn find_contenders(sim: &mut Simulation<'_>, first: u32, vma: usize, place: u64, before_ns: f64) {
    let mut contenders = std::mem::take(&mut sim.sweep_positions.contenders);
    contenders.clear();
    each_contender(sim, (first, vma), place, before_ns, |comer| {
        contenders.push(comer);
        true
    });
    sim.sweep_positions.contenders = contenders;
}

/// Brings the list of threads up to date that may fill the missing page at byte `page.0` of a mapping, of `page.1`
/// bytes, together with `first`, whose fault is from `fault_ns.0` to `fault_ns.1`. Empty if `first` is alone in its
/// process.
pub(crate) fn update_convoy(sim: &mut Simulation<'_>, by: (u32, usize), page: (u64, u64), fault_ns: (f64, f64)) {
    let mut convoy = std::mem::take(&mut sim.convoy);
    list_comers(sim, &mut convoy, by, page, fault_ns);
    sim.convoy = convoy;
}

fn list_comers(
    sim: &mut Simulation<'_>,
    list: &mut Convoy,
    (first, vma): (u32, usize),
    page: (u64, u64),
    fault_ns: (f64, f64),
) {
    if !update_sweep_positions(sim, first) {
        list.tasks.clear();
        return;
    }
    let of = (sim.tasks[first as usize].process, vma as u32);
    let (cpus, sched, tasks) = (&sim.cpus, &sim.kernel.sched, &sim.tasks);
    let owes_ns = |task: u32| owes_ns(&cpus[sched.cpu_of(task) as usize], &tasks[task as usize], task);
    list.update(&sim.sweep_positions, of, page, fault_ns, sim.now_ns as f64, owes_ns);
}

/// Threads that meet at pages go on meeting: for so long a thread looks for no pages to itself again, ns.
const CROWDED_NS: u64 = 4_000_000;

/// A page that takes longer than this is handled alone, ns.
const LONGEST_PAGE_NS: f64 = 1e6;

/// Which other threads count as coming to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Those that store.
    Writers,
    /// All.
    Anybody,
}

/// Pages side by side from (chunk, page) of a mapping on that a thread goes through alone from `clock` on, of `most`:
/// nobody else of its process comes to any of them while it does, `page_ns` for each.
pub(crate) fn pages_alone(
    sim: &mut Simulation<'_>,
    (first, vma, who): (u32, usize, Who),
    (chunk, page): (usize, usize),
    most: u64,
    (clock, page_ns): (u64, f64),
) -> u64 {
    if sim.processes[sim.tasks[first as usize].process as usize].live_threads < 2 {
        return most;
    }
    // A thread that a full pipe makes stand still is not ahead of anybody.
    if page_ns.is_nan() || page_ns > LONGEST_PAGE_NS {
        return 0;
    }
    let place = offset_in_vma(&sim.processes, &sim.tasks, first, vma, chunk, page);
    let mut list = std::mem::take(if who == Who::Writers { &mut sim.convoy } else { &mut sim.passers });
    let page = sim.cfg.base_page();
    list_comers(sim, &mut list, (first, vma), (place, page.bytes()), (clock as f64, clock as f64 + page_ns));
    let nobody = list.nobody_before();
    *(if who == Who::Writers { &mut sim.convoy } else { &mut sim.passers }) = list;
    let Some((end, before_ns)) = nobody else {
        sim.tasks[first as usize].crowded_until_ns = clock + CROWDED_NS;
        return 0;
    };
    most.min(page.pages(end - place)).min(((before_ns - clock as f64) / page_ns) as u64)
}

/// Whether `task`, which is in the convoy, comes to byte `place` of the mapping before `before_ns`.
pub(crate) fn comes_before(sim: &Simulation<'_>, task: u32, place: u64, before_ns: f64) -> bool {
    let owes_ns = |task| time_before_sweep_ns(sim, task);
    sim.sweep_positions.comes_ns(task, place, sim.now_ns as f64, owes_ns).is_some_and(|ns| ns < before_ns)
}

/// Sorts what [`find_contenders`] has found by CPU and task.
pub(crate) fn sort_contenders(sched: &Scheduler, positions: &mut SweepPositions) {
    positions.order.sort(&mut positions.contenders, |task| sched.cpu_of(task));
}

/// Whether any other thread comes to byte `place` of a mapping before `before_ns`.
pub(crate) fn has_contender(sim: &mut Simulation<'_>, first: u32, vma: usize, place: u64, before_ns: f64) -> bool {
    let mut is_coming = false;
    each_contender(sim, (first, vma), place, before_ns, |_| {
        is_coming = true;
        false
    });
    is_coming
}

/// Offset of a page in its mapping, bytes.
pub(crate) fn offset_in_vma(
    processes: &[ProcessState],
    tasks: &[Task<'_>],
    task: u32,
    vma: usize,
    chunk: usize,
    page: usize,
) -> u64 {
    let process = tasks[task as usize].process as usize;
    let v = processes[process].space.vma(vma);
    v.page_addr(chunk, page).saturating_sub(v.start)
}

/// The sweep of a task that has a CPU or sleeps behind a page under migration; `None` if it makes none.
fn current_sweep(sim: &Simulation<'_>, task: u32) -> Option<SweepPosition> {
    let t = &sim.tasks[task as usize];
    let at_ns = match t.activity {
        Activity::Running if sim.cpus[sim.kernel.sched.cpu_of(task) as usize].task == Some(task) => t.planned_until_ns,
        Activity::Asleep if t.wait.wakes_ns > 0 => t.wait.wakes_ns,
        _ => return None,
    };
    let Op::Access(a) = t.ops.get(t.pc)? else { return None };
    if t.ns_per_byte == 0.0 || a.pattern.walk() != Walk::Sweep(Order::Address) {
        return None;
    }
    Some(SweepPosition {
        of: (t.process, sim.processes[t.process as usize].region_vma[a.span.region as usize]),
        task,
        writes: a.write > 0.0,
        at: a.span.offset_bytes + if t.entered { t.done } else { 0 },
        end: a.span.offset_bytes + a.span.len_bytes,
        at_ns: at_ns as f64,
        ns_per_byte: t.ns_per_byte,
    })
}
