//! Open loops of a task's program, and rounds of a loop that are carried out together.
//!
//! Problem: a query of a database is a round of a loop that takes some hundred microseconds, and a million of them a
//! second each cost their steps, though they differ by chance alone.
//! Approach: rounds of an innermost loop that only accesses memory at random, computes and counts are carried out as
//! one, as many as fit into the rest of the slice at the pace of the last ones. Each op then stands for that many.
//! What is left out: the order of accesses to several regions within a slice.

use numalab_nouns::access::Walk;
use numalab_nouns::workload::{Access, Bound, Op};

/// One open loop of a task's program.
#[derive(Clone, Copy, Debug)]
pub struct LoopFrame {
    /// Op after `LoopStart`.
    pub body: usize,
    /// Rounds left after the current one, for counted loops.
    pub left: u64,
    /// End time, for timed loops (`u64::MAX` for counted ones).
    pub until_ns: u64,
    /// When the current round began, ns.
    pub round_ns: u64,
    /// Rounds that the current pass stands for.
    pub rounds: u64,
    /// Several may be carried out together.
    pub together: bool,
}

impl LoopFrame {
    /// A loop that begins now. Its body begins at op `body`.
    pub fn new(bound: Bound, body: usize, now_ns: u64, together: bool) -> Self {
        let (left, until_ns) = match bound {
            Bound::Count(n) => (n - 1, u64::MAX),
            Bound::Time { ns } => (0, now_ns + ns),
        };
        Self { body, left, until_ns, round_ns: now_ns, rounds: 1, together }
    }

    /// Begins the next pass of a task whose slice ends at `end_ns`. Returns what coming round costs, ns; `None` when
    /// the loop is over.
    ///
    /// A round whose steps all round to 0 ns costs 1 ns if another follows. Else a loop could run for ever at one
    /// instant.
    pub fn next_pass(&mut self, now_ns: u64, end_ns: u64) -> Option<u64> {
        let counted = self.until_ns == u64::MAX;
        let again = if counted { self.left > 0 } else { now_ns < self.until_ns };
        if !again {
            return None;
        }
        let round_ns = now_ns.saturating_sub(self.round_ns) / self.rounds;
        self.rounds = 1;
        if self.together && round_ns > 0 {
            let room_ns = end_ns.min(self.until_ns).saturating_sub(now_ns);
            self.rounds = (room_ns / round_ns).clamp(1, if counted { self.left } else { u64::MAX });
        }
        if counted {
            self.left -= self.rounds;
        }
        let ns = u64::from(now_ns <= self.round_ns);
        self.round_ns = now_ns + ns;
        Some(ns)
    }
}

/// Whether rounds of the loop whose body begins at op `body` may be carried out together: it has no loop inside, all
/// that it does is alike in any order, and `wanted` holds for one of its accesses.
pub fn rounds_are_alike(ops: &[Op], body: usize, wanted: impl Fn(&Access) -> bool) -> bool {
    let mut some = false;
    for op in &ops[body..] {
        match op {
            Op::LoopEnd => return some,
            Op::Access(a) if matches!(a.pattern.walk(), Walk::Random(_)) => some |= wanted(a),
            Op::Compute { .. } | Op::Score { .. } => {}
            _ => return false,
        }
    }
    false
}
