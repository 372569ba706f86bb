//! The parts of the engine, and how what is to happen later comes into its queue: effects of mechanisms, and ends of
//! slices.

use crate::charge::late_ticks::{catch_up_all, may_be_quiet};
use crate::check::checks::Checks;
use crate::engine::standstill::Standstill;
use crate::engine::wait_objects::{Barrier, Channel, DeferredClones, Waiter};
use crate::fault::hugetlb_fault::fill_hugetlb_pools;
use crate::sim_config::SimConfig;
use crate::state::cpu::Pending;
use crate::state::effects::Effect;
use crate::state::event_queue::{Event, EventQueue};
use crate::state::log::Observers;
use crate::state::simulation::Simulation;
use numalab_kernel::sched::Event as SchedEvent;
use numalab_nouns::machine::Machine;
use numalab_nouns::workload::Workload;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// A run: the simulated machine, the queue of what happens next, and what threads wait for.
pub struct Engine<'a> {
    pub(crate) sim: Simulation<'a>,
    pub(crate) queue: EventQueue,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) channels: Vec<Channel>,
    /// Threads that a message will create.
    pub(crate) deferred_clones: DeferredClones,
    /// Scratch: tasks that an open barrier releases.
    pub(crate) released: Vec<Waiter>,
    /// Processes that keep the run alive.
    pub(crate) live_processes: usize,
    /// By CPU, whether it may leave out events of ticks.
    pub(crate) may_be_quiet: Vec<bool>,
    /// Whether a [`Event::QuietCheck`] is on its way.
    pub(crate) quiet_check: bool,
    /// When the run checks itself.
    pub(crate) checks: Checks,
    /// The rule that a check on the way found violated.
    pub(crate) fault: Option<String>,
    /// Where the model time is written for whoever watches the run.
    pub(crate) clock: Option<Arc<AtomicU64>>,
    /// Set by whoever watches the run to end it early.
    pub(crate) stop: Option<Arc<AtomicBool>>,
    /// Notices that time stands still.
    pub(crate) standstill: Standstill,
    /// Scratch: reports of the scheduler.
    pub(crate) sched_events: Vec<SchedEvent>,
    /// Scratch: effects on their way.
    pub(crate) effects: Vec<Effect>,
}

impl<'a> Engine<'a> {
    /// A run at time 0 with the first process about to be started.
    ///
    /// # Errors
    /// As [`Simulation::new`], and a node without room for the hugetlb pages of the workload.
    pub fn new(
        machine: &'a Machine,
        workload: &'a Workload,
        cfg: &'a SimConfig,
        seed: u64,
        observers: Observers,
    ) -> Result<Self, String> {
        let (clock, stop) = (observers.clock.clone(), observers.stop.clone());
        let mut sim = Simulation::new(machine, workload, cfg, seed, observers)?;
        fill_hugetlb_pools(&mut sim)?;
        Ok(Self {
            clock,
            stop,
            checks: Checks::every(cfg.check_every_ns),
            fault: None,
            may_be_quiet: may_be_quiet(&sim),
            quiet_check: false,
            sim,
            queue: EventQueue::default(),
            barriers: workload.barrier_widths.iter().map(|&w| Barrier::new(w)).collect(),
            channels: Channel::all(workload),
            deferred_clones: DeferredClones::new(workload.channels),
            released: Vec::new(),
            live_processes: workload.processes.len().saturating_sub(cfg.background),
            standstill: Standstill::default(),
            sched_events: Vec::new(),
            effects: Vec::new(),
        })
    }

    /// Sums what crosses each pipe of the machine, for the checks.
    pub fn watch_pipes(&mut self) {
        self.sim.hw.contention.watch_pipes(self.sim.machine);
    }

    /// Checks what must hold at any instant between two events.
    ///
    /// # Errors
    /// A sentence that names the first violated rule.
    pub fn check(&mut self) -> Result<(), String> {
        let now_ns = self.sim.now_ns;
        catch_up_all(&mut self.sim, now_ns);
        self.checks.run(&self.sim, &self.queue)
    }

    /// Whether whoever watches the run has ended it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The simulated machine after the run.
    pub fn into_simulation(self) -> Simulation<'a> {
        self.sim
    }

    /// Carries out what mechanisms have noted since the last call, in their order.
    #[inline]
    pub(crate) fn carry_out_effects(&mut self) {
        if self.sim.effects.is_empty() {
            return;
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.sim.effects.swap(&mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::At(at_ns, event) => self.queue.push(at_ns, event),
                Effect::Plan { cpu, at_ns, pending } => self.plan(cpu, at_ns, pending),
            }
        }
        self.effects = effects;
    }

    /// Plans the end of the slice of `cpu`: at `at_ns`, for the reason `pending`.
    pub(crate) fn plan(&mut self, cpu: usize, at_ns: u64, pending: Pending) {
        self.carry_out_effects();
        let c = &mut self.sim.cpus[cpu];
        c.plan += 1;
        c.pending = pending;
        if let Some(task) = c.task {
            self.sim.sweep_positions.planned(task);
        }
        self.queue.push(at_ns, Event::Cpu { cpu: cpu as u32, plan: c.plan });
    }
}
