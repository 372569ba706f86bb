//! Memory-bandwidth contention: what latency and rate threads get when they share DRAM and links.
//!
//! Problem: in the published runs the limit is a saturated node, not a latency (designs-2012.md section
//! 0.2), and a node's threads slow each other down long before it saturates. Approach (machines.md
//! section 6): every *resource* (the DRAM of a node, each direction of a link, the memory port of a
//! last-level cache) adds a queueing term to the latency of the requests that use it, and every thread
//! is a closed loop that keeps a fixed number of lines in flight:
//!
//! ```text
//!   Q_r = q * L0_r * u/(1-u)      u = load / bandwidth, at most 0.96
//!   L   = L0(src, dst) + sum over the path of share_r * Q_r
//!   b   = min(cap, lines * 64 / (L + extra))
//! ```
//!
//! A resource whose queue is at its longest (u = 0.96) and still asked for more is *saturated*: it
//! delivers 0.96 of its bandwidth, and the threads it slows share that in proportion to `lines / L0`,
//! so that local requesters win over remote ones. Threads that ask for less than their share get what
//! they ask for. This is weighted max-min sharing, with the demand at the longest queue as upper bound;
//! rates and latencies are therefore continuous where saturation begins.
//!
//! A write share `w` of a flow makes each of its bytes weigh `1/(1 - 0.25 w)` and random lines make a byte
//! weigh `1/0.6`, both in DRAM only (turnaround, bank conflicts). For traffic of one kind this is exactly
//! the lowered bandwidth of machines.md section 6.1. A link has its bandwidth in each direction: lines
//! read cross it towards the CPU, lines written back towards the memory. Those of random accesses are traffic that nobody waits
//! for ([`Flow::back`]); those of a stream take turns with its reads.
//!
//! A request does not wait for itself: one that arrives finds the others in the queue, as if its own customer were not
//! there (the arrival theorem of closed queueing networks: Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain
//! Queuing Networks", 1980). For a *chain* of dependent accesses, one line in flight, that is the whole of its thread's
//! load:
//!
//! ```text
//!   u met = u - own load / bandwidth        own load = load of the threads of its kind / their number
//! ```
//!
//! so a chain alone has the idle latency exactly, and N equal chains meet (N-1)/N of their load. A thread with several
//! lines in flight does meet its other ones; for it the published curve stands as it is, own load and all (vectors 1 and
//! 3: one stream at u = 0.18 and 0.786), which is one line of 64 too much. Between one line and two the part left out falls
//! in a straight line, so that rates stay continuous.
//!
//! Where caches are kept coherent by *source snooping* (QPI 1.0 with up to four sockets), every line read, near or
//! far, sends a message to each other socket, and each of them answers to the socket of the memory; so local accesses
//! load links too, and wait a little for them. Idle, this is part of the measured latencies. Under load, lines wait for
//! these messages in proportion to their length, which is less than waiting for the slowest of them (model).
//!
//! Units: ns, GB/s (= bytes per ns), shares 0..=1. Invariants after [`Contention::solve`]: no resource
//! carries more than 0.96 of its bandwidth (checked by property tests); the result depends on the flows
//! alone up to the convergence tolerance of 10^-5, the previous solution only makes it quicker to find.
//!
//! Cost per solve: microseconds for two nodes, most of a millisecond for 32 far beyond saturation; the ignored test
//! `cost_of_solve` measures it.

mod flow;
mod model;
mod parameters;
mod paths;
mod routes;
mod solve;

pub use flow::{Flow, PageCopy, Rate, NO_LLC};
pub use model::Contention;
pub use parameters::{
    BACKGROUND_CAP, CXL_KNEE, CXL_Q, DRAM_Q, LINE_BYTES, LINK_Q, MESSAGE_BYTES, RANDOM_FACTOR, UTILISATION_CAP,
    WRITE_PENALTY,
};
