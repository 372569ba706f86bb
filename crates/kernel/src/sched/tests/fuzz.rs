//! Random histories: counts stay true, runtime is conserved, ticks come as computed, and the same history repeats
//! exactly.

use super::next_resched::next_resched_ns;
use super::word;
use crate::sched::rules::Locality;
use crate::sched::shapes::{table, Shape};
use crate::sched::{Event, NumaView, SchedConfig, Scheduler, TaskId};

fn config(form: &'static str, imbalance: &'static str) -> SchedConfig {
    SchedConfig { form: word(form), imbalance: word(imbalance), ..SchedConfig::default() }
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Odd tasks have faults, on node 0 only, and so prefer to stay there.
struct View;

impl NumaView for View {
    fn enabled(&self) -> bool {
        true
    }
    fn has_faults(&self, task: TaskId) -> bool {
        task % 2 == 1
    }
    fn node_weight(&self, _task: TaskId, node: u32, _distance: u32) -> i64 {
        if node == 0 {
            1000
        } else {
            0
        }
    }
}

struct Run {
    s: Scheduler,
    now: u64,
    asleep: Vec<TaskId>,
    live: Vec<TaskId>,
    /// Total time in which CPUs had a current task.
    busy_ns: u64,
    since: Vec<Option<u64>>,
    trace: u64,
    buffer: Vec<Event>,
    /// Pushes that stoppers were asked for: from, to.
    asked: Vec<(u32, u32)>,
}

impl Run {
    fn note(&mut self, x: u64) {
        self.trace = (self.trace ^ x).wrapping_mul(0x100_0000_01b3);
    }
    /// Adds up busy time after the running tasks may have changed.
    fn watch(&mut self) {
        for cpu in 0..self.since.len() {
            let running = self.s.current(cpu as u32).is_some();
            match (self.since[cpu], running) {
                (None, true) => self.since[cpu] = Some(self.now),
                (Some(from), false) => {
                    self.busy_ns += self.now - from;
                    self.since[cpu] = None;
                }
                _ => {}
            }
        }
    }
    fn settle(&mut self) {
        loop {
            self.watch();
            let mut events = std::mem::take(&mut self.buffer);
            self.s.swap_events(&mut events);
            if events.is_empty() {
                self.buffer = events;
                return;
            }
            for e in &events {
                match *e {
                    Event::Resched { cpu } if self.s.need_resched(cpu) && self.s.newidle_pass_ns(cpu).is_none() => {
                        let next = self.s.pick_next(cpu, self.now, &View);
                        self.note(u64::from(next.unwrap_or(u32::MAX)) << 32 | u64::from(cpu));
                        self.watch();
                    }
                    Event::Moved { task, from, to, .. } => {
                        self.note(u64::from(task) << 40 | u64::from(from) << 20 | u64::from(to));
                    }
                    Event::Push { from, to, .. } => self.asked.push((from, to)),
                    _ => {}
                }
            }
            self.buffer = events;
        }
    }
    fn step(&mut self, rng: &mut Rng, cpus: u32) {
        let cpu = rng.below(u64::from(cpus)) as u32;
        // Stoppers run a little later, when the task to push may be gone.
        while let Some((from, to)) = self.asked.pop() {
            self.s.push(from, to, self.now);
        }
        // Newly-idle passes end later too, while other CPUs act.
        for cpu in (0..cpus).filter(|_| rng.below(2) == 0) {
            if self.s.newidle_pass_ns(cpu).is_some() {
                let found = self.s.pick_next(cpu, self.now, &View);
                self.note(u64::from(found.unwrap_or(u32::MAX)) << 32 | u64::from(cpu));
                self.watch();
            }
        }
        match rng.below(12) {
            0 if self.live.len() < 3 * cpus as usize => {
                let pinned = [cpu, (cpu + 1) % cpus];
                let affinity = if rng.below(4) == 0 { Some(&pinned[..]) } else { None };
                let t = self.s.add_task(affinity, rng.below(6) as i32 - 3).unwrap();
                if self.s.group_count() > 0 && rng.below(3) > 0 {
                    self.s.join_group(t, rng.below(self.s.group_count() as u64) as u32);
                }
                if rng.below(3) == 0 {
                    self.s.set_preferred_nid(t, Some(rng.below(2) as u32));
                }
                self.s.fork(cpu, t, self.now);
                self.live.push(t);
            }
            1..=4 => {
                if let Some(t) = self.s.block_current(cpu, self.now) {
                    self.asleep.push(t);
                    self.s.pick_next(cpu, self.now, &View);
                }
            }
            5..=7 if !self.asleep.is_empty() => {
                let t = self.asleep.swap_remove(rng.below(self.asleep.len() as u64) as usize);
                let waker = if rng.below(2) == 0 { Some(cpu) } else { None };
                self.s.wake(t, waker, rng.below(2) == 0, self.now);
            }
            9 if self.live.len() > 4 && rng.below(4) == 0 => {
                if let Some(t) = self.s.exit_current(cpu, self.now) {
                    self.live.retain(|x| *x != t);
                    self.s.pick_next(cpu, self.now, &View);
                }
            }
            10 => {
                if let Some(t) = self.s.current(cpu) {
                    let other = rng.below(u64::from(cpus)) as u32;
                    match self.s.current(other) {
                        Some(o) if rng.below(2) == 0 => drop(self.s.swap(t, o, self.now)),
                        _ => drop(self.s.migrate(t, other, self.now)),
                    }
                }
            }
            11 if !self.live.is_empty() => {
                let t = self.live[rng.below(self.live.len() as u64) as usize];
                let list: Vec<u32> = (0..=rng.below(4)).map(|_| rng.below(u64::from(cpus)) as u32).collect();
                let affinity = if rng.below(2) == 0 { None } else { Some(&list[..]) };
                self.s.set_affinity(t, affinity, self.now).unwrap();
                self.s.set_preferred_nid(t, if rng.below(2) == 0 { None } else { Some(rng.below(2) as u32) });
            }
            _ => {}
        }
        self.settle();
    }
}

/// Runs a random history of `steps`; returns a fingerprint of all switches and moves.
fn history(shape: &Shape, config: &SchedConfig, seed: u64, steps: u64) -> u64 {
    history_with_groups(shape, config, seed, steps, &[])
}

/// The same beside control groups of these weights, which two thirds of the tasks join.
fn history_with_groups(shape: &Shape, config: &SchedConfig, seed: u64, steps: u64, groups: &[u32]) -> u64 {
    let mut s = Scheduler::new(&shape.machine("m"), config).unwrap();
    groups.iter().for_each(|w| _ = s.add_group(*w));
    let cpus = s.domains().cpus();
    let mut rng = Rng(seed);
    let mut r = Run {
        s,
        now: 0,
        asleep: Vec::new(),
        live: Vec::new(),
        busy_ns: 0,
        since: vec![None; cpus],
        trace: 0xcbf2_9ce4_8422_2325,
        buffer: Vec::new(),
        asked: Vec::new(),
    };
    let mut next_tick: Vec<u64> = (0..cpus as u32).map(|c| r.s.tick_offset_ns(c)).collect();
    for step in 0..steps {
        let until = r.now + rng.below(2_000_000);
        // Ticks up to `until`, in order of time.
        while let Some((at, cpu)) = next_tick.iter().zip(0..).map(|(at, c)| (*at, c)).min().filter(|t| t.0 <= until) {
            r.now = at;
            let promised = next_resched_ns(&r.s, cpu);
            let before = r.s.current(cpu);
            r.s.tick(cpu, at, &View);
            // A tick may change the weights of groups, and the promise with them.
            if groups.is_empty() && before.is_some() && promised == at && r.s.current(cpu) == before {
                assert!(r.s.need_resched(cpu), "step {step}: a tick at the promised time keeps CPU {cpu}");
            }
            r.settle();
            next_tick[cpu as usize] += r.s.tick_ns();
        }
        r.now = until;
        r.step(&mut rng, cpus as u32);
        r.s.check().unwrap_or_else(|e| panic!("seed {seed}, step {step}: {e}"));
    }
    finish(&mut r, cpus as u32)
}

/// Checks that the runtime of all tasks is the time CPUs were busy.
fn finish(r: &mut Run, cpus: u32) -> u64 {
    for cpu in 0..cpus {
        r.s.account(cpu, r.now);
        if let Some(from) = r.since[cpu as usize] {
            r.busy_ns += r.now - from;
        }
    }
    let total: u64 = (0..r.s.tasks.len() as TaskId).map(|t| r.s.runtime_ns(t)).sum();
    assert_eq!(total, r.busy_ns);
    r.trace
}

fn small() -> Shape {
    Shape { sockets: 2, llcs_per_node: 2, cpus_per_llc: 4, ..Shape::flat(2, 4, 2, 20) }
}

#[test]
fn random_histories_keep_every_count_true() {
    let line = Shape { distance: table(4, |a, b| 10 * (1 + a.abs_diff(b)) as u8), ..Shape::flat(4, 2, 1, 20) };
    for form in ["v61", "v612"] {
        for rule in ["none", "fixed_2", "quarter_5_11", "quarter_5_17s", "imb_v3", "imb_5_18", "imb_6_0"] {
            history(&small(), &config(form, rule), 7, 1500);
            history(&line, &config(form, rule), 8, 1500);
        }
        let odd =
            SchedConfig { ni_random: true, preempt_full: false, hz: 1000, nr_migrate: 2, ..config(form, "imb_6_0") };
        history(&small(), &odd, 9, 3000);
        history(&Shape::flat(1, 1, 1, 10), &config(form, "imb_6_0"), 10, 500);
    }
}

#[test]
fn random_histories_on_distances_that_differ_by_direction() {
    let odd = [[10, 30, 16, 12], [20, 10, 30, 30], [12, 12, 10, 12], [30, 20, 20, 10]].map(Vec::from).to_vec();
    let shape = Shape { distance: odd, ..Shape::flat(4, 2, 1, 20) };
    for form in ["v61", "v612"] {
        (20..24).for_each(|seed| _ = history(&shape, &config(form, "imb_6_0"), seed, 1500));
    }
    for (major, minor) in [(3, 7), (3, 13), (4, 15), (5, 4), (5, 15)] {
        (24..26).for_each(|seed| _ = history(&shape, &super::release(major, minor), seed, 1500));
    }
}

#[test]
fn random_histories_of_older_releases() {
    let line = Shape { distance: table(4, |a, b| 10 * (1 + a.abs_diff(b)) as u8), ..Shape::flat(4, 2, 1, 20) };
    let releases = [(3, 7), (3, 13), (4, 0), (4, 7), (4, 15), (4, 19), (4, 20), (5, 4), (5, 5), (5, 15)];
    for (major, minor) in releases {
        let config = super::release(major, minor);
        for seed in 11..14 {
            history(&small(), &config, seed, 1500);
            history(&line, &config, seed, 1500);
        }
        assert_eq!(history(&small(), &config, 3, 1500), history(&small(), &config, 3, 1500));
    }
    // Selected and home nodes on the balancer of their time.
    for locality in [Locality::Selected, Locality::Home] {
        let config = SchedConfig { locality, balancer: word("v37"), ..super::release(3, 7) };
        (14..17).for_each(|seed| _ = history(&small(), &config, seed, 1500));
    }
}

#[test]
fn random_histories_with_control_groups() {
    for seed in 30..34 {
        for form in ["v61", "v612"] {
            let run = || history_with_groups(&small(), &config(form, "imb_6_0"), seed, 1500, &[1, 100, 10_000]);
            assert_eq!(run(), run());
            assert_ne!(run(), history(&small(), &config(form, "imb_6_0"), seed, 1500));
        }
        for (major, minor) in [(3, 7), (3, 13), (4, 15), (5, 4), (6, 6)] {
            history_with_groups(&small(), &super::release(major, minor), seed, 1500, &[1, 100, 10_000]);
        }
    }
}

#[test]
fn the_same_history_repeats_exactly() {
    for form in ["v61", "v612"] {
        let run = |seed| history(&small(), &config(form, "imb_6_0"), seed, 1500);
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }
}
