//! Ticks that are carried out late: those of CPUs whose task computes alone
//! ([`QuietCpus`](crate::state::quiet_cpus::QuietCpus)).
//!
//! Between two looks at such a CPU each tick does the same: it costs its time, the CPU pays for TLB flushes, and the
//! task computes on. What depends on other CPUs is kept with its time (flushes), or ends the quiet (a sibling or the
//! clock of the socket changes, the queue of the CPU is touched, it owes time). So results are those of ticks carried
//! out one by one.

use crate::float::{real, whole};
use crate::hardware::access_rates::EPOCH_NS;
use crate::state::cpu::Pending;
use crate::state::simulation::Simulation;

/// The CPUs that may be quiet in this run. Ticks that fall on epochs keep their events, because the order of the two
/// matters.
pub(crate) fn may_be_quiet(sim: &Simulation<'_>) -> Vec<bool> {
    let plain =
        !sim.kernel.numa_2012.active() && !sim.cfg.harness.is_worker() && sim.kernel.userspace_balance.is_none();
    let (mut a, mut common_ns) = (EPOCH_NS, sim.cfg.jiffy_ns());
    while a % common_ns != 0 {
        (a, common_ns) = (common_ns, a % common_ns);
    }
    (0..sim.cpus.len()).map(|c| plain && !sim.kernel.sched.tick_offset_ns(c as u32).is_multiple_of(common_ns)).collect()
}

/// Carries out the ticks of a quiet CPU up to `last_ns`. Does nothing on another CPU.
pub(crate) fn catch_up(sim: &mut Simulation<'_>, cpu: usize, last_ns: u64) {
    let q = sim.quiet.cpus[cpu];
    if !sim.quiet.set.contains(cpu as u32) || q.next_tick_ns > last_ns {
        return;
    }
    let Some(task) = sim.cpus[cpu].task else { return };
    sim.kernel.sched.account_unseen(cpu as u32, last_ns);
    let jiffy_ns = sim.cfg.jiffy_ns();
    let ticks = (last_ns - q.next_tick_ns) / jiffy_ns + 1;
    let mut dear = std::mem::take(&mut sim.quiet.dear_ticks);
    find_dear_ticks(sim, (cpu, task), last_ns, &mut dear);
    let tick_cost_ns = sim.hw.costs.tick_ns() as u64;
    let computed = |ns: u64| whole(real(ns) * q.speed);
    let plain = ticks - dear.len() as u64;
    let (mut system_ns, mut done_ns) = (ticks * tick_cost_ns, plain * computed(jiffy_ns - tick_cost_ns));
    for &(_, ns) in &dear {
        system_ns += ns;
        done_ns += computed(jiffy_ns - tick_cost_ns - ns);
    }
    dear.clear();
    sim.quiet.dear_ticks = dear;
    let user_ns = ticks * jiffy_ns - system_ns;
    let t = &mut sim.tasks[task as usize];
    let p = &mut sim.processes[t.process as usize];
    t.compute_left_ns -= done_ns;
    (t.user_ns, t.system_ns) = (t.user_ns + user_ns, t.system_ns + system_ns);
    (p.user_ns, p.system_ns) = (p.user_ns + user_ns, p.system_ns + system_ns);
    sim.record.ticks += ticks;
    let next_ns = q.next_tick_ns + ticks * jiffy_ns;
    t.planned_until_ns = next_ns;
    sim.cpus[cpu].next_tick_ns = next_ns;
    sim.quiet.cpus[cpu].next_tick_ns = next_ns;
}

/// Finds those ticks of a quiet CPU up to `last_ns` that cost more than a tick does: its number, and how much more, ns.
/// The CPU pays for balance passes, and for TLB flushes since the tick before.
fn find_dear_ticks(sim: &mut Simulation<'_>, (cpu, task): (usize, u32), last_ns: u64, dear: &mut Vec<(u64, u64)>) {
    let (first_ns, jiffy_ns) = (sim.quiet.cpus[cpu].next_tick_ns, sim.cfg.jiffy_ns());
    let passes = sim.kernel.sched.unseen_passes();
    if !passes.is_empty() {
        passes.retain(|p| {
            let due = p.cpu as usize == cpu && p.tick_ns <= last_ns;
            if due {
                dear.push(((p.tick_ns - first_ns) / jiffy_ns, p.ns));
            }
            !due
        });
    }
    let t = &mut sim.tasks[task as usize];
    let p = &sim.processes[t.process as usize];
    if p.owed_flushes.last().is_none_or(|f| f.flushes <= t.flushes.seen) {
        return;
    }
    let unseen = p.owed_flushes.partition_point(|f| f.flushes <= t.flushes.seen);
    for f in &p.owed_flushes[unseen..] {
        let tick = f.at_ns.saturating_sub(first_ns).div_ceil(jiffy_ns);
        if first_ns + tick * jiffy_ns > last_ns {
            break;
        }
        dear.push((tick, f.debt_ns - t.flushes.paid_ns));
        sim.record.stalls.of(task).interrupts += f.flushes - t.flushes.seen;
        (t.flushes.paid_ns, t.flushes.seen) = (f.debt_ns, f.flushes);
    }
    dear.sort_unstable();
    dear.dedup_by(|later, first| {
        let same = later.0 == first.0;
        first.1 += if same { later.1 } else { 0 };
        same
    });
}

/// Carries out the ticks of all quiet CPUs up to `last_ns`.
pub(crate) fn catch_up_all(sim: &mut Simulation<'_>, last_ns: u64) {
    for cpu in 0..sim.cpus.len() {
        catch_up(sim, cpu, last_ns);
    }
}

/// A quiet CPU is up to date as of `last_ns`, and no longer quiet.
pub(crate) fn stop_quiet(sim: &mut Simulation<'_>, cpu: usize, last_ns: u64) {
    catch_up(sim, cpu, last_ns);
    sim.kernel.sched.end_quiet(cpu as u32, last_ns);
    sim.quiet.set.remove(cpu as u32);
    let Some(task) = sim.cpus[cpu].task else { return };
    let p = &mut sim.processes[sim.tasks[task as usize].process as usize];
    p.quiet_cpus -= 1;
    if p.quiet_cpus == 0 {
        p.owed_flushes.clear();
    }
}

/// Something happens to `cpu`: it ticks again, if it was quiet.
pub(crate) fn end_quiet(sim: &mut Simulation<'_>, cpu: usize) {
    if sim.quiet.set.contains(cpu as u32) {
        let now_ns = sim.now_ns;
        stop_quiet(sim, cpu, now_ns);
        sim.effects.plan(cpu, sim.cpus[cpu].next_tick_ns, Pending::Tick);
    }
}

/// All quiet CPUs that `ends` picks tick again.
pub(crate) fn end_quiet_of(sim: &mut Simulation<'_>, ends: impl Fn(&Simulation<'_>, usize) -> bool) {
    if sim.quiet.set.is_empty() {
        return;
    }
    for cpu in 0..sim.cpus.len() {
        if sim.quiet.set.contains(cpu as u32) && ends(sim, cpu) {
            end_quiet(sim, cpu);
        }
    }
}

/// A flush of the address space of a process interrupts every CPU that runs it for `ns`.
pub(crate) fn owe_flush(sim: &mut Simulation<'_>, process: usize, ns: u64) {
    let p = &mut sim.processes[process];
    p.owe_flush(sim.now_ns, ns);
    if p.quiet_cpus > 0 && p.owes_much(sim.cfg.jiffy_ns()) {
        limit_flushes(sim);
    }
}

/// Quiet CPUs tick again that would have to pay for many flushes at once.
pub(crate) fn limit_flushes(sim: &mut Simulation<'_>) {
    let jiffy_ns = sim.cfg.jiffy_ns();
    end_quiet_of(sim, |sim, cpu| {
        let task = sim.cpus[cpu].task;
        task.is_some_and(|t| sim.processes[sim.tasks[t as usize].process as usize].owes_much(jiffy_ns))
    });
}
