//! Weights of tasks in control groups: who shares CPU time with whom (kernel: `update_cfs_group`, `reweight_entity`).
//!
//! **Problem.** A cgroup gets CPU time as one, by its `cpu.weight`, however many tasks it has. The kernel queues an
//! entity of the group on each CPU, which holds a queue of its own.
//! **Approach.** Queues here are flat. A task in a group weighs its part of the group's shares, so the sums over a
//! queue are those of the kernel's root queue. As in the kernel, a queue learns of a change elsewhere at its next tick,
//! arrival or departure.
//! **Left out.** Loads are weights of queued tasks at the instant, without the averages of sleeping ones. Tasks of one
//! group compete one by one with those of others, so order and wake-up pre-emption inside a group are not its own.

use crate::sched::rq::eevdf;
use crate::sched::rq::sched_entity::{State, TaskId};
use crate::sched::rq::task_group::{GroupId, TaskGroup, NO_GROUP};
use crate::sched::rules::Form;
use crate::sched::state::Scheduler;

impl Scheduler {
    /// Adds a control group below the root, with a `cpu.weight` of 1..=10000, and returns its number.
    pub fn add_group(&mut self, cpu_weight: u32) -> GroupId {
        self.groups.push(TaskGroup::new(cpu_weight));
        self.groups.len() as GroupId - 1
    }
    /// Number of groups that were added.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }
    /// Puts a task that has not run into a group. Any other task stays where it is.
    pub fn join_group(&mut self, task: TaskId, group: GroupId) {
        let t = &mut self.tasks[task as usize];
        if t.state == State::New {
            t.group = group;
        }
    }
    /// A task is about to be queued: its group has more load, and it gets its part of the shares.
    #[inline]
    pub(super) fn enter_group(&mut self, t: TaskId) {
        let task = &self.tasks[t as usize];
        if task.group == NO_GROUP {
            return;
        }
        let (group, weight) = (task.group as usize, task.weight_in_group);
        self.groups[group].load += weight;
        self.reweight_entity(t, self.groups[group].entity_weight(weight), false);
    }
    /// A task has been dequeued: its group has less load.
    #[inline]
    pub(super) fn leave_group(&mut self, t: TaskId) {
        let task = &self.tasks[t as usize];
        if task.group != NO_GROUP {
            self.groups[task.group as usize].load -= task.weight_in_group;
        }
    }
    /// Gives the tasks on the queue of `cpu` what their groups' loads leave them. The current task has been accounted.
    #[inline]
    pub(super) fn update_cfs_group(&mut self, cpu: u32) {
        if !self.groups.is_empty() {
            self.reweight_queue(cpu);
        }
    }
    fn reweight_queue(&mut self, cpu: u32) {
        for i in 0..self.rqs[cpu as usize].list.len() {
            let t = self.rqs[cpu as usize].list[i];
            let task = &self.tasks[t as usize];
            if task.group != NO_GROUP {
                let weight = self.groups[task.group as usize].entity_weight(task.weight_in_group);
                self.reweight_entity(t, weight, true);
            }
        }
    }
    /// Changes the weight of a task, which is in the list of its queue (`queued`) or not. Its average load changes in
    /// proportion, and with EEVDF its lag and deadline in the inverse one: the virtual time of the others stays as it
    /// is.
    fn reweight_entity(&mut self, t: TaskId, weight: u64, queued: bool) {
        let old = self.tasks[t as usize].weight;
        if weight == old {
            return;
        }
        let task = &mut self.tasks[t as usize];
        let rq = &mut self.rqs[task.cpu as usize];
        task.refresh(self.now, rq.cur == t);
        rq.refresh(self.now);
        if task.attached {
            rq.pelt.reweight(&mut task.pelt, old, weight);
            rq.departures.add(old.max(weight), self.now);
        } else {
            task.pelt.load = task.pelt.load * weight / old;
        }
        if self.params.form == Form::V612 {
            eevdf::reweight(rq, &mut self.tasks, t, weight, queued);
        }
        self.tasks[t as usize].weight = weight;
        if queued {
            rq.weight = rq.weight + weight - old;
            rq.update_min_vruntime(&self.tasks);
        }
    }
}
