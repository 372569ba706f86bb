//! The walks that are carried out, with the tables that they draw from.

use numalab_nouns::access::{self, Order, Pattern, Ranks, Traffic};
use std::sync::Arc;

/// A walk that is ready to run.
#[derive(Clone, Debug)]
pub enum Walk {
    /// Every line in address order.
    Sweep,
    /// One line per stride of this number of bytes.
    Stride(u64),
    /// Blocks of this number of bytes in the range, each in address order; anywhere, or at lines by rank.
    Blocks(u64, Option<Arc<Ranks>>),
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

    /// The walk that carries out a described one.
    pub fn new(walk: access::Walk, dependent: bool, ranks: impl FnOnce() -> Arc<Ranks>) -> Self {
        let lines = match walk {
            access::Walk::Sweep(Order::Address) => return Walk::Sweep,
            access::Walk::Sweep(Order::Blocks { block_bytes, histogram }) => {
                return Walk::Blocks(block_bytes, histogram.map(|_| ranks()));
            }
            access::Walk::Stride { stride_bytes } => return Walk::Stride(stride_bytes),
            access::Walk::Random(access::Lines::Uniform) => Lines::Uniform,
            access::Walk::Random(access::Lines::Ranked | access::Lines::Recorded { .. }) => Lines::Ranked(ranks()),
            access::Walk::Random(access::Lines::Scattered) => Lines::Scattered(ranks()),
        };
        Walk::Random { lines, dependent }
    }
}
