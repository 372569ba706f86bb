//! The dice of newly-idle balancing (NI_RANDOM, NI_RATE: 33cf66d88306, 9fe89f022c05): a domain that has seldom had work
//! to give is seldom searched.

/// Calls after which the ratio is renewed; also the largest ratio and the sides of the dice.
const SIDES: u32 = 1024;

/// What a domain remembers of its newly-idle passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dice {
    /// Passes made or skipped.
    pub call: u32,
    /// Credit of passes that found work.
    pub success: u32,
    /// Weight of the dice: searches per 1024 calls.
    pub ratio: u32,
    /// Time of the last renewal, ns.
    pub renewed_ns: u64,
}

impl Default for Dice {
    fn default() -> Self {
        Self { call: 512, success: 256, ratio: 512, renewed_ns: 0 }
    }
}

impl Dice {
    /// Whether the dice is thrown at all. With NI_RATE a domain that is asked rarely enough is always searched.
    pub fn is_thrown(&self, by_rate: bool) -> bool {
        !by_rate || self.ratio < SIDES
    }
    /// Weight of a success, if the draw `d` of 0..1024 has the domain searched.
    pub fn searches(&self, d: u32) -> Option<u32> {
        let weight = 1 + self.ratio;
        (d <= weight).then_some(weight)
    }
    /// Credit of a pass that found work.
    pub fn credit(weight: u32) -> u32 {
        (SIDES + weight / 2) / weight
    }
    /// Counts a call.
    pub fn count(&mut self, success: u32, by_rate: bool, now_ns: u64) {
        self.call += 1;
        self.success += success;
        if self.call >= SIDES {
            self.ratio = match by_rate {
                true => rate(now_ns.saturating_sub(self.renewed_ns), self.success),
                false => self.success,
            };
            self.renewed_ns = now_ns;
            self.call /= 2;
            self.success /= 2;
        }
    }
}

/// Ratio with NI_RATE: the credit, and one more for every 4.2 ms since the last renewal; at most 1024.
pub fn rate(ns: u64, success: u32) -> u32 {
    ((ns >> 22) + u64::from(success)).min(u64::from(SIDES)) as u32
}
