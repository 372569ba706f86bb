//! Traffic that shares memory: flows of threads, copies of pages, and the rates that result.

use numalab_model::machine::Machine;

/// [`Flow::llc`] of a flow whose cache port is not modelled.
pub const NO_LLC: u32 = u32::MAX;

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
    pub kind_threads: f64,
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
            kind_threads: threads,
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
