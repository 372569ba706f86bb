//! Threads that are created late: by the message they start with.
//!
//! A further thread whose first op takes a message does not exist until the message is sent. The sender creates it, as
//! a program does that starts threads when there is work for them. Where it starts is the fork placement of that
//! moment, with the sender's CPU as the parent's.

use crate::engine::carry_out::Engine;
use crate::process::fork::clone_thread;
use numalab_nouns::workload::Op;

impl Engine<'_> {
    /// Notes that a message creates the thread, if its program starts with waiting for one. Returns whether it does.
    pub(crate) fn defer_clone(&mut self, process: usize, thread: usize) -> bool {
        let ops = &self.sim.workload.processes[process].threads[thread].ops;
        let Some(Op::Wait { channel }) = ops.first() else { return false };
        self.deferred_clones.0[*channel as usize].push_back((process as u32, thread as u32));
        // The process does not end before this thread has run.
        self.sim.processes[process].live_threads += 1;
        true
    }

    /// Creates the thread that the signal at the end of this slice starts.
    pub(crate) fn clone_deferred(&mut self, cpu: usize) {
        let Some(task) = self.sim.cpus[cpu].task else { return };
        let t = &self.sim.tasks[task as usize];
        let Some(Op::Signal { channel }) = t.ops.get(t.pc) else { return };
        let born = self.deferred_clones.0[*channel as usize].pop_front();
        self.sim.tasks[task as usize].advance();
        let Some((process, thread)) = born else { return };
        self.sim.processes[process as usize].live_threads -= 1;
        clone_thread(&mut self.sim, cpu, task, process as usize, thread as usize);
        // Its first op has taken the message already.
        if let Some(new) = self.sim.tasks.last_mut() {
            new.advance();
        }
    }
}
