//! SplitMix64: the generator that seeds the streams of [`Rng`](super::Rng), and that statistics and tests draw from.

use super::below::below;

/// Increment of the state: 2^64 divided by the golden ratio, odd.
pub(super) const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Output function of SplitMix64, a bijection of 64-bit words.
pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// SplitMix64, a public-domain 64-bit generator with one word of state.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// Uniform integer in `0..bound`, without bias. Returns 0 and draws nothing if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        below(bound, || self.next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_stream() {
        // First outputs for seed 1234567, as published with the algorithm.
        let mut g = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| g.next_u64()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }

    #[test]
    fn below_is_in_range_and_even() {
        let mut g = SplitMix64::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[g.below(7) as usize] += 1;
        }
        // Binomial(70000, 1/7) has a standard deviation of 92.6; the bounds are five of them on each side.
        assert!(seen.iter().all(|n| (9537..=10_463).contains(n)), "{seen:?}");
        assert_eq!(g.below(0), 0);
    }
}
