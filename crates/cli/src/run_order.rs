//! Which run of an experiment begins next, where several go on at a time.
//!
//! Problem: the runs of some columns take ten times as long as others. If the long ones begin last, one CPU waits.
//! Approach: of each kind of run, the same but for the seed, one begins first. After that the kind that takes longest
//! comes first, by the runs that have ended, or by how long the first of them has been going on.

use numalab_model::plan::Plan;
use std::time::{Duration, Instant};

/// Runs that differ in their seed alone.
#[derive(Debug)]
struct Kind {
    name: String,
    /// Numbers of its runs that have not begun, last first.
    waiting: Vec<usize>,
    /// When its last run began.
    began: Option<Instant>,
    /// The longest run that has ended.
    longest: Option<Duration>,
}

/// Runs that have not begun yet, each by its number.
#[derive(Debug)]
pub struct RunOrder {
    kinds: Vec<Kind>,
    kind_of: Vec<usize>,
}

impl RunOrder {
    /// The order of these plans, `jobs` at a time; their numbers count from 0. One at a time they come as they stand.
    pub fn new<'a>(plans: impl Iterator<Item = &'a Plan>, jobs: usize) -> Self {
        let name = |p: &Plan| match jobs {
            0 | 1 => String::new(),
            _ => format!("{} {} {}", p.machine.name, p.workload.name, p.kernel.name),
        };
        Self::of_kinds(plans.map(name))
    }

    /// The order of runs whose kinds have these names.
    fn of_kinds(names: impl Iterator<Item = String>) -> Self {
        let mut out = Self { kinds: Vec::new(), kind_of: Vec::new() };
        for (number, name) in names.enumerate() {
            let kind = out.kinds.iter().position(|k| k.name == name).unwrap_or(out.kinds.len());
            if kind == out.kinds.len() {
                out.kinds.push(Kind { name, waiting: Vec::new(), began: None, longest: None });
            }
            out.kinds[kind].waiting.insert(0, number);
            out.kind_of.push(kind);
        }
        out
    }

    /// The number of the run that begins at `now`; `None` if all have begun.
    pub fn next(&mut self, now: Instant) -> Option<usize> {
        let waiting = self.kinds.iter_mut().filter(|k| !k.waiting.is_empty());
        // The first of several that are alike.
        let next = waiting.rev().max_by_key(|k| match (k.longest, k.began) {
            (Some(longest), _) => longest,
            (None, Some(began)) => now.duration_since(began),
            (None, None) => Duration::MAX,
        })?;
        next.began = Some(now);
        next.waiting.pop()
    }

    /// Notes that a run has ended, and how long it took.
    pub fn ended(&mut self, number: usize, took: Duration) {
        let kind = &mut self.kinds[self.kind_of[number]];
        kind.longest = kind.longest.max(Some(took));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(kinds: &[&str]) -> RunOrder {
        RunOrder::of_kinds(kinds.iter().map(ToString::to_string))
    }

    #[test]
    fn one_of_each_kind_begins_first_and_then_the_longest() {
        let mut o = order(&["short", "short", "short", "long", "long", "long"]);
        let at = Instant::now();
        let second = |n| at + Duration::from_secs(n);
        assert_eq!((o.next(at), o.next(at)), (Some(0), Some(3)));
        o.ended(0, Duration::from_secs(1));
        // The long one has been going on for longer than that.
        assert_eq!(o.next(second(2)), Some(4));
        o.ended(3, Duration::from_secs(10));
        assert_eq!(o.next(second(10)), Some(5));
        assert_eq!((o.next(second(11)), o.next(second(11)), o.next(second(11))), (Some(1), Some(2), None));
    }

    #[test]
    fn alike_they_begin_in_their_order() {
        let mut o = order(&["a", "b", "a", "b"]);
        let at = Instant::now();
        assert_eq!((o.next(at), o.next(at)), (Some(0), Some(1)));
        o.ended(0, Duration::ZERO);
        o.ended(1, Duration::ZERO);
        assert_eq!((o.next(at), o.next(at), o.next(at)), (Some(2), Some(3), None));
    }
}
