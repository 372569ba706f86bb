//! A NUMA machine: nodes, last-level caches, CPUs, distances, latencies, bandwidths, costs.
//!
//! Everything is indexed densely (`nodes[i]`, `cpus[c]`); the ids an operating system would show
//! are kept beside (`Node::id`, `Cpu::id`) because real machines have sparse ones.
//! Firmware distances (`distance`) and hardware latencies (`latency_ns`) are separate on purpose:
//! a SLIT is a convention, not a measurement (machines.md section 1).
//!
//! A machine comes from a catalog name, a path or a shorthand ([`load`]), from a file
//! ([`Machine::from_toml_with`]) or from another tool's description ([`import`]); [`show`] draws it.
//!
//! | section of a file | module |
//! |---|---|
//! | `extends` | `layers` |
//! | `[layout]`, `[[node]]`, `[[llc]]`, `cores`, `[memory]` | `layout`, `index` |
//! | `[distance]`, `[hop]`, `[latency]` | `matrix` |
//! | `[[link]]`, `routing` | `links`, `routes` |
//! | `class`, `ipc`, `[costs]`, `[tlb]` | `class`, `load` |
//! | `[clock]`, `[cache]`, `[stream]` | `load` |

mod bare;
mod check;
mod class;
pub mod cpulist;
pub mod import;
mod index;
mod layers;
mod layout;
mod links;
mod load;
mod matrix;
mod routes;
mod shorthand;
mod show;
pub mod size;

pub use layout::{MAX_CPUS, MAX_MEMORY, MAX_NODES};
pub use load::{check_name, load, read_text, MAX_FILE_BYTES};
pub use show::{show, summary};

/// Finds file name and text of a catalog machine (`milan-2s-nps1`) or cost class (`classes/modern`).
pub type Find<'a> = dyn Fn(&str) -> Option<(String, String)> + 'a;

/// Shortens user text for a message: at most 60 characters, control characters replaced.
pub(crate) fn clip(text: &str) -> String {
    let mut out: String = text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        out.push_str("...");
    }
    out
}

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
impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

/// Kernel operation costs on this machine (machines.md sections 4 and 5), ns unless said. The default is all free, for
/// shapes that are not simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelCosts {
    /// A PTE visited and skipped.
    pub pte_skip_ns: f64,
    /// A PTE made PROT_NONE, without the flush.
    pub pte_mark_ns: f64,
    /// A PMD made PROT_NONE, without the flush.
    pub pmd_mark_ns: f64,
    /// One scan invocation.
    pub scan_ns: f64,
    /// Per VMA visited by a scan.
    pub scan_vma_ns: f64,
    /// Exception entry and exit.
    pub exception_ns: f64,
    /// Hint fault without migration, exception included.
    pub hint_fault_ns: f64,
    /// Each further page that a hint fault on a marked page table looks at (AutoNUMA).
    pub hint_page_ns: f64,
    /// Minor fault of an anonymous 4 KiB page, zeroing included.
    pub minor_fault_ns: f64,
    /// Fixed part of a 2 MiB anonymous fault, allocation included.
    pub huge_fault_ns: f64,
    /// Zeroing rate of a local huge page, GB/s.
    pub zero_local_gbps: f64,
    /// Zeroing rate of a remote huge page, GB/s.
    pub zero_remote_gbps: f64,
    /// Copy-on-write fault of a 4 KiB page.
    pub cow_fault_ns: f64,
    /// Copying 4 KiB inside a node.
    pub copy_4k_local_ns: f64,
    /// Copying 4 KiB between nodes.
    pub copy_4k_remote_ns: f64,
    /// 4 KiB migration on a hint fault, without copy and flush.
    pub migrate_4k_ns: f64,
    /// The same where migrate_pages batches (6.3 on).
    pub migrate_4k_batched_ns: f64,
    /// 2 MiB migration, without copy and flush.
    pub migrate_2m_ns: f64,
    /// Splitting a huge page.
    pub split_ns: f64,
    /// khugepaged collapse, process-visible part.
    pub collapse_ns: f64,
    /// khugepaged scan of one 2 MiB slot.
    pub khugepaged_slot_ns: f64,
    /// Compaction: per scanned page.
    pub compact_scan_ns: f64,
    /// Compaction: per migrated page.
    pub compact_migrate_ns: f64,
    /// Direct reclaim of a clean page.
    pub reclaim_page_ns: f64,
    /// Swap-out of a page, CPU part.
    pub swap_out_ns: f64,
    /// Swap-in of a page, CPU part.
    pub swap_in_ns: f64,
    /// Context switch inside a process.
    pub switch_same_ns: f64,
    /// Context switch between processes.
    pub switch_other_ns: f64,
    /// Wake-up to running on an idle CPU in a shallow idle state.
    pub wake_ns: f64,
    /// Scheduler tick.
    pub tick_ns: f64,
    /// Load-balance pass, per CPU of the domain.
    pub balance_cpu_ns: f64,
    /// Fork: per present PTE.
    pub fork_pte_ns: f64,
    /// Fork: per PMD.
    pub fork_pmd_ns: f64,
    /// Shoot-down: initiator base.
    pub flush_base_ns: f64,
    /// Shoot-down: per target on the initiator's socket.
    pub flush_socket_ns: f64,
    /// Shoot-down: per target one hop away.
    pub flush_hop1_ns: f64,
    /// Shoot-down: per target two hops away.
    pub flush_hop2_ns: f64,
    /// Time each target CPU loses.
    pub flush_target_ns: f64,
    /// TLB refill each target pays after a full flush.
    pub flush_refill_ns: f64,
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
