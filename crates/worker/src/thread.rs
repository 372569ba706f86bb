//! A thread of the workload, which carries out its steps.

use crate::access::{self, Draw, Tally};
use crate::control::Control;
use crate::program::{Program, Step};
use crate::{move_pages, spin, sys};
use numalab_nouns::workload::Bound;

/// A thread of the workload.
pub struct Thread<'a> {
    /// The shared block.
    pub control: &'a Control,
    /// Global thread index.
    pub index: usize,
    /// Its stream of random numbers.
    pub draw: Draw,
}

struct Scores<'a> {
    control: &'a Control,
    thread: usize,
}

impl Tally for Scores<'_> {
    fn score(&mut self, id: u32, amount: f64) {
        self.control.add_score(self.thread, id as usize, amount);
    }
}

impl Thread<'_> {
    /// Runs all steps; `join` waits for the other threads of the process.
    ///
    /// # Errors
    /// The error of a system call, as text.
    pub fn run(&mut self, program: &Program, join: &mut dyn FnMut()) -> Result<(), String> {
        // State of each loop: the turns left, or the time at which it ends.
        let mut slots = vec![0u64; program.slots];
        let mut scores = Scores { control: self.control, thread: self.index };
        // When each request that it is in began, ns; innermost last.
        let mut begun = Vec::new();
        let mut pc = 0;
        while let Some(step) = program.steps.get(pc) {
            pc += 1;
            match step {
                Step::Access(plan) => access::run(plan, &mut self.draw, &mut scores),
                Step::Compute(turns) => spin::spin(*turns),
                Step::LoopStart { bound, slot } => slots[*slot] = loop_state(*bound, sys::now_ns),
                Step::LoopEnd { body, slot, timed } => {
                    if another_turn(&mut slots[*slot], *timed, sys::now_ns) {
                        pc = *body;
                    }
                }
                Step::Request { begin: true, .. } => begun.push(sys::now_ns()),
                Step::Request { id, begin: false } => {
                    let since_ns = begun.pop().ok_or("a request ends that has not begun")?;
                    self.control.add_request(self.index, *id as usize, sys::now_ns() - since_ns);
                }
                Step::Score { id, amount } => scores.score(*id, *amount),
                Step::Join => join(),
                other => self.system_call(other)?,
            }
        }
        Ok(())
    }

    /// Carries out a step that is a system call.
    fn system_call(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Sleep { ns, exponential } => {
                let factor = if *exponential { -self.draw.unit().ln() } else { 1.0 };
                sys::sleep_ns((*ns as f64 * factor) as u64);
            }
            Step::SetPolicy(policy) => {
                sys::set_mempolicy(*policy).map_err(|e| format!("set_mempolicy {policy:?}: {e}"))?;
            }
            Step::Barrier { id, width, spin } => self.control.barrier(*id, *width, *spin),
            Step::Signal(channel) => self.control.signal(*channel),
            Step::Wait(channel) => self.control.wait(*channel),
            Step::ScoreClock { id, higher_is_better, run } => {
                self.control.run_clock(*id as usize, *higher_is_better, *run, sys::now_ns());
            }
            Step::Discard { address, bytes, advice } if *bytes > 0 => {
                // SAFETY: the range was compiled from a span of a region, which holds only data of the workload.
                unsafe { sys::advise(*address, *bytes, *advice) }.map_err(|e| format!("discard: {e}"))?;
            }
            Step::DirectIo(transfers) => transfers.run(&mut self.draw)?,
            Step::ReadFile(reads) => reads.run()?,
            Step::MovePages { address, bytes, nodes } => move_pages::run(*address, *bytes, nodes)?,
            _ => {}
        }
        Ok(())
    }
}

/// State of a loop that begins: the number of its turns, or the time at which it ends. Only a timed loop reads the
/// clock.
fn loop_state(bound: Bound, now_ns: impl FnOnce() -> u64) -> u64 {
    match bound {
        Bound::Count(n) => n,
        Bound::Time { ns } => now_ns().saturating_add(ns),
    }
}

/// Whether a loop has another turn. The bound is checked at the end of a turn, so a loop has at least one.
fn another_turn(state: &mut u64, timed: bool, now_ns: impl FnOnce() -> u64) -> bool {
    if timed {
        return now_ns() < *state;
    }
    *state = state.saturating_sub(1);
    *state > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Layout;
    use numalab_job::samples::{job, process};
    use numalab_nouns::workload::Score;

    #[test]
    fn nested_loops_run_their_turns() {
        let mut j = job(vec![process("a", vec![], vec![])]);
        j.workload.scores = vec![Score {
            name: "n".into(),
            unit: String::new(),
            higher_is_better: true,
            per_second: false,
            best: false,
            latency: false,
        }];
        let (control, _fd) = Control::create(Layout::of(&j)).unwrap();
        let steps = vec![
            Step::LoopStart { bound: Bound::Count(3), slot: 0 },
            Step::LoopStart { bound: Bound::Count(4), slot: 1 },
            Step::Score { id: 0, amount: 1.5 },
            Step::LoopEnd { body: 2, slot: 1, timed: false },
            Step::LoopEnd { body: 1, slot: 0, timed: false },
        ];
        let mut thread = Thread { control: &control, index: 0, draw: Draw::new(1, 0) };
        thread.run(&Program { steps, slots: 2 }, &mut || {}).unwrap();
        assert_eq!(control.score_sum(0), 18.0);
    }

    #[test]
    fn a_score_clock_counts_the_union_of_its_threads() {
        let mut j = job(vec![process("a", vec![], vec![])]);
        j.workload.scores = vec![Score {
            name: "n".into(),
            unit: String::new(),
            higher_is_better: true,
            per_second: true,
            best: false,
            latency: false,
        }];
        let (control, _fd) = Control::create(Layout::of(&j)).unwrap();
        assert_eq!(control.clock_ns(0, 99), None);
        for (run, at) in [(true, 10), (true, 20), (false, 30), (false, 50), (true, 60)] {
            control.run_clock(0, true, run, at);
        }
        assert_eq!(control.clock_ns(0, 65), Some(45));
        control.run_clock(0, true, false, 70);
        assert_eq!(control.clock_ns(0, 100), Some(50));
        // Nothing was counted in the two intervals so far. Then 3 units in 30 ns, and 2 in 40.
        assert_eq!(control.best_rate(0), Some(0.0));
        for (counted, from, to) in [(3.0, 100, 130), (2.0, 200, 240)] {
            control.run_clock(0, true, true, from);
            control.add_score(0, 0, counted);
            control.run_clock(0, true, false, to);
        }
        assert_eq!(control.best_rate(0), Some(3.0 / 30e-9));
    }

    #[test]
    fn requests_count_by_what_they_took() {
        let mut j = job(vec![process("a", vec![], vec![])]);
        j.workload.scores = vec![Score {
            name: "late".into(),
            unit: "us".into(),
            higher_is_better: false,
            per_second: false,
            best: false,
            latency: true,
        }];
        let (control, _fd) = Control::create(Layout::of(&j)).unwrap();
        let steps = vec![
            Step::LoopStart { bound: Bound::Count(120), slot: 0 },
            Step::Request { id: 0, begin: true },
            Step::Sleep { ns: 50_000, exponential: false },
            Step::Request { id: 0, begin: false },
            Step::LoopEnd { body: 1, slot: 0, timed: false },
        ];
        let mut thread = Thread { control: &control, index: 0, draw: Draw::new(1, 0) };
        thread.run(&Program { steps, slots: 1 }, &mut || {}).unwrap();
        let [half, most] = j.workload.scores[0].percentiles(&control.requests(0)).unwrap();
        assert_eq!((half.name.as_str(), most.name.as_str()), ("late_p50", "late_p99"));
        assert!(half.value >= 50.0 && most.value >= half.value, "{half:?} {most:?}");
        assert_eq!(control.score_sum(0), 120.0);
    }

    #[test]
    fn a_timed_loop_ends_at_its_time() {
        let mut end_ns = loop_state(Bound::Time { ns: 50 }, || 100);
        assert!(another_turn(&mut end_ns, true, || 149));
        assert!(!another_turn(&mut end_ns, true, || 150));
        let clock = || panic!("a counted loop has no clock");
        let mut turns = loop_state(Bound::Count(2), clock);
        assert!(another_turn(&mut turns, false, clock));
        assert!(!another_turn(&mut turns, false, clock));
    }

    #[test]
    fn a_timed_loop_runs_until_its_time() {
        let j = job(vec![process("a", vec![], vec![])]);
        let (control, _fd) = Control::create(Layout::of(&j)).unwrap();
        let steps = vec![
            Step::LoopStart { bound: Bound::Time { ns: 3_000_000 }, slot: 0 },
            Step::Sleep { ns: 100_000, exponential: true },
            Step::LoopEnd { body: 1, slot: 0, timed: true },
        ];
        let mut thread = Thread { control: &control, index: 0, draw: Draw::new(1, 0) };
        let start = sys::now_ns();
        thread.run(&Program { steps, slots: 1 }, &mut || {}).unwrap();
        assert!(sys::now_ns() - start >= 3_000_000);
    }
}
