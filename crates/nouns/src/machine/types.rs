//! The resolved machine: dense indices, explicit units.

use super::background::Background;
use super::costs::KernelCosts;
use super::tlb::Tlb;
use std::fmt;

/// A resolved, validated machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Catalog name, such as `milan-2s-nps1`.
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
    /// Firmware distance (SLIT) from node `i` to node `j`: `distance[i][j]`, from 10 to 254, not necessarily symmetric.
    pub distance: Vec<Vec<u8>>,
    /// Hardware hop class of (i, j); 0 exactly on the diagonal.
    pub hop: Vec<Vec<u8>>,
    /// Idle load-to-use latency from a CPU of node `i` to memory of node `j`, ns, without TLB effects. In the row of a
    /// node without CPUs only the diagonal is used; it is the latency from the nearest CPU.
    pub latency_ns: Vec<Vec<f64>>,
    /// Links between nodes or sockets, each with its own bandwidth per direction.
    pub links: Vec<Link>,
    /// `routes[i][j]`: the parallel paths of requests from node `i` to memory of node `j`, whose shares sum to 1. It is
    /// empty on the diagonal, and where no link limits the traffic.
    pub routes: Vec<Vec<Vec<Route>>>,
    /// Core clock.
    pub clock: Clock,
    /// Private cache of a core, and what all LLCs have in common.
    pub cache: Cache,
    /// Memory-level parallelism of one thread.
    pub stream: Stream,
    /// TLB entries and page-walk model.
    pub tlb: Tlb,
    /// Cost of kernel operations, ns, already scaled to this machine's clock.
    pub costs: KernelCosts,
    /// What the machine does beside the workload.
    pub background: Background,
    /// Distance above which fork, exec and wake-affine balancing stop (30 generic, 32 on Zen).
    pub node_reclaim_distance: u8,
    /// Assumptions and suspicions from loading the machine, such as flat distances.
    pub warnings: Vec<String>,
}

/// A memory node.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// Id as the operating system shows it; ids may be sparse.
    pub id: u32,
    /// Dense index of its socket; that of its memory where its CPUs are on several.
    pub socket: usize,
    /// Memory, bytes; 0 for a CPU-only node.
    pub memory_bytes: u64,
    /// Dense indices of its CPUs, ascending; empty for a memory-only node.
    pub cpus: Vec<usize>,
    /// Technology of the memory.
    pub kind: MemoryKind,
    /// Peak DRAM bandwidth, GB/s.
    pub dram_peak_gbps: f64,
    /// Best sustained (STREAM-like) bandwidth, GB/s.
    pub dram_sustained_gbps: f64,
    /// Memory tier; 0 is the fastest.
    pub tier: u8,
    /// Part of the sustained bandwidth that lines at random addresses reach, above 0 and at most 1.
    pub random_share: f64,
}

/// Writes the text of the derived form, without `random_share` where it is that of its kind, for the reason given at
/// [`Cache`].
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Node");
        out.field("id", &self.id)
            .field("socket", &self.socket)
            .field("memory_bytes", &self.memory_bytes)
            .field("cpus", &self.cpus)
            .field("kind", &self.kind)
            .field("dram_peak_gbps", &self.dram_peak_gbps)
            .field("dram_sustained_gbps", &self.dram_sustained_gbps)
            .field("tier", &self.tier);
        if self.random_share != RANDOM_SHARE {
            out.field("random_share", &self.random_share);
        }
        out.finish()
    }
}

/// Part of the sustained bandwidth that lines at random addresses reach where nothing better is known (estimate,
/// machines.md section 6.1).
pub const RANDOM_SHARE: f64 = 0.6;

/// Part of the bandwidth that single lines at random addresses reach in Optane: it reads 256 bytes for each of 64
/// (Yang and others, "An Empirical Guide to the Behavior and Use of Scalable Persistent Memory", FAST 2020).
const OPTANE_RANDOM_SHARE: f64 = 64.0 / 256.0;

/// Technology behind a node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Ordinary DRAM on a CPU socket.
    Dram,
    /// High-bandwidth memory in the processor's package.
    Hbm,
    /// Memory of a GPU that the CPUs reach through a coherent link, as on POWER9 and Grace Hopper.
    Gpu,
    /// Persistent memory in DIMM slots, used as main memory.
    Optane,
    /// A CXL expander (earlier bandwidth knee, machines.md section 6.1).
    Cxl,
}

impl MemoryKind {
    /// All kinds, in the order of [`MemoryKind::WORDS`].
    pub const ALL: [MemoryKind; 5] = [Self::Dram, Self::Hbm, Self::Gpu, Self::Optane, Self::Cxl];
    /// The words of machine files and of `--memory-kind`.
    pub const WORDS: [&'static str; 5] = ["dram", "hbm", "gpu", "optane", "cxl"];

    /// The kind of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::WORDS.iter().position(|w| *w == word).map(|i| Self::ALL[i])
    }
    /// The word of machine files.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
    /// The name that people read.
    pub fn label(self) -> &'static str {
        match self {
            Self::Dram => "DRAM",
            Self::Hbm => "HBM",
            Self::Gpu => "GPU memory",
            Self::Optane => "Optane",
            Self::Cxl => "CXL",
        }
    }
    /// Part of the sustained bandwidth that random lines reach where no file states it.
    pub fn usual_random_share(self) -> f64 {
        if self == Self::Optane {
            OPTANE_RANDOM_SHARE
        } else {
            RANDOM_SHARE
        }
    }
    /// Tier of the memory where nothing states it: 1 for what Linux demotes to, 0 otherwise.
    pub fn usual_tier(self) -> u8 {
        u8::from(matches!(self, Self::Optane | Self::Cxl))
    }
}

/// A last-level cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Llc {
    /// Dense index of its node.
    pub node: usize,
    /// Capacity, bytes.
    pub size_bytes: u64,
    /// Dense indices of the CPUs that share it, ascending.
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
    /// Dense socket index; another than that of its node where a node has several sockets.
    pub socket: usize,
}

/// A link with bandwidth per direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name for reports, such as `socket0-socket1`.
    pub name: String,
    /// Peak per direction, GB/s.
    pub peak_gbps: f64,
    /// Sustained per direction, GB/s.
    pub sustained_gbps: f64,
    /// Idle latency that the link adds, ns; the base of its queueing term.
    pub hop_latency_ns: f64,
}

/// One of the parallel paths between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Share of the traffic, from 0 to 1.
    pub share: f64,
    /// Index of each link on the way, and whether it is crossed from its first to its second end.
    pub hops: Vec<(usize, bool)>,
}

/// Clock of a core, GHz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Base clock.
    pub base_ghz: f64,
    /// Clock with all cores busy, which the model uses.
    pub sustained_ghz: f64,
    /// Boost clock of a single busy core.
    pub single_ghz: f64,
}

/// Sizes and speeds of the caches.
#[derive(Clone, Copy, PartialEq)]
pub struct Cache {
    /// L2 per core, bytes.
    pub l2_bytes: u64,
    /// Latency of an L2 hit, cycles.
    pub l2_cycles: f64,
    /// Latency of an LLC hit, ns.
    pub llc_latency_ns: f64,
    /// Rate of one thread that streams from its LLC, GB/s.
    pub llc_stream_gbps: f64,
    /// Rate of the read port of one LLC towards memory, GB/s; `None` where it is no limit.
    pub llc_port_gbps: Option<f64>,
    /// Whether a miss asks the caches of all other sockets, each of which answers to the memory's socket (QPI 1.0,
    /// `snoop = "source"`). Otherwise a directory or filter at the memory keeps this traffic off the links
    /// (`"filtered"`, the default).
    pub source_snoop: bool,
    /// Whether the memory keeps a directory of lines that other sockets may have changed (`directory = "memory"`). Then
    /// a line that another socket writes costs one more write: the directory's bit is set when that socket gets the
    /// line.
    pub memory_directory: bool,
    /// Time a core needs for a line that it writes in a sweep and that another core of its LLC has just written, ns,
    /// per core that sweeps with it. `None` where threads that write one buffer in step do not slow each other.
    pub transfer_ns: Option<f64>,
    /// Latency of a line that another core has written, ns: a core of the same LLC, of another LLC of the socket, of
    /// another socket. `None` where nobody measured: see [`Machine::core_to_core_ns`].
    pub core_to_core_ns: [Option<f64>; 3],
    /// How a long `memset`, or another fill that the processor recognises, bypasses the caches. `None` where its stores
    /// go through the caches like all others, or where it was not measured.
    pub fill: Option<Fill>,
    /// Whether a line that is written counts twice as traffic, fetched before and written back later, as on every real
    /// machine. In a guest whose time is modelled it counts once (`numalab validate`).
    pub writes_back: bool,
}

impl Cache {
    /// Lines that cross the memory's bus per line accessed, where the share `write` of the lines is written.
    pub fn lines_of_write(&self, write: f64) -> f64 {
        if self.writes_back {
            1.0 + write
        } else {
            1.0
        }
    }
}

/// Fills that bypass the caches: the processor recognises a long `rep stosb`, and writes whole lines to memory without
/// reading them first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Shortest fill that bypasses the caches, bytes.
    pub bypass_bytes: u64,
    /// Rate of such a fill by one thread into memory of its own node, GB/s.
    pub gbps: f64,
}

/// Writes the text of the derived form, without `transfer_ns`, `core_to_core_ns` and `fill` if they are `None` and
/// `writes_back` if it is true.
///
/// The hash of a plan is made of this text. A plan keeps its identity when machines get a field that does not concern
/// it.
impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Cache");
        out.field("l2_bytes", &self.l2_bytes)
            .field("l2_cycles", &self.l2_cycles)
            .field("llc_latency_ns", &self.llc_latency_ns)
            .field("llc_stream_gbps", &self.llc_stream_gbps)
            .field("llc_port_gbps", &self.llc_port_gbps)
            .field("source_snoop", &self.source_snoop);
        if self.memory_directory {
            out.field("memory_directory", &true);
        }
        if let Some(ns) = self.transfer_ns {
            out.field("transfer_ns", &ns);
        }
        if self.core_to_core_ns != [None; 3] {
            out.field("core_to_core_ns", &self.core_to_core_ns);
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
    /// Largest rate of one thread, GB/s.
    pub cap_gbps: f64,
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
    /// Latency of a line that a core of LLC `from` has written, for a core of LLC `to`, ns. Unless the machine's file
    /// says it, a line from the same LLC takes two of its latencies, there and on to the core. One from another LLC
    /// takes as long as from memory of its node (estimates).
    pub fn core_to_core_ns(&self, to: usize, from: usize) -> f64 {
        let [same, other, far] = self.cache.core_to_core_ns;
        if to == from {
            return same.unwrap_or(2.0 * self.cache.llc_latency_ns);
        }
        let measured = if self.socket_of_llc(to) == self.socket_of_llc(from) { other } else { far };
        measured.unwrap_or_else(|| self.latency_ns[self.llcs[to].node][self.llcs[from].node])
    }
    /// Socket of an LLC: that of its CPUs.
    pub fn socket_of_llc(&self, llc: usize) -> usize {
        let llc = &self.llcs[llc];
        llc.cpus.first().map_or(self.nodes[llc.node].socket, |&c| self.cpus[c].socket)
    }
    /// Sockets in groups that no node crosses, in ascending order; hardly any machine has more than one in a group.
    pub fn socket_groups(&self) -> Vec<Vec<usize>> {
        let mut group: Vec<usize> = (0..self.sockets).collect();
        for cpu in &self.cpus {
            let (a, b) = (group[cpu.socket], group[self.nodes[cpu.node].socket]);
            if a != b {
                group.iter_mut().filter(|g| **g == a.max(b)).for_each(|g| *g = a.min(b));
            }
        }
        let members = |first: usize| (0..self.sockets).filter(|&s| group[s] == first).collect();
        (0..self.sockets).filter(|&s| group[s] == s).map(members).collect()
    }
    /// Nodes that have CPUs.
    pub fn cpu_nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|&n| !self.nodes[n].cpus.is_empty())
    }
}
