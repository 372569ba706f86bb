//! Tasks that enter and leave run queues: averages, counts and pre-emption (kernel: `enqueue_task_fair`,
//! `dequeue_task_fair`, `detach_task`, `attach_task`).

use crate::sched::event::{Event, Why};
use crate::sched::rq::runqueue::Arrival;
use crate::sched::rq::sched_entity::{State, TaskId, COLD, NONE};
use crate::sched::rq::{cfs, eevdf};
use crate::sched::rules::{Form, QueueOrder};
use crate::sched::state::task_counts::TaskCounts;
use crate::sched::state::Scheduler;

/// Difference below which the utilisation estimate stays, units of utilisation (kernel: `UTIL_EST_MARGIN`).
const UTIL_EST_MARGIN: u64 = 10;

impl Scheduler {
    /// Brings a task's averages to now.
    pub(in crate::sched) fn refresh_task(&mut self, t: TaskId) {
        let task = &mut self.tasks[t as usize];
        let running = self.rqs[task.cpu as usize].cur == t;
        task.refresh(self.now, running);
    }
    /// Σ load averages of the tasks queued on a CPU; see
    /// [`Rq::queued_load`](crate::sched::rq::runqueue::Rq::queued_load).
    pub(in crate::sched) fn queued_load(&self, cpu: u32) -> u64 {
        self.rqs[cpu as usize].queued_load(&self.tasks, self.now)
    }
    /// Removes a task's averages from those of its CPU's queue.
    pub(in crate::sched) fn detach_entity_load_avg(&mut self, t: TaskId) {
        if !self.tasks[t as usize].attached {
            return;
        }
        self.refresh_task(t);
        let task = &mut self.tasks[t as usize];
        let rq = &mut self.rqs[task.cpu as usize];
        rq.refresh(self.now);
        rq.pelt.detach(&mut task.pelt, task.weight);
        rq.departures.add(task.weight, self.now);
        task.attached = false;
    }
    /// Enqueues a task on its CPU (`task.cpu`). Averages, counts and virtual time follow.
    pub(in crate::sched) fn activate_task(&mut self, t: TaskId, arrival: Arrival) {
        let cpu = self.tasks[t as usize].cpu;
        self.update_curr(cpu);
        self.enter_group(t);
        let node = self.topo.node_of(cpu);
        let rq = &mut self.rqs[cpu as usize];
        debug_assert!(!rq.list.contains(&t), "task {t} is on the queue of CPU {cpu} already");
        let before = TaskCounts::of(rq);
        rq.refresh(self.now);
        self.tasks[t as usize].refresh(self.now, false);
        match self.params.form {
            Form::V61 => cfs::place_entity(&self.params, rq, &mut self.tasks[t as usize], arrival),
            Form::V612 => eevdf::place_entity(&self.params, rq, &mut self.tasks, t, arrival),
        }
        let task = &mut self.tasks[t as usize];
        if !task.attached {
            rq.pelt.attach(&mut task.pelt, task.weight);
            task.attached = true;
        }
        task.state = State::Queued;
        task.seq = rq.next_seq();
        rq.util_est_add(task);
        rq.count_numa(task, node, true);
        rq.weight += task.weight;
        match self.params.queue_order {
            QueueOrder::V37 => rq.list.insert(0, t),
            QueueOrder::V415 => rq.list.push(t),
        }
        let now = TaskCounts::of(rq);
        if now.nr == 1 {
            self.set_idle(cpu, false);
        } else if now.nr == 2 {
            self.overload = true;
        }
        self.count_tasks(cpu, before, now);
        self.update_cfs_group(cpu);
    }
    /// Dequeues a task, to sleep (`sleep`) or to move. A current task is no longer current afterwards.
    pub(in crate::sched) fn deactivate_task(&mut self, t: TaskId, sleep: bool) {
        let cpu = self.tasks[t as usize].cpu;
        self.update_curr(cpu);
        let node = self.topo.node_of(cpu);
        self.refresh_task(t);
        let rq = &mut self.rqs[cpu as usize];
        debug_assert!(rq.list.contains(&t), "task {t} is not on the queue of CPU {cpu}");
        let before = TaskCounts::of(rq);
        rq.refresh(self.now);
        let lag = match self.params.form {
            Form::V61 => 0,
            Form::V612 => eevdf::entity_lag(&self.params, rq, &self.tasks, t),
        };
        let task = &mut self.tasks[t as usize];
        match self.params.form {
            Form::V61 if !sleep => task.vruntime -= rq.min_vruntime,
            Form::V61 => {}
            Form::V612 => {
                task.vlag = lag;
                if !sleep && self.params.complete_eevdf {
                    task.deadline -= task.vruntime;
                    task.relative_deadline = true;
                }
            }
        }
        rq.clear_buddies(t);
        if task.state == State::Delayed {
            rq.delayed -= 1;
        } else {
            rq.util_est_remove(task);
        }
        rq.count_numa(task, node, false);
        rq.weight -= task.weight;
        rq.list.retain(|x| *x != t);
        rq.update_min_vruntime(&self.tasks);
        if rq.cur == t {
            rq.cur = NONE;
        }
        let now = TaskCounts::of(rq);
        self.count_tasks(cpu, before, now);
        self.leave_group(t);
        self.update_cfs_group(cpu);
        if sleep {
            self.util_est_update(t);
        }
        let rq = &self.rqs[cpu as usize];
        if rq.is_idle() {
            self.set_idle(cpu, true);
        }
    }
    /// Updates the estimated utilisation of a task that goes to sleep (§6.5).
    fn util_est_update(&mut self, t: TaskId) {
        let task = &mut self.tasks[t as usize];
        if task.state == State::Delayed || !task.util_changed {
            return;
        }
        let (u, e) = (task.pelt.util, task.util_est);
        if self.params.form == Form::V61 {
            task.util_enqueued = u;
        }
        if u >= e {
            task.util_est = u;
            return;
        }
        let close = e - u < UTIL_EST_MARGIN;
        let waited = self.params.form == Form::V612 && u + UTIL_EST_MARGIN < task.pelt.runnable;
        if !close && !waited {
            task.util_est = (4 * e - (e - u)) / 4;
        }
    }
    /// A task that goes to sleep with negative lag stays queued until it is eligible again (6.12, DELAY_DEQUEUE).
    pub(in crate::sched) fn set_delayed(&mut self, cpu: u32, t: TaskId) {
        self.refresh_task(t);
        let rq = &mut self.rqs[cpu as usize];
        rq.refresh(self.now);
        rq.util_est_remove(&mut self.tasks[t as usize]);
        self.util_est_update(t);
        let rq = &mut self.rqs[cpu as usize];
        let task = &mut self.tasks[t as usize];
        task.state = State::Delayed;
        task.seq = rq.next_seq();
        rq.delayed += 1;
        rq.cur = NONE;
    }
    /// Dequeues a delayed task that was picked. It keeps no positive lag.
    pub(in crate::sched) fn dequeue_delayed(&mut self, t: TaskId) {
        self.deactivate_task(t, true);
        let task = &mut self.tasks[t as usize];
        task.vlag = task.vlag.min(0);
        task.state = State::Blocked;
    }
    /// Makes a delayed task that was woken runnable on its queue. It keeps no positive lag.
    pub(in crate::sched) fn requeue_delayed_entity(&mut self, t: TaskId) {
        let cpu = self.tasks[t as usize].cpu;
        self.update_curr(cpu);
        self.refresh_task(t);
        let rq = &mut self.rqs[cpu as usize];
        rq.refresh(self.now);
        let lag = eevdf::entity_lag(&self.params, rq, &self.tasks, t);
        if lag > 0 {
            let at = rq.list.iter().position(|x| *x == t).unwrap_or(0);
            rq.list.remove(at);
            self.tasks[t as usize].vlag = 0;
            eevdf::place_entity(&self.params, rq, &mut self.tasks, t, Arrival::Wake { moved: false });
            rq.list.insert(at, t);
        }
        let task = &mut self.tasks[t as usize];
        task.seq = rq.next_seq();
        task.state = State::Queued;
        rq.delayed -= 1;
        rq.util_est_add(task);
    }
    /// Puts the current task back among the waiting tasks.
    pub(in crate::sched) fn put_prev_task(&mut self, cpu: u32) {
        let t = self.rqs[cpu as usize].cur;
        if t == NONE {
            return;
        }
        self.update_curr(cpu);
        self.refresh_task(t);
        let rq = &mut self.rqs[cpu as usize];
        rq.refresh(self.now);
        self.tasks[t as usize].seq = rq.next_seq();
        rq.cur = NONE;
    }
    /// Makes a queued task current.
    pub(in crate::sched) fn set_next_task(&mut self, cpu: u32, t: TaskId) {
        self.refresh_task(t);
        let rq = &mut self.rqs[cpu as usize];
        debug_assert!(rq.list.contains(&t), "task {t} is not on the queue of CPU {cpu}");
        rq.refresh(self.now);
        rq.clear_buddies(t);
        if self.params.queue_order == QueueOrder::V415 {
            rq.move_to_head(t);
        }
        rq.cur = t;
        rq.last_sleeper = NONE;
        if rq.in_idle {
            rq.in_idle = false;
            rq.record_idle(self.now, self.params.jiffy_ns);
        }
        let task = &mut self.tasks[t as usize];
        task.exec_start = self.now as i64;
        task.picked_runtime_ns = task.runtime_ns;
        task.picked_deadline = Some(task.deadline);
    }
    /// Asks `cpu` to reschedule if `t`, which was just queued there, should run now.
    pub(in crate::sched) fn wakeup_preempt(&mut self, cpu: u32, t: TaskId) {
        let rq = &self.rqs[cpu as usize];
        if rq.cur == NONE {
            self.resched(cpu);
            return;
        }
        if rq.need_resched {
            return;
        }
        self.update_curr(cpu);
        let rq = &mut self.rqs[cpu as usize];
        let preempts = match self.params.form {
            Form::V61 => cfs::check_preempt_wakeup(&self.params, rq, &self.tasks, t),
            Form::V612 => eevdf::pick_eevdf(rq, &self.tasks) == Some(t),
        };
        if preempts {
            self.resched(cpu);
        }
    }
    /// Moves a queued or running task to the queue of `dst`. If it was running, its old CPU must reschedule.
    pub(in crate::sched) fn move_task(&mut self, t: TaskId, dst: u32, why: Why) {
        let from = self.tasks[t as usize].cpu;
        if from == dst || !self.tasks[t as usize].on_rq() {
            return;
        }
        let was_current = self.rqs[from as usize].cur == t;
        // The stopper task that moves it is a second task on that CPU (`add_nr_running` counts it).
        self.overload |= was_current || why == Why::Numa;
        self.detach_task(t);
        if was_current {
            self.resched(from);
        }
        self.attach_task(t, from, dst, why);
    }
    /// First half of a move: takes a task and its averages off its queue.
    pub(in crate::sched) fn detach_task(&mut self, t: TaskId) {
        self.deactivate_task(t, false);
        self.detach_entity_load_avg(t);
    }
    /// Second half of a move: puts a task on the queue of `dst`.
    pub(in crate::sched) fn attach_task(&mut self, t: TaskId, from: u32, dst: u32, why: Why) {
        let delayed = self.tasks[t as usize].state == State::Delayed;
        let task = &mut self.tasks[t as usize];
        (task.cpu, task.wake_cpu, task.exec_start) = (dst, None, COLD);
        self.activate_task(t, Arrival::Move);
        if delayed {
            let rq = &mut self.rqs[dst as usize];
            let task = &mut self.tasks[t as usize];
            rq.util_est_remove(task);
            task.state = State::Delayed;
            rq.delayed += 1;
        }
        self.events.push(Event::Moved { task: t, from, to: dst, why });
        if !delayed {
            self.wakeup_preempt(dst, t);
        } else if self.rqs[dst as usize].cur == NONE {
            self.resched(dst);
        }
    }
}
