//! Memory-bandwidth contention: latency and rate of threads that share DRAM and links.
//!
//! Problem: in the published runs the limit is a saturated node and not a latency (designs-2012.md section 0.2). The
//! threads of a node slow each other down long before it saturates. Approach (machines.md section 6): every *resource*
//! adds a queueing term to the latency of the requests that use it. Resources are the DRAM of a node, each direction
//! of a link, and the memory port of a last-level cache. Every thread is a closed loop that keeps a fixed number of
//! lines in flight:
//!
//! ```text
//!   Q_r = q * L0_r * u/(1-u)      u = load / bandwidth, at most 0.96
//!   L   = L0(src, dst) + sum over the path of share_r * Q_r
//!   b   = min(cap, lines * 64 / (L + extra))
//! ```
//!
//! A resource is *saturated* if its queue has its largest length (u = 0.96) and more is demanded than it delivers. It
//! then delivers 0.96 of its bandwidth. The threads that it slows share this in proportion to `lines / L0`, so local
//! requests get more than remote ones. Threads that demand less than their share get what they demand. This is
//! weighted max-min sharing whose upper bound is the demand at the longest queue, so rates and latencies are
//! continuous where saturation begins.
//!
//! In DRAM, a flow with write share `w` has a weight of `1/(1 - 0.25 w)` per byte, and random lines one of `1/s` with
//! `Node::random_share` as `s` (turnaround, bank conflicts). For traffic of one kind this equals the lowered bandwidth
//! of machines.md section 6.1.
//! A link has its bandwidth in each direction: lines read cross it towards the CPU, lines written back towards the
//! memory. No thread waits for the write-backs of random accesses ([`Flow::writebacks`]); those of a stream alternate
//! with its reads.
//!
//! A request does not wait for itself. By the arrival theorem of closed queueing networks (Reiser and Lavenberg,
//! "Mean-Value Analysis of Closed Multichain Queuing Networks", 1980) it finds the queue without its own customer. For
//! a *chain* of dependent accesses, with one line in flight, this is the whole load of its thread:
//!
//! ```text
//!   u met = u - own load / bandwidth        own load = load of the threads of its kind / their number
//! ```
//!
//! So a single chain has exactly the idle latency, and N equal chains meet (N-1)/N of their load. A thread with
//! several lines in flight meets its other lines. For such threads the published curve is used with their own load
//! (vectors 1 and 3: one stream at u = 0.18 and 0.786), which is one line of 64 too much. Between one line and two the
//! part left out decreases linearly, so that rates are continuous.
//!
//! With *source snooping* (QPI 1.0 with up to four sockets), every line read, local or remote, sends a message to each
//! other socket. Each of them answers to the socket of the memory. So local accesses load links too. On the idle
//! machine this is part of the measured latencies. Under load, lines wait for these messages in proportion to their
//! length, which is less than the wait for the slowest one (model).
//!
//! Units: ns, GB/s (= bytes per ns), shares 0..=1. Invariants after [`Contention::solve`]: no resource carries more
//! than 0.96 of its bandwidth (checked by property tests). The result depends on the flows alone, up to the
//! convergence tolerance of 10^-5; the previous solution makes it only faster to find.
//!
//! One solve takes microseconds for two nodes, and most of a millisecond for 32 nodes far beyond saturation. The
//! ignored test `cost_of_solve` measures it.

mod flow;
mod flow_state;
mod model;
mod parameters;
mod paths;
mod routes;
mod solve;

pub use flow::{Flow, PageCopy, Rate, NO_LLC};
pub use model::Contention;
pub use parameters::{
    BACKGROUND_CAP, CXL_KNEE, CXL_Q, DRAM_Q, LINE_BYTES, LINK_Q, MESSAGE_BYTES, UTILISATION_CAP, WRITE_PENALTY,
};
