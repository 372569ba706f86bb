//! The project's frozen random numbers.
//!
//! Problem: a run must be a pure function of its plan, on every platform and with every later version
//! of a library. Approach: the generator (xoshiro256++, seeded through splitmix64) and every
//! distribution are written here, with the deterministic logarithm of [`math`](super::math), and their
//! first outputs are pinned by tests. Changing any of them changes every result ever recorded.
//!
//! Each (run seed, thread, purpose) has a stream of its own, so that one more draw in one place never
//! shifts the draws of another.
//!
//! * this file: the generator and uniform draws;
//! * `draw`: exponential, normal, geometric and binomial.

mod draw;

/// Increment of splitmix64 (2^64 divided by the golden ratio, odd).
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// One step of splitmix64: advances `state` and returns the next output.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN_GAMMA);
    mix(*state)
}

/// Finaliser of splitmix64, a bijection of 64-bit words.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A xoshiro256++ stream: 256 bits of state, period 2^256 - 1. Not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    s: [u64; 4],
}

impl Rng {
    /// The stream of a bare seed.
    pub fn new(seed: u64) -> Self {
        let mut x = seed;
        // splitmix64 never yields four zeros in a row, so the forbidden all-zero state cannot occur.
        Self { s: [splitmix64(&mut x), splitmix64(&mut x), splitmix64(&mut x), splitmix64(&mut x)] }
    }

    /// The stream of one purpose of one thread in one run. `thread` and `purpose` are labels chosen by
    /// the caller; different labels give unrelated streams.
    pub fn stream(run_seed: u64, thread: u64, purpose: u64) -> Self {
        let mut h = mix(run_seed.wrapping_add(GOLDEN_GAMMA));
        h = mix((h ^ thread).wrapping_add(GOLDEN_GAMMA));
        h = mix((h ^ purpose).wrapping_add(GOLDEN_GAMMA));
        Self::new(h)
    }

    /// A stream with the given raw state: what the published vectors of the generator start from, and nothing else. An
    /// all-zero state, which would only yield zeros, is replaced by the stream of seed 0.
    pub fn from_state(s: [u64; 4]) -> Self {
        if s == [0; 4] {
            return Self::new(0);
        }
        Self { s }
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

    /// Uniform in `(0, 1]`, a multiple of 2^-53: safe to take the logarithm of.
    #[inline]
    pub fn unit_positive(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * UNIT_STEP
    }

    /// Uniform in `0..bound`, without bias; 0 if `bound` is 0 (then nothing is drawn).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // The high word of a 64x64 product is uniform except for `2^64 mod bound` low words, which are redrawn.
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let reject_below = bound.wrapping_neg() % bound;
            while (product as u64) < reject_below {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }
}

/// 2^-53.
const UNIT_STEP: f64 = 1.0 / 9_007_199_254_740_992.0;
