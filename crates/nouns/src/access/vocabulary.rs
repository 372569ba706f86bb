//! The words in which a pattern describes itself.
//!
//! They are a closed set: behind each stands a walker of the simulator and one of the worker, a kind of traffic of the
//! bandwidth model, or a law of cache hits. Units: bytes.

/// Bytes of a cache line.
pub const LINE_BYTES: u64 = 64;

/// The cache that every access of [`CacheFit::Reuse`] misses, bytes: half of the smallest second-level cache of the
/// catalog's machines.
pub const REUSE_REACH_BYTES: u64 = 128 << 10;

/// How the lines of an access follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Walk {
    /// Line after line.
    Sweep(Order),
    /// One pass over the span that touches one line every `stride_bytes`.
    Stride {
        /// Distance, bytes, at least [`LINE_BYTES`].
        stride_bytes: u64,
    },
    /// Lines drawn at random, each draw independent of those before.
    Random(Lines),
}

impl Walk {
    /// Lines that one pass over `span_bytes` touches; `None` for walks that make as many accesses as a step asks for.
    pub fn lines_of_pass(self, span_bytes: u64) -> Option<u64> {
        match self {
            Walk::Sweep(Order::Address) => Some(span_bytes.div_ceil(LINE_BYTES)),
            Walk::Stride { stride_bytes } => Some(span_bytes.div_ceil(stride_bytes.max(LINE_BYTES))),
            Walk::Sweep(Order::Blocks { .. }) | Walk::Random(_) => None,
        }
    }
}

/// Which runs of lines a sweep goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The whole span once, in address order.
    Address,
    /// Blocks anywhere in the span, aligned to their size, each in address order. The thread's next access by such
    /// blocks to the same span continues in the block that this one leaves unfinished.
    Blocks {
        /// Length of a block, bytes: whole lines, at least one, at most the span.
        block_bytes: u64,
        /// Number of the histogram in the workload that says how often parts of the span are drawn; `None`: all alike.
        histogram: Option<u32>,
    },
}

/// Which lines are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Every line of the span equally often.
    Uniform,
    /// By rank ([`Ranks`](super::Ranks)); the first line of the span has the first rank.
    Ranked,
    /// By rank, with the ranks scattered over the span: every page has its part of the favoured lines.
    Scattered,
    /// As often as a recording has visited each part of the span ([`Histogram`](super::Histogram)).
    Recorded {
        /// Number of the histogram in the workload.
        histogram: u32,
    },
}

/// What traffic the cache misses of an access make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Neighbouring lines, which prefetchers ask for ahead of the thread
    /// ([`lines_sequential`](crate::machine::Stream::lines_sequential) in flight).
    Sequential,
    /// Independent lines ([`lines_random`](crate::machine::Stream::lines_random) in flight).
    Random,
    /// Lines whose address depends on the value of the one before: one in flight.
    Dependent,
}

/// What a cache keeps of an access until it is used again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CacheFit {
    /// Nothing.
    None,
    /// A cyclic sweep under LRU: all of it if it fits, and little as soon as it does not (machines.md section 7).
    Cyclic,
    /// Lines used equally often: the share of the data that the cache holds.
    Uniform,
    /// Lines of which some are favoured. The accesses are those that miss a cache of [`REUSE_REACH_BYTES`]; the share
    /// that also misses a cache of `C` bytes falls with `C` to the power of `-alpha` (Hartstein and others, "Cache miss
    /// behavior: is it sqrt(2)?", Computing Frontiers 2006).
    Reuse {
        /// The power, above 0.
        alpha: f64,
    },
}

impl CacheFit {
    /// The power of the reuse; 0 where no line is favoured.
    pub fn alpha(self) -> f64 {
        match self {
            CacheFit::Reuse { alpha } => alpha,
            CacheFit::None | CacheFit::Cyclic | CacheFit::Uniform => 0.0,
        }
    }
}
