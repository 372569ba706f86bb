//! The scheduler hook: it selects a node for the running task and exchanges it with a task that runs there
//! (designs-2012.md section 1.7).
//!
//! Threads of one process are compared by their own weights, threads of different processes by their processes'
//! weights. Both the gain of this task and its lead over the other must be positive, so the same pair cannot be
//! exchanged back on the same data. There is no threshold and no hysteresis.

use super::auto_numa::AutoNuma;
use super::stats::heaviest;

/// The run queues as the hook sees them.
pub trait BalanceHost {
    /// Number of CPUs.
    fn cpus(&self) -> usize;
    /// Node of a CPU.
    fn node_of(&self, cpu: usize) -> usize;
    /// Task that runs on a CPU; `None` if the CPU is idle, runs a kernel thread, or has an exchange pending.
    fn running(&self, cpu: usize) -> Option<u32>;
    /// Address space of a task.
    fn mm_of(&self, task: u32) -> u32;
    /// Whether a task may run on a CPU.
    fn allowed(&self, task: u32, cpu: usize) -> bool;
}

/// Outcome of the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// There are no statistics yet, and the task's own node is selected.
    NoData,
    /// The busiest nodes of the task and of its process are the node it runs on. No CPU was examined.
    Converged,
    /// CPUs were examined and none was better.
    Stay,
    /// The task is exchanged with the task that runs on a CPU.
    Exchange {
        /// The CPU.
        cpu: usize,
        /// The task that runs there.
        other: u32,
    },
}

/// The differences `w_nid - w_this` and `w_nid - w_other` of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diffs {
    /// Gain of the task.
    pub this: i64,
    /// Lead of the task over the other one.
    pub other: i64,
}

impl Diffs {
    /// Score of the exchange; `None` if it is not a candidate.
    pub fn score(self) -> Option<i64> {
        (self.this > 0 && self.other > 0).then_some(self.this + self.other)
    }
}

impl AutoNuma {
    /// Whether two tasks of these address spaces are compared by their own weights.
    fn by_task(&self, mms: (u32, u32)) -> bool {
        mms.0 == mms.1 || !self.knobs.process_weights
    }
    /// Whether there is data to compare `other` by: its own inside a process, its process's across processes. A thread
    /// without a fault of its own, such as a new one, counts as its process.
    fn has_data(&self, other: u32, mms: (u32, u32)) -> bool {
        let total = if self.by_task(mms) { self.tasks[other as usize].total } else { self.mms[mms.1 as usize].total };
        total > 0
    }
    /// Compares `task`, running on node `here`, with `other`, running on node `there`.
    pub fn compare(&self, task: u32, other: u32, mms: (u32, u32), here: usize, there: usize) -> Diffs {
        let (p, q) = (&self.tasks[task as usize], &self.tasks[other as usize]);
        let (w_nid, w_this, w_other) = if self.by_task(mms) {
            (p.weight(there), p.weight(here), q.weight(there))
        } else {
            let (a, b) = (&self.mms[mms.0 as usize], &self.mms[mms.1 as usize]);
            (a.weight(there), a.weight(here), b.weight(there))
        };
        Diffs { this: w_nid as i64 - w_this as i64, other: w_nid as i64 - w_other as i64 }
    }
    /// Runs the hook for `task` on `cpu` and sets its selected node. Returns what to do and how many CPUs were
    /// examined.
    pub fn balance<H: BalanceHost>(&mut self, task: u32, cpu: usize, host: &H) -> (Choice, u32) {
        let here = host.node_of(cpu);
        let mm = host.mm_of(task);
        let (t, m) = (&self.tasks[task as usize], &self.mms[mm as usize]);
        if t.total == 0 || m.total == 0 {
            self.tasks[task as usize].selected = Some(here as u32);
            return (Choice::NoData, 0);
        }
        if heaviest(&t.faults, t.total) == Some(here) && heaviest(&m.faults, m.total) == Some(here) {
            self.tasks[task as usize].selected = Some(here as u32);
            return (Choice::Converged, 0);
        }
        let mut best: Option<(i64, usize, u32)> = None;
        let mut examined = 0;
        for c in 0..host.cpus() {
            let there = host.node_of(c);
            if there == here || !host.allowed(task, c) {
                continue;
            }
            examined += 1;
            let Some(q) = host.running(c) else { continue };
            let mms = (mm, host.mm_of(q));
            if !host.allowed(q, cpu) || !self.has_data(q, mms) {
                continue;
            }
            if let Some(score) = self.compare(task, q, mms, here, there).score() {
                if best.is_none_or(|b| score > b.0) {
                    best = Some((score, c, q));
                }
            }
        }
        let (node, choice) = match best {
            Some((_, c, other)) => (host.node_of(c), Choice::Exchange { cpu: c, other }),
            None => (here, Choice::Stay),
        };
        self.tasks[task as usize].selected = Some(node as u32);
        (choice, examined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numa::autonuma::{AutoNumaTunables, MmStats};

    /// Two nodes of two CPUs. Task i runs on CPU i unless a test changes that.
    struct Box2 {
        running: Vec<Option<u32>>,
        mm: Vec<u32>,
    }

    impl BalanceHost for Box2 {
        fn cpus(&self) -> usize {
            self.running.len()
        }
        fn node_of(&self, cpu: usize) -> usize {
            cpu / 2
        }
        fn running(&self, cpu: usize) -> Option<u32> {
            self.running[cpu]
        }
        fn mm_of(&self, task: u32) -> u32 {
            self.mm[task as usize]
        }
        fn allowed(&self, _task: u32, _cpu: usize) -> bool {
            true
        }
    }

    /// Tasks and processes with the given counters.
    fn state(tasks: &[[u64; 2]], mms: &[[u64; 2]]) -> AutoNuma {
        let mut a = AutoNuma::new(AutoNumaTunables::default(), 2, mms.len());
        for t in tasks {
            a.fork(None);
            let s = a.tasks.last_mut().unwrap();
            s.faults = t.to_vec();
            s.total = t.iter().sum();
        }
        for (m, counts) in a.mms.iter_mut().zip(mms) {
            *m = MmStats::new(2);
            m.begin_pass();
            counts.iter().enumerate().for_each(|(n, c)| m.count(n, *c));
            m.end_pass();
        }
        a
    }

    fn box2(mm: [u32; 4]) -> Box2 {
        Box2 { running: vec![Some(0), Some(1), Some(2), Some(3)], mm: mm.to_vec() }
    }

    #[test]
    fn section_1_7_step_1_no_data_selects_the_own_node() {
        let mut a = state(&[[0, 0], [1, 1], [1, 1], [1, 1]], &[[1, 1]]);
        assert_eq!(a.balance(0, 0, &box2([0; 4])), (Choice::NoData, 0));
        assert_eq!(a.tasks[0].selected, Some(0));
    }

    #[test]
    fn section_1_7_step_2_converged_examines_nobody() {
        let mut a = state(&[[9, 1], [1, 9], [9, 1], [9, 1]], &[[6, 4]]);
        assert_eq!(a.balance(0, 0, &box2([0; 4])), (Choice::Converged, 0));
        // The busiest node of the process must be this one too.
        let mut b = state(&[[9, 1], [1, 9], [9, 1], [9, 1]], &[[4, 6]]);
        assert_eq!(b.balance(0, 0, &box2([0; 4])), (Choice::Stay, 2));
    }

    #[test]
    fn section_1_7_step_2_compares_thousandths() {
        // Ten more pages on node 1 make no difference in thousandths, and the first node wins.
        let mut a = state(&[[50_040, 50_050], [1, 9], [9, 1], [9, 1]], &[[6, 4]]);
        a.tasks[0].total = 101_000;
        assert_eq!(a.balance(0, 0, &box2([0; 4])), (Choice::Converged, 0));
    }

    #[test]
    fn section_1_7_step_3_threads_of_a_process_by_their_own_weights() {
        // Task 0 prefers node 1. Task 2, which runs there, prefers node 0; task 3 is on its busiest node.
        let mut a = state(&[[100, 900], [500, 500], [900, 100], [100, 900]], &[[5, 5]]);
        let (choice, examined) = a.balance(0, 0, &box2([0; 4]));
        assert_eq!((choice, examined), (Choice::Exchange { cpu: 2, other: 2 }, 2));
        assert_eq!(a.tasks[0].selected, Some(1));
    }

    #[test]
    fn section_1_7_step_3_tasks_of_different_processes_by_process_weights() {
        // By threads task 0 goes to node 1; by processes it is process 1 that has its memory there.
        let mut a = state(&[[1, 9], [1, 9], [9, 1], [9, 1]], &[[800, 200], [200, 800]]);
        assert_eq!(a.balance(0, 0, &box2([0, 0, 1, 1])).0, Choice::Stay);
        a.knobs.process_weights = false;
        assert_eq!(a.balance(0, 0, &box2([0, 0, 1, 1])).0, Choice::Exchange { cpu: 2, other: 2 });
        // A task on node 0 goes to node 1, where its process has its memory.
        let mut b = state(&[[1, 9], [1, 9], [9, 1], [9, 1]], &[[200, 800], [800, 200]]);
        assert_eq!(b.balance(0, 0, &box2([0, 0, 1, 1])).0, Choice::Exchange { cpu: 2, other: 2 });
    }

    #[test]
    fn an_exchange_is_not_undone_on_the_same_data() {
        let mut a = state(&[[100, 900], [1, 1], [600, 400], [1, 1]], &[[5, 5]]);
        let mut host = box2([0; 4]);
        assert_eq!(a.balance(0, 0, &host).0, Choice::Exchange { cpu: 2, other: 2 });
        host.running.swap(0, 2);
        let back = a.balance(2, 0, &host).0;
        assert_ne!(back, Choice::Exchange { cpu: 2, other: 0 }, "{back:?}");
        let back = a.balance(0, 2, &host).0;
        assert_ne!(back, Choice::Exchange { cpu: 0, other: 2 }, "{back:?}");
    }

    #[test]
    fn identical_processes_never_exchange() {
        let mut a = state(&[[5, 5], [5, 5], [5, 5], [5, 5]], &[[700, 300], [700, 300]]);
        for t in 0..4 {
            let choice = a.balance(t, t as usize, &box2([0, 0, 1, 1])).0;
            assert!(!matches!(choice, Choice::Exchange { .. }), "{t}: {choice:?}");
        }
    }

    #[test]
    fn idle_cpus_and_tasks_without_data_are_passed_over() {
        let mut a = state(&[[0, 9], [1, 1], [9, 0], [0, 0]], &[[5, 5]]);
        let mut host = box2([0; 4]);
        host.running[2] = None;
        assert_eq!(a.balance(0, 0, &host).0, Choice::Stay);
    }

    #[test]
    fn a_thread_without_faults_is_compared_by_its_process() {
        // Tasks 2 and 3 of process 1, whose memory is on node 0, have just started on node 1.
        let mut a = state(&[[1, 9], [1, 9], [0, 0], [0, 0]], &[[200, 800], [800, 200]]);
        assert_eq!(a.balance(0, 0, &box2([0, 0, 1, 1])).0, Choice::Exchange { cpu: 2, other: 2 });
        a.knobs.process_weights = false;
        assert_eq!(a.balance(0, 0, &box2([0, 0, 1, 1])).0, Choice::Stay, "by its own weights there is nothing");
        // A process that the daemon has not walked yet has no data on its threads.
        let mut b = state(&[[1, 9], [1, 9], [9, 0], [9, 0]], &[[200, 800], [0, 0]]);
        assert_eq!(b.balance(0, 0, &box2([0, 0, 1, 1])).0, Choice::Stay);
    }

    #[test]
    fn the_first_best_cpu_wins() {
        let mut a = state(&[[0, 9], [1, 1], [9, 0], [9, 0]], &[[5, 5]]);
        assert_eq!(a.balance(0, 0, &box2([0; 4])).0, Choice::Exchange { cpu: 2, other: 2 });
    }
}
