//! Scenarios that look at the scheduler's inner state: counters that decide *when* something moves.

mod balance;
mod balance_v311;
mod balance_v37;
mod balance_v55;
mod four_nodes;
mod fuzz;
mod locality;
mod newidle;
mod next_resched;
mod numa;
mod push;
mod queue;
mod select_cpu;

use super::config::SchedConfig;
use super::event::Event;
use super::numa_view::{NoNuma, NumaView};
use super::rq::task::TaskId;
use super::shapes::Shape;
use super::state::Scheduler;
use crate::registry;

pub(super) const MS: u64 = 1_000_000;
pub(super) const FORMS: [&str; 2] = ["v61", "v612"];

pub(super) fn config(form: &'static str) -> SchedConfig {
    SchedConfig { form, ..SchedConfig::default() }
}

/// The scheduler of a release of the catalog.
pub(super) fn release(major: u32, minor: u32) -> SchedConfig {
    registry::group(&registry::catalog_kernel(&format!("{major}.{minor}")).unwrap())
}

/// A scheduler with a clock, settled after every step.
pub(super) struct Lab<V: NumaView = NoNuma> {
    pub s: Scheduler,
    pub now: u64,
    pub view: V,
    pub log: Vec<Event>,
    /// Pushes of `log` that were carried out.
    pub pushed: usize,
}

impl Lab<NoNuma> {
    pub fn new(shape: &Shape, config: &SchedConfig) -> Self {
        Self::with_view(shape, config, NoNuma)
    }
}

impl<V: NumaView> Lab<V> {
    pub fn with_view(shape: &Shape, config: &SchedConfig, view: V) -> Self {
        let s = Scheduler::new(&shape.machine("m"), config).unwrap();
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
    /// `cpu` picks what runs next; the passes of its search take no time.
    pub fn pick(&mut self, cpu: u32) {
        self.s.pick_at_once(cpu, self.now, &self.view);
    }
    /// A task started on `cpu` and restricted to `affinity` afterwards.
    pub fn start(&mut self, cpu: u32, affinity: Option<&[u32]>) -> TaskId {
        let t = self.s.add_task(Some(&[cpu]), 0).unwrap();
        self.s.fork(cpu, t, self.now);
        self.settle();
        self.s.set_affinity(t, affinity, self.now).unwrap();
        t
    }
    /// The stoppers that have been asked so far push, once.
    pub fn stoppers(&mut self) {
        let asked: Vec<(u32, u32)> = self.asked().collect();
        for (from, to) in asked.into_iter().skip(self.pushed) {
            self.s.push(from, to, self.now);
            self.pushed += 1;
        }
        self.settle();
    }
    /// From where and to where stoppers were asked to push.
    pub fn asked(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.log.iter().filter_map(|e| if let Event::Push { from, to, .. } = e { Some((*from, *to)) } else { None })
    }
    /// `count` tasks like [`Lab::start`].
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
    /// The current task of `cpu` sleeps.
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
