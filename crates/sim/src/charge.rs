//! Who pays: user and system time of tasks and processes, and shoot-downs on both sides.

use crate::engine::World;

impl World<'_> {
    /// Loss by shoot-downs that this task's CPU has not paid for yet.
    pub(crate) fn take_flush_debt(&mut self, task: u32) -> u64 {
        let t = &mut self.tasks[task as usize];
        let p = &self.processes[t.process as usize];
        let debt = p.flush_debt_ns - t.flush_paid_ns;
        t.flush_paid_ns = p.flush_debt_ns;
        debt
    }

    /// Sends a shoot-down for `pages` base pages to every other CPU that runs this process; returns the
    /// initiator's time.
    pub(crate) fn shoot_down(&mut self, cpu: usize, task: u32, pages: u64) -> u64 {
        let t = &mut self.tasks[task as usize];
        let p = &mut self.processes[t.process as usize];
        let node = self.cpus[cpu].node;
        self.others.copy_from_slice(&p.running_on_node);
        self.others[node] -= 1;
        let s = self.costs.shootdown(self.costs.targets_by_node(node, &self.others), pages);
        if s.targets > 0 {
            p.flush_debt_ns += s.target_ns as u64;
            t.flush_paid_ns += s.target_ns as u64;
            self.vm.nr_tlb_remote_flush += 1;
            self.vm.nr_tlb_remote_flush_received += u64::from(s.targets);
        }
        s.initiator_ns as u64
    }

    /// User time of a task.
    #[inline]
    pub(crate) fn charge_user(&mut self, task: u32, ns: u64) {
        let t = &mut self.tasks[task as usize];
        t.user_ns += ns;
        self.processes[t.process as usize].user_ns += ns;
    }

    /// Time of a part of an access: `ns` in all, of which `kernel_ns` in the kernel.
    #[inline]
    pub(crate) fn charge_part(&mut self, task: u32, ns: u64, kernel_ns: u64) {
        self.charge_user(task, ns - kernel_ns);
        self.charge_kernel(task, kernel_ns);
    }

    /// Takes back the user time of a task's slice from `at_ns` on, where the slice now ends.
    pub(crate) fn uncharge_user(&mut self, task: u32, at_ns: u64) {
        let t = &mut self.tasks[task as usize];
        let unspent = t.ahead_ns - at_ns;
        t.ahead_ns = at_ns;
        t.user_ns -= unspent.min(t.user_ns);
        let process = &mut self.processes[t.process as usize];
        process.user_ns -= unspent.min(process.user_ns);
    }

    /// Kernel time of a task.
    #[inline]
    pub(crate) fn charge_system(&mut self, task: u32, ns: u64) {
        let t = &mut self.tasks[task as usize];
        t.system_ns += ns;
        self.processes[t.process as usize].system_ns += ns;
    }
}
