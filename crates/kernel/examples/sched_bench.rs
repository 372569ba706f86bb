//! Cost of the modelled scheduler's hot calls, ns: `cargo run --release -p numalab-kernel --example sched_bench`.
//!
//! Machine: two sockets, 256 CPUs in 16 caches. Times of ticks include the balance passes that fall due; those of sleeps
//! and wake-ups include reading the clock.

use numalab_kernel::sched::shapes::Shape;
use numalab_kernel::sched::{Event, NoNuma, SchedConfig, SchedError, Scheduler, TaskId};
use std::time::Instant;

struct Bench {
    s: Scheduler,
    now: u64,
    buffer: Vec<Event>,
}

impl Bench {
    fn new(form: &'static str, busy: impl Fn(u32) -> u32) -> Result<Self, SchedError> {
        let config = SchedConfig { form, ..SchedConfig::default() };
        let s = Scheduler::new(&Shape::t1().machine("bench"), &config)?;
        let mut b = Self { s, now: 0, buffer: Vec::new() };
        for cpu in 0..256 {
            for _ in 0..busy(cpu) {
                let t = b.s.add_task(Some(&[cpu]), 0)?;
                b.s.fork(cpu, t, 0);
                b.s.set_affinity(t, None, 0)?;
            }
        }
        b.settle();
        Ok(b)
    }
    fn settle(&mut self) {
        loop {
            let mut events = std::mem::take(&mut self.buffer);
            self.s.swap_events(&mut events);
            let done = events.is_empty();
            for e in &events {
                if let Event::Resched { cpu } = e {
                    if self.s.need_resched(*cpu) {
                        self.s.pick_next(*cpu, self.now, &NoNuma);
                    }
                }
            }
            self.buffer = events;
            if done {
                return;
            }
        }
    }
    /// Ticks of busy CPUs during `seconds`; prints the average of one.
    fn ticks(&mut self, what: &str, seconds: u64) {
        let jiffy = self.s.tick_ns();
        let first = self.now / jiffy + 1;
        let (mut ticks, before) = (0u64, *self.s.counters());
        let start = Instant::now();
        for k in first..first + seconds * 1_000_000_000 / jiffy {
            for cpu in 0..256 {
                if self.s.current(cpu).is_some() {
                    self.now = k * jiffy + self.s.tick_offset_ns(cpu);
                    self.s.tick(cpu, self.now, &NoNuma);
                    ticks += 1;
                    self.settle();
                }
            }
        }
        let spent = start.elapsed().as_nanos() as f64;
        let c = self.s.counters();
        println!(
            "{what:<44} {:8.1} ns/tick   {} passes, {} nohz runs, {} moved in {seconds} s",
            spent / ticks as f64,
            c.passes - before.passes,
            c.nohz_runs - before.nohz_runs,
            c.pulled + c.active - before.pulled - before.active,
        );
    }
    /// A task sleeps and is woken by another CPU's task, over and over.
    fn wakeups(&mut self, what: &str, rounds: u64) -> Option<()> {
        let (mut sleep, mut wake, mut done) = (0, 0, 0u64);
        for i in 0..rounds {
            self.now += 5_000;
            let cpu = (i * 37 % 256) as u32;
            let Some(_) = self.s.current(cpu) else { continue };
            let start = Instant::now();
            let t: TaskId = self.s.block_current(cpu, self.now)?;
            self.s.pick_next(cpu, self.now, &NoNuma);
            sleep += start.elapsed().as_nanos();
            self.settle();
            self.now += 20_000;
            let waker = (cpu + 5) % 256;
            let start = Instant::now();
            self.s.wake(t, Some(waker), false, self.now);
            wake += start.elapsed().as_nanos();
            done += 1;
            self.settle();
        }
        let per = |ns: u128| ns as f64 / done.max(1) as f64;
        println!("{what:<44} {:8.1} ns/sleep (newly-idle search included), {:.1} ns/wake-up", per(sleep), per(wake));
        Some(())
    }
    fn forks(&mut self, what: &str, rounds: u64) -> Result<(), SchedError> {
        let start = Instant::now();
        for _ in 0..rounds {
            self.now += 1_000;
            let t = self.s.add_task(None, 0)?;
            self.s.fork(0, t, self.now);
            self.settle();
        }
        println!("{what:<44} {:8.1} ns/fork", start.elapsed().as_nanos() as f64 / rounds as f64);
        Ok(())
    }
}

fn main() -> Result<(), SchedError> {
    for form in ["v61", "v612"] {
        println!("{form}");
        Bench::new(form, |_| 1)?.ticks("256 of 256 CPUs busy", 60);
        Bench::new(form, |c| u32::from(c % 2 == 0))?.ticks("one thread of every core busy", 30);
        Bench::new(form, |c| u32::from(c < 64))?.ticks("64 CPUs of one node busy at first", 30);
        Bench::new(form, |_| 2)?.ticks("two tasks on every CPU", 20);
        Bench::new(form, |c| if c < 128 { 3 } else { 0 })?.ticks("384 tasks on one node at first", 20);
        Bench::new(form, |_| 1)?.wakeups("wake-up, 256 tasks", 200_000);
        Bench::new(form, |c| u32::from(c % 4 == 0))?.wakeups("wake-up, 64 tasks", 200_000);
        Bench::new(form, |_| 2)?.wakeups("wake-up, 512 tasks (stacked)", 200_000);
        Bench::new(form, |_| 0)?.forks("fork of 1000 tasks", 1000)?;
    }
    Ok(())
}
