//! Cost of the modelled scheduler's calls: a tick, a balance pass, a sleep, a wake-up, a fork. `cargo run --release -p
//! numalab-kernel --example sched_bench`.
//!
//! Every call is timed by itself. The cost of reading the clock is measured at the start and subtracted. The cost of a
//! balance pass is what a tick with balancing due costs more than one without, divided by the passes it made. Idle CPUs
//! are balanced by nohz runs inside the ticks of busy ones. A sleep includes the newly-idle search, a wake-up the
//! search for an idle CPU.

use numalab_kernel::sched::rules::Form;
use numalab_kernel::sched::shapes::Shape;
use numalab_kernel::sched::{Event, NoNuma, SchedConfig, SchedError, Scheduler, TaskId};
use std::time::Instant;

/// Times of calls, ns.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn add(&mut self, ns: f64) {
        self.0.push(ns);
    }
    /// Mean without the longest 2 %, in which another process had the CPU.
    fn mean(mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0.truncate((self.0.len() - self.0.len() / 50).max(1));
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }
}

struct Bench {
    s: Scheduler,
    cpus: u32,
    now: u64,
    /// Cost of reading the clock twice, ns.
    clock_ns: f64,
    buffer: Vec<Event>,
}

impl Bench {
    /// A bench of `shape` with `busy(cpu)` tasks on each CPU.
    fn new(shape: &Shape, form: Form, busy: impl Fn(u32) -> u32) -> Result<Self, SchedError> {
        let config = SchedConfig { form, ..SchedConfig::default() };
        let machine = shape.machine("bench");
        let cpus = machine.cpus.len() as u32;
        let mut b =
            Self { s: Scheduler::new(&machine, &config)?, cpus, now: 0, clock_ns: clock_ns(), buffer: Vec::new() };
        for cpu in 0..cpus {
            for _ in 0..busy(cpu) {
                let t = b.s.add_task(Some(&[cpu]), 0)?;
                b.s.fork(cpu, t, 0);
                b.s.set_affinity(t, None, 0)?;
            }
        }
        b.settle();
        Ok(b)
    }
    /// Has every CPU that was asked to reschedule pick its next task.
    fn settle(&mut self) {
        loop {
            let mut events = std::mem::take(&mut self.buffer);
            self.s.swap_events(&mut events);
            let done = events.is_empty();
            for e in &events {
                if let Event::Resched { cpu } = e {
                    if self.s.need_resched(*cpu) {
                        self.s.pick_at_once(*cpu, self.now, &NoNuma);
                    }
                }
            }
            self.buffer = events;
            if done {
                return;
            }
        }
    }
    fn timed<T>(&mut self, f: impl FnOnce(&mut Scheduler, u64) -> T) -> (T, f64) {
        let start = Instant::now();
        let out = f(&mut self.s, self.now);
        (out, start.elapsed().as_nanos() as f64 - self.clock_ns)
    }
    /// Costs of a tick without balancing and of a balance pass, measured over `seconds`.
    fn ticks(&mut self, seconds: u64) -> (f64, f64) {
        let jiffy = self.s.tick_ns();
        let first = self.now / jiffy + 1;
        let (mut plain, mut due) = (Times::default(), Vec::new());
        for k in first..first + seconds * 1_000_000_000 / jiffy {
            for cpu in 0..self.cpus {
                if self.s.current(cpu).is_none() {
                    continue;
                }
                self.now = k * jiffy + self.s.tick_offset_ns(cpu);
                let before = self.s.counters().passes;
                let ((), ns) = self.timed(|s, now| s.tick(cpu, now, &NoNuma));
                let made = self.s.counters().passes - before;
                if made > 0 {
                    due.push((ns, made as f64));
                } else {
                    plain.add(ns);
                }
                self.settle();
            }
        }
        let tick = plain.mean();
        (tick, Times(due.iter().map(|(ns, made)| (ns - tick) / made).collect()).mean())
    }
    /// Costs of a sleep and of a wake-up: again and again a task sleeps 20 us and is woken by a CPU nearby.
    fn wakeups(&mut self, rounds: u64) -> Option<(f64, f64)> {
        let (mut sleep, mut wake) = (Times::default(), Times::default());
        for i in 0..rounds {
            self.now += 5_000;
            let cpu = (i * 37 % u64::from(self.cpus)) as u32;
            if self.s.current(cpu).is_none() {
                continue;
            }
            let (slept, ns): (Option<TaskId>, f64) = self.timed(|s, now| {
                let t = s.block_current(cpu, now);
                s.pick_at_once(cpu, now, &NoNuma);
                t
            });
            sleep.add(ns);
            self.settle();
            self.now += 20_000;
            let (task, waker) = (slept?, (cpu + 5) % self.cpus);
            let (_, ns) = self.timed(|s, now| s.wake(task, Some(waker), false, now));
            wake.add(ns);
            self.settle();
        }
        Some((sleep.mean(), wake.mean()))
    }
    /// Cost of a fork, with up to four tasks for each CPU.
    fn forks(&mut self) -> Result<f64, SchedError> {
        let mut fork = Times::default();
        for _ in 0..4 * self.cpus {
            self.now += 1_000;
            let t = self.s.add_task(None, 0)?;
            let (_, ns) = self.timed(|s, now| s.fork(0, t, now));
            fork.add(ns);
            self.settle();
        }
        Ok(fork.mean())
    }
}

/// Cost of reading the clock twice, ns.
fn clock_ns() -> f64 {
    Times((0..100_000).map(|_| Instant::now().elapsed().as_nanos() as f64).collect()).mean()
}

fn main() -> Result<(), SchedError> {
    let eight = Shape::flat(1, 8, 2, 10);
    let sixty_four = Shape { llcs_per_node: 4, node_reclaim_distance: 32, ..Shape::flat(2, 8, 2, 32) };
    let shapes = [(8, eight), (64, sixty_four), (256, Shape::t1())];
    // Number of tasks of a CPU, by its number and the number of CPUs.
    type Load = (&'static str, fn(u32, u32) -> u32);
    let loads: [Load; 4] = [
        ("every CPU one task", |_, _| 1),
        ("every second CPU", |c, _| u32::from(c % 2 == 0)),
        ("every CPU two tasks", |_, _| 2),
        ("one half three, the other none", |c, n| if c < n / 2 { 3 } else { 0 }),
    ];
    println!(
        "{:<6} {:>5} {:<32} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "form", "CPUs", "ns per", "tick", "pass", "sleep", "wake-up", "fork"
    );
    for form in [Form::V61, Form::V612] {
        for (cpus, shape) in &shapes {
            let fork = Bench::new(shape, form, |_| 0)?.forks()?;
            for (what, load) in loads {
                let (tick, pass) = Bench::new(shape, form, |c| load(c, *cpus))?.ticks(6000 / u64::from(*cpus));
                let (sleep, wake) =
                    Bench::new(shape, form, |c| load(c, *cpus))?.wakeups(100_000).unwrap_or((f64::NAN, f64::NAN));
                let form = form.word();
                println!("{form:<6} {cpus:>5} {what:<32} {tick:>8.0} {pass:>8.0} {sleep:>8.0} {wake:>8.0} {fork:>8.0}");
            }
        }
    }
    Ok(())
}
