//! Jiffies: the kernel's tick counter and its conversions (kernel-numa-balancing.md §0).

/// Tick counter. It wraps, so it is compared only by [`before`] and [`after`].
pub type Jiffies = u64;

/// Nanoseconds in a millisecond.
pub const NSEC_PER_MSEC: u64 = 1_000_000;

/// a < b on the wrapping clock (strict; `time_before`).
#[inline]
pub fn before(a: Jiffies, b: Jiffies) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// a > b on the wrapping clock (strict; `time_after`).
#[inline]
pub fn after(a: Jiffies, b: Jiffies) -> bool {
    before(b, a)
}

/// Ticks per second of a kernel, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hz(u32);

impl Hz {
    /// A tick rate; `None` for 0, since a kernel without ticks has no jiffies, and above 10000.
    pub fn new(hz: u32) -> Option<Self> {
        (1..=10_000).contains(&hz).then_some(Self(hz))
    }
    /// Ticks per second.
    pub fn per_second(self) -> u64 {
        u64::from(self.0)
    }
    /// Milliseconds to jiffies, rounded up (`msecs_to_jiffies`).
    #[inline]
    pub fn jiffies(self, ms: u32) -> Jiffies {
        (u64::from(ms) * u64::from(self.0)).div_ceil(1000)
    }
    /// Jiffies to milliseconds, rounded down (`jiffies_to_msecs`). Exact where HZ divides 1000.
    #[inline]
    pub fn msecs(self, jiffies: Jiffies) -> u64 {
        jiffies.wrapping_mul(1000) / u64::from(self.0)
    }
    /// Length of a tick, ns (`TICK_NSEC`, rounded to nearest).
    #[inline]
    pub fn tick_ns(self) -> u64 {
        (1_000_000_000 + u64::from(self.0) / 2) / u64::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_strict_and_survive_the_wrap() {
        assert!(!before(5, 5) && !after(5, 5));
        assert!(before(u64::MAX, 3) && after(3, u64::MAX));
    }

    #[test]
    fn conversions_round_up_and_to_nearest() {
        let hz = |h| Hz::new(h).unwrap();
        assert_eq!(hz(250).jiffies(1000), 250);
        assert_eq!(hz(250).jiffies(1), 1, "1 ms at 4 ms per tick is one tick");
        assert_eq!(hz(100).jiffies(11), 2);
        assert_eq!(hz(250).msecs(10), 40);
        assert_eq!(hz(300).tick_ns(), 3_333_333);
        assert_eq!(hz(1000).tick_ns(), 1_000_000);
        assert!(Hz::new(0).is_none());
    }
}
