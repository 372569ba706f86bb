//! The largest memory that a run will take, from machine, workload and kernel alone.
//!
//! Problem: a run that does not fit into the host's memory must be refused before it starts, and runs at a time must be
//! so few that all of them fit.
//! Approach: the state of memory is arithmetic: what is mapped, what of it is [touched](crate::predict::touched), by
//! which kind of page, times [`StateSizes`]. The state of CPUs, nodes and threads is fitted to runs that do nothing
//! (constants below). What ends is not subtracted: processes are taken to live at the same time.
//! Units: bytes. `crates/sim/tests/it/memory.rs` holds it against what runs took.

use crate::grains::{grain_orders, Home};
use crate::hardware::access_rates::EPOCH_NS;
use crate::hardware::pipes::bytes_of_pipe;
use crate::predict::model_time::model_time_ns;
use crate::predict::touched::{touched, ByProcess, Chunks, Touched};
use crate::process::background;
use crate::sim_config::SimConfig;
use crate::state::lock_line::bytes_of_line;
use crate::state::maps;
use crate::state::process::STACK_BYTES;
use numalab_kernel::mm::thp::may_have_huge;
use numalab_kernel::mm::{StateSizes, CHUNK_PAGES};
use numalab_kernel::numa::design::Faults;
use numalab_nouns::machine::Machine;
use numalab_nouns::workload::{ForkPoint, Op, Region, RegionKind, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// Fitted with runs that do nothing on 1 to 64 nodes and 2 to 4,096 CPUs: bytes for each CPU, each pair of CPUs, and
/// each pair of nodes.
const PER_CPU: f64 = 2830.0;
const PER_CPU_PAIR: f64 = 2.06;
const PER_NODE_PAIR: f64 = 1580.0;
/// For each kind of access: rates from a place to a node, and flows between two nodes.
const PER_RATE: f64 = 72.0;
const PER_FLOW: f64 = 64.0;
/// For each thread beside its stack, fitted with 4,096 threads: bytes, and bytes for each node.
const PER_THREAD: f64 = 2400.0;
const PER_THREAD_NODE: f64 = 40.0;
/// `numa_balancing_scan_delay_ms`, one second in all releases.
const FIRST_SCAN_NS: u64 = 1_000_000_000;
/// For each node and thread that may take hint faults: eight counts (`numa_faults`).
const PER_FAULTS_NODE: f64 = 64.0;
/// For each thread that the machine has beside the workload, fitted with 256 CPUs.
const PER_MACHINE_THREAD: f64 = 3000.0;
/// Mappings of every program: static data, and the stack of the initial thread.
const PROGRAM_MAPPINGS: usize = 2;
/// For any run.
const PER_RUN: f64 = 300e3;
/// For each pageblock once memory is compacted, which begins when a node is nearly full.
const PER_COMPACTED: f64 = 4.0;
const NEARLY_FULL: f64 = 0.7;
/// Blocks of entries grow in turn, which leaves holes in the heap.
const HOLES: f64 = 1.04;
/// For each process beside its regions and stacks.
const PER_PROCESS: f64 = 4096.0;
/// For each step of a thread: the working sets that the simulator works out before the run.
const PER_STEP: f64 = 56.0;
/// For 2 MiB of the zero page: a bitmap, and where it is.
const ZERO_CHUNK: f64 = 136.0;
/// Time between samples, s, and what a column of a series takes besides its values.
const SAMPLE_S: f64 = 0.2;
const PER_COLUMN: f64 = 100.0;
/// Vectors that grow have half as much to spare on average.
const GROWN: f64 = 1.5;
/// Share of a node's memory that huge pages can come from; the rest is reserves and page tables.
const HUGE_SHARE: f64 = 0.97;

/// What a run will take at its peak, by what takes it, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryPrediction {
    /// CPUs, scheduling domains, bandwidth between nodes, and pageblocks of physical memory.
    pub machine: u64,
    /// Threads and processes, with their stacks.
    pub threads: u64,
    /// Mappings, whether they are touched or not, with their huge pages.
    pub mappings: u64,
    /// Entries of 4 KiB.
    pub small_pages: u64,
    /// Pages that several processes may map.
    pub objects: u64,
    /// Time series up to the expected end.
    pub series: u64,
}

impl MemoryPrediction {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.parts().iter().map(|p| p.1).sum()
    }
    /// The parts with their names, for tables.
    pub fn parts(&self) -> [(&'static str, u64); 6] {
        [
            ("machine", self.machine),
            ("threads", self.threads),
            ("mappings", self.mappings),
            ("base pages", self.small_pages),
            ("shared objects", self.objects),
            ("time series", self.series),
        ]
    }
}

/// Predicts what a run of `workload` takes at its peak. The process that runs it has memory of its own besides.
pub fn predict_memory(machine: &Machine, workload: &Workload, cfg: &SimConfig) -> MemoryPrediction {
    let page = cfg.base_page();
    let stack_pages = if cfg.harness.is_worker() { CHUNK_PAGES } else { page.pages(STACK_BYTES) };
    let sizes = StateSizes::new(machine.node_count(), stack_pages);
    let mut pages = Pages {
        sizes,
        chunk_bytes: page.bytes_of(CHUNK_PAGES),
        orders: grain_orders(workload, cfg),
        workload,
        cfg,
        out: MemoryPrediction::default(),
        huge: 0.0,
        present: 0.0,
        used: BTreeMap::new(),
    };
    let all = touched(workload, page.bytes_of(CHUNK_PAGES), &pages.orders);
    pages.processes(&all);
    pages.finish(machine);
    let mut out = pages.out;
    out.machine +=
        (machine_bytes(machine, workload, &sizes, page.bytes_of(CHUNK_PAGES)) + pipe_bytes(machine, cfg)) as u64;
    out.threads = (thread_bytes(machine, workload, &sizes) + background_bytes(machine, cfg)) as u64;
    out.threads += lock_bytes(machine, workload, cfg) as u64;
    out.series = series_bytes(machine, workload) as u64;
    out
}

fn machine_bytes(machine: &Machine, workload: &Workload, sizes: &StateSizes, chunk_bytes: u64) -> f64 {
    let (cpus, nodes) = (machine.cpu_count() as f64, machine.node_count() as f64);
    let places = if machine.cache.llc_port_gbps.is_some() { machine.llcs.len() as f64 } else { nodes };
    let per_core = cpus / machine.cpus.iter().map(|c| c.core).collect::<BTreeSet<_>>().len().max(1) as f64;
    let mut kinds = BTreeSet::new();
    for p in &workload.processes {
        for ops in std::iter::once(&p.prologue).chain(p.threads.iter().map(|t| &t.ops)) {
            kinds.extend(ops.iter().filter_map(|op| match op {
                Op::Access(a) => Some((a.pattern.traffic() as u8, a.write.to_bits(), a.bypass)),
                _ => None,
            }));
        }
    }
    let kinds = kinds.len() as f64 * per_core;
    let blocks: u64 = machine.nodes.iter().map(|n| n.memory_bytes.div_ceil(chunk_bytes)).sum();
    PER_RUN
        + cpus * (PER_CPU + cpus * PER_CPU_PAIR)
        + nodes * nodes * (PER_NODE_PAIR + kinds * PER_FLOW)
        + places * nodes * kinds * PER_RATE
        + blocks as f64 * sizes.pageblock
}

/// Memories, both directions of links, and ports of caches.
fn pipe_bytes(machine: &Machine, cfg: &SimConfig) -> f64 {
    let ports = machine.cache.llc_port_gbps.map_or(0, |_| 2 * machine.llcs.len());
    let pipes = machine.node_count() + 2 * machine.links.len() + ports;
    (pipes * bytes_of_pipe(cfg.jiffy_ns() + 2 * EPOCH_NS)) as f64
}

fn thread_bytes(machine: &Machine, workload: &Workload, sizes: &StateSizes) -> f64 {
    let nodes = machine.node_count() as f64;
    // No scan comes before the delay of the first one, and so no hint fault.
    let faults = model_time_ns(machine, workload) >= FIRST_SCAN_NS;
    let by_node = PER_THREAD_NODE + if faults { PER_FAULTS_NODE } else { 0.0 };
    let threads = |p: &numalab_nouns::workload::Process| -> f64 {
        let steps: usize = p.prologue.len() + p.threads.iter().map(|t| t.ops.len()).sum::<usize>();
        let own = p.threads.len() as f64 * (PER_THREAD + nodes * by_node + sizes.stack);
        // A process has data and the stack of its initial thread besides.
        own + steps as f64 * PER_STEP + PER_PROCESS + 2.0 * sizes.stack
    };
    workload.processes.iter().map(threads).sum()
}

/// Locks that faults meet: two for each node, and one for each mapping of a process of several threads.
fn lock_bytes(machine: &Machine, workload: &Workload, cfg: &SimConfig) -> f64 {
    let mappings = |p: &numalab_nouns::workload::Process| {
        let shared = p.threads.len() > 1 && !cfg.harness.cpus_take_turns();
        let own = if cfg.mm.vm.fault_holds_mmap_lock { 1 } else { p.regions.len() + PROGRAM_MAPPINGS };
        if shared {
            own
        } else {
            0
        }
    };
    let locks = 2 * machine.node_count() + workload.processes.iter().map(mappings).sum::<usize>();
    (locks * bytes_of_line(machine.node_count())) as f64
}

/// The machine's own threads, which have no stacks.
fn background_bytes(machine: &Machine, cfg: &SimConfig) -> f64 {
    if !cfg.machine_background {
        return 0.0;
    }
    let (threads, steps) = background::size(machine);
    threads as f64 * PER_MACHINE_THREAD + steps as f64 * (PER_STEP + size_of::<Op>() as f64)
}

fn series_bytes(machine: &Machine, workload: &Workload) -> f64 {
    let (nodes, processes) = (machine.node_count(), workload.processes.len());
    let samples = model_time_ns(machine, workload) as f64 / 1e9 / SAMPLE_S + 2.0;
    let once = if processes > 1 { nodes } else { 0 };
    let links = 2 * machine.links.len().min(256);
    let columns = processes * nodes + once + 5 + nodes + links + 3 + workload.scores.len();
    let threads: usize = workload.processes.iter().map(|p| p.threads.len()).sum();
    let regions: usize = workload.processes.iter().map(|p| p.regions.len()).sum();
    let rows = regions.max(maps::PAGE_ROWS as usize).min(4 * maps::PAGE_ROWS as usize) + threads.min(maps::TASK_ROWS);
    let bytes = |columns: usize, samples: f64| columns as f64 * (samples * 8.0 * GROWN + PER_COLUMN);
    bytes(columns, samples) + bytes(rows, samples.min(maps::MAX_SAMPLES as f64))
}

/// Adds up the pages of all processes.
struct Pages<'a> {
    sizes: StateSizes,
    chunk_bytes: u64,
    /// Logarithm of the base pages of a grain of each region, by process.
    orders: Vec<Vec<u32>>,
    workload: &'a Workload,
    cfg: &'a SimConfig,
    out: MemoryPrediction,
    /// Chunks that would be huge pages if there are enough of them.
    huge: f64,
    /// Chunks with private pages.
    present: f64,
    /// Chunks of each shared object that some process touches.
    used: BTreeMap<Home, Chunks>,
}

impl Pages<'_> {
    fn processes(&mut self, all: &[ByProcess]) {
        // What a fork after the prologue shares of private regions.
        let mut given: BTreeMap<Home, Chunks> = BTreeMap::new();
        let late = self.workload.processes.iter().filter(|p| p.fork == ForkPoint::AfterPrologue);
        let parents: BTreeSet<usize> = late.filter_map(|p| p.parent).collect();
        for (at, own) in all.iter().enumerate() {
            let forks = parents.contains(&at);
            for (slot, home) in own.homes.iter().enumerate() {
                let Some(region) = self.workload.processes[home.0].regions.get(home.1) else { continue };
                let chunk_bytes = self.chunk_bytes << self.orders[home.0][home.1];
                let chunks = (region.misalign_bytes + region.size_bytes).div_ceil(chunk_bytes) as f64;
                self.out.mappings += (chunks * self.sizes.chunk) as u64;
                if matches!(region.kind, RegionKind::PrivateAnon | RegionKind::Hugetlb) {
                    let before = (home.0 != at).then(|| given.get(home)).flatten();
                    self.private(region, &own.all[slot], before);
                    if forks {
                        let shared = given.entry(*home).or_default();
                        shared.join(&own.prologue[slot].written);
                        let objects = chunks * self.sizes.object_chunk + shared.count() * self.sizes.object_block;
                        self.out.objects += if home.0 == at { objects as u64 } else { 0 };
                    }
                } else {
                    self.shared(*home, at, &own.all[slot], region.kind == RegionKind::CowData, chunks);
                }
            }
        }
    }
    /// Pages of a private anonymous region, of which a fork gave the process those `before`.
    fn private(&mut self, region: &Region, t: &Touched, before: Option<&Chunks>) {
        let (written, mut used) = (t.written.count(), t.written.clone());
        used.join(&t.used);
        let zeros = (used.count() - written).max(0.0);
        let mut present = t.written.clone();
        if let Some(before) = before {
            present.join(before);
        }
        let present = present.count();
        let huge = match region.kind {
            RegionKind::Hugetlb => present,
            _ if may_have_huge(&self.cfg.mm.thp, region.advice) => self.huge_of(region, t, present),
            _ => 0.0,
        };
        let small = present - huge;
        // What a fork gave is there once, in the parent.
        let (own_huge, own_present) = if before.is_some() { (huge.min(written), written) } else { (huge, present) };
        self.huge += own_huge;
        self.present += own_present;
        let own = small * (written / present.max(1.0));
        let entries = small * self.sizes.entries + own * self.sizes.own;
        self.out.small_pages += (entries + zeros * ZERO_CHUNK) as u64;
    }
    /// How many of `present` chunks of a region are huge pages as long as there are any.
    fn huge_of(&self, region: &Region, t: &Touched, present: f64) -> f64 {
        let splits = self.cfg.numa_enabled() && !self.cfg.mm.thp.native_migration;
        if splits || self.cfg.design.faults == Faults::AutoNuma {
            return 0.0;
        }
        let ends = [region.misalign_bytes, region.misalign_bytes + region.size_bytes];
        let cut = ends.iter().filter(|e| !e.is_multiple_of(self.chunk_bytes)).count() as f64 + t.cut as f64;
        (present - cut).max(0.0)
    }
    /// Pages of a region that several processes may map.
    fn shared(&mut self, home: Home, process: usize, t: &Touched, private: bool, chunks: f64) {
        if home.0 == process {
            self.out.objects += (chunks * self.sizes.object_chunk) as u64;
        }
        let mut used = t.used.clone();
        used.join(&t.written);
        let mut bytes = used.count() * self.sizes.entries;
        bytes += if private { t.written.count() * self.sizes.own } else { 0.0 };
        self.out.small_pages += bytes as u64;
        self.used.entry(home).or_default().join(&used);
    }
    fn finish(&mut self, machine: &Machine) {
        let blocks: f64 = self.used.values().map(Chunks::count).sum();
        let whole = |(home, chunks): (&Home, &Chunks)| chunks.count() * (1 << self.orders[home.0][home.1]) as f64;
        let shared: f64 = self.used.iter().map(whole).sum();
        self.out.objects += (blocks * self.sizes.object_block) as u64;
        let chunks = |bytes: u64| (bytes / self.chunk_bytes) as f64;
        let memory = || machine.nodes.iter().map(|n| chunks(n.memory_bytes)).filter(|n| *n > 0.0);
        let without = (self.huge - memory().sum::<f64>() * HUGE_SHARE).max(0.0);
        let small = self.out.small_pages as f64 + without * (self.sizes.entries + self.sizes.own);
        self.out.small_pages = (small * HOLES) as u64;
        if self.present + shared > memory().fold(f64::INFINITY, f64::min) * NEARLY_FULL {
            self.out.machine += (memory().sum::<f64>() * PER_COMPACTED) as u64;
        }
    }
}
