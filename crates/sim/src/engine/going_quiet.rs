//! When a CPU becomes quiet, and when its ticks need events again.
//!
//! A CPU is quiet while its only task computes and no tick does anything but account: nothing of NUMA balancing, load
//! balancing or tickless CPUs is due. It then has one event, at the first tick that does more.

use crate::charge::core::{boost, sibling};
use crate::charge::late_ticks::{catch_up, end_quiet, end_quiet_of};
use crate::engine::carry_out::Engine;
use crate::state::event_queue::Event;
use crate::state::quiet_cpus::QuietCpu;
use crate::state::simulation::Simulation;
use numalab_kernel::hw::smt;
use numalab_nouns::workload::Op;

/// Fewer ticks than this are not worth it.
const FEWEST_TICKS: u64 = 2;

/// Compute time that is left at the end of the quiet at least, ns: the op must not end in it, whatever is rounded.
const MARGIN_NS: u64 = 16;

/// How long after a CPU has a second task balance passes are still known to come, ns.
const SECOND_TASK_NS: u64 = 1_000_000;

impl Engine<'_> {
    /// `cpu` has planned a slice of `task` up to the tick at `tick_ns`. If the ticks from there on do nothing but
    /// account, the CPU becomes quiet. Returns the first tick that needs an event.
    pub(crate) fn next_busy_tick(&mut self, cpu: usize, task: u32, tick_ns: u64) -> u64 {
        let (sim, jiffy_ns) = (&self.sim, self.sim.cfg.jiffy_ns());
        let t = &sim.tasks[task as usize];
        if !matches!(t.ops.get(t.pc), Some(Op::Compute { .. })) || !t.entered || t.compute_left_ns < 2 * jiffy_ns {
            return tick_ns;
        }
        let c = &sim.cpus[cpu];
        let owes =
            c.debt_ns > 0 || t.wait.block_ns > 0 || t.unrun.ns > 0 || sim.kernel.numa.tasks[task as usize].work_queued;
        let moves = sim.task_migrations.due.iter().any(|m| m.task == task);
        if owes || moves || !self.may_be_quiet[cpu] || c.next_tick_ns != tick_ns {
            return tick_ns;
        }
        let speed = smt::speed(0.0, sibling(sim, cpu)) * boost(sim, cpu);
        let computed_ns = (jiffy_ns as f64 * speed) as u64 + 1;
        let ticks =
            sim.kernel.sched.plain_ticks(cpu as u32, tick_ns).min((t.compute_left_ns - MARGIN_NS) / computed_ns);
        let ticks = self.ticks_before_scan(task, tick_ns, ticks);
        if ticks < FEWEST_TICKS {
            return tick_ns;
        }
        let process = t.process as usize;
        self.sim.kernel.sched.begin_quiet(cpu as u32, tick_ns);
        self.sim.quiet.set.insert(cpu as u32);
        self.sim.quiet.cpus[cpu] = QuietCpu { next_tick_ns: tick_ns, speed };
        self.sim.processes[process].quiet_cpus += 1;
        tick_ns + ticks * jiffy_ns
    }

    /// Of `ticks` from `first_ns` on, how many come before one that may queue a NUMA scan.
    fn ticks_before_scan(&self, task: u32, first_ns: u64, ticks: u64) -> u64 {
        let sim = &self.sim;
        if !sim.cfg.numa_enabled() {
            return ticks;
        }
        let runtime_ns = sim.kernel.sched.runtime_ns(task) + first_ns - sim.kernel.sched.exec_start_ns(task);
        let is_due = |tick: u64| sim.kernel.numa.trigger_due(task, runtime_ns + tick * sim.cfg.jiffy_ns());
        if ticks == 0 || !sim.kernel.numa.cfg.switches.trigger_underflows && !is_due(ticks - 1) {
            return ticks;
        }
        (0..ticks).position(is_due).map_or(ticks, |tick| tick as u64)
    }

    /// Something happens to `cpu`: it ticks again, if it was quiet.
    pub(crate) fn disturb(&mut self, cpu: usize) {
        if self.sim.quiet.set.contains(cpu as u32) {
            end_quiet(&mut self.sim, cpu);
            self.carry_out_effects();
        }
    }

    /// What `cpu` does to its core is about to change.
    pub(crate) fn disturb_siblings(&mut self, cpu: usize) {
        if self.sim.quiet.set.is_empty() {
            return;
        }
        for i in 0..self.sim.cpus[cpu].siblings.len() {
            self.disturb(self.sim.cpus[cpu].siblings[i] as usize);
        }
    }

    /// A CPU has a second task, so balance passes may find something. A task of the machine is gone again within
    /// microseconds. So only those CPUs tick again that balance within [`SECOND_TASK_NS`]; if there are two tasks even
    /// then, all do.
    pub(crate) fn disturb_soon(&mut self) {
        if self.sim.quiet.set.is_empty() {
            return;
        }
        let (now_ns, until_ns) = (self.sim.now_ns, self.sim.now_ns + SECOND_TASK_NS);
        let soon = |sim: &Simulation<'_>, cpu: usize| {
            sim.kernel.sched.next_unseen_pass_ns(cpu as u32).is_some_and(|at_ns| at_ns <= until_ns)
        };
        for cpu in 0..self.sim.cpus.len() {
            if self.sim.quiet.set.contains(cpu as u32) && soon(&self.sim, cpu) {
                // Passes up to now found nothing. The next one may be later than that.
                catch_up(&mut self.sim, cpu, now_ns);
                if soon(&self.sim, cpu) {
                    end_quiet(&mut self.sim, cpu);
                }
            }
        }
        self.carry_out_effects();
        if !std::mem::replace(&mut self.quiet_check, true) {
            self.queue.push(until_ns, Event::QuietCheck);
        }
    }

    /// [`SECOND_TASK_NS`] after a CPU had a second task.
    pub(crate) fn quiet_check(&mut self) {
        self.quiet_check = false;
        if !self.sim.kernel.sched.one_task_each() {
            self.disturb_all(None);
        }
    }

    /// All CPUs tick again: those of a socket whose clock is about to change, or all.
    pub(crate) fn disturb_all(&mut self, socket: Option<usize>) {
        end_quiet_of(&mut self.sim, |sim, cpu| socket.is_none_or(|s| sim.machine.cpus[cpu].socket == s));
        self.carry_out_effects();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::background::join;
    use crate::sim_config::SimConfig;
    use crate::state::log::Observers;
    use numalab_kernel::registry;
    use numalab_kernel::sched::shapes::Shape;
    use numalab_nouns::machine::Background;

    /// What a run leaves behind: end, ticks, time of every task.
    type Left = (u64, u64, Vec<(u64, u64, u64)>);

    fn run(kernel: &str, text: &str, quiet: bool, background: bool) -> (Left, u64) {
        let mut machine = Shape::flat(2, 4, 2, 20).machine("eight CPUs");
        machine.nodes.iter_mut().for_each(|n| n.memory_bytes = 1 << 30);
        let head = "name = \"w\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n";
        let workload = numalab_model::workload::parse("w.toml", &format!("{head}{text}")).unwrap();
        let workload = workload.resolve(&machine, 1, &[]).unwrap();
        let cfg =
            SimConfig::of(&numalab_model::catalog::built_in_kernel(kernel, &registry::vocabulary()).unwrap()).unwrap();
        if background {
            machine.background = Background::default();
        }
        let (workload, cfg) = join(&machine, &workload, &cfg, 1);
        let mut engine = Engine::new(&machine, &workload, &cfg, 1, Observers::default()).unwrap();
        engine.may_be_quiet.iter_mut().for_each(|may| *may &= quiet);
        engine.run().unwrap();
        let sched = &engine.sim.kernel.sched;
        let tasks = engine.sim.tasks.iter().enumerate();
        let tasks = tasks.map(|(id, t)| (t.user_ns, t.system_ns, sched.runtime_ns(id as u32))).collect();
        ((engine.sim.end_ns, engine.sim.record.ticks, tasks), engine.sim.record.events)
    }

    /// Whether CPUs are quiet or not, results are the same, for fewer events: while every CPU has one task, while tasks
    /// come and go that share CPUs, beside threads of the machine, and where a flush of the TLB interrupts all.
    #[test]
    fn unseen_ticks_are_carried_out_like_others() {
        let computes =
            "[[process]]\nname = \"p\"\nthreads = \"8\"\n[[process.phase]]\ncount = 5\ncompute = \"200ms\"\n";
        let sleeper = "[[process]]\nname = \"s\"\n[[process.phase]]\ncount = 20\n\
                       steps = [{ sleep = \"37ms\" }, { compute = \"3ms\" }]\n";
        let sweeps = "[[process]]\nname = \"p\"\nthreads = \"8\"\n[[process.region]]\nname = \"r\"\nsize = \"16MiB\"\n\
                      [[process.phase]]\ncount = 20\nsteps = [{ access = \"r\", slice = \"thread\", write = 1 }, { compute = \"150ms\" }]\n";
        for kernel in ["5.11", "6.1", "6.12"] {
            for (text, background, fewer) in [
                (computes.to_string(), false, 3),
                (format!("{computes}{sleeper}"), false, 1),
                (sweeps.to_string(), false, 2),
                (computes.to_string(), true, 1),
                (sweeps.to_string(), true, 1),
            ] {
                let (with, events) = run(kernel, &text, true, background);
                let (without, all) = run(kernel, &text, false, background);
                assert_eq!(with, without, "{kernel}: {text}");
                assert!(events * fewer < all, "{kernel}: {events} events of {all}: {text}");
            }
        }
    }
}
