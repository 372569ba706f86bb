//! How much work a look may be: a share of one CPU.

use std::time::Duration;

/// Keeps the time that readers take within a share of one CPU, by asking less often for what is dear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DutyCycle {
    share: f64,
    /// Time before which nothing is read again, on the caller's clock.
    next: Duration,
}

impl DutyCycle {
    /// A duty cycle of `share` of one CPU, from above 0 to 1.
    pub fn new(share: f64) -> Self {
        Self { share: share.clamp(1e-6, 1.0), next: Duration::ZERO }
    }
    /// Whether reading is due at `now`.
    pub fn is_due(&self, now: Duration) -> bool {
        now >= self.next
    }
    /// Notes that reading took `cost` and ended at `now`.
    pub fn spent(&mut self, now: Duration, cost: Duration) {
        self.next = now + cost.div_f64(self.share).min(Duration::from_secs(600));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dear_is_read_less_often() {
        let ms = Duration::from_millis;
        let mut d = DutyCycle::new(0.01);
        assert!(d.is_due(ms(0)));
        d.spent(ms(1000), ms(5));
        assert!(!d.is_due(ms(1499)) && d.is_due(ms(1500)));
        d.spent(ms(1000), ms(3_600_000));
        assert!(d.is_due(ms(601_000)), "never later than in ten minutes");
    }
}
