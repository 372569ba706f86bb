//! A minimal event loop around the scheduler: CPU-bound tasks, ticks in order, immediate reschedules.
#![allow(dead_code, clippy::unwrap_used)]

use numalab_base::words::Words;
use numalab_kernel::registry;
use numalab_kernel::sched::shapes::Shape;
use numalab_kernel::sched::{Event, NoNuma, NumaView, SchedConfig, Scheduler, TaskId};

pub const MS: u64 = 1_000_000;

pub fn config(form: &'static str, rule: &'static str) -> SchedConfig {
    SchedConfig { form: word(form), imbalance: word(rule), ..SchedConfig::default() }
}

/// The variant of a tunable's type with this word.
pub fn word<T: Words>(word: &str) -> T {
    T::parse(word).unwrap_or_else(|| panic!("no word {word}"))
}

/// The scheduler of a release of the catalog.
pub fn release(major: u32, minor: u32) -> SchedConfig {
    registry::sched_config(
        &numalab_model::catalog::built_in_kernel(&format!("{major}.{minor}"), &registry::vocabulary()).unwrap(),
    )
}

pub struct World<V: NumaView = NoNuma> {
    pub s: Scheduler,
    pub now: u64,
    pub view: V,
    pub log: Vec<(u64, Event)>,
    buffer: Vec<Event>,
    next_jiffy: u64,
}

impl World<NoNuma> {
    pub fn new(shape: &Shape, config: &SchedConfig) -> Self {
        Self::with_view(shape, config, NoNuma)
    }
}

impl<V: NumaView> World<V> {
    pub fn with_view(shape: &Shape, config: &SchedConfig, view: V) -> Self {
        let s = Scheduler::new(&shape.machine("m"), config).unwrap();
        Self { s, now: 0, view, log: Vec::new(), buffer: Vec::new(), next_jiffy: 0 }
    }
    /// Carries out all requested reschedules and pushes.
    pub fn settle(&mut self) {
        loop {
            let mut events = std::mem::take(&mut self.buffer);
            self.s.swap_events(&mut events);
            if events.is_empty() {
                self.buffer = events;
                return;
            }
            for e in &events {
                self.log.push((self.now, *e));
                match *e {
                    Event::Resched { cpu } if self.s.need_resched(cpu) => {
                        self.s.pick_at_once(cpu, self.now, &self.view);
                    }
                    Event::Push { from, to, .. } => self.s.push(from, to, self.now),
                    _ => {}
                }
            }
            self.buffer = events;
        }
    }
    /// Forks a task from `parent` that runs for ever, and returns it.
    pub fn fork(&mut self, parent: u32) -> TaskId {
        self.fork_with(parent, None)
    }
    pub fn fork_with(&mut self, parent: u32, affinity: Option<&[u32]>) -> TaskId {
        let t = self.s.add_task(affinity, 0).unwrap();
        self.s.fork(parent, t, self.now);
        self.settle();
        t
    }
    /// Starts a task on `cpu`, which may then run anywhere.
    pub fn place(&mut self, cpu: u32) -> TaskId {
        let t = self.fork_with(cpu, Some(&[cpu]));
        self.s.set_affinity(t, None, self.now).unwrap();
        t
    }
    /// Ticks every busy CPU until `until` (exclusive).
    pub fn run_until(&mut self, until: u64) {
        let jiffy = self.s.tick_ns();
        let cpus = self.s.domains().cpus() as u32;
        loop {
            for cpu in 0..cpus {
                let at = self.next_jiffy * jiffy + self.s.tick_offset_ns(cpu);
                if at >= until {
                    self.now = until;
                    return;
                }
                if at < self.now {
                    continue;
                }
                self.now = at;
                self.s.tick(cpu, at, &self.view);
                self.settle();
            }
            self.next_jiffy += 1;
        }
    }
    pub fn sleep(&mut self, cpu: u32) -> TaskId {
        let t = self.s.block_current(cpu, self.now).unwrap();
        self.s.pick_at_once(cpu, self.now, &self.view);
        self.settle();
        t
    }
    pub fn wake(&mut self, t: TaskId, waker: Option<u32>, sync: bool) -> u32 {
        let cpu = self.s.wake(t, waker, sync, self.now);
        self.settle();
        cpu
    }
    /// Queued tasks per node.
    pub fn per_node(&self) -> Vec<u32> {
        let d = self.s.domains();
        (0..d.node_count() as u32).map(|n| d.node(n).iter().map(|c| self.s.nr_running(c)).sum()).collect()
    }
    pub fn node_of(&self, t: TaskId) -> u32 {
        self.s.domains().node_of(self.s.cpu_of(t))
    }
}
