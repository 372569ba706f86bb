//! Adding tasks, and the CPUs a task may use (`set_cpus_allowed_ptr`, `select_fallback_rq`).

use crate::sched::error::SchedError;
use crate::sched::event::Why;
use crate::sched::rq::sched_entity::{weight_of_nice, Task, TaskId};
use crate::sched::state::Scheduler;
use numalab_base::cpu_set::CpuSet;

impl Scheduler {
    /// Adds a task that does not run yet. Without `affinity` it may use every CPU; `nice` is clamped to −20..=19.
    ///
    /// # Errors
    /// [`SchedError::Affinity`] for an empty list or for a CPU that the machine does not have.
    pub fn add_task(&mut self, affinity: Option<&[u32]>, nice: i32) -> Result<TaskId, SchedError> {
        let (mask, count, first) = self.intern(affinity)?;
        self.tasks.push(Task::new(weight_of_nice(nice), mask, count, first));
        Ok(self.tasks.len() as TaskId - 1)
    }
    pub(super) fn intern(&mut self, affinity: Option<&[u32]>) -> Result<(u32, u32, u32), SchedError> {
        let cpus = self.topo.cpus();
        let Some(list) = affinity else { return Ok((0, cpus as u32, 0)) };
        if let Some(absent) = list.iter().find(|c| **c as usize >= cpus) {
            return Err(SchedError::Affinity {
                what: format!("affinity to CPU {absent}, which the machine does not have"),
                expected: format!("CPUs 0 to {}", cpus - 1),
            });
        }
        let set = CpuSet::from_iter(cpus, list.iter().copied());
        let Some(first) = set.first() else {
            return Err(SchedError::Affinity {
                what: "an affinity without CPUs".into(),
                expected: "at least one CPU".into(),
            });
        };
        let count = set.len();
        let index = self.masks.iter().position(|m| *m == set).unwrap_or(self.masks.len());
        if index == self.masks.len() {
            self.masks.push(set);
        }
        Ok((index as u32, count, first))
    }
    /// Restricts a task to the CPUs of `affinity`, or frees it (`None`). A task that is queued on a CPU it may no
    /// longer use moves at once.
    ///
    /// # Errors
    /// [`SchedError::Affinity`] for an empty list or for a CPU that the machine does not have.
    pub fn set_affinity(&mut self, task: TaskId, affinity: Option<&[u32]>, now_ns: u64) -> Result<(), SchedError> {
        self.clock(now_ns);
        let (mask, count, _) = self.intern(affinity)?;
        let t = &mut self.tasks[task as usize];
        t.allowed = mask;
        t.nr_allowed = count;
        if t.on_rq() && !self.masks[mask as usize].contains(t.cpu) {
            let dst = self.select_fallback_rq(task, self.tasks[task as usize].cpu);
            self.move_task(task, dst, Why::Affinity);
        }
        Ok(())
    }
    /// `cpu` if `task` may run there, else the lowest allowed CPU of its node, else the lowest allowed CPU.
    pub(super) fn select_fallback_rq(&self, task: TaskId, cpu: u32) -> u32 {
        let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
        if allowed.contains(cpu) {
            return cpu;
        }
        let near = self.topo.node(self.topo.node_of(cpu)).iter_and(allowed).next();
        near.or_else(|| allowed.first()).unwrap_or(cpu)
    }
}
