//! The next op of a task's program.

use crate::access::compute::compute;
use crate::access::direct_io::direct_io;
use crate::access::read_file::read_file;
use crate::access::rounds::{has_several_ops, leading_op, rounds};
use crate::access::walks::walk;
use crate::charge::core::message_ns;
use crate::charge::time::{charge_system, charge_user};
use crate::engine::carry_out::Engine;
use crate::engine::score_request::request;
use crate::hardware::bins::bin_end_ns;
use crate::mm::discard::discard;
use crate::mm::move_pages::move_pages;
use crate::state::cpu::Pending;
use crate::state::step::Step;
use crate::state::task::Activity;
use numalab_nouns::workload::{Access, Op};

impl Engine<'_> {
    /// Carries out the current op of `task` for as long as the slice lasts.
    pub(crate) fn step(&mut self, cpu: usize, task: u32, clock: &mut u64, end: u64) -> Step {
        let t = &mut self.sim.tasks[task as usize];
        if let Activity::Spinning { .. } = t.activity {
            return self.spin(cpu, task, clock, end);
        }
        if t.pc >= t.ops.len() {
            return Step::Stop(Pending::Stage);
        }
        let ops = t.ops;
        match &ops[t.pc] {
            Op::Access(a) => self.access(cpu, task, a, clock, end),
            Op::Compute { ns } => compute(&mut self.sim, cpu, task, *ns, clock, end),
            Op::Sleep { ns, exponential } => {
                let ns = if *exponential { self.sim.rng.exponential(*ns as f64) as u64 } else { *ns };
                let ns = ns + self.timer_slack_ns(task);
                self.fall_asleep(task);
                Step::Stop(Pending::Sleep(ns))
            }
            Op::SetPolicy(p) => {
                t.policy = crate::state::policies::compile(p, self.sim.processes[t.process as usize].mems);
                t.advance();
                Step::Go
            }
            Op::Barrier { id, spin } => self.barrier(task, *id as usize, *spin, clock),
            Op::Signal { channel } => self.signal(cpu, task, *channel as usize, clock),
            Op::Wait { channel } => {
                if self.channels[*channel as usize].wait(task) {
                    self.sim.tasks[task as usize].advance();
                    let channel = &self.channels[*channel as usize];
                    if channel.carries {
                        let ns = message_ns(self.sim.machine, &self.sim.cpus, channel.from as usize, cpu);
                        *clock += ns;
                        charge_system(&mut self.sim, task, ns);
                    }
                    return Step::Go;
                }
                self.fall_asleep(task);
                Step::Stop(Pending::Wait)
            }
            Op::LoopStart(bound) => {
                let leading = self.leading_op(task);
                self.sim.tasks[task as usize].open_loop(*bound, *clock, leading);
                Step::Go
            }
            Op::LoopEnd => {
                let ns = t.close_loop(*clock);
                *clock += ns;
                charge_user(&mut self.sim, task, ns);
                Step::Go
            }
            Op::Score { id, amount } => {
                t.advance();
                self.sim.record.scores[*id as usize] += amount;
                Step::Go
            }
            Op::ScoreClock { id, run } => {
                t.advance();
                let (record, id) = (&mut self.sim.record, *id as usize);
                record.score_clocks[id].set(*run, *clock, record.scores[id], &self.sim.workload.scores[id]);
                Step::Go
            }
            Op::Request { id, begin } => request(&mut self.sim, task, *id as usize, *begin, *clock),
            Op::DirectIo(io) => direct_io(&mut self.sim, cpu, task, io, clock, end),
            Op::ReadFile(r) => read_file(&mut self.sim, (cpu, task), r, clock, end),
            Op::MovePages(m) => move_pages(&mut self.sim, (cpu, task), m, clock, end),
            Op::Discard(span) => discard(&mut self.sim, cpu, task, span, clock),
            Op::Join => self.join(task),
        }
    }

    /// Carries out an access up to `end`. The first ones after a wait end early: others come back too, and the machine
    /// has to hear of all before it goes on.
    fn access(&mut self, cpu: usize, task: u32, a: &Access, clock: &mut u64, end: u64) -> Step {
        let returned = self.sim.tasks[task as usize].short_bins > 0;
        let limit = if returned { end.min(bin_end_ns(*clock)) } else { end };
        let step = if self.sim.tasks[task as usize].together {
            rounds(&mut self.sim, (cpu, task), clock, limit)
        } else {
            walk(&mut self.sim, (cpu, task), a, clock, limit)
        };
        if !returned || *clock < limit {
            return step;
        }
        self.sim.tasks[task as usize].short_bins -= 1;
        if step == Step::Go && limit < end {
            Step::Stop(Pending::Resume)
        } else {
            step
        }
    }

    /// The op that leads the rounds of the loop that begins at the current op of `task`: an access to memory in grains,
    /// or to as much memory.
    fn leading_op(&self, task: u32) -> Option<usize> {
        let t = &self.sim.tasks[task as usize];
        let p = &self.sim.processes[t.process as usize];
        let several = has_several_ops(t.ops, t.pc + 1);
        leading_op(t.ops, t.pc + 1, |a| {
            let vma = p.region_vma[a.span.region as usize] as usize;
            let in_grains = p.space.vma(vma).grain.pages() > 1;
            in_grains || several && a.span.len_bytes >= self.sim.mm.side_by_side_bytes
        })
    }

    /// How late the timer of a sleep fires, ns. Timers of the kernel's own threads fire on time.
    fn timer_slack_ns(&mut self, task: u32) -> u64 {
        let (slack_ns, process) = (self.sim.cfg.timer_slack_ns, self.sim.tasks[task as usize].process as usize);
        if slack_ns == 0 || self.sim.is_machine_thread(process) {
            return 0;
        }
        self.sim.rng.below(slack_ns + 1)
    }

    fn fall_asleep(&mut self, task: u32) {
        let t = &mut self.sim.tasks[task as usize];
        t.advance();
        t.activity = Activity::Asleep;
    }

    fn join(&mut self, task: u32) -> Step {
        let process = self.sim.tasks[task as usize].process as usize;
        if self.sim.processes[process].live_threads == 1 {
            self.sim.tasks[task as usize].advance();
            return Step::Go;
        }
        self.sim.processes[process].joiner = Some(task);
        self.fall_asleep(task);
        Step::Stop(Pending::Wait)
    }
}
