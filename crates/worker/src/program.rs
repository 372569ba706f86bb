//! Compiles lists of ops to steps: addresses, jump targets and spin turns are computed before the run.
//!
//! The compiler also checks every index and span. So the run needs no checks and cannot leave the regions of its
//! process.

use crate::access::{loop_of, Plan, Range, Walk, LOOPS};
use crate::backing;
use crate::control::{Control, HeaderCell};
use crate::direct_io::{self, Transfers};
use crate::job::{Job, JobError};
use crate::memory::{self, Placed};
use crate::read_file::Reads;
use crate::spin;
use crate::sys::RawPolicy;
use numalab_nouns::access::{Pattern, Ranks, MAX_KEYS};
use numalab_nouns::workload::{Access, Bound, DirectIo, IoDirection, MovePages, Op, ReadFile, Region, Span};
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// One step of a thread.
#[derive(Clone, Debug)]
pub enum Step {
    /// Access memory.
    Access(Plan),
    /// Compute for this number of spin turns.
    Compute(u64),
    /// Sleep.
    Sleep {
        /// Mean, ns.
        ns: u64,
        /// Whether the time is exponentially distributed.
        exponential: bool,
    },
    /// Set the thread's memory policy (`set_mempolicy`).
    SetPolicy(RawPolicy),
    /// Wait at a barrier.
    Barrier {
        /// Index of the barrier.
        id: u32,
        /// Number of threads that it waits for.
        width: u32,
        /// Whether the thread spins instead of sleeping.
        spin: bool,
    },
    /// Post a message to a channel.
    Signal(u32),
    /// Take a message from a channel.
    Wait(u32),
    /// Begin a loop; its state is kept in `slot`.
    LoopStart {
        /// Bound.
        bound: Bound,
        /// Index of its counter or deadline.
        slot: usize,
    },
    /// End of a loop: go back to the step at `body` while the bound holds.
    LoopEnd {
        /// First step of the loop.
        body: usize,
        /// Index of its counter or deadline.
        slot: usize,
        /// Whether the slot is a deadline.
        timed: bool,
    },
    /// Add to a score.
    Score {
        /// Index of the score.
        id: u32,
        /// Units that are added.
        amount: f64,
    },
    /// Start or stop this thread's clock of a score.
    ScoreClock {
        /// Index of the score.
        id: u32,
        /// Whether more is better ([`numalab_nouns::workload::Score::higher_is_better`]).
        higher_is_better: bool,
        /// Whether the clock starts.
        run: bool,
    },
    /// Begin or end a request of a latency.
    Request {
        /// Index of the score.
        id: u32,
        /// Whether it begins.
        begin: bool,
    },
    /// Free pages.
    Discard {
        /// Start, page-aligned.
        address: u64,
        /// Length, whole pages; may be 0.
        bytes: u64,
        /// `madvise` advice.
        advice: i32,
    },
    /// Transfer memory from or to a file past the page cache.
    DirectIo(Transfers),
    /// Read a file through the page cache.
    ReadFile(Reads),
    /// Move pages to other nodes.
    MovePages {
        /// The first page.
        address: u64,
        /// Length, whole pages.
        bytes: u64,
        /// Ids of the nodes that blocks of [`MovePages::BLOCK_BYTES`] go to in turn.
        nodes: Vec<i32>,
    },
    /// Wait for the other threads of the process.
    Join,
}

/// Steps of a thread, and the number of loop slots that they need.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Steps.
    pub steps: Vec<Step>,
    /// Number of loop slots: the depth of nested loops.
    pub slots: usize,
}

/// Cost of the worker's own loops on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Spin turns per second.
    pub spin_per_second: u64,
    /// Picoseconds per line of each of the [`LOOPS`]; 0 for those that the job does not need.
    pub access_ps: [u64; LOOPS.len()],
}

impl Costs {
    /// The costs that the coordinator has measured.
    pub fn read(control: &Control) -> Self {
        let access_ps = std::array::from_fn(|k| control.access_cost(k).load(Ordering::Acquire));
        let spin = control.head(HeaderCell::SpinPerSecond);
        Self { spin_per_second: spin.load(Ordering::Acquire), access_ps }
    }

    /// Spin turns that are added to each line of a walk so that the line costs `compute_ns`.
    fn turns_per_line(&self, pattern: &Pattern, compute_ns: f64) -> f64 {
        spin::turns(compute_ns - self.access_ps[loop_of(pattern)] as f64 / 1000.0, self.spin_per_second)
    }
}

/// Key of a table of ranks: the pattern's word, the number of lines, the bits of the pattern's values.
type RanksKey = (&'static str, u64, [u64; MAX_KEYS]);

/// Compiles the lists of ops of one job.
pub struct Compiler<'a> {
    job: &'a Job,
    plan: &'a [Vec<Placed>],
    costs: Costs,
    /// Tables of the patterns that draw by rank.
    ranks: BTreeMap<RanksKey, Arc<Ranks>>,
    /// The file of direct I/O, made when the first step needs it.
    device: Option<Arc<File>>,
    files: Files,
}

/// Files of regions that are read, by the process and the number of the region in it.
pub type Files = BTreeMap<(usize, usize), Arc<OwnedFd>>;

impl<'a> Compiler<'a> {
    /// A compiler for `job`, whose regions have the addresses of `plan`.
    pub fn new(job: &'a Job, plan: &'a [Vec<Placed>], costs: Costs) -> Self {
        Self { job, plan, costs, ranks: BTreeMap::new(), device: None, files: Files::new() }
    }

    /// The files of the regions that the compiled steps read; the regions have to map them.
    pub fn into_files(self) -> Files {
        self.files
    }

    /// Compiles ops of process `p`.
    ///
    /// # Errors
    /// An index out of range, a span outside its region, a write to read-only memory, unbalanced loops.
    pub fn compile(&mut self, p: usize, ops: &[Op]) -> Result<Program, JobError> {
        let mut program = Program::default();
        let mut open: Vec<(usize, Bound)> = Vec::new();
        for op in ops {
            let step = match op {
                Op::LoopStart(bound) => {
                    let slot = open.len();
                    program.slots = program.slots.max(slot + 1);
                    open.push((program.steps.len() + 1, *bound));
                    Step::LoopStart { bound: *bound, slot }
                }
                Op::LoopEnd => {
                    let (body, bound) = open.pop().ok_or_else(|| JobError("loop end without start".into()))?;
                    Step::LoopEnd { body, slot: open.len(), timed: matches!(bound, Bound::Time { .. }) }
                }
                other => self.step(p, other)?,
            };
            program.steps.push(step);
        }
        if open.is_empty() {
            Ok(program)
        } else {
            Err(JobError("loop start without end".into()))
        }
    }

    fn step(&mut self, p: usize, op: &Op) -> Result<Step, JobError> {
        let workload = &self.job.workload;
        let bad = |what: &str, id: u32| Err(JobError(format!("no {what} {id} in this workload")));
        Ok(match op {
            Op::Access(access) => Step::Access(self.access(p, access)?),
            Op::Compute { ns } => Step::Compute(spin::turns(*ns as f64, self.costs.spin_per_second) as u64),
            Op::Sleep { ns, exponential } => Step::Sleep { ns: *ns, exponential: *exponential },
            Op::SetPolicy(policy) => Step::SetPolicy(memory::raw_policy(policy, &self.job.node_ids)?),
            Op::Barrier { id, spin } => match workload.barrier_widths.get(*id as usize) {
                Some(&width) => Step::Barrier { id: *id, width, spin: *spin },
                None => return bad("barrier", *id),
            },
            Op::Signal { channel } | Op::Wait { channel } if *channel >= workload.channels => {
                return bad("channel", *channel)
            }
            Op::Signal { channel } => Step::Signal(*channel),
            Op::Wait { channel } => Step::Wait(*channel),
            Op::Score { id, .. } | Op::ScoreClock { id, .. } | Op::Request { id, .. }
                if *id as usize >= workload.scores.len() =>
            {
                return bad("score", *id)
            }
            Op::Request { id, begin } => Step::Request { id: *id, begin: *begin },
            Op::ScoreClock { id, run } => Step::ScoreClock {
                id: *id,
                higher_is_better: workload.scores[*id as usize].higher_is_better,
                run: *run,
            },
            Op::Score { id, amount } => Step::Score { id: *id, amount: *amount },
            Op::Discard(span) => self.discard(p, *span)?,
            Op::DirectIo(io) => self.direct_io(p, io)?,
            Op::ReadFile(r) => self.read_file(p, r)?,
            Op::MovePages(m) => self.move_pages(p, m)?,
            Op::Join => Step::Join,
            Op::LoopStart(_) | Op::LoopEnd => return Err(JobError("loop bracket out of place".into())),
        })
    }

    /// Address of a span, and its region.
    ///
    /// # Errors
    /// The region does not exist, or the span leaves it.
    fn place(&self, p: usize, span: Span) -> Result<(u64, &'a Region), JobError> {
        let placed = self.plan[p].get(span.region as usize);
        let placed = placed.ok_or_else(|| JobError(format!("no region {} in process {p}", span.region)))?;
        let end = span.offset_bytes.checked_add(span.len_bytes);
        if span.len_bytes == 0 || end.is_none_or(|e| e > placed.bytes) {
            return Err(JobError(format!(
                "span {}+{} leaves region {} of {} bytes",
                span.offset_bytes, span.len_bytes, span.region, placed.bytes
            )));
        }
        let region = &self.job.workload.processes[placed.owner].regions[placed.index];
        Ok((placed.address + span.offset_bytes, region))
    }

    fn access(&mut self, p: usize, access: &Access) -> Result<Plan, JobError> {
        let (address, region) = self.place(p, access.span)?;
        if access.write > 0.0 && !region.write {
            return Err(JobError(format!("region {} is read-only but an access writes to it", region.name)));
        }
        if let Some((id, _)) = access.score {
            if id as usize >= self.job.workload.scores.len() {
                return Err(JobError(format!("no score {id} in this workload")));
            }
        }
        // SAFETY: `place` has checked that the span lies in a region. The process maps the region before its first step
        // and never unmaps it. Regions hold no Rust objects. A read-only region is not written, as checked above.
        let range = unsafe { Range::new(address, access.span.len_bytes) };
        if access.pattern.histogram().is_some_and(|n| n as usize >= self.job.workload.histograms.len()) {
            return Err(JobError(format!("no histogram for `{:?}` in this workload", access.pattern)));
        }
        let walk = Walk::of(&access.pattern, || self.ranks(&access.pattern, range.lines()));
        let turns_per_line = self.costs.turns_per_line(&access.pattern, access.compute_ns);
        Ok(Plan { range, walk, write: access.write, turns_per_line, accesses: access.accesses, score: access.score })
    }

    /// The table of ranks of a pattern, which is built once per number of lines.
    fn ranks(&mut self, pattern: &Pattern, lines: u64) -> Arc<Ranks> {
        let key = (pattern.word(), lines, pattern.args().map(f64::to_bits));
        let recorded = pattern.histogram().and_then(|n| self.job.workload.histograms.get(n as usize));
        let table = || recorded.map_or_else(|| pattern.ranks(lines), |h| h.ranks(lines));
        self.ranks.entry(key).or_insert_with(|| Arc::new(table())).clone()
    }

    fn direct_io(&mut self, p: usize, io: &DirectIo) -> Result<Step, JobError> {
        let unit = DirectIo::UNIT_BYTES;
        let (address, region) = self.place(p, io.span)?;
        if io.direction == IoDirection::Read && !region.write {
            return Err(JobError(format!("region {} is read-only but direct I/O reads into it", region.name)));
        }
        let whole = [address, io.bytes, io.span.len_bytes].iter().all(|n| n % unit == 0);
        if !whole || io.bytes == 0 || io.bytes > io.span.len_bytes {
            return Err(JobError(format!("direct I/O of {} bytes to region {}", io.bytes, region.name)));
        }
        let device = match &self.device {
            Some(device) => Arc::clone(device),
            None => {
                let bytes = direct_io_ops(self.job).map(|io| io.span.len_bytes).max().unwrap_or(unit);
                let made = direct_io::device(bytes).map_err(|e| JobError(format!("direct I/O: {e}")))?;
                Arc::clone(self.device.insert(Arc::new(made)))
            }
        };
        // SAFETY: `place` has checked that the span lies in a region, and a region that is written may be. The process
        // maps it before its first step and never unmaps it. Regions hold no Rust objects.
        Ok(Step::DirectIo(unsafe { Transfers::new(address, *io, device) }))
    }

    fn read_file(&mut self, p: usize, r: &ReadFile) -> Result<Step, JobError> {
        let (buffer, to) = self.place(p, r.into)?;
        self.place(p, r.span)?;
        if !to.write || r.bytes == 0 || r.bytes > r.into.len_bytes {
            return Err(JobError(format!("a read of {} bytes into region {}", r.bytes, to.name)));
        }
        let Placed { owner, index, bytes, .. } = self.plan[p][r.span.region as usize];
        let file = match self.files.entry((owner, index)) {
            Entry::Occupied(e) => Arc::clone(e.get()),
            Entry::Vacant(e) => {
                let file = backing::page_cache_file(bytes);
                let file = file.map_err(|e| JobError(format!("backing file of {bytes} bytes: {e}")))?;
                Arc::clone(e.insert(Arc::new(file.into())))
            }
        };
        // SAFETY: `place` has checked that the buffer lies in a region, which may be written. The process maps it
        // before its first step and never unmaps it. Regions hold no Rust objects.
        Ok(Step::ReadFile(unsafe { Reads::new(buffer, *r, file) }))
    }

    fn move_pages(&self, p: usize, m: &MovePages) -> Result<Step, JobError> {
        let (address, _) = self.place(p, m.span)?;
        let page = crate::sys::PAGE_BYTES;
        let start = address / page * page;
        let bytes = (address + m.span.len_bytes).next_multiple_of(page) - start;
        let id = |n: &u32| {
            let id = self.job.node_ids.get(*n as usize).and_then(|id| i32::try_from(*id).ok());
            id.ok_or_else(|| JobError(format!("move_pages names node {n}, which this system lacks")))
        };
        let nodes = m.nodes.iter().map(id).collect::<Result<Vec<_>, _>>()?;
        if nodes.is_empty() {
            return Err(JobError("move_pages names no node".into()));
        }
        Ok(Step::MovePages { address: start, bytes, nodes })
    }

    fn discard(&self, p: usize, span: Span) -> Result<Step, JobError> {
        let (address, region) = self.place(p, span)?;
        let page = crate::sys::PAGE_BYTES;
        let start = address.next_multiple_of(page);
        let end = (address + span.len_bytes) / page * page;
        let advice = memory::discard_advice(region.kind);
        Ok(Step::Discard { address: start, bytes: end.saturating_sub(start), advice })
    }
}

fn all_ops(job: &Job) -> impl Iterator<Item = &Op> {
    let processes = job.workload.processes.iter();
    let programs = processes.flat_map(|p| std::iter::once(&p.prologue).chain(p.threads.iter().map(|t| &t.ops)));
    programs.flat_map(|ops| ops.iter())
}

/// All access ops of a job.
pub fn accesses(job: &Job) -> impl Iterator<Item = &Access> {
    all_ops(job).filter_map(|op| match op {
        Op::Access(access) => Some(access),
        _ => None,
    })
}

fn direct_io_ops(job: &Job) -> impl Iterator<Item = &DirectIo> {
    all_ops(job).filter_map(|op| match op {
        Op::DirectIo(io) => Some(io),
        _ => None,
    })
}

/// Among accesses whose loop takes longer than their compute time, the one with the largest ratio: the loop's own time
/// and the compute time, both in ns per line.
pub fn slowest_walk(job: &Job, costs: &Costs) -> Option<(f64, f64)> {
    let mut worst: Option<(f64, f64)> = None;
    for access in accesses(job) {
        let own = costs.access_ps[loop_of(&access.pattern)] as f64 / 1000.0;
        let asked = access.compute_ns;
        if own > asked && worst.is_none_or(|(o, a)| own * a.max(0.1) > o * asked.max(0.1)) {
            worst = Some((own, asked));
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_job::samples::{access, job, process, region};

    fn compile(ops: Vec<Op>) -> Result<Program, JobError> {
        let mut ro = region("ro", 8192);
        ro.write = false;
        let mut job = job(vec![process("a", vec![region("x", 8192), ro], ops.clone())]);
        job.workload.barrier_widths = vec![1];
        let plan = memory::plan(&job).unwrap();
        let costs = Costs { spin_per_second: 1_000_000_000, access_ps: [1000; LOOPS.len()] };
        Compiler::new(&job, &plan, costs).compile(0, &ops)
    }

    #[test]
    fn loops_become_jumps() {
        let ops = vec![
            Op::LoopStart(Bound::Count(3)),
            Op::LoopStart(Bound::Time { ns: 5 }),
            Op::Compute { ns: 10 },
            Op::LoopEnd,
            Op::LoopEnd,
        ];
        let program = compile(ops).unwrap();
        assert_eq!(program.slots, 2);
        assert!(matches!(program.steps[3], Step::LoopEnd { body: 2, slot: 1, timed: true }));
        assert!(matches!(program.steps[4], Step::LoopEnd { body: 1, slot: 0, timed: false }));
        assert!(matches!(program.steps[2], Step::Compute(10)));
    }

    #[test]
    fn indices_and_spans_out_of_range_are_refused() {
        let text = |ops: Vec<Op>| compile(ops).unwrap_err().to_string();
        assert!(text(vec![Op::LoopEnd]).contains("without start"));
        assert!(text(vec![Op::LoopStart(Bound::Count(1))]).contains("without end"));
        assert!(text(vec![Op::Barrier { id: 1, spin: false }]).contains("barrier 1"));
        assert!(text(vec![Op::Signal { channel: 0 }]).contains("channel 0"));
        assert!(text(vec![Op::Score { id: 4, amount: 1.0 }]).contains("score 4"));
        assert!(text(vec![Op::Access(access(0, 4096, 4097, 0.0))]).contains("leaves region"));
        assert!(text(vec![Op::Access(access(0, u64::MAX, 2, 0.0))]).contains("leaves region"));
        assert!(text(vec![Op::Access(access(2, 0, 64, 0.0))]).contains("no region 2"));
        assert!(text(vec![Op::Access(access(1, 0, 64, 0.5))]).contains("read-only"));
        assert!(compile(vec![Op::Access(access(1, 0, 64, 0.0))]).is_ok());
    }

    #[test]
    fn only_the_missing_compute_time_is_spun() {
        let mut a = access(0, 0, 64, 0.0);
        a.compute_ns = 3.0;
        let program = compile(vec![Op::Access(a)]).unwrap();
        let Step::Access(plan) = &program.steps[0] else { panic!("not an access") };
        assert!((plan.turns_per_line - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_discard_frees_whole_pages_only() {
        let span = Span { region: 0, offset_bytes: 100, len_bytes: 8000 };
        let program = compile(vec![Op::Discard(span)]).unwrap();
        let Step::Discard { address, bytes, .. } = program.steps[0] else { panic!("not a discard") };
        assert_eq!((address, bytes), (memory::ARENA_START + 4096, 0));
    }
}
