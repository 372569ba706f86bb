//! The resolved machine: dense indices, explicit units.

use super::costs::KernelCosts;
use std::fmt;

/// A resolved, validated machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Catalog name, e.g. `milan-2s-nps1`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Number of sockets (packages), at least 1.
    pub sockets: usize,
    /// Memory nodes in ascending order of their id; at least 1.
    pub nodes: Vec<Node>,
    /// Last-level caches in order of their first CPU.
    pub llcs: Vec<Llc>,
    /// Number of physical cores.
    pub cores: usize,
    /// Logical CPUs in ascending order of their id; at least 1.
    pub cpus: Vec<Cpu>,
    /// Firmware distance (SLIT) from node `i` to node `j`: `distance[i][j]`, 10..=254, need not be symmetric.
    pub distance: Vec<Vec<u8>>,
    /// Hardware hop class of (i, j); 0 exactly on the diagonal.
    pub hop: Vec<Vec<u8>>,
    /// Idle load-to-use latency from a CPU of node `i` to memory of node `j`, ns, TLB effects excluded.
    /// For a CPU-less row the values are present but unused, except the diagonal: latency from the nearest CPU.
    pub latency_ns: Vec<Vec<f64>>,
    /// Links between nodes or sockets, each with its own bandwidth per direction.
    pub links: Vec<Link>,
    /// `routes[i][j]`: the paths requests of node `i` to memory of node `j` take; empty on the diagonal
    /// and where the machine models no link limit. Shares of the parallel routes sum to 1.
    pub routes: Vec<Vec<Vec<Route>>>,
    /// Core clock.
    pub clock: Clock,
    /// Private cache of a core and common data of all LLCs.
    pub cache: Cache,
    /// What one thread can stream.
    pub stream: Stream,
    /// TLB entries and page-walk model.
    pub tlb: Tlb,
    /// Cost of kernel operations, ns, already scaled to this machine's clock.
    pub costs: KernelCosts,
    /// Distances above this value stop fork/exec/wake-affine balancing (30 generic, 32 on Zen).
    pub node_reclaim_distance: u8,
    /// What looked suspicious when the machine was loaded (flat virtual distances and the like).
    pub warnings: Vec<String>,
}

/// A memory node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Id as the operating system shows it (may be sparse).
    pub id: u32,
    /// Socket the node belongs to (dense).
    pub socket: usize,
    /// Memory, bytes; 0 for a CPU-only node.
    pub memory_bytes: u64,
    /// Dense indices of its CPUs, ascending; empty for a memory-only node.
    pub cpus: Vec<usize>,
    /// What the memory is.
    pub kind: MemoryKind,
    /// Peak DRAM bandwidth, GB/s.
    pub dram_peak_gbps: f64,
    /// Best sustained (STREAM-like) bandwidth, GB/s.
    pub dram_sustained_gbps: f64,
    /// Tier: 0 is the fastest; larger is slower.
    pub tier: u8,
}

/// Technology behind a node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Ordinary DRAM on a CPU socket.
    Dram,
    /// A CXL expander (earlier bandwidth knee, machines.md section 6.1).
    Cxl,
}

/// A last-level cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Llc {
    /// Node it belongs to (dense).
    pub node: usize,
    /// Capacity, bytes.
    pub size_bytes: u64,
    /// Dense CPU indices sharing it, ascending.
    pub cpus: Vec<usize>,
}

/// A logical CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Id as the operating system shows it.
    pub id: u32,
    /// Dense node index.
    pub node: usize,
    /// Dense LLC index.
    pub llc: usize,
    /// Dense core index; CPUs of one core are SMT siblings.
    pub core: usize,
    /// Socket (dense).
    pub socket: usize,
}

/// A link with bandwidth per direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name for reports, e.g. `socket0-socket1`.
    pub name: String,
    /// Peak per direction, GB/s.
    pub peak_gbps: f64,
    /// Sustained per direction, GB/s.
    pub sustained_gbps: f64,
    /// Extra idle latency of the hop, ns (the base of its queueing term).
    pub hop_latency_ns: f64,
}

/// One of the parallel paths between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Share of the traffic, 0..=1.
    pub share: f64,
    /// Link index and whether it is crossed from its first to its second end.
    pub hops: Vec<(usize, bool)>,
}

/// Clock of a core, GHz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Base.
    pub base_ghz: f64,
    /// Sustained with all cores busy; what the model uses.
    pub sustained_ghz: f64,
    /// Single-core boost.
    pub single_ghz: f64,
}

/// Caches other than their sharing.
#[derive(Clone, Copy, PartialEq)]
pub struct Cache {
    /// L2 per core, bytes.
    pub l2_bytes: u64,
    /// L2 hit, cycles.
    pub l2_cycles: f64,
    /// LLC hit, ns.
    pub llc_latency_ns: f64,
    /// One thread streaming from its LLC, GB/s.
    pub llc_stream_gbps: f64,
    /// Read port of one LLC towards memory, GB/s; `None` where it never binds.
    pub llc_port_gbps: Option<f64>,
    /// Whether a miss asks the caches of all other sockets, each of which answers to the memory's socket (QPI 1.0, `snoop
    /// = "source"`); otherwise a directory or filter at the memory spares the links (`"filtered"`, the default).
    pub source_snoop: bool,
    /// Time a core needs for a line that it writes in a sweep and another core of its LLC has just written, ns, per core
    /// that sweeps along; `None` where threads that write one buffer in step are not held back by each other.
    pub transfer_ns: Option<f64>,
    /// What one call of `memset` (or another fill that the processor knows for one) does where it is long enough; `None`
    /// where its stores go through the caches like all others, or nobody has looked.
    pub fill: Option<Fill>,
    /// Whether a line that is written is traffic twice, fetched before and written back later, as on every machine; a guest
    /// whose time is modelled counts it once (`numalab validate`).
    pub writes_back: bool,
}

impl Cache {
    /// Lines that cross the memory's bus for one line of which the share `write` is written.
    pub fn lines_of_write(&self, write: f64) -> f64 {
        if self.writes_back {
            1.0 + write
        } else {
            1.0
        }
    }
}

/// Fills that go past the caches: the processor takes a long `rep stosb` for a stream, writes whole lines to memory and reads none
/// of them before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Shortest fill that does so, bytes.
    pub bypass_bytes: u64,
    /// What one thread writes that way beside its memory, GB/s.
    pub gbps: f64,
}

/// As derived, but for `transfer_ns` and `fill` where there is none, and `writes_back` where it is so: a plan's hash is made of
/// this text, and a plan keeps its identity when machines learn a fact that it has nothing to do with.
impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Cache");
        out.field("l2_bytes", &self.l2_bytes)
            .field("l2_cycles", &self.l2_cycles)
            .field("llc_latency_ns", &self.llc_latency_ns)
            .field("llc_stream_gbps", &self.llc_stream_gbps)
            .field("llc_port_gbps", &self.llc_port_gbps)
            .field("source_snoop", &self.source_snoop);
        if let Some(ns) = self.transfer_ns {
            out.field("transfer_ns", &ns);
        }
        if let Some(fill) = self.fill {
            out.field("fill", &fill);
        }
        if !self.writes_back {
            out.field("writes_back", &false);
        }
        out.finish()
    }
}

/// Memory-level parallelism of one thread (machines.md section 7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Lines in flight of a sequential stream, prefetch included.
    pub lines_sequential: f64,
    /// Lines in flight of independent random accesses.
    pub lines_random: f64,
    /// Cap of one thread, GB/s.
    pub cap_gbps: f64,
}

/// TLB and page-walk model (machines.md section 3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tlb {
    /// Second-level entries usable for 4 KiB pages.
    pub entries_4k: u32,
    /// Second-level entries usable for 2 MiB pages (first-level ones where the second holds none).
    pub entries_2m: u32,
    /// Base cost of a random access beyond the load latency, ns (`b` of machines.md section 3).
    pub base_ns: f64,
    /// Constant part of a native 4 KiB walk, ns.
    pub walk_4k_ns: f64,
    /// Constant part of a nested (guest) 4 KiB walk, ns.
    pub walk_4k_guest_ns: f64,
    /// Probability that the leaf entry comes from memory, far above reach, native.
    pub leaf_miss: f64,
    /// The same in a guest.
    pub leaf_miss_guest: f64,
    /// The machine is a guest: page walks are two-dimensional.
    pub nested: bool,
}

impl Machine {
    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }
    /// Number of logical CPUs.
    pub fn cpu_count(&self) -> usize {
        self.cpus.len()
    }
    /// Total memory, bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.nodes.iter().map(|n| n.memory_bytes).sum()
    }
    /// Nodes that have CPUs.
    pub fn cpu_nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|&n| !self.nodes[n].cpus.is_empty())
    }
}
