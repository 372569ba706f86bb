//! Threads that are created late: by the message they start with.
//!
//! A further thread whose first op takes a message does not exist until the message is sent; the sender
//! creates it, as a program does that starts threads when there is work for them. Where it starts is then
//! the fork placement of that moment, with the sender's CPU as the parent's.

use crate::access::Step;
use crate::engine::{Pending, World};
use numalab_model::workload::Op;
use std::collections::VecDeque;

/// Threads not yet created, by the channel whose message creates them.
#[derive(Debug)]
pub struct Unborn(Vec<VecDeque<(u32, u32)>>);

impl Unborn {
    /// None, for a workload with so many channels.
    pub fn new(channels: u32) -> Self {
        Self((0..channels).map(|_| VecDeque::new()).collect())
    }
}

impl World<'_> {
    /// If the thread starts with a message, notes that the message creates it.
    pub(crate) fn put_off(&mut self, process: usize, thread: usize) -> bool {
        let ops = &self.workload.processes[process].threads[thread].ops;
        let Some(Op::Wait { channel }) = ops.first() else { return false };
        self.unborn.0[*channel as usize].push_back((process as u32, thread as u32));
        // Others wait for it before its process ends.
        self.processes[process].live_threads += 1;
        true
    }
    /// Carries out a signal at `clock`: creates a thread if one waits for that, else posts the message, and pays for waking
    /// who sleeps for it.
    pub(crate) fn signal(&mut self, cpu: usize, task: u32, channel: usize, clock: &mut u64) -> Step {
        if !self.unborn.0[channel].is_empty() {
            return Step::Stop(Pending::Birth);
        }
        self.tasks[task as usize].advance();
        if let Some(w) = self.channels[channel].signal(cpu) {
            self.tasks[w as usize].message = self.channels[channel].carries;
            let sleep = self.tasks[w as usize].sleep;
            let ns = self.costs.waking_ns() as u64;
            *clock += ns;
            self.charge_system(task, ns);
            self.queue.push(*clock, crate::event::Event::Wake { task: w, waker: task, sleep });
            // Whoever is woken may take this CPU, and what follows must not have happened then.
            if self.sched.cpu_of(w) == cpu as u32 || self.sched.nr_running(cpu as u32) > 1 {
                return Step::Stop(Pending::Resume);
            }
        }
        Step::Go
    }
    /// End of a slice at a signal that creates a thread.
    pub(crate) fn give_birth(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].task else { return };
        let t = &self.tasks[task as usize];
        let Some(Op::Signal { channel }) = t.ops.get(t.pc) else { return };
        let born = self.unborn.0[*channel as usize].pop_front();
        self.tasks[task as usize].advance();
        let Some((process, thread)) = born else { return };
        self.processes[process as usize].live_threads -= 1;
        self.clone_thread(cpu, task, process as usize, thread as usize);
        // Its first op has taken the message already.
        if let Some(new) = self.tasks.last_mut() {
            new.advance();
        }
    }
}
