//! Scenarios that read the scheduler's inner state: the counters that decide *when* a task moves.

mod after_6_12;
mod balance;
mod balance_v311;
mod balance_v37;
mod balance_v55;
mod check;
mod four_nodes;
mod fuzz;
mod groups;
mod locality;
mod locks;
mod newidle;
mod next_resched;
mod numa;
mod push;
mod queue;
mod quiet;
mod select_cpu;

use super::config::SchedConfig;
use super::event::Event;
use super::numa_view::{NoNuma, NumaView};
use super::rq::sched_entity::TaskId;
use super::shapes::Shape;
use super::state::Scheduler;
use crate::registry;
use numalab_base::words::Words;
use numalab_nouns::machine::Machine;

pub(super) const MS: u64 = 1_000_000;
pub(super) const FORMS: [&str; 2] = ["v61", "v612"];

pub(super) fn config(form: &'static str) -> SchedConfig {
    SchedConfig { form: word(form), ..SchedConfig::default() }
}

/// The variant of a tunable's type with this word.
pub(super) fn word<T: Words>(word: &str) -> T {
    T::parse(word).unwrap_or_else(|| panic!("no word {word}"))
}

/// The scheduler of a release of the catalog.
pub(super) fn release(major: u32, minor: u32) -> SchedConfig {
    registry::sched_config(
        &numalab_model::catalog::built_in_kernel(&format!("{major}.{minor}"), &registry::vocabulary()).unwrap(),
    )
}

/// A scheduler with a clock. After every step its reschedules are carried out and its counts are checked.
pub(super) struct Lab<V: NumaView = NoNuma> {
    pub s: Scheduler,
    pub now: u64,
    pub view: V,
    pub log: Vec<Event>,
    /// Number of pushes in `log` that were carried out.
    pub pushed: usize,
}

impl Lab<NoNuma> {
    pub fn new(shape: &Shape, config: &SchedConfig) -> Self {
        Self::with_view(shape, config, NoNuma)
    }
}

impl<V: NumaView> Lab<V> {
    pub fn with_view(shape: &Shape, config: &SchedConfig, view: V) -> Self {
        Self::on(&shape.machine("m"), config, view)
    }
    pub fn on(machine: &Machine, config: &SchedConfig, view: V) -> Self {
        let s = Scheduler::new(machine, config).unwrap();
        Self { s, now: 0, view, log: Vec::new(), pushed: 0 }
    }
    pub fn settle(&mut self) {
        let mut events = Vec::new();
        loop {
            self.s.swap_events(&mut events);
            if events.is_empty() {
                self.s.check().unwrap();
                return;
            }
            for e in &events {
                self.log.push(*e);
                if let Event::Resched { cpu } = e {
                    if self.s.need_resched(*cpu) {
                        self.pick(*cpu);
                    }
                }
            }
        }
    }
    /// Has `cpu` pick what runs next, with newly-idle passes that take no time.
    pub fn pick(&mut self, cpu: u32) {
        self.s.pick_at_once(cpu, self.now, &self.view);
    }
    /// A task that is started on `cpu` and then restricted to `affinity`.
    pub fn start(&mut self, cpu: u32, affinity: Option<&[u32]>) -> TaskId {
        let t = self.s.add_task(Some(&[cpu]), 0).unwrap();
        self.s.fork(cpu, t, self.now);
        self.settle();
        self.s.set_affinity(t, affinity, self.now).unwrap();
        t
    }
    /// Runs each stopper that has been asked and has not run yet.
    pub fn stoppers(&mut self) {
        let asked: Vec<(u32, u32)> = self.asked().collect();
        for (from, to) in asked.into_iter().skip(self.pushed) {
            self.s.push(from, to, self.now);
            self.pushed += 1;
        }
        self.settle();
    }
    /// Source and destination of every push that a stopper was asked for.
    pub fn asked(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.log.iter().filter_map(|e| if let Event::Push { from, to, .. } = e { Some((*from, *to)) } else { None })
    }
    /// Starts `count` tasks as [`Lab::start`] does.
    pub fn fill(&mut self, cpu: u32, affinity: Option<&[u32]>, count: usize) {
        for _ in 0..count {
            self.start(cpu, affinity);
        }
    }
    pub fn pass_time(&mut self, ns: u64) {
        self.now += ns;
        self.s.clock(self.now);
    }
    pub fn tick(&mut self, cpu: u32) {
        self.s.tick(cpu, self.now, &self.view);
        self.settle();
    }
    /// Puts the current task of `cpu` to sleep.
    pub fn sleep(&mut self, cpu: u32) -> TaskId {
        let t = self.s.block_current(cpu, self.now).unwrap();
        self.pick(cpu);
        self.settle();
        t
    }
    pub fn wake(&mut self, t: TaskId, waker: Option<u32>) -> u32 {
        let cpu = self.s.wake(t, waker, false, self.now);
        self.settle();
        cpu
    }
}
