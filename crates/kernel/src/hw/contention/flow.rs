//! Traffic that shares memory: flows of threads, copies of pages, and the rates that result.

use super::parameters::byte_weight;
use numalab_nouns::machine::Machine;

/// [`Flow::llc`] of a flow whose cache port is not modelled.
pub const NO_LLC: u32 = u32::MAX;

/// Threads of one kind on one node that access memory of one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Node the threads run on (dense).
    pub src_node: u32,
    /// Node the memory is on (dense).
    pub dst_node: u32,
    /// Last-level cache whose memory port the threads share (dense), or [`NO_LLC`].
    pub llc: u32,
    /// Average number of threads that do this at the same time in the epoch; at least 0, may be a fraction.
    pub threads: f64,
    /// Threads of this kind on the source node, whatever memory they access. If this is below `threads`, `threads`
    /// counts. The load of one thread is `1 / kind_threads` of the flow's load, or all of it with less than one
    /// thread.
    pub kind_threads: f64,
    /// Lines in flight of one thread (64 for a Zen stream, 1 for a pointer chase); above 0.
    pub lines: f64,
    /// Largest rate of one thread, GB/s; above 0, may be infinite.
    pub cap_gbps: f64,
    /// Time per line outside the memory system that does not overlap with it, ns: computation of a dependent access,
    /// TLB walk. 0 for a stream.
    pub extra_ns: f64,
    /// Share of the traffic that is writes, 0..=1. Zeroing has 0.5: each line written is read first.
    pub write: f64,
    /// Lines written back for each line in flight; at least 0. For a stream this is 0, because its writes are among
    /// its lines. A thread with random accesses waits for the lines it reads, but not for the lines it has written;
    /// these are traffic all the same.
    pub writebacks: f64,
    /// Whether the lines are random; otherwise they are sequential.
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
            kind_threads: threads,
            lines: s.lines_sequential,
            cap_gbps: s.cap_gbps,
            extra_ns: 0.0,
            write: 0.0,
            writebacks: 0.0,
            random: false,
        }
    }

    /// How often a byte of this traffic counts in a memory of which random lines reach `random_share`
    /// ([`Node::random_share`](numalab_nouns::machine::Node::random_share)), relative to one of a sequential read.
    pub fn weight_in_memory(&self, random_share: f64) -> f64 {
        byte_weight(self.write) / if self.random { random_share } else { 1.0 }
    }

    /// Read-only flow of independent random lines with the machine's parameters.
    pub fn random(machine: &Machine, src_node: u32, dst_node: u32, threads: f64) -> Self {
        let lines = machine.stream.lines_random;
        Self { lines, random: true, ..Self::stream(machine, src_node, dst_node, threads) }
    }

    /// Read-only flow of dependent random lines: one line in flight per thread.
    pub fn chase(machine: &Machine, src_node: u32, dst_node: u32, threads: f64) -> Self {
        Self { lines: 1.0, ..Self::random(machine, src_node, dst_node, threads) }
    }
}

/// Pages that the kernel copies or clears. Their rate does not depend on the load of the memory.
///
/// The copying CPU is on the destination node, because a hint fault moves a page to its CPU. If the destination has no
/// CPU (demotion), it is on the source node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageCopy {
    /// Node that is read (dense); for cleared pages, the node of the CPU that clears.
    pub from_node: u32,
    /// Node that is written (dense); may be the same.
    pub to_node: u32,
    /// Bytes written per ns of the epoch, that is GB/s; at least 0.
    pub gbps: f64,
    /// Whether the pages are cleared, so that nothing is read.
    pub clears: bool,
}

/// Latency and rate of one thread of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Memory latency of a line with queueing and saturation, without `extra_ns`, ns.
    pub latency_ns: f64,
    /// Bytes per ns of one thread, that is GB/s.
    pub gbps: f64,
}
