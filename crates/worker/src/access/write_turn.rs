//! Which accesses of a walk write.

/// Decides which accesses write.
#[derive(Clone, Copy, Debug)]
pub struct WriteTurn {
    step: u64,
    sum: u64,
}

const ONE: u64 = 1 << 32;

impl WriteTurn {
    /// Turns for a share of writes, 0..=1.
    pub fn new(share: f64) -> Self {
        Self { step: ((share.clamp(0.0, 1.0) * ONE as f64) as u64).min(ONE), sum: 0 }
    }

    /// Makes the next access a write, if the share is above 0.
    #[inline(always)]
    pub fn force(&mut self) {
        if self.step > 0 {
            self.sum = ONE - self.step;
        }
    }

    /// Whether the next access writes.
    #[inline(always)]
    pub fn writes(&mut self) -> bool {
        self.sum += self.step;
        let write = self.sum >= ONE;
        self.sum &= ONE - 1;
        write
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_spread_by_share() {
        let mut turn = WriteTurn::new(0.25);
        let writes = (0..1000).filter(|_| turn.writes()).count();
        assert_eq!(writes, 250);
        let mut all = WriteTurn::new(1.0);
        assert!((0..100).all(|_| all.writes()));
        let mut none = WriteTurn::new(0.0);
        none.force();
        assert!(!(0..100).any(|_| none.writes()));
    }
}
