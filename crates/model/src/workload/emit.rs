//! Steps to ops: one list of ops per prologue or thread, with every expression evaluated.

use super::ast::{AccessSpec, DirectIoSpec, List, Ref, RegionId, Slice, SpanSpec, Step, StepBound, Verb};
use super::cpuset::Cpuset;
use super::families::{absent, expand, member};
use super::names::{THREAD, THREADS};
use super::pattern::within;
use super::tables::Tables;
use super::{
    policy, Access, Bound, DirectIo, IoDirection, MovePages, Op, Policy, PolicyMode, ReadFile, RegionKind, Span,
};
use crate::expr::{Env, Formula};
use crate::machine::Machine;
use crate::spec::{SpecError, Spot};
use std::collections::BTreeMap;

/// A mapped region as steps see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mapped {
    /// Index in the process, inherited regions first.
    pub index: u32,
    /// Bytes that the file asks for; the mapping itself has whole pages.
    pub len_bytes: u64,
    pub kind: RegionKind,
    pub pinned: bool,
}

/// Regions of a process instance by entry, region and member number.
pub(super) type Regions = BTreeMap<(RegionId, u64), Mapped>;

/// Bytes of a transfer of a direct I/O that names none.
const DEFAULT_IO_BYTES: u64 = 64 << 10;

/// Emits the ops of one thread or prologue.
pub(super) struct Emitter<'a> {
    pub machine: &'a Machine,
    pub tables: &'a mut Tables,
    pub env: &'a mut Env,
    pub regions: &'a Regions,
    pub cpuset: &'a Cpuset,
    /// The policy in force. It is restored after a step that sets its own.
    pub policy: Policy,
    /// Whether the step is inside a loop bounded by time.
    pub in_time: bool,
    pub out: Vec<Op>,
}

impl Emitter<'_> {
    /// Appends the ops of `steps`.
    pub fn steps(&mut self, steps: &[Step]) -> Result<(), SpecError> {
        steps.iter().try_for_each(|s| self.step(s))
    }
    /// The modifier `for`: the step once per number of the list, with the number as a name.
    fn step(&mut self, step: &Step) -> Result<(), SpecError> {
        let Some((name, list)) = &step.each else { return self.once(step) };
        let numbers = expand(list, self.env)?;
        for n in numbers {
            self.tables.spend(1, &list.spot)?;
            self.env.set(name, crate::expr::Value::plain(n as f64));
            self.once(step)?;
        }
        self.env.unset(name);
        Ok(())
    }
    fn once(&mut self, step: &Step) -> Result<(), SpecError> {
        for (name, value) in &step.lets {
            let value = value.eval(self.env)?;
            self.env.set(name, value);
        }
        if step.when.as_ref().map_or(Ok(true), |w| w.holds(self.env))? {
            self.with_policy(step)?;
        }
        for (name, _) in &step.lets {
            self.env.unset(name);
        }
        Ok(())
    }
    fn with_policy(&mut self, step: &Step) -> Result<(), SpecError> {
        let Some(index) = step.policy else { return self.with_clock(step) };
        let wanted = policy::resolve(&self.tables.policies[index], self.env, self.machine, self.cpuset)?;
        let start = self.out.len();
        self.push(Op::SetPolicy(wanted.clone()), &step.spot)?;
        let outer = std::mem::replace(&mut self.policy, wanted);
        self.with_clock(step)?;
        self.policy = outer;
        if self.out.len() == start + 1 {
            self.out.truncate(start);
            return Ok(());
        }
        self.push(Op::SetPolicy(self.policy.clone()), &step.spot)
    }
    fn with_clock(&mut self, step: &Step) -> Result<(), SpecError> {
        let Some(score) = &step.timed else { return self.bounded(step) };
        let id = self.tables.score(score, self.env)?;
        let start = self.out.len();
        self.push(Op::ScoreClock { id, run: true }, &step.spot)?;
        self.bounded(step)?;
        if self.out.len() == start + 1 {
            self.out.truncate(start);
            return Ok(());
        }
        self.push(Op::ScoreClock { id, run: false }, &step.spot)
    }
    fn bounded(&mut self, step: &Step) -> Result<(), SpecError> {
        let (bound, at) = match &step.bound {
            StepBound::Once => return self.with_request(step),
            StepBound::Count(n) => match n.whole(self.env, 0, u64::MAX)? {
                0 => return Ok(()),
                1 => return self.with_request(step),
                count => (Bound::Count(count), n.spot()),
            },
            StepBound::Time(t) => match t.time_ns(self.env)? as u64 {
                0 => return Ok(()),
                ns => (Bound::Time { ns }, t.spot()),
            },
        };
        let start = self.out.len();
        self.push(Op::LoopStart(bound), &step.spot)?;
        let timed = matches!(bound, Bound::Time { .. });
        let outer = self.in_time;
        self.in_time |= timed;
        self.with_request(step)?;
        self.in_time = outer;
        if self.out.len() == start + 1 {
            self.out.truncate(start);
            return Ok(());
        }
        let passes_time = |op: &Op| match op {
            Op::Access(_) | Op::Compute { .. } | Op::Sleep { .. } | Op::DirectIo(_) | Op::ReadFile(_) => true,
            Op::Barrier { .. } | Op::Signal { .. } | Op::Wait { .. } => !timed,
            Op::Discard(_) | Op::MovePages(_) => !timed,
            _ => false,
        };
        if !self.out[start..].iter().any(passes_time) {
            return Err(at.error("the loop does nothing that takes time", "an access, compute or sleep step in it"));
        }
        self.push(Op::LoopEnd, &step.spot)
    }
    /// The modifier `request`: each pass of the step is a request of that score.
    fn with_request(&mut self, step: &Step) -> Result<(), SpecError> {
        let Some(score) = &step.request else { return self.verb(step) };
        let id = self.tables.score(score, self.env)?;
        let start = self.out.len();
        self.push(Op::Request { id, begin: true }, &step.spot)?;
        self.verb(step)?;
        if self.out.len() == start + 1 {
            self.out.truncate(start);
            return Ok(());
        }
        self.push(Op::Request { id, begin: false }, &step.spot)
    }
    fn verb(&mut self, step: &Step) -> Result<(), SpecError> {
        match &step.verb {
            Verb::Access(a) => self.access(a, &step.spot),
            Verb::Compute(t) => match t.time_ns(self.env)?.round() as u64 {
                0 => Ok(()),
                ns => self.push(Op::Compute { ns }, &step.spot),
            },
            Verb::Sleep { mean, exponential } => match mean.time_ns(self.env)?.round() as u64 {
                0 => Ok(()),
                ns => self.push(Op::Sleep { ns, exponential: *exponential }, &step.spot),
            },
            Verb::Barrier(r) => {
                self.refuse_in_time(r, "barrier", "threads leave such a loop at different passes")?;
                let (id, spin) = self.tables.barrier(r, self.env)?;
                self.push(Op::Barrier { id, spin }, &step.spot)
            }
            Verb::Signal(r) => {
                let channel = self.tables.channel(r, self.env)?;
                self.push(Op::Signal { channel }, &step.spot)
            }
            Verb::Wait(r) => {
                self.refuse_in_time(r, "wait", "nobody may be left to answer")?;
                let channel = self.tables.channel(r, self.env)?;
                self.push(Op::Wait { channel }, &step.spot)
            }
            Verb::Discard(s) => {
                let (span, to) = self.span(s)?;
                refuse_hugetlb(&to, s)?;
                if to.pinned {
                    let expected = "a region without `pinned`: a device keeps the pages that it was given";
                    return Err(s.spot.error("the step gives back pages that are pinned", expected));
                }
                self.push(Op::Discard(span), &step.spot)
            }
            Verb::DirectIo(io) => self.direct_io(io, &step.spot),
            Verb::MovePages { span, to } => {
                let (at, span) = (span, self.span(span)?);
                refuse_hugetlb(&span.1, at)?;
                let span = span.0;
                let nodes = self.target_nodes(to)?;
                self.push(Op::MovePages(MovePages { span, nodes }), &step.spot)
            }
            Verb::Read { span, into, bytes } => self.read(span, into, bytes.as_ref(), &step.spot),
            Verb::Score { score, amount } => {
                let id = self.tables.score(score, self.env)?;
                let units = amount.as_ref().map_or(Ok(1.0), |a| a.amount(self.env))?;
                self.push(Op::Score { id, amount: units }, &step.spot)
            }
            Verb::Steps(list) => self.steps(list),
        }
    }
    fn refuse_in_time(&self, r: &Ref, word: &str, why: &str) -> Result<(), SpecError> {
        if !self.in_time {
            return Ok(());
        }
        Err(r
            .spot
            .error(format!("a {word} inside a loop bounded by time would hang ({why})"), "a loop bounded by count"))
    }
    fn push(&mut self, op: Op, at: &Spot<()>) -> Result<(), SpecError> {
        self.tables.spend(1, at)?;
        self.out.push(op);
        Ok(())
    }
    fn access(&mut self, a: &AccessSpec, at: &Spot<()>) -> Result<(), SpecError> {
        let (span, Mapped { kind, .. }) = self.span(&a.span)?;
        let (pattern, accesses) = a.pattern.resolve(self.env, span.len_bytes)?;
        if accesses == 0 {
            return Ok(());
        }
        if let Some(number) = pattern.histogram() {
            self.tables.check_histogram(number, &a.span.spot)?;
        }
        let fills = a.pattern.fills();
        let (least, expected) = if fills { (1.0, "1: a fill only writes") } else { (0.0, "a share from 0 to 1") };
        let write = a.write.as_ref().map_or(Ok(least), |w| within(w, self.env, (least, 1.0), expected))?;
        let bypass = fills && self.machine.cache.fill.is_some_and(|f| span.len_bytes >= f.bypass_bytes);
        if write > 0.0 && kind == RegionKind::FileRead {
            return Err(a
                .span
                .spot
                .error("the step writes to a read-only file mapping", "`write = 0`, or another kind"));
        }
        let compute_ns = a.cost.as_ref().map_or(Ok(0.0), |c| c.time_ns(self.env))?;
        let score = match &a.counts {
            None => None,
            Some((score, unit)) => {
                let bytes = unit.as_ref().map_or(Ok((1, false)), |u| u.bytes(self.env, 1))?.0;
                Some((self.tables.score(score, self.env)?, 1.0 / bytes as f64))
            }
        };
        self.push(Op::Access(Access { span, pattern, write, bypass, compute_ns, accesses, score }), at)
    }
    fn span(&self, s: &SpanSpec) -> Result<(Span, Mapped), SpecError> {
        let n = member(s.at.as_ref(), self.env)?;
        let Some(mapped) = self.regions.get(&(s.region, n)) else {
            let all = self.regions.keys().filter(|(id, _)| *id == s.region).map(|(_, n)| *n);
            let name = s.spot.value.split('[').next().unwrap_or_default();
            return Err(absent(name, n, all, &s.spot));
        };
        let size = mapped.len_bytes;
        let (offset_bytes, len_bytes) = match &s.slice {
            Slice::Whole => (0, size),
            Slice::Thread => self.thread_slice(size),
            Slice::Explicit { offset, len } => {
                let offset = offset.as_ref().map_or(Ok(0), |o| o.bytes(self.env, 0).map(|b| b.0))?;
                let rest = size.saturating_sub(offset);
                (offset, len.as_ref().map_or(Ok(rest), |l| l.bytes(self.env, 1).map(|b| b.0))?)
            }
        };
        if len_bytes == 0 || offset_bytes.saturating_add(len_bytes) > size {
            let what =
                format!("bytes {offset_bytes} to {} of a region of {size}", offset_bytes.saturating_add(len_bytes));
            return Err(s.spot.error(what, "at least one byte, inside the region"));
        }
        Ok((Span { region: mapped.index, offset_bytes, len_bytes }, *mapped))
    }
    fn direct_io(&mut self, io: &DirectIoSpec, at: &Spot<()>) -> Result<(), SpecError> {
        let (span, to) = self.whole_pages(&io.span, "direct I/O")?;
        refuse_hugetlb(&to, &io.span)?;
        if to.kind == RegionKind::FileRead && io.direction == IoDirection::Read {
            let expected = "`io = \"write\"`, or another kind of region";
            return Err(io.span.spot.error("direct I/O reads into a read-only file mapping", expected));
        }
        let bytes = self.io_bytes(io.bytes.as_ref(), span.len_bytes, "the memory that the step names")?;
        let latency_ns = io.latency.time_ns(self.env)?.round() as u64;
        if latency_ns == 0 {
            return Err(io.latency.spot().error("`latency` is 0ns", "the time that the device takes, at least 1ns"));
        }
        let mut op = DirectIo { span, direction: io.direction, random: io.random, bytes, ios: 0, latency_ns };
        op.ios = io.ios.as_ref().map_or(Ok(op.places()), |n| n.whole(self.env, 0, u64::MAX))?;
        if op.ios == 0 {
            return Ok(());
        }
        self.push(Op::DirectIo(op), at)
    }
    /// A span of whole pages. Slices of threads, and the end of a region, are cut to them. `what` is done to it.
    fn whole_pages(&self, s: &SpanSpec, what: &str) -> Result<(Span, Mapped), SpecError> {
        const UNIT: u64 = DirectIo::UNIT_BYTES;
        let (mut span, to) = self.span(s)?;
        if matches!(s.slice, Slice::Explicit { .. }) && span.offset_bytes % UNIT != 0 {
            let what = format!("{what} from byte {} of a region", span.offset_bytes);
            return Err(s.spot.error(what, "an `offset` that is a multiple of 4KiB"));
        }
        let end = span.offset_bytes + span.len_bytes;
        let end = if end == to.len_bytes { end.next_multiple_of(UNIT) } else { end / UNIT * UNIT };
        span.offset_bytes = span.offset_bytes / UNIT * UNIT;
        span.len_bytes = end.saturating_sub(span.offset_bytes);
        if span.len_bytes == 0 {
            return Err(s.spot.error(format!("{what} to less than a page"), "at least 4KiB of memory"));
        }
        Ok((span, to))
    }
    /// Bytes of a transfer: a multiple of a page, at most `most`, which is of `whose`.
    fn io_bytes(&self, given: Option<&Formula>, most: u64, whose: &str) -> Result<u64, SpecError> {
        const UNIT: u64 = DirectIo::UNIT_BYTES;
        let Some(b) = given else { return Ok(DEFAULT_IO_BYTES.min(most)) };
        let n = b.bytes(self.env, UNIT)?.0;
        if n % UNIT == 0 && n <= most {
            return Ok(n);
        }
        Err(b.spot().error(format!("`bytes` is {n} of {most} bytes"), format!("a multiple of 4KiB, at most {whose}")))
    }
    /// The step `read`: one pass over a part of a file, through the page cache.
    fn read(
        &mut self,
        file: &SpanSpec,
        into: &SpanSpec,
        bytes: Option<&Formula>,
        at: &Spot<()>,
    ) -> Result<(), SpecError> {
        let (span, of) = self.whole_pages(file, "a read")?;
        let is_file = |kind| matches!(kind, RegionKind::CowData | RegionKind::FileRead | RegionKind::FileShared);
        if !is_file(of.kind) {
            return Err(file.spot.error("the step reads a region that is no file", "a region of kind `file`"));
        }
        let (into_span, buffer) = self.whole_pages(into, "a read")?;
        if is_file(buffer.kind) {
            return Err(into.spot.error("the step reads into a file", "a region of kind `anon`, as buffer"));
        }
        let bytes = self.io_bytes(bytes, into_span.len_bytes, "the buffer")?;
        self.push(Op::ReadFile(ReadFile { span, into: into_span, bytes }), at)
    }
    /// Nodes that `move_pages` moves to, in the order of the list.
    fn target_nodes(&self, to: &List) -> Result<Vec<u32>, SpecError> {
        let nodes = &self.machine.nodes;
        let mut out = Vec::new();
        for n in expand(to, self.env)? {
            match nodes.get(n as usize).map(|node| node.memory_bytes > 0) {
                None => {
                    let what = format!("the step moves pages to node {n}");
                    return Err(to
                        .spot
                        .error(what, format!("nodes 0 to {} of `{}`", nodes.len() - 1, self.machine.name)));
                }
                Some(false) => return Err(to.spot.error(format!("node {n} has no memory"), "a node with memory")),
                Some(true) => out.push(n as u32),
            }
        }
        if out.is_empty() {
            return Err(to.spot.error("the step moves pages to no node", "at least one node"));
        }
        let outside = |n: &&u32| self.cpuset.mems.as_ref().is_some_and(|mems| mems.binary_search(n).is_err());
        if let Some(n) = out.iter().find(outside) {
            let what = format!("node {n} is not in the cpuset of the process (the kernel returns EACCES)");
            return Err(to.spot.error(what, "memory nodes of the cpuset"));
        }
        Ok(out)
    }
    /// The slice of thread `i` of `T`: from byte `floor(i * size / T)` to the start of the next thread's slice. All
    /// slices together are the whole region.
    fn thread_slice(&self, size: u64) -> (u64, u64) {
        let number = |name| self.env.get(name).map_or(0, |v| v.number as u64);
        let (i, threads) = (u128::from(number(THREAD)), u128::from(number(THREADS).max(1)));
        let edge = |i: u128| (i * u128::from(size) / threads) as u64;
        (edge(i), edge(i + 1) - edge(i))
    }
}

/// Refuses a step that would give back, move or pin hugetlb pages.
fn refuse_hugetlb(to: &Mapped, at: &SpanSpec) -> Result<(), SpecError> {
    if to.kind != RegionKind::Hugetlb {
        return Ok(());
    }
    let what = "the region has hugetlb pages, which only accesses are modelled for";
    Err(at.spot.error(what, "`access`, or a region of another kind"))
}

/// The policy of a thread that sets none.
pub(super) fn default_policy() -> Policy {
    Policy { mode: PolicyMode::Default, nodes: Vec::new(), weights: Vec::new(), numa_balancing: false }
}
