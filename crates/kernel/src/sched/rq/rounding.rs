//! How far a queue's averages may be from the sums over its tasks, by the arithmetic alone.
//!
//! Queue and tasks add up the same time with the same integer steps, but not at the same instants
//! ([`pelt`](crate::sched::pelt)). Three things make them differ, in units of 1024 for a CPU or for nice 0:
//!
//! * **Steps.** An update over `p` periods loses less than one 1024th of a period where it decays the first period, and
//!   the table's sum of 47742 is 46 below the limit of 1024/(1 - y). After many updates at most 46 + 1/(1 - y) = 93 of
//!   46718 are missing, which is 2.04 units. The load sum of a task is not scaled up, so each decay loses one more:
//!   1/(1 - y) = 47 of 46718, 1.02 units per 1024 of weight.
//! * **Averages.** Each is rounded down: less than one unit for a task, and for the queue.
//! * **Departures.** What a leaving task's own sums lack or have too much by its steps stays in the queue. And the
//!   queue keeps at least the sum that its average asks for (`sub_positive`, then `max(sum, avg * PELT_MIN_DIVIDER)`):
//!   the difference of two rounded averages is less than one unit above the rounded difference. Both decay by half in
//!   32 periods, like everything in the queue.

use crate::sched::pelt::decay;

/// Units by which a task of nice 0 and its share of the queue may differ: 2.04 + 1.02 + 1, rounded up. A departure
/// leaves no more behind.
const UNITS_PER_TASK: u64 = 5;

/// Load weight of nice 0. The averages of a lighter task are rounded as much.
const NICE_0: u64 = 1024;

/// Length of a period, ns, as a power of 2.
const PERIOD_SHIFT: u32 = 20;

/// Departures are counted in parts of a unit, so that their decay is not lost in rounding.
const PART_SHIFT: u32 = 20;

/// By how many units a task of `weight` may be off.
pub(in crate::sched) fn units_of_task(weight: u64) -> u64 {
    UNITS_PER_TASK * weight.max(NICE_0).div_ceil(NICE_0)
}

/// What departures may have left in a queue's averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sched) struct Departures {
    /// At `last_ns`, parts of a unit.
    parts: u64,
    last_ns: u64,
}

impl Departures {
    /// A task of `weight` leaves at `now_ns`.
    pub fn add(&mut self, weight: u64, now_ns: u64) {
        self.parts = self.parts_at(now_ns) + (units_of_task(weight) << PART_SHIFT);
        self.last_ns = now_ns;
    }
    /// Units that may be left at `now_ns`, rounded up.
    pub fn units_at(&self, now_ns: u64) -> u64 {
        self.parts_at(now_ns).div_ceil(1 << PART_SHIFT)
    }
    fn parts_at(&self, now_ns: u64) -> u64 {
        decay(self.parts, now_ns.saturating_sub(self.last_ns) >> PERIOD_SHIFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_fade_by_half_in_32_periods() {
        let mut d = Departures::default();
        assert_eq!(d.units_at(1 << 30), 0);
        for _ in 0..8 {
            d.add(1024, 1 << 30);
        }
        assert_eq!(d.units_at(1 << 30), 40);
        assert_eq!(d.units_at((1 << 30) + (32 << PERIOD_SHIFT)), 20);
        d.add(88761, (1 << 30) + (32 << PERIOD_SHIFT));
        assert_eq!(d.units_at((1 << 30) + (32 << PERIOD_SHIFT)), 20 + 5 * 87);
        assert_eq!(d.units_at(1 << 40), 0, "and are gone after seconds");
    }
}
