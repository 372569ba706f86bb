//! A small frozen generator (SplitMix64): the same seed gives the same resamples in every release and on every machine.

/// SplitMix64, a public-domain 64-bit generator with one word of state.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A stream that depends on `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform integer in `0..n` without bias; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        // Multiply-shift; a low product that would favour small results is drawn again.
        let reject_below = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            if wide as u64 >= reject_below {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Fills `out` with draws from `samples`, with replacement; does nothing when there are no samples.
    pub fn resample(&mut self, samples: &[f64], out: &mut [f64]) {
        if samples.is_empty() {
            return;
        }
        for slot in out {
            *slot = samples[self.below(samples.len() as u64) as usize];
        }
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
        // Binomial(70000, 1/7): standard deviation 92.6; five of them either side.
        assert!(seen.iter().all(|n| (9537..=10_463).contains(n)), "{seen:?}");
        assert_eq!(g.below(0), 0);
    }
}
