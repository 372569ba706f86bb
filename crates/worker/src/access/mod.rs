//! Accessing memory for real: one file per walk.
//!
//! The walks are the words in which patterns describe themselves ([`numalab_model::access`]), the same that the simulator
//! carries out; no pattern has a name here. Every walk touches one 8-byte word of each 64-byte line it visits. Writes are
//! spread evenly over the accesses by an integer accumulator, with at least one on each page of a pass that writes at
//! all. Work is done in batches. After each batch the thread computes for the time its lines ask for and counts the
//! score, so that samples see a smooth rate.

pub mod blocks;
pub mod random;

pub mod stride;
pub mod sweep;

use crate::spin;
use numalab_model::access::{self, Order, Pattern, Ranks, Traffic};
use std::sync::Arc;

pub use numalab_model::access::LINE_BYTES;

/// A walk ready to run.
#[derive(Clone, Debug)]
pub enum Walk {
    /// Every line in address order.
    Sweep,
    /// One line every so many bytes.
    Stride(u64),
    /// Blocks of so many bytes anywhere in the range, each in address order.
    Blocks(u64),
    /// Lines drawn at random.
    Random {
        /// Which lines are drawn.
        lines: Lines,
        /// Whether the address of each line depends on the value of the one before.
        dependent: bool,
    },
}

/// Which lines are drawn.
#[derive(Clone, Debug)]
pub enum Lines {
    /// Every line equally often.
    Uniform,
    /// By rank; the first line of the range has the first rank.
    Ranked(Arc<Ranks>),
    /// By rank; ranks are scattered over the range.
    Scattered(Arc<Ranks>),
}

impl Walk {
    /// The walk of `pattern`; `ranks` gives the table of one that draws by rank.
    pub fn of(pattern: &Pattern, ranks: impl FnOnce() -> Arc<Ranks>) -> Self {
        Self::new(pattern.walk(), pattern.traffic() == Traffic::Dependent, ranks)
    }
    fn new(walk: access::Walk, dependent: bool, ranks: impl FnOnce() -> Arc<Ranks>) -> Self {
        let lines = match walk {
            access::Walk::Sweep(Order::Address) => return Walk::Sweep,
            access::Walk::Sweep(Order::Blocks { block_bytes }) => return Walk::Blocks(block_bytes),
            access::Walk::Stride { stride_bytes } => return Walk::Stride(stride_bytes),
            access::Walk::Random(access::Lines::Uniform) => Lines::Uniform,
            access::Walk::Random(access::Lines::Ranked) => Lines::Ranked(ranks()),
            access::Walk::Random(access::Lines::Scattered) => Lines::Scattered(ranks()),
        };
        Walk::Random { lines, dependent }
    }
}

/// The loops that carry out walks, each with a cost of its own: the walk, and whether each address depends on the value
/// of the one before.
pub const LOOPS: [(access::Walk, bool); 9] = [
    (access::Walk::Sweep(Order::Address), false),
    (access::Walk::Stride { stride_bytes: LINE_BYTES }, false),
    (access::Walk::Sweep(Order::Blocks { block_bytes: 4096 }), false),
    (access::Walk::Random(access::Lines::Uniform), false),
    (access::Walk::Random(access::Lines::Uniform), true),
    (access::Walk::Random(access::Lines::Ranked), false),
    (access::Walk::Random(access::Lines::Ranked), true),
    (access::Walk::Random(access::Lines::Scattered), false),
    (access::Walk::Random(access::Lines::Scattered), true),
];

/// Which of the [`LOOPS`] carries out `pattern`.
pub fn loop_of(pattern: &Pattern) -> usize {
    loop_number(pattern.walk(), pattern.traffic() == Traffic::Dependent)
}

fn loop_number(walk: access::Walk, dependent: bool) -> usize {
    let lines = match walk {
        access::Walk::Sweep(Order::Address) => return 0,
        access::Walk::Stride { .. } => return 1,
        access::Walk::Sweep(Order::Blocks { .. }) => return 2,
        access::Walk::Random(access::Lines::Uniform) => 3,
        access::Walk::Random(access::Lines::Ranked) => 5,
        access::Walk::Random(access::Lines::Scattered) => 7,
    };
    lines + usize::from(dependent)
}

/// A checked range of mapped memory: `base` is 8-aligned, and `len` bytes from it stay mapped while the process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    base: u64,
    len: u64,
}

impl Range {
    /// A range starting at `base` rounded down to a word.
    ///
    /// # Safety
    /// All whole words of the range must stay mapped, readable, and writable if the range is ever written. No reference
    /// into the range may exist.
    pub unsafe fn new(base: u64, len: u64) -> Self {
        Self { base: base & !7, len: len.max(8) }
    }
    /// Length, bytes.
    pub fn len(self) -> u64 {
        self.len
    }
    /// Never true: a range has at least one word.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
    /// Lines in the range, at least 1.
    pub fn lines(self) -> u64 {
        (self.len / LINE_BYTES).max(1)
    }
    /// Address of the word at byte `offset`.
    fn word(self, offset: u64) -> *mut u64 {
        debug_assert!(offset + 8 <= self.len.next_multiple_of(8));
        (self.base + offset) as *mut u64
    }
}

/// Writes the word at `offset` if `turn` says so; otherwise reads it. Returns what was read, or 0.
#[inline(always)]
fn touch(range: Range, offset: u64, turn: &mut WriteTurn) -> u64 {
    let p = range.word(offset);
    if turn.next() {
        // SAFETY: `Range` promises mapped, writable memory without references; patterns stay below `len`.
        unsafe { p.write_volatile(offset) };
        0
    } else {
        // SAFETY: as above, readable.
        unsafe { p.read_volatile() }
    }
}

/// Says which accesses write.
#[derive(Clone, Copy, Debug)]
pub struct WriteTurn {
    step: u64,
    sum: u64,
}

const ONE: u64 = 1 << 32;

impl WriteTurn {
    /// For a share of writes of 0..=1.
    pub fn new(share: f64) -> Self {
        Self { step: ((share.clamp(0.0, 1.0) * ONE as f64) as u64).min(ONE), sum: 0 }
    }
    /// Makes the next access a write, if the share is above 0.
    #[inline(always)]
    fn force(&mut self) {
        if self.step > 0 {
            self.sum = ONE - self.step;
        }
    }
    #[inline(always)]
    fn next(&mut self) -> bool {
        self.sum += self.step;
        let write = self.sum >= ONE;
        self.sum &= ONE - 1;
        write
    }
}

/// A thread's generator of random lines (xorshift64*), and the block that it drew last.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    state: u64,
    block: Option<blocks::Open>,
}

impl Draw {
    /// The stream of a seed and a thread.
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
    /// Uniform in 0..1, never 0.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

/// One access op, compiled.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The bytes that it touches.
    pub range: Range,
    /// The order of the accesses.
    pub walk: Walk,
    /// Share of the accesses that write, 0..=1.
    pub write: f64,
    /// Spin turns per line visited, beyond what the walk itself costs.
    pub turns_per_line: f64,
    /// Accesses, for walks that are not one pass over the range.
    pub accesses: u64,
    /// Score that it counts to, and units per byte.
    pub score: Option<(u32, f64)>,
}

/// What a walk needs from its thread.
pub trait Tally {
    /// Counts units of a score.
    fn score(&mut self, id: u32, amount: f64);
}

/// Carries out one access op.
pub fn run(plan: &Plan, draw: &mut Draw, tally: &mut impl Tally) {
    let mut owed = 0.0;
    let mut after = |lines: u64| {
        owed += plan.turns_per_line * lines as f64;
        if owed >= 1.0 {
            spin::spin(owed as u64);
            owed -= owed.floor();
        }
        if let Some((id, per_byte)) = plan.score {
            tally.score(id, per_byte * (lines * LINE_BYTES) as f64);
        }
    };
    let turn = WriteTurn::new(plan.write);
    match &plan.walk {
        Walk::Sweep => sweep::walk(plan.range, turn, &mut after),
        Walk::Stride(bytes) => stride::walk(plan.range, *bytes, turn, &mut after),
        Walk::Blocks(bytes) => blocks::walk(plan.range, (plan.accesses, *bytes), turn, draw, &mut after),
        Walk::Random { lines, dependent } => {
            random::walk(plan.range, plan.accesses, (lines, *dependent), turn, draw, &mut after)
        }
    }
}

/// Own cost of one of the [`LOOPS`] with all its data in the first-level cache, picoseconds per line.
pub fn cost_ps(number: usize) -> u64 {
    struct NoTally;
    impl Tally for NoTally {
        fn score(&mut self, _: u32, _: f64) {}
    }
    let mut memory = vec![0u64; 1024];
    let bytes = memory.len() as u64 * 8;
    // SAFETY: the buffer outlives the walks below and nothing else refers to it meanwhile.
    let range = unsafe { Range::new(memory.as_mut_ptr() as u64, bytes) };
    let (walk, dependent) = LOOPS[number];
    let accesses = 512;
    let lines = walk.lines_of_pass(bytes).unwrap_or(accesses);
    let walk = Walk::new(walk, dependent, || Arc::new(Ranks::even(range.lines())));
    let plan = Plan { range, walk, write: 0.5, turns_per_line: 0.0, accesses, score: None };
    let mut draw = Draw::new(1, 1);
    let cost = spin::cost_ps(lines, &mut || run(&plan, &mut draw, &mut NoTally));
    drop(std::hint::black_box(memory));
    cost as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A zeroed buffer, its range, and helpers to see which words were written.
    pub(crate) struct Buffer {
        words: Vec<u64>,
    }

    impl Buffer {
        pub(crate) fn new(bytes: usize) -> Self {
            Self { words: vec![u64::MAX; bytes / 8] }
        }
        pub(crate) fn range(&mut self) -> Range {
            // SAFETY: tests keep the buffer alive while they walk it.
            unsafe { Range::new(self.words.as_mut_ptr() as u64, self.words.len() as u64 * 8) }
        }
        pub(crate) fn written(&self) -> Vec<usize> {
            (0..self.words.len()).filter(|&i| self.words[i] != u64::MAX).map(|i| i * 8).collect()
        }
    }

    #[test]
    fn writes_are_spread_by_share() {
        let mut turn = WriteTurn::new(0.25);
        let writes = (0..1000).filter(|_| turn.next()).count();
        assert_eq!(writes, 250);
        let mut all = WriteTurn::new(1.0);
        assert!((0..100).all(|_| all.next()));
        let mut none = WriteTurn::new(0.0);
        none.force();
        assert!(!(0..100).any(|_| none.next()));
    }

    #[test]
    fn draws_differ_by_thread_and_repeat_by_seed() {
        let (mut a, mut b, mut c) = (Draw::new(7, 0), Draw::new(7, 0), Draw::new(7, 1));
        let (x, y, z) = (a.bits(), b.bits(), c.bits());
        assert_eq!(x, y);
        assert_ne!(x, z);
        let mean = (0..10_000).map(|_| a.unit()).sum::<f64>() / 10_000.0;
        assert!((0.48..0.52).contains(&mean));
    }

    #[test]
    fn every_loop_has_one_number() {
        for (number, (walk, dependent)) in LOOPS.into_iter().enumerate() {
            assert_eq!(loop_number(walk, dependent), number);
        }
    }

    #[test]
    fn batches_count_the_score() {
        struct Sum(f64);
        impl Tally for Sum {
            fn score(&mut self, id: u32, amount: f64) {
                assert_eq!(id, 3);
                self.0 += amount;
            }
        }
        let mut buffer = Buffer::new(64 * 1024);
        let uniform = |dependent| Walk::Random { lines: Lines::Uniform, dependent };
        for walk in [Walk::Sweep, uniform(false), uniform(true)] {
            let range = buffer.range();
            let plan = Plan { range, walk, write: 1.0, turns_per_line: 0.5, accesses: 1024, score: Some((3, 2.0)) };
            let mut sum = Sum(0.0);
            run(&plan, &mut Draw::new(1, 1), &mut sum);
            assert_eq!(sum.0, 1024.0 * 64.0 * 2.0);
        }
    }
}
