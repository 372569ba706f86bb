//! Clock hands: where reclaim of a node stands in all address spaces.

use numalab_base::rng::Rng;

/// Purpose of the random stream that decides which entries random accesses have used.
const RNG_PURPOSE: u64 = 0x796f_756e_6700;

/// Where reclaim of one list of a node goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockHand {
    pub(crate) process: usize,
    /// Position of the mapping in its address space.
    pub(crate) position: usize,
    pub(crate) chunk: usize,
    pub(crate) page: usize,
}

/// Clock hands of a node.
#[derive(Clone, Debug)]
pub struct ClockHands {
    /// By list: inactive, active.
    pub(crate) at: [ClockHand; 2],
    pub(crate) rng: Rng,
}

impl ClockHands {
    /// Clock hands of `node` at the first page of the first process, in a run with this seed.
    pub fn new(seed: u64, node: usize) -> Self {
        Self { at: [ClockHand::default(); 2], rng: Rng::stream(seed, node as u64, RNG_PURPOSE) }
    }
    /// The random stream that decides accessed bits.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}
