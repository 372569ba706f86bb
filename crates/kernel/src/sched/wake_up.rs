//! Fork and wake-up, from the choice of a CPU to its queue (kernel: `wake_up_new_task`, `try_to_wake_up`).

use crate::sched::event::{Event, Why};
use crate::sched::pelt::new_task_util;
use crate::sched::rq::cfs;
use crate::sched::rq::runqueue::Arrival;
use crate::sched::rq::sched_entity::{State, TaskId, COLD};
use crate::sched::rules::{Form, Newidle};
use crate::sched::state::Scheduler;

impl Scheduler {
    /// Starts `child`, which was added and has not run, from `parent_cpu`: chooses its CPU, queues it and returns the
    /// CPU. If a thread inherits a preferred node, call [`Scheduler::set_preferred_nid`] before.
    pub fn fork(&mut self, parent_cpu: u32, child: TaskId, now_ns: u64) -> u32 {
        self.clock(now_ns);
        if self.tasks[child as usize].state != State::New {
            return self.tasks[child as usize].cpu;
        }
        if self.params.form == Form::V61 {
            self.update_curr(parent_cpu);
            let rq = &self.rqs[parent_cpu as usize];
            let v = cfs::task_fork_fair(&self.params, rq, &self.tasks, &self.tasks[child as usize]);
            self.tasks[child as usize].vruntime = v;
        }
        self.tasks[child as usize].recent_used_cpu = parent_cpu;
        let chosen = match self.only_cpu(child) {
            Some(only) => only,
            None => self.select_task_rq_fork(child, parent_cpu),
        };
        let cpu = self.select_fallback_rq(child, chosen);
        self.post_init_entity_util_avg(child, cpu);
        self.tasks[child as usize].cpu = cpu;
        self.activate_task(child, Arrival::Fork);
        self.events.push(Event::Moved { task: child, from: parent_cpu, to: cpu, why: Why::Fork });
        self.wakeup_preempt(cpu, child);
        cpu
    }
    /// Puts a new task to sleep on `cpu`, as if it had slept there for long: its averages are 0, and no CPU is loaded
    /// by it. Kernel threads and daemons are older than the program that is run. Nothing happens to a task that is not
    /// new.
    pub fn sleep_from_start(&mut self, task: TaskId, cpu: u32, now_ns: u64) {
        self.clock(now_ns);
        let rq = &self.rqs[cpu as usize];
        let (v, pelt) = (rq.min_vruntime, rq.pelt.resting());
        let t = &mut self.tasks[task as usize];
        if t.state != State::New {
            return;
        }
        (t.state, t.cpu, t.recent_used_cpu, t.attached) = (State::Blocked, cpu, cpu, true);
        (t.vruntime, t.pelt) = (v, pelt);
    }
    /// Sets the first averages of a new task, from those of the queue it starts on (§6.4).
    fn post_init_entity_util_avg(&mut self, child: TaskId, cpu: u32) {
        let rq = &mut self.rqs[cpu as usize];
        rq.refresh(self.now);
        let unscaled = if self.params.form == Form::V61 { 1024 * 1024 } else { 1024 };
        let task = &mut self.tasks[child as usize];
        let util = new_task_util(rq.pelt.util, rq.pelt.load, unscaled);
        task.pelt.load = task.weight;
        task.pelt.util = util;
        task.pelt.runnable = util;
    }
    /// Wakes `task` and returns the CPU it is queued on. `waker_cpu` is the CPU whose current task or timer wakes it;
    /// `None` stands for the task's last CPU. `sync`: the waker is about to sleep. A task that is not asleep stays
    /// where it is.
    pub fn wake(&mut self, task: TaskId, waker_cpu: Option<u32>, sync: bool, now_ns: u64) -> u32 {
        self.clock(now_ns);
        let old = self.tasks[task as usize].cpu;
        match self.tasks[task as usize].state {
            State::Blocked => {}
            State::Delayed => {
                self.requeue_delayed_entity(task);
                self.wakeup_preempt(old, task);
                return old;
            }
            _ => return old,
        }
        let prev = self.tasks[task as usize].wake_cpu.unwrap_or(old);
        let this = waker_cpu.unwrap_or(prev);
        if !self.params.wakelist_on_cpu {
            self.wait_on_cpu(task, old, this);
        }
        let chosen = match self.only_cpu(task) {
            Some(only) => only,
            None if self.is_leaving(task, old, this) => old,
            None => self.select_task_rq_wakeup(task, prev, this, sync),
        };
        let cpu = self.select_fallback_rq(task, chosen);
        self.lock_to_wake(cpu, this);
        let moved = cpu != old;
        if moved {
            self.leave_asleep(task, old);
            let t = &mut self.tasks[task as usize];
            (t.cpu, t.wake_cpu) = (cpu, None);
            self.events.push(Event::Moved { task, from: old, to: cpu, why: Why::Wake });
        }
        self.end_idle(cpu);
        self.activate_task(task, Arrival::Wake { moved });
        self.wakeup_preempt(cpu, task);
        cpu
    }
    /// Whether a sleeper's last CPU is still in the newly-idle search after it, and so has not switched away from it
    /// (`on_cpu`). From 5.8 on such a wake-up stays on that CPU (`ttwu_queue_cond`, `WF_ON_CPU`), unless the CPU has
    /// other work and shares a cache with the waker. Before 5.8 the waker has waited for the end of the search; the CPU
    /// is idle then and mostly chosen (simplified to the rule of 5.8).
    fn is_leaving(&self, task: TaskId, last: u32, waker: u32) -> bool {
        let rq = &self.rqs[last as usize];
        let apart = self.topo.cache_of(last) != self.topo.cache_of(waker);
        rq.newidle.is_some() && rq.last_sleeper == task && (rq.list.is_empty() || apart) && self.allowed(task, last)
    }
    /// Before 5.8 a waker on another CPU waits until the task's last CPU has switched away from it, which is after its
    /// newly-idle pass (`smp_cond_load_acquire(&p->on_cpu)`; c6e7bd7afaeb, 2ebb17717550).
    fn wait_on_cpu(&mut self, task: TaskId, last: u32, waker: u32) {
        let rq = &self.rqs[last as usize];
        let until_ns = rq.newidle.filter(|_| rq.last_sleeper == task && last != waker).map_or(0, |s| s.until_ns);
        if until_ns > self.now {
            self.counters.ttwu_on_cpu += 1;
            self.waited(waker, until_ns - self.now);
        }
    }
    /// The CPU of a task that may use only one.
    fn only_cpu(&self, task: TaskId) -> Option<u32> {
        let t = &self.tasks[task as usize];
        (t.nr_allowed == 1).then(|| self.masks[t.allowed as usize].first()).flatten()
    }
    /// Removes a sleeping task from the averages and the virtual time of its last CPU.
    fn leave_asleep(&mut self, task: TaskId, prev: u32) {
        self.detach_entity_load_avg(task);
        let t = &mut self.tasks[task as usize];
        t.exec_start = COLD;
        if self.params.form == Form::V61 {
            t.vruntime -= self.rqs[prev as usize].min_vruntime;
        }
    }
    /// Ends an idle period of `cpu` at a wake-up, and adds its length to the average.
    fn end_idle(&mut self, cpu: u32) {
        let rq = &mut self.rqs[cpu as usize];
        if rq.idle_stamp != 0 {
            let idle = self.now.saturating_sub(rq.idle_stamp) as i64;
            let avg = rq.avg_idle_ns as i64;
            let max = 2 * rq.max_idle_cost_ns;
            rq.avg_idle_ns = ((avg + (idle - avg) / 8).max(0) as u64).min(max);
            if self.params.newidle == Newidle::V37 && idle as u64 > max {
                rq.avg_idle_ns = max;
            }
            rq.idle_stamp = 0;
            rq.sis_prop.woken(self.jiffy, rq.avg_idle_ns);
        }
    }
}
