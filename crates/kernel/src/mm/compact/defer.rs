//! Back-off of compaction in a zone after failures (`defer_compaction`; thp-and-allocation.md section 10.1).

/// Largest exponent: at most 63 attempts are skipped.
const MAX_SHIFT: u32 = 6;
/// Larger than every order: no order has failed yet.
const NO_ORDER: u8 = 11;

/// Back-off state of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferral {
    considered: u32,
    shift: u32,
    /// Smallest order that failed.
    order_failed: u8,
}

impl Default for Deferral {
    fn default() -> Self {
        Self { considered: 0, shift: 0, order_failed: NO_ORDER }
    }
}

impl Deferral {
    /// Whether this attempt is skipped; counts the attempt.
    pub fn deferred(&mut self, order: u8) -> bool {
        if order < self.order_failed {
            return false;
        }
        let limit = 1 << self.shift;
        self.considered = (self.considered + 1).min(limit);
        self.considered < limit
    }
    /// Notes that a synchronous attempt failed.
    pub fn failed(&mut self, order: u8) {
        self.considered = 0;
        self.shift = (self.shift + 1).min(MAX_SHIFT);
        self.order_failed = self.order_failed.min(order);
    }
    /// Notes that an attempt gave a page.
    pub fn succeeded(&mut self, order: u8) {
        self.considered = 0;
        self.shift = 0;
        self.order_failed = self.order_failed.max(order + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed_over(d: &mut Deferral) -> usize {
        (0..).take_while(|_| d.deferred(9)).count()
    }

    #[test]
    fn vector_29_back_off() {
        let mut d = Deferral::default();
        assert_eq!(passed_over(&mut d), 0);
        (0..3).for_each(|_| d.failed(9));
        assert_eq!(passed_over(&mut d), 7, "the 8th runs");
        assert_eq!(passed_over(&mut d), 0, "and so do those after it, until it is known how it ended");
        (0..10).for_each(|_| d.failed(9));
        assert_eq!(passed_over(&mut d), 63, "the 64th runs");
    }

    #[test]
    fn success_resets_and_smaller_orders_are_not_concerned() {
        let mut d = Deferral::default();
        (0..4).for_each(|_| d.failed(9));
        assert!(!d.deferred(8) && d.deferred(9));
        d.succeeded(9);
        assert!(!d.deferred(9));
    }
}
