//! Notices a run whose time stands still: events that cause each other at one instant would never end.
//!
//! All that the model does takes time, so this is a fault of the model, or of a machine file whose operations cost
//! nothing. The run fails and names the instant.

/// Most events of one instant. The largest machine needs far fewer: a few for each of its CPUs and threads.
const MOST_AT_ONCE: u32 = 10_000_000;

/// Counts the events of the present instant.
#[derive(Debug, Default)]
pub struct Standstill {
    at_ns: u64,
    events: u32,
}

impl Standstill {
    /// Notes an event at `at_ns`. Returns whether there have been too many at that instant.
    #[inline]
    pub fn is_stuck(&mut self, at_ns: u64) -> bool {
        if at_ns != self.at_ns {
            *self = Self { at_ns, events: 0 };
        }
        self.events += 1;
        self.events > MOST_AT_ONCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_instant_counts() {
        let mut s = Standstill::default();
        assert!((0..2).all(|at| (0..MOST_AT_ONCE).all(|_| !s.is_stuck(at))));
        assert!(s.is_stuck(1), "one more of the same instant");
        assert!(!s.is_stuck(2), "time goes on");
    }
}
