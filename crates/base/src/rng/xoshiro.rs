//! xoshiro256++: the generator of the simulator, with its uniform draws.

use super::below::below;
use super::split_mix64::{mix, SplitMix64, GOLDEN_GAMMA};

/// A xoshiro256++ stream: 256 bits of state, period 2^256 - 1. Not for cryptography.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    s: [u64; 4],
}

impl Rng {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        let mut words = SplitMix64::new(seed);
        // SplitMix64 never yields four zeros in a row, so the forbidden all-zero state cannot occur.
        Self { s: [words.next_u64(), words.next_u64(), words.next_u64(), words.next_u64()] }
    }

    /// The stream for one purpose of one thread in one run. The caller chooses the labels `thread` and `purpose`;
    /// different labels give unrelated streams.
    pub fn stream(run_seed: u64, thread: u64, purpose: u64) -> Self {
        let mut h = mix(run_seed.wrapping_add(GOLDEN_GAMMA));
        h = mix((h ^ thread).wrapping_add(GOLDEN_GAMMA));
        h = mix((h ^ purpose).wrapping_add(GOLDEN_GAMMA));
        Self::new(h)
    }

    /// 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.s;
        let out = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let c1 = c ^ a;
        let d1 = d ^ b;
        self.s = [a ^ d1, b ^ c1, c1 ^ (b << 17), d1.rotate_left(45)];
        out
    }

    /// Uniform in `[0, 1)`, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * UNIT_STEP
    }

    /// Uniform in `(0, 1]`, a multiple of 2^-53. Its logarithm is finite.
    #[inline]
    pub fn unit_positive(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * UNIT_STEP
    }

    /// Uniform integer in `0..bound`, without bias. Returns 0 and draws nothing if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        below(bound, || self.next_u64())
    }
}

/// 2^-53.
const UNIT_STEP: f64 = 1.0 / 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_stream() {
        // First outputs for the state 1, 2, 3, 4, as published with the algorithm.
        let mut rng = Rng { s: [1, 2, 3, 4] };
        let first: [u64; 10] = std::array::from_fn(|_| rng.next_u64());
        assert_eq!(
            first,
            [
                41943041,
                58720359,
                3588806011781223,
                3591011842654386,
                9228616714210784205,
                9973669472204895162,
                14011001112246962877,
                12406186145184390807,
                15849039046786891736,
                10450023813501588000,
            ]
        );
    }
}
