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

mod paths;
mod routes;
mod solve;

use numalab_model::machine::Machine;
use paths::Paths;
use solve::Solver;

/// Highest utilisation of a resource.
pub const UTILISATION_CAP: f64 = 0.96;
/// Longest queue, `u/(1-u)` at the cap.
const QUEUE_CAP: f64 = UTILISATION_CAP / (1.0 - UTILISATION_CAP);
/// Queueing coefficient q of DRAM.
pub const DRAM_Q: f64 = 0.125;
/// Queueing coefficient q of a link direction.
pub const LINK_Q: f64 = 0.15;
/// Queueing coefficient q of a CXL expander.
pub const CXL_Q: f64 = 0.25;
/// Part of a CXL expander's bandwidth at which its queue behaves as DRAM's does at all of it.
pub const CXL_KNEE: f64 = 0.8;
/// Part of the bandwidth lost when all traffic is writes.
pub const WRITE_PENALTY: f64 = 0.25;
/// Part of a DRAM's bandwidth that random lines reach.
pub const RANDOM_FACTOR: f64 = 0.6;
/// Background copies are counted up to this part of what a resource can deliver, so that threads never stop (model).
pub const BACKGROUND_CAP: f64 = 0.8;
/// Line size, bytes.
pub const LINE_BYTES: f64 = 64.0;
/// A snoop or its answer on a link, bytes: one flit, which carries 8 (Intel Xeon Processor 7500 Series Uncore
/// Programming Guide, 2010: a data response is 9 flits for 64 bytes, home and snoop messages are 1).
pub const MESSAGE_BYTES: f64 = 8.0;
/// [`Flow::llc`] of a flow whose cache port is not modelled.
pub const NO_LLC: u32 = u32::MAX;

/// Queueing term of a resource, ns: idle latency `base_ns`, coefficient `q`, utilisation `u` (0..), and
/// `knee`, the part of the bandwidth at which the curve ends (1 for DRAM and links, [`CXL_KNEE`] for CXL). The published
/// curve itself (machines.md section 6.1, vector 13), against which tests hold the solver, which works with queue lengths.
pub fn queue_ns(base_ns: f64, q: f64, u: f64, knee: f64) -> f64 {
    let u = (u / knee).clamp(0.0, UTILISATION_CAP);
    q * base_ns * u / (1.0 - u)
}

/// Threads of one kind on one node that access memory of one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Node the threads run on (dense).
    pub src_node: u32,
    /// Node the memory is on (dense).
    pub dst_node: u32,
    /// Last-level cache whose memory port they share (dense), or [`NO_LLC`].
    pub llc: u32,
    /// Average number of threads doing this at the same time in the epoch; at least 0, need not be whole.
    pub threads: f64,
    /// Threads of this kind on the source node wherever their memory is, among which a thread's accesses to this memory
    /// are shared out alike; where it is less than `threads`, those count. Its own load is `1 / crowd` of the flow's, all
    /// of it if that is below one thread.
    pub crowd: f64,
    /// Lines in flight of one thread (64 for a Zen stream, 1 for a pointer chase); above 0.
    pub lines: f64,
    /// What one thread can use at most, GB/s; above 0, may be infinite.
    pub cap_gbps: f64,
    /// Time per line outside the memory system that does not overlap with it (computation of a dependent
    /// access, TLB walk), ns; 0 for a stream.
    pub extra_ns: f64,
    /// Share of the traffic that is writes, 0..=1 (0.5 for zeroing: each line written was read first).
    pub write: f64,
    /// Lines written back beside each line in flight; at least 0. For a stream 0: they are among its lines. A thread that
    /// waits for the lines it reads at random does not wait for those it has written, which are traffic all the same.
    pub back: f64,
    /// Whether lines are random rather than sequential.
    pub random: bool,
}

impl Flow {
    /// Read-only sequential flow of `threads` threads with the machine's stream parameters.
    pub fn stream(machine: &Machine, src_node: u32, dst_node: u32, threads: f64) -> Self {
        let s = &machine.stream;
        Self {
            src_node,
            dst_node,
            llc: NO_LLC,
            threads,
            crowd: threads,
            lines: s.lines_sequential,
            cap_gbps: s.cap_gbps,
            extra_ns: 0.0,
            write: 0.0,
            back: 0.0,
            random: false,
        }
    }

    /// Read-only flow of independent random lines with the machine's parameters.
    pub fn random(machine: &Machine, src_node: u32, dst_node: u32, threads: f64) -> Self {
        let lines = machine.stream.lines_random;
        Self { lines, random: true, ..Self::stream(machine, src_node, dst_node, threads) }
    }

    /// Read-only flow of dependent random lines: one in flight.
    pub fn chase(machine: &Machine, src_node: u32, dst_node: u32, threads: f64) -> Self {
        Self { lines: 1.0, ..Self::random(machine, src_node, dst_node, threads) }
    }
}

/// Pages that the kernel copies or clears: load that is there whatever the memory answers.
///
/// The copying CPU is taken to be on the destination node (a hint fault moves a page to where it runs),
/// or on the source node if the destination has no CPU (demotion).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageCopy {
    /// Node read from (dense), or that of the CPU that clears.
    pub from_node: u32,
    /// Node written to (dense); may be the same.
    pub to_node: u32,
    /// Bytes written per ns of the epoch, i.e. GB/s; at least 0.
    pub gbps: f64,
    /// Nothing is read: pages are cleared.
    pub clears: bool,
}

/// What one thread of a flow gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Effective memory latency of a line, ns, queueing and saturation included, `extra_ns` excluded.
    pub latency_ns: f64,
    /// Bytes per ns of one thread.
    pub gbps: f64,
}

/// The shared resources of a machine and the last solution, from which the next one starts.
#[derive(Clone, Debug)]
pub struct Contention {
    paths: Paths,
    solver: Solver,
}

impl Contention {
    /// Resources of `machine`, all idle. Allocates everything [`Self::solve`] needs for one flow of each
    /// kind of traffic between every pair of nodes; more flows than that make its buffers grow once.
    pub fn new(machine: &Machine) -> Self {
        let paths = Paths::new(machine);
        let solver = Solver::new(&paths);
        Self { paths, solver }
    }

    /// Finds rates and latencies for the flows and copies of one epoch; results by [`Self::rates`] and
    /// the utilisation functions. Node and LLC indices must be those of the machine.
    pub fn solve(&mut self, flows: &[Flow], copies: &[PageCopy]) {
        self.solver.solve(&self.paths, flows, copies);
    }

    /// Result of the last [`Self::solve`], one per flow in its order.
    pub fn rates(&self) -> &[Rate] {
        &self.solver.rates
    }

    /// Whether solving the same flows and copies again would change nothing, not even a bit.
    pub fn is_settled(&self) -> bool {
        self.solver.is_settled()
    }

    /// Sweeps over the resources the last [`Self::solve`] took; for tests and measurements.
    pub fn sweeps(&self) -> u32 {
        self.solver.sweeps
    }

    /// Traffic of the node's DRAM in the last solution, GB/s, reads and writes of threads and copies.
    pub fn node_gbps(&self, node: usize) -> f64 {
        self.solver.traffic[self.paths.dram(node)]
    }

    /// Utilisation of the node's DRAM, 0..=0.96, write share and randomness included. Vectors 1 to 5 and 13 of machines.md
    /// section 8.4 state it; runs need the latencies and rates that follow from it.
    pub fn node_utilisation(&self, node: usize) -> f64 {
        self.solver.utilisation(&self.paths, self.paths.dram(node))
    }

    /// Requests' traffic over one direction of a link, GB/s; `forward` as in `Route::hops`.
    pub fn link_gbps(&self, link: usize, forward: bool) -> f64 {
        self.solver.traffic[self.paths.link(link, forward)]
    }

    /// Utilisation of one direction of a link, 0..=0.96; for vector 9, as [`Self::node_utilisation`].
    pub fn link_utilisation(&self, link: usize, forward: bool) -> f64 {
        self.solver.utilisation(&self.paths, self.paths.link(link, forward))
    }

    /// Latency a single further access from `src_node` to `dst_node` meets now, ns.
    pub fn latency_ns(&self, src_node: usize, dst_node: usize) -> f64 {
        self.solver.pair_latency_ns(&self.paths, src_node, dst_node)
    }

    /// [`Self::latency_ns`] relative to the idle machine, at least 1: what accesses of the kernel on a CPU of `cpu_node` to
    /// memory of `memory_node` are slowed down by. Not symmetric.
    pub fn latency_factor(&self, cpu_node: usize, memory_node: usize) -> f64 {
        self.latency_ns(cpu_node, memory_node) / self.paths.idle_ns(cpu_node, memory_node)
    }
}
