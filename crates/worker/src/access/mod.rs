//! Real accesses to memory: one file per walk.
//!
//! Access patterns describe themselves in terms of walks ([`numalab_nouns::access`]), and the simulator carries out the
//! same walks; no pattern has a name here. Every walk accesses one 8-byte word of each 64-byte line that it visits. An
//! integer accumulator spreads writes evenly over the accesses; a pass that writes at all writes at least once to each
//! page. Work is done in batches. After each batch the thread computes for the time of its lines and adds to the score,
//! so that samples show a smooth rate.

pub mod blocks;
pub mod random;
pub mod stride;
pub mod sweep;

use crate::spin;
use numalab_nouns::access::{self, Order, Pattern, Ranks, Traffic};
use std::sync::Arc;

pub use numalab_nouns::access::LINE_BYTES;

/// A walk that is ready to run.
#[derive(Clone, Debug)]
pub enum Walk {
    /// Every line in address order.
    Sweep,
    /// One line per stride of this number of bytes.
    Stride(u64),
    /// Blocks of this number of bytes anywhere in the range, each in address order.
    Blocks(u64),
    /// Lines drawn at random.
    Random {
        /// Distribution of the lines.
        lines: Lines,
        /// Whether the address of each line depends on the value in the previous one.
        dependent: bool,
    },
}

/// Distribution of random lines.
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
    /// The walk of `pattern`; `ranks` is called for the table of a pattern that draws by rank.
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

/// The loops that carry out walks, each with a cost of its own: the walk, and whether each address depends on the
/// previous value.
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

/// Index in [`LOOPS`] of the loop that carries out `pattern`.
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
    /// A range that starts at `base`, rounded down to a word.
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

    /// Always false: a range has at least one word.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Number of lines in the range, at least 1.
    pub fn lines(self) -> u64 {
        (self.len / LINE_BYTES).max(1)
    }

    /// Address of the word at byte `offset`.
    fn word(self, offset: u64) -> *mut u64 {
        debug_assert!(offset + 8 <= self.len.next_multiple_of(8));
        (self.base + offset) as *mut u64
    }
}

/// Writes the word at `offset` if it is the turn of a write, and reads it otherwise. Returns the value read, or 0.
#[inline(always)]
fn touch(range: Range, offset: u64, turn: &mut WriteTurn) -> u64 {
    let p = range.word(offset);
    if turn.next() {
        // SAFETY: the maker of the `Range` ensured mapped, writable memory without references, and walks stay below
        // `len`.
        unsafe { p.write_volatile(offset) };
        0
    } else {
        // SAFETY: the maker of the `Range` ensured mapped, readable memory, and walks stay below `len`.
        unsafe { p.read_volatile() }
    }
}

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

/// A thread's generator of random numbers (xorshift64*), and the block that it drew last.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    state: u64,
    block: Option<blocks::Open>,
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

/// A compiled access op.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The memory that it accesses.
    pub range: Range,
    /// The order of the accesses.
    pub walk: Walk,
    /// Share of the accesses that write, 0..=1.
    pub write: f64,
    /// Spin turns per visited line, in addition to the walk's own cost.
    pub turns_per_line: f64,
    /// Number of accesses, for walks that are not one pass over the range.
    pub accesses: u64,
    /// Index of the score that it adds to, and units per byte.
    pub score: Option<(u32, f64)>,
}

/// Receiver of the score of a walk.
pub trait Tally {
    /// Adds units to a score.
    fn score(&mut self, id: u32, amount: f64);
}

/// Carries out one access op.
pub fn run(plan: &Plan, draw: &mut Draw, tally: &mut impl Tally) {
    let mut due_turns = 0.0;
    let mut after = |lines: u64| {
        due_turns += plan.turns_per_line * lines as f64;
        if due_turns >= 1.0 {
            spin::spin(due_turns as u64);
            due_turns -= due_turns.floor();
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

/// Own cost of one of the [`LOOPS`] with all its data in the first-level cache, ps per line.
pub fn cost_ps(number: usize) -> u64 {
    struct NoTally;
    impl Tally for NoTally {
        fn score(&mut self, _: u32, _: f64) {}
    }
    let mut memory = vec![0u64; 1024];
    let bytes = memory.len() as u64 * 8;
    // SAFETY: the buffer outlives the walks below, and nothing else refers to it while they run.
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

    /// A buffer that shows which of its words were written.
    pub(crate) struct Buffer {
        words: Vec<u64>,
    }

    impl Buffer {
        pub(crate) fn new(bytes: usize) -> Self {
            Self { words: vec![u64::MAX; bytes / 8] }
        }
        pub(crate) fn range(&mut self) -> Range {
            // SAFETY: tests keep the buffer while they walk it.
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
    fn batches_add_to_the_score() {
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
