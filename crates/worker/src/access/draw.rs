//! Random numbers of a thread.

use super::range::Range;

/// A thread's generator of random numbers (xorshift64*), and the block that it drew last.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    state: u64,
    /// The block that the thread left unfinished.
    pub block: Option<OpenBlock>,
}

impl Draw {
    /// The stream of random numbers of a seed and a thread.
    pub fn new(seed: u64, thread: u64) -> Self {
        let mut z =
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ thread.wrapping_add(1).wrapping_mul(0xD1B5_4A32_D192_ED03);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self { state: (z ^ (z >> 31)) | 1, block: None }
    }

    /// 64 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A random number, uniform in 0..1 and never 0.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

/// A block that still has unused lines.
#[derive(Clone, Copy, Debug)]
pub struct OpenBlock {
    /// The range that it is part of.
    pub range: Range,
    /// Lines of a block.
    pub lines: u64,
    /// The next line to use.
    pub next: u64,
    /// The line after the last.
    pub end: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ_by_thread_and_repeat_by_seed() {
        let (mut a, mut b, mut c) = (Draw::new(7, 0), Draw::new(7, 0), Draw::new(7, 1));
        let (x, y, z) = (a.bits(), b.bits(), c.bits());
        assert_eq!(x, y);
        assert_ne!(x, z);
        let mean = (0..10_000).map(|_| a.unit()).sum::<f64>() / 10_000.0;
        assert!((0.48..0.52).contains(&mean));
    }
}
