//! A checker that recounts from scratch what the scheduler keeps up to date.

use super::rq::rounding::units_of_task;
use super::rq::sched_entity::{State, TaskId, NONE, NO_NODE};
use super::state::task_counts::TaskCounts;
use super::state::Scheduler;
use numalab_base::cpu_set::CpuSet;

impl Scheduler {
    /// Verifies every redundant count, in O(tasks × CPUs).
    ///
    /// # Errors
    /// A description of the first violation.
    pub fn check(&self) -> Result<(), String> {
        let mut seen = vec![0u32; self.tasks.len()];
        for cpu in 0..self.topo.cpus() as u32 {
            self.check_queue(cpu, &mut seen)?;
        }
        for (t, task) in self.tasks.iter().enumerate() {
            if seen[t] != u32::from(task.on_rq()) {
                return Err(format!("task {t} is {:?} but on {} queues", task.state, seen[t]));
            }
        }
        for cache in 0..self.topo.cache_count() as u32 {
            let busy = self.topo.cache(cache).span.iter().filter(|c| !self.rqs[*c as usize].tickless).count();
            if busy != self.caches[cache as usize].nr_busy as usize {
                return Err(format!(
                    "cache {cache} counts {} busy CPUs of {busy}",
                    self.caches[cache as usize].nr_busy
                ));
            }
        }
        for (g, group) in self.groups.iter().enumerate() {
            let members = self.tasks.iter().filter(|t| t.group as usize == g && t.on_rq());
            let load: u64 = members.map(|t| t.weight_in_group).sum();
            if load != group.load {
                return Err(format!("group {g} keeps a load of {} but its tasks sum to {load}", group.load));
            }
        }
        let lone = self.rqs.iter().filter(|rq| rq.list.len() == 1).count();
        let marked = self.imbalanced.iter().filter(|i| **i).count();
        if (lone, marked) != (self.lone as usize, self.marked_imbalanced as usize) {
            return Err(format!(
                "{lone} CPUs have one task and {marked} groups are marked, but {} and {} are kept",
                self.lone, self.marked_imbalanced
            ));
        }
        for (node, kept) in self.node_tasks.iter().enumerate() {
            self.check_counts(("node", node), self.topo.node(node as u32), kept)?;
        }
        for (cache, kept) in self.cache_tasks.iter().enumerate() {
            self.check_counts(("cache", cache), &self.topo.cache(cache as u32).span, kept)?;
        }
        self.check_load()
    }
    /// Checks what is kept of some CPUs together.
    fn check_counts(&self, of: (&str, usize), cpus: &CpuSet, kept: &TaskCounts) -> Result<(), String> {
        let mut sum = TaskCounts::default();
        for cpu in cpus.iter() {
            sum.add(&TaskCounts::of(&self.rqs[cpu as usize]));
            sum.idle += u32::from(self.idle.contains(cpu));
        }
        if sum != *kept {
            return Err(format!("{} {} keeps {kept:?} but its queues sum to {sum:?}", of.0, of.1));
        }
        Ok(())
    }
    /// Checks that queue averages are the sums over their tasks, sleeping ones included, up to rounding
    /// ([`rounding`](super::rq::rounding)).
    fn check_load(&self) -> Result<(), String> {
        let mut sums = vec![(0, 0, 0, 1); self.rqs.len()];
        for (t, task) in self.tasks.iter().enumerate().filter(|(_, t)| t.attached) {
            let mut task = task.clone();
            task.refresh(self.now, self.rqs[task.cpu as usize].cur == t as u32);
            task.pelt.settle(task.weight);
            let sum = &mut sums[task.cpu as usize];
            sum.0 += task.pelt.load;
            sum.1 += task.pelt.util;
            sum.2 += task.pelt.runnable;
            sum.3 += units_of_task(task.weight);
        }
        for (cpu, (load, util, runnable, rounding)) in sums.into_iter().enumerate() {
            let mut rq = self.rqs[cpu].clone();
            rq.refresh(self.now);
            rq.pelt.settle(1);
            let p = &rq.pelt;
            let off = p.load.abs_diff(load).max(p.util.abs_diff(util)).max(p.runnable.abs_diff(runnable));
            if off > rounding + rq.departures.units_at(self.now) {
                let kept = (p.load, p.util, p.runnable);
                return Err(format!("CPU {cpu} keeps {kept:?} but its tasks sum to {:?}", (load, util, runnable)));
            }
        }
        Ok(())
    }
    fn check_queue(&self, cpu: u32, seen: &mut [u32]) -> Result<(), String> {
        let rq = &self.rqs[cpu as usize];
        let node = self.topo.node_of(cpu);
        let mut sums = (0, 0, 0, 0, 0);
        for &t in &rq.list {
            let task = &self.tasks[t as usize];
            seen[t as usize] += 1;
            if task.cpu != cpu {
                return Err(format!("task {t} is queued on CPU {cpu} but says {}", task.cpu));
            }
            if !self.allowed(t, cpu) {
                return Err(format!("task {t} is queued on CPU {cpu}, which it may not use"));
            }
            sums.0 += task.weight;
            sums.1 += u32::from(task.state == State::Delayed);
            sums.2 += u32::from(task.preferred_nid != NO_NODE);
            sums.3 += u32::from(task.preferred_nid == node);
            sums.4 += task.util_est_queued;
        }
        let kept = (rq.weight, rq.delayed, rq.nr_numa, rq.nr_preferred, rq.util_est);
        if sums != kept {
            return Err(format!("CPU {cpu} keeps {kept:?} but its tasks sum to {sums:?}"));
        }
        let queued = |t: TaskId| rq.list.contains(&t) && self.tasks[t as usize].state == State::Queued;
        if rq.cur != NONE && !queued(rq.cur) {
            return Err(format!("CPU {cpu} runs task {}, which is not queued there", rq.cur));
        }
        if rq.in_idle && rq.cur != NONE {
            return Err(format!("CPU {cpu} is idle and runs task {}", rq.cur));
        }
        if self.idle.contains(cpu) != rq.is_idle() || self.nohz.set.contains(cpu) != rq.tickless {
            return Err(format!("CPU {cpu} is in the wrong set of idle CPUs"));
        }
        Ok(())
    }
}
