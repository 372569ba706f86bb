//! A workload: processes, threads, memory regions and what each thread does, op by op.
//!
//! Problem: the simulator models a workload and the worker carries it out, and both must mean the same.
//! Approach: the plain types below say all of it for one machine and one seed: absolute sizes, absolute counts, one op
//! list per thread.
//! Units: bytes, ns, dense CPU and node indices of the machine it was resolved for.
//! Invariants: every region, barrier, channel and score index is in range; loops nest properly;
//! sizes are multiples of 4 KiB and at least one page; every thread has at least one op; all threads of
//! a barrier arrive equally often, and none arrives or takes a message inside a loop bounded by time.
//!
//! Access patterns stand in [`crate::access`].

pub use crate::access::{Histogram, Pattern};

use crate::record::{Latencies, Scalar, FEWEST};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A workload resolved for one machine and seed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Catalog name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Process instances in start order. A parent stands before its children.
    pub processes: Vec<Process>,
    /// Threads that each barrier waits for, by its number.
    pub barrier_widths: Vec<u32>,
    /// Number of message channels (`Op::Signal` / `Op::Wait`).
    pub channels: u32,
    /// Channels that carry no message, as a futex does. Posting to one wakes the waiter without the hint that the
    /// poster is about to sleep (`WF_SYNC`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub futexes: Vec<u32>,
    /// What is scored, beside elapsed, user and system time.
    pub scores: Vec<Score>,
    /// Upper bound of model time, ns; reaching it is reported as a timeout, not as a result.
    pub limit_ns: u64,
    /// Parameter values used (name, value as text), in declaration order.
    pub params: Vec<(String, String)>,
    /// Warnings of resolution (rounded sizes, run too short to tell, ...).
    pub warnings: Vec<String>,
    /// What accesses of the pattern `recorded` draw from, by number.
    #[serde(default, skip_serializing_if = "has_none")]
    pub histograms: Arc<[Histogram]>,
}

fn has_none(histograms: &Arc<[Histogram]>) -> bool {
    histograms.is_empty()
}

/// As derived, except that no histograms are left out. The text is part of a plan's identity, as that of [`Access`].
impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Workload");
        out.field("name", &self.name).field("title", &self.title).field("processes", &self.processes);
        out.field("barrier_widths", &self.barrier_widths).field("channels", &self.channels);
        out.field("futexes", &self.futexes).field("scores", &self.scores).field("limit_ns", &self.limit_ns);
        out.field("params", &self.params).field("warnings", &self.warnings);
        if !self.histograms.is_empty() {
            out.field("histograms", &self.histograms);
        }
        out.finish()
    }
}

/// A process instance. Thread 0 is the initial thread: it runs `prologue`, creates the other threads in order, runs its
/// own ops and exits last. Its own ops can be no more than waiting for the others.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Name for reports, e.g. `main.0`.
    pub name: String,
    /// Process it is forked from (index), or `None` when started by exec.
    pub parent: Option<usize>,
    /// When the fork happens in the parent's life.
    pub fork: ForkPoint,
    /// Regions that it maps itself, in ascending address order. They follow the regions that it inherits: all of the
    /// parent's if it is forked after the parent's prologue, otherwise only those that the parent inherited itself.
    pub regions: Vec<Region>,
    /// Ops of the initial thread before it creates threads.
    pub prologue: Arc<[Op]>,
    /// Threads including the initial one; at least one.
    pub threads: Vec<Thread>,
    /// Memory nodes of its cpuset (dense, ascending), `None` = all. Affinities and policies are already cut down to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mems: Option<Arc<[u32]>>,
    /// Its control group for CPU time, `None` = the root group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_group: Option<CpuGroup>,
}

/// As derived, except that a `cpu_group` of `None` is left out. The text is part of a plan's identity, as that of
/// [`Access`].
impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Process");
        out.field("name", &self.name).field("parent", &self.parent).field("fork", &self.fork);
        out.field("regions", &self.regions).field("prologue", &self.prologue).field("threads", &self.threads);
        out.field("mems", &self.mems);
        if let Some(group) = &self.cpu_group {
            out.field("cpu_group", group);
        }
        out.finish()
    }
}

/// A control group below the root, as far as CPU time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuGroup {
    /// Its number; groups are counted from 0 in the order of the processes.
    pub id: u32,
    /// `cpu.weight` of cgroup v2, 1..=10000; the default of the kernel is 100.
    pub cpu_weight: u32,
}

/// When a child process is forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForkPoint {
    /// Before the parent runs its prologue: the child inherits none of the regions that the parent maps itself.
    BeforePrologue,
    /// After the parent's prologue: pages that the prologue touched are shared copy-on-write.
    AfterPrologue,
}

/// A thread and its ops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Allowed CPUs (dense, ascending), `None` = all. Those of thread 0 hold for the prologue too.
    pub affinity: Option<Arc<[u32]>>,
    /// What the thread does from its creation to its exit.
    pub ops: Arc<[Op]>,
}

/// A mapping.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// Name for reports.
    pub name: String,
    /// Backing memory.
    pub kind: RegionKind,
    /// Length, bytes, a multiple of 4096.
    pub size_bytes: u64,
    /// Offset of the start from a 2 MiB boundary, bytes, a multiple of 4096, < 2 MiB.
    pub misalign_bytes: u64,
    /// madvise for huge pages.
    pub advice: HugeAdvice,
    /// Policy of the mapping (`mbind`); `None`: the policy of the task holds.
    pub policy: Option<Policy>,
    /// Policy of its huge pages, as proposed in 2019; kernels with `thp_locality = mpol_huge` read it. `None`: `policy`
    /// holds for them too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_policy: Option<Policy>,
    /// Whether the mapping can be written; false for a read-only file mapping.
    pub write: bool,
    /// The region is memory of a virtual machine: each fault on it takes this much more, ns. The second-level tables
    /// lose an entry with each mark and move of its page, so the next access exits to KVM before the kernel's own fault
    /// (`kvm_mmu_notifier_invalidate_range_start`, `kvm_tdp_mmu_page_fault`). 0: an ordinary region.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub second_level_fault_ns: u64,
    /// Its pages are pinned from their first touch on, and never move (`FOLL_LONGTERM`: RDMA, VFIO).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// What each node with memory sets aside for it before the run, bytes, whole huge pages; 0 unless it is
    /// [`RegionKind::Hugetlb`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pool_bytes: u64,
}

/// As derived, except that a `pinned` of false and a `pool_bytes` of 0 are left out. The text is part of a plan's
/// identity, as that of [`Access`].
impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Region");
        out.field("name", &self.name).field("kind", &self.kind).field("size_bytes", &self.size_bytes);
        out.field("misalign_bytes", &self.misalign_bytes).field("advice", &self.advice).field("policy", &self.policy);
        out.field("huge_policy", &self.huge_policy).field("write", &self.write);
        out.field("second_level_fault_ns", &self.second_level_fault_ns);
        if self.pinned {
            out.field("pinned", &true);
        }
        if self.pool_bytes > 0 {
            out.field("pool_bytes", &self.pool_bytes);
        }
        out.finish()
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Backing of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegionKind {
    /// Private anonymous memory.
    PrivateAnon,
    /// `MAP_SHARED` anonymous memory, shared with forked children.
    SharedAnon,
    /// Private file mapping that is written, such as a data segment: stores copy pages of the page cache.
    CowData,
    /// Private or shared read-only file mapping.
    FileRead,
    /// Shared writable file mapping.
    FileShared,
    /// Private anonymous memory of hugetlb pages (`MAP_HUGETLB`), which come from pools set aside before the run.
    Hugetlb,
}

/// `madvise` hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HugeAdvice {
    /// No hint.
    Default,
    /// `MADV_HUGEPAGE`.
    Huge,
    /// `MADV_NOHUGEPAGE`.
    NoHuge,
}

/// A memory policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Mode.
    pub mode: PolicyMode,
    /// Nodes (dense, ascending); empty for `Default` and `Local`.
    pub nodes: Vec<u32>,
    /// Weights for weighted interleave, one per node; empty otherwise.
    pub weights: Vec<u8>,
    /// Whether the flag `MPOL_F_NUMA_BALANCING` is set.
    pub numa_balancing: bool,
}

/// The seven modes of set_mempolicy(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyMode {
    /// The system default.
    Default,
    /// Local allocation.
    Local,
    /// One preferred node.
    Preferred,
    /// Several preferred nodes.
    PreferredMany,
    /// Only these nodes.
    Bind,
    /// Round robin over the nodes, page by page.
    Interleave,
    /// Round robin over the nodes with weights.
    WeightedInterleave,
}

impl PolicyMode {
    /// Every mode with its word in workload files and on the command line.
    pub const WORDS: [(&'static str, Self); 7] = [
        ("default", Self::Default),
        ("local", Self::Local),
        ("preferred", Self::Preferred),
        ("preferred_many", Self::PreferredMany),
        ("bind", Self::Bind),
        ("interleave", Self::Interleave),
        ("weighted_interleave", Self::WeightedInterleave),
    ];
}

/// One step of a thread. A loop is a pair of `LoopStart` and `LoopEnd`; loops nest properly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// Access memory.
    Access(Access),
    /// Compute for this many ns at full speed of an unshared core.
    Compute {
        /// CPU time, ns.
        ns: u64,
    },
    /// Sleep (think time, I/O).
    Sleep {
        /// Mean, ns.
        ns: u64,
        /// Draw the time from an exponential distribution with that mean.
        exponential: bool,
    },
    /// Set the thread's memory policy (`set_mempolicy`).
    SetPolicy(Policy),
    /// Wait until all threads of a barrier have arrived.
    Barrier {
        /// Index into `barrier_widths`.
        id: u32,
        /// Busy-wait, as OpenMP does, instead of sleeping.
        spin: bool,
    },
    /// Post one message to a channel, and wake a thread that waits for one.
    Signal {
        /// Channel.
        channel: u32,
    },
    /// Take one message from a channel; sleep until there is one.
    Wait {
        /// Channel.
        channel: u32,
    },
    /// Begin a loop.
    LoopStart(Bound),
    /// End the innermost loop.
    LoopEnd,
    /// Start or stop this thread's clock of a score. A score with clocks counts the seconds during which at least one
    /// thread's clock runs, instead of the seconds of the whole run.
    ScoreClock {
        /// Index into `Workload::scores`.
        id: u32,
        /// Whether the clock starts; otherwise it stops.
        run: bool,
    },
    /// Count `amount` units of a score.
    Score {
        /// Index into `Workload::scores`.
        id: u32,
        /// Units.
        amount: f64,
    },
    /// Begin or end a request of a score: the time between is one of its latencies. Requests nest properly.
    Request {
        /// Index into `Workload::scores`.
        id: u32,
        /// Whether the request begins; otherwise it ends.
        begin: bool,
    },
    /// Free the pages of a range (`MADV_DONTNEED`), as programs do that allocate and free.
    Discard(Span),
    /// Transfer memory from or to a device past the page cache (`O_DIRECT`).
    DirectIo(DirectIo),
    /// Move the pages of a range to other nodes (`move_pages`).
    MovePages(MovePages),
    /// Read a part of a file through the page cache (`read`).
    ReadFile(ReadFile),
    /// Wait until all other threads of the process have ended (initial thread only).
    Join,
}

/// Transfers between memory and a device, one after the other. The pages of each are pinned while it is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectIo {
    /// The memory, whole pages.
    pub span: Span,
    /// Which way the bytes go.
    pub direction: IoDirection,
    /// Each transfer starts anywhere in the span. Otherwise they follow each other, and begin again at its end.
    pub random: bool,
    /// Bytes of a transfer, a multiple of 4096; the last one of a pass may be shorter.
    pub bytes: u64,
    /// Number of transfers, at least 1.
    pub ios: u64,
    /// Time of a transfer on the device, ns. The simulator takes it; a real device takes its own time.
    pub latency_ns: u64,
}

/// Calls of `read(2)`, one after the other, from a range of a file to the beginning of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFile {
    /// The part of the file, as its mapping has it: whole pages.
    pub span: Span,
    /// The buffer; each call writes to its beginning.
    pub into: Span,
    /// Bytes of a call, a multiple of 4096, at most the buffer's; the last call may be shorter.
    pub bytes: u64,
}

/// A call of `move_pages(2)`: the present pages that have a byte in the range move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovePages {
    /// The memory.
    pub span: Span,
    /// Where it goes: dense nodes with memory, at least one. Several take turns, one [`MovePages::BLOCK_BYTES`] each.
    pub nodes: Vec<u32>,
}

impl MovePages {
    /// Bytes that go to one node: an aligned block of the size of a huge page, which moves whole.
    pub const BLOCK_BYTES: u64 = 2 << 20;

    /// Node of block number `block` of the range, which begins with block 0.
    pub fn node(&self, block: u64) -> u32 {
        self.nodes[(block % self.nodes.len() as u64) as usize]
    }
}

/// Direction of [`DirectIo`], as the calls are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IoDirection {
    /// `pread`: from the device into memory.
    Read,
    /// `pwrite`: from memory to the device.
    Write,
}

impl DirectIo {
    /// Bytes of the direct I/O's unit: blocks of a device, and pages of memory.
    pub const UNIT_BYTES: u64 = 4096;

    /// Number of places at which a transfer may start.
    pub fn places(&self) -> u64 {
        self.span.len_bytes.div_ceil(self.bytes)
    }
    /// Offset in the region and length of the transfer at a place, bytes.
    pub fn transfer(&self, place: u64) -> (u64, u64) {
        let from = place % self.places() * self.bytes;
        (self.span.offset_bytes + from, self.bytes.min(self.span.len_bytes - from))
    }
}

/// How long a loop or an access runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// So many times, at least once.
    Count(u64),
    /// Until so much wall time has passed since the loop was entered; checked at the end of each pass.
    Time {
        /// Wall time, ns.
        ns: u64,
    },
}

/// A byte range of a region of the thread's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Index of the region; inherited regions come first.
    pub region: u32,
    /// Offset, bytes.
    pub offset_bytes: u64,
    /// Length, bytes, at least 1.
    pub len_bytes: u64,
}

/// One pass (or `accesses` accesses) over a span.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// The bytes that it touches.
    pub span: Span,
    /// The order of the accesses, and what follows from it.
    pub pattern: Pattern,
    /// Share of the accesses that write, 0..=1. Above 0, a pass dirties every page.
    pub write: f64,
    /// Whether it is a fill that goes past the caches on this machine ([`Fill`](crate::machine::Fill)): lines are
    /// written and not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bypass: bool,
    /// CPU time per 64-byte line of a sweep or stride, or per access of other patterns, ns; includes cache hits.
    pub compute_ns: f64,
    /// Number of accesses. For a pattern that makes one pass over the span, the number of lines that the pass touches.
    pub accesses: u64,
    /// Score that the access counts to: index into `Workload::scores`, and units per byte touched.
    pub score: Option<(u32, f64)>,
}

/// As derived, except that a `bypass` of false is left out. The text is part of a plan's identity, which stays the same
/// for workloads without one ([`Cache`](crate::machine::Cache)).
impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Access");
        out.field("span", &self.span).field("pattern", &self.pattern).field("write", &self.write);
        if self.bypass {
            out.field("bypass", &true);
        }
        out.field("compute_ns", &self.compute_ns).field("accesses", &self.accesses).field("score", &self.score).finish()
    }
}

/// A scored figure.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Name, e.g. `throughput`.
    pub name: String,
    /// Unit, e.g. `MB/s`.
    pub unit: String,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// Whether it is a rate: units per second of its clocks ([`Op::ScoreClock`]), or of the run if it has none.
    pub per_second: bool,
    /// Whether the best interval of its clocks is a figure of its own ([`Score::best_name`]), as STREAM prints it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub best: bool,
    /// Whether it is the latency of requests ([`Op::Request`]). Its figures are percentiles ([`Score::percentiles`]),
    /// and its unit is one of [`LATENCY_UNITS`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub latency: bool,
}

/// As derived, except that a `latency` of false is left out. The text is part of a plan's identity, as that of
/// [`Access`].
impl std::fmt::Debug for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Score");
        out.field("name", &self.name).field("unit", &self.unit).field("higher_is_better", &self.higher_is_better);
        out.field("per_second", &self.per_second).field("best", &self.best);
        if self.latency {
            out.field("latency", &true);
        }
        out.finish()
    }
}

/// What follows a score's name in the name of the figure of its best interval.
pub const BEST: &str = "_best";

/// What follows the name of a latency in the names of its figures, and the percentile that each is.
pub const PERCENTILES: [(&str, u64); 2] = [("_p50", 50), ("_p99", 99)];

/// Units of a latency, with their ns.
pub const LATENCY_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

impl Score {
    /// Name of the figure of its best interval: `copy_best`.
    pub fn best_name(&self) -> String {
        format!("{}{BEST}", self.name)
    }

    /// The figures of a latency: what half, and 99 of 100, of its requests do not exceed ([`PERCENTILES`]).
    ///
    /// # Errors
    /// There were fewer than [`FEWEST`] requests; the error is a sentence for the reader.
    pub fn percentiles(&self, requests: &Latencies) -> Result<[Scalar; 2], String> {
        let unit_ns = LATENCY_UNITS.iter().find(|(word, _)| *word == self.unit).map_or(1.0, |(_, ns)| *ns);
        if requests.total() < FEWEST {
            let n = requests.total();
            return Err(format!("no figures for `{}`: {n} requests ended, and percentiles take {FEWEST}", self.name));
        }
        Ok(PERCENTILES.map(|(end, percent)| Scalar {
            name: format!("{}{end}", self.name),
            value: requests.percentile_ns(percent).unwrap_or_default() as f64 / unit_ns,
            unit: self.unit.clone(),
            higher_is_better: false,
        }))
    }

    /// The better of two rates; anything is better than none.
    pub fn better_rate(higher_is_better: bool, best: Option<f64>, rate: f64) -> f64 {
        match best {
            Some(best) if higher_is_better => best.max(rate),
            Some(best) => best.min(rate),
            None => rate,
        }
    }

    /// The score of `units` counted in `ns`; a rate is divided by the seconds.
    ///
    /// # Errors
    /// A rate over no time has no value; the error is a sentence for the reader.
    pub fn figure(&self, units: f64, ns: u64) -> Result<f64, String> {
        match (self.per_second, ns) {
            (true, 0) => {
                Err(format!("no figure for `{}` ({}): what it is timed by took no time", self.name, self.unit))
            }
            (true, _) => Ok(units / (ns as f64 / 1e9)),
            (false, _) => Ok(units),
        }
    }
}
