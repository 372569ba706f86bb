//! A workload: processes, threads, memory regions and what each thread does, op by op.
//!
//! Problem: the simulator models a workload and the worker carries it out; both must mean the same.
//! Approach: the TOML language (with expressions of the machine) is *resolved* for one machine and one
//! seed into the plain types below: absolute sizes, absolute counts, one op list per thread.
//! Units: bytes, ns, dense CPU and node indices of the machine it was resolved for.
//! Invariants: every region, barrier, channel and score index is in range; loops nest properly;
//! sizes are multiples of 4 KiB and at least one page; every thread has at least one op; all threads of
//! a barrier arrive equally often, and none arrives or takes a message inside a loop bounded by time.
//!
//! The language is described in `docs/reference/workloads.md`; [`parse`] reads a file, [`WorkloadSpec::resolve`]
//! works it out for a machine.

mod ast;
mod check;
mod cpuset;
mod emit;
mod layout;
mod names;
mod parse;
mod parse_process;
mod parse_step;
mod resolve;

pub use ast::{ParamSpec, WorkloadSpec};
pub use names::{Variable, VARIABLES};
pub use parse::parse;
pub use resolve::{MAX_OPS, MAX_PROCESSES, MAX_THREADS};

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A workload resolved for one machine and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Catalog name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Process instances in start order; `parent` refers to an earlier one.
    pub processes: Vec<Process>,
    /// Number of barriers; a barrier's width is in `barrier_widths`.
    pub barrier_widths: Vec<u32>,
    /// Number of message channels (`Op::Signal` / `Op::Wait`).
    pub channels: u32,
    /// Those of them that carry nothing: posting wakes up without the hint that who posts is about to wait (`WF_SYNC`).
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
}

/// A process instance. Thread 0 is the initial thread: it runs `prologue`, then creates the other
/// threads in order, then runs its own ops (which may be just waiting for them) and exits last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Name for reports, e.g. `main.0`.
    pub name: String,
    /// Process it is forked from (index), or `None` when started by exec.
    pub parent: Option<usize>,
    /// When the fork happens in the parent's life.
    pub fork: ForkPoint,
    /// Regions it maps itself, in address order (ascending), after those inherited from the parent:
    /// all of the parent's if forked after its prologue, else those the parent inherited itself.
    pub regions: Vec<Region>,
    /// Ops of the initial thread before it creates threads.
    pub prologue: Arc<[Op]>,
    /// Threads including the initial one; at least one.
    pub threads: Vec<Thread>,
    /// Memory nodes of its cpuset (dense, ascending), `None` = all. Affinities and policies are within it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mems: Option<Arc<[u32]>>,
}

/// When a child process is forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForkPoint {
    /// Before the parent runs its prologue (nothing of its own regions is inherited).
    BeforePrologue,
    /// After the prologue: pages touched there are shared copy-on-write.
    AfterPrologue,
}

/// A thread and its ops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Allowed CPUs (dense, ascending), `None` = all. That of thread 0 holds for the prologue too.
    pub affinity: Option<Arc<[u32]>>,
    /// What it does, from creation to exit.
    pub ops: Arc<[Op]>,
}

/// A mapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// Name for reports.
    pub name: String,
    /// What backs it.
    pub kind: RegionKind,
    /// Length, bytes, a multiple of 4096.
    pub size_bytes: u64,
    /// Offset of the start from a 2 MiB boundary, bytes, a multiple of 4096, < 2 MiB.
    pub misalign_bytes: u64,
    /// madvise for huge pages.
    pub advice: HugeAdvice,
    /// Policy of the mapping (`mbind`), `None` = the task's.
    pub policy: Option<Policy>,
    /// Policy of its huge pages (proposed 2019; read by kernels with `thp_locality = mpol_huge`), `None` = as all pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_policy: Option<Policy>,
    /// Protection: a read-only file mapping is `write = false`.
    pub write: bool,
}

/// Backing of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegionKind {
    /// Private anonymous memory.
    PrivateAnon,
    /// `MAP_SHARED` anonymous memory, shared with forked children.
    SharedAnon,
    /// Private file mapping that is written to (data segment: copy-on-write of the page cache).
    CowData,
    /// Private or shared read-only file mapping.
    FileRead,
    /// Shared writable file mapping.
    FileShared,
}

/// `madvise` hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HugeAdvice {
    /// None.
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
    /// Nodes (dense), ascending; empty for `Default` and `Local`.
    pub nodes: Vec<u32>,
    /// Weights for weighted interleave, one per node; empty otherwise.
    pub weights: Vec<u8>,
    /// `MPOL_F_NUMA_BALANCING`.
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
    /// Round robin by page.
    Interleave,
    /// Round robin with weights.
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

/// One step of a thread. Loops are brackets: `LoopStart` … `LoopEnd`, properly nested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// Walk memory.
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
        /// Draw from an exponential distribution with that mean instead of sleeping exactly so long.
        exponential: bool,
    },
    /// Set the thread's memory policy (`set_mempolicy`).
    SetPolicy(Policy),
    /// Wait for all others of the barrier.
    Barrier {
        /// Index into `barrier_widths`.
        id: u32,
        /// Busy-wait (OpenMP-like) instead of sleeping.
        spin: bool,
    },
    /// Post one message to a channel, waking a waiter.
    Signal {
        /// Channel.
        channel: u32,
    },
    /// Take one message from a channel, sleeping until there is one.
    Wait {
        /// Channel.
        channel: u32,
    },
    /// Begin a loop.
    LoopStart(Bound),
    /// End the innermost loop.
    LoopEnd,
    /// Start or stop this thread's clock of a score. The seconds of a score with clocks are those during
    /// which at least one thread's clock ran, instead of the seconds of the whole run.
    ScoreClock {
        /// Index into `Workload::scores`.
        id: u32,
        /// Start (else stop).
        run: bool,
    },
    /// Count `amount` units of a score.
    Score {
        /// Index into `Workload::scores`.
        id: u32,
        /// Units.
        amount: f64,
    },
    /// Free the pages of a range (`MADV_DONTNEED`): allocation churn.
    Discard(Span),
    /// Wait until all other threads of the process have ended (initial thread only).
    Join,
}

/// How long a loop or an access runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// This many times; at least 1.
    Count(u64),
    /// Until this much wall time since the loop was entered has passed, checked at its end.
    Time {
        /// Wall time, ns.
        ns: u64,
    },
}

/// A byte range of a region of the thread's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Region index, counting inherited ones first.
    pub region: u32,
    /// Offset, bytes.
    pub offset_bytes: u64,
    /// Length, bytes, at least 1.
    pub len_bytes: u64,
}

/// One pass (or `accesses` accesses) over a span.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Where.
    pub span: Span,
    /// In what order.
    pub pattern: Pattern,
    /// Share of the accesses that write, 0..=1. A pass with `write > 0` dirties every page.
    pub write: f64,
    /// A fill that goes past the caches on this machine ([`Fill`](crate::machine::Fill)): lines are written and not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bypass: bool,
    /// CPU time per 64-byte line (sequential, strided) or per access (others), ns, cache hits included.
    pub compute_ns: f64,
    /// Number of accesses for the random patterns; sequential and strided patterns make one pass,
    /// and this is the number of lines it touches.
    pub accesses: u64,
    /// Score that each pass or access batch counts to: (score, units per byte touched).
    pub score: Option<(u32, f64)>,
}

/// As derived, but for `bypass` where it is false: see [`Cache`](crate::machine::Cache).
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

/// The cache that every access of [`Pattern::Reuse`] misses, bytes: half the smallest second-level cache at hand.
pub const REUSE_REACH_BYTES: u64 = 128 << 10;

/// Order of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pattern {
    /// Every line in address order (bzero, STREAM).
    Sequential,
    /// One line every `stride_bytes`.
    Strided {
        /// Distance, bytes, at least 64.
        stride_bytes: u64,
    },
    /// Independent uniform random lines.
    Random,
    /// Independent zipf-distributed lines.
    Zipf {
        /// Skew, > 0.
        theta: f64,
    },
    /// Dependent random lines (one in flight).
    Chase,
    /// Dependent lines, favouring some: of the accesses, which are those that miss a cache of [`REUSE_REACH_BYTES`], the
    /// part that also misses one of `C` bytes falls with `C` to the power of `-alpha` (Hartstein and others, "Cache miss
    /// behavior: is it sqrt(2)?", Computing Frontiers 2006). Favoured lines lie anywhere in the span.
    Reuse {
        /// The power, 0.1..=2; 0.5 is the square-root rule, 0.3 to 0.7 what programs have.
        alpha: f64,
    },
    /// Blocks of `block_bytes` anywhere in the span, aligned to their size, each in address order: buffers that an
    /// allocator hands out. What an access leaves of its last block the thread's next one to the same span goes on with.
    Blocks {
        /// Length of a block, bytes; whole lines, at least one, at most the span.
        block_bytes: u64,
    },
}

/// A scored figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Name, e.g. `throughput`.
    pub name: String,
    /// Unit, e.g. `MB/s`.
    pub unit: String,
    /// Direction.
    pub higher_is_better: bool,
    /// Divide the units counted by seconds (a rate): those of its clocks (`Op::ScoreClock`), or of the run.
    pub per_second: bool,
}

impl Score {
    /// The score of `units` counted in `ns`: divided by seconds if it is a rate.
    ///
    /// # Errors
    /// A rate of no time is no figure; what to tell the reader instead.
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
