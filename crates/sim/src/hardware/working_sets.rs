//! Working sets: which data a thread uses again and again while it runs, and so its share of its LLC.
//!
//! Whether an array is in cache when a sweep comes back to it depends on all that the thread and its neighbours on the
//! LLC touch in between. The *group* of an access is all that the innermost loop around it touches, region by region,
//! with overlapping spans merged. While a thread is inside that loop and on a CPU, the sets of its group are in use on
//! the CPU's LLC; [`LlcLoads`] adds them up. Threads of a process that touch the same spans share one set, which counts
//! once per LLC. So do processes that only read what they inherited.
//!
//! All of it is worked out before the run; afterwards an access needs two array look-ups. Units are bytes. Access
//! weights are lines per millisecond, estimated from the idle machine.

use crate::hardware::access_kind::KindSet;
use crate::hardware::access_rates::AccessRates;
use crate::hardware::shared_lines::{SetUsers, SharedLines};
use numalab_kernel::hw::cache::{distinct_bytes, LlcLoads, Used};
use numalab_kernel::hw::reuse_window::{reuse_miss, touched_bytes, AccessMix};
use numalab_nouns::access::{CacheFit, Traffic, Walk};
use numalab_nouns::machine::Machine;
use numalab_nouns::workload::{Access, Bound, ForkPoint, Op, Process, RegionKind, Span, Workload};
use std::collections::BTreeMap;

/// No group: the task uses no set.
pub const NO_GROUP: u32 = u32::MAX;

/// Bit of swept spans that are too large, or too many, to be remembered as loaded.
pub const NEVER_WARM: u8 = 63;

/// A span this much larger than the largest LLC never survives its own pass.
const WARM_LIMIT: u64 = 2;

/// Numbers of a process's own copies of inherited regions start here.
const COPIED: u32 = 1 << 24;

use crate::float::LINE_BYTES;

/// What is known of an access before the run.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// Working set of the loop around it.
    pub group: u32,
    /// Its own part of the working set, as a set of [`LlcLoads`].
    pub set: u32,
    /// Kind of traffic, by what the sibling does.
    pub kinds: KindSet,
    /// Which swept span of its program it is ([`NEVER_WARM`] and below).
    pub bit: u8,
    /// Which of the spans of its program that are accessed at random it is.
    pub cold: u32,
    /// Number of its span among all that are accessed at random.
    pub span: u32,
    /// Share of skewed accesses that hit the L2: all of it, and half of it beside a busy sibling.
    pub l2: [f32; 2],
}

/// A part of a group.
#[derive(Clone, Copy, Debug)]
struct Member {
    set: u32,
    used: Used,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first: u32,
    len: u32,
    /// Time of a round of the loop on the idle machine, ms.
    round_ms: f64,
    /// Bytes that a round touches.
    bytes: u64,
}

/// Working sets of a workload and their use of the caches.
#[derive(Debug)]
pub struct WorkingSets {
    /// Use of every LLC.
    pub loads: LlcLoads,
    /// Sets that several threads use, and somebody writes to.
    pub shared: SharedLines,
    /// Program after program, by op; only accesses are filled in.
    infos: Vec<OpInfo>,
    /// Where in `infos` the program of each prologue and thread begins.
    begins: Vec<u32>,
    /// First entry of a process in `begins`: its prologue, then its threads.
    base: Vec<u32>,
    groups: Vec<Group>,
    members: Vec<Member>,
    spans: usize,
    /// Most spans accessed at random in one program.
    colds: usize,
}

impl WorkingSets {
    /// Works out the sets of `workload`; `rates` must know its kinds of access.
    pub fn new(machine: &Machine, workload: &Workload, rates: &AccessRates) -> Self {
        let mut b = Builder {
            machine,
            rates,
            owners: owners(workload),
            kinds: workload.processes.iter().map(|p| p.regions.iter().map(|r| r.kind).collect()).collect(),
            known: BTreeMap::new(),
            largest: machine.llcs.iter().map(|l| l.size_bytes).max().unwrap_or(0),
            process: 0,
            users: Vec::new(),
            program: None,
            threads: Vec::new(),
            out: Self {
                loads: LlcLoads::new(machine),
                shared: SharedLines::new(machine, &[], &[]),
                infos: Vec::new(),
                begins: Vec::new(),
                base: Vec::new(),
                groups: Vec::new(),
                members: Vec::new(),
                spans: 0,
                colds: 0,
            },
            spans: BTreeMap::new(),
        };
        for (i, p) in workload.processes.iter().enumerate() {
            b.process = i;
            b.process(p);
        }
        b.out.spans = b.spans.len();
        b.out.shared = SharedLines::new(machine, &b.users, &b.threads);
        b.out
    }
    /// What is known of access `pc` of a prologue or thread.
    #[inline]
    pub fn info(&self, process: u32, thread: Option<u32>, pc: usize) -> OpInfo {
        let at = self.base[process as usize] + thread.map_or(0, |t| t + 1);
        self.infos[self.begins[at as usize] as usize + pc]
    }
    /// Number of spans accessed at random.
    pub fn spans(&self) -> usize {
        self.spans
    }
    /// Most spans that one program accesses at random.
    pub fn colds(&self) -> usize {
        self.colds
    }
    /// What a round of the loop of `group` touches, bytes, and how long it takes on the idle machine, ms.
    #[inline]
    pub fn round(&self, group: u32) -> (u64, f64) {
        let group = &self.groups[group as usize];
        (group.bytes, group.round_ms)
    }
    /// Size of a set, bytes.
    #[inline]
    pub fn set_bytes(&self, set: u32) -> u64 {
        self.loads.set_bytes(set as usize)
    }
    /// A task inside the loop of `group` starts running on `llc`; `alone` if no sibling runs one.
    pub fn enter(&mut self, llc: usize, group: u32, alone: bool) {
        for i in self.range(group) {
            let m = self.members[i];
            self.loads.enter(llc, m.set as usize, m.used, alone);
        }
    }
    /// A task stops running on `llc`, or leaves the loop of `group`; `alone` if no sibling goes on inside it.
    pub fn leave(&mut self, llc: usize, group: u32, alone: bool) {
        for i in self.range(group) {
            let m = self.members[i];
            self.loads.leave(llc, m.set as usize, m.used, alone);
        }
    }
    fn range(&self, group: u32) -> std::ops::Range<usize> {
        if group == NO_GROUP {
            return 0..0;
        }
        let g = self.groups[group as usize];
        g.first as usize..(g.first + g.len) as usize
    }
}

/// For every process and region: the process that mapped it, and its number there.
fn owners(workload: &Workload) -> Vec<Vec<(usize, u32)>> {
    let mut out: Vec<Vec<(usize, u32)>> = Vec::with_capacity(workload.processes.len());
    let mut inherited = Vec::with_capacity(workload.processes.len());
    for (i, p) in workload.processes.iter().enumerate() {
        let mut regions: Vec<(usize, u32)> = match p.parent {
            None => Vec::new(),
            Some(parent) if p.fork == ForkPoint::AfterPrologue => out[parent].clone(),
            Some(parent) => out[parent][..inherited[parent]].to_vec(),
        };
        inherited.push(regions.len());
        regions.extend((0..p.regions.len()).map(|r| (i, r as u32)));
        out.push(regions);
    }
    out
}

/// Whether another process's stores to the region stay its own.
fn private(kind: RegionKind) -> bool {
    matches!(kind, RegionKind::PrivateAnon | RegionKind::CowData | RegionKind::Hugetlb)
}

/// A loop body, or the whole program.
#[derive(Debug, Default)]
struct Body {
    parent: usize,
    count: u64,
    /// Time of one pass on the idle machine, ns.
    ns: f64,
    direct: bool,
    /// Lines touched in a pass and spans, by part.
    parts: BTreeMap<Part, Touched>,
    group: u32,
}

/// Part of a working set: what sweeps touch of a region, or one span of it that is accessed at random (some
/// of a region may be much warmer than the rest).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    region: u32,
    random: Option<(u64, u64)>,
    /// Bits of the power of skewed accesses; those of 0 for others.
    alpha: u64,
}

impl Part {
    fn of(a: &Access) -> Self {
        let fit = a.pattern.cache_fit();
        let random = (fit != CacheFit::Cyclic).then_some((a.span.offset_bytes, a.span.len_bytes));
        Self { region: a.span.region, random, alpha: fit.alpha().to_bits() }
    }
    /// Bytes that one round touches.
    fn distinct_bytes(&self, touched: &Touched) -> u64 {
        match self.random {
            None => touched.bytes(),
            Some(_) => distinct_bytes(f64::from_bits(self.alpha), touched.bytes(), touched.lines),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Touched {
    lines: f64,
    written: bool,
    spans: Vec<(u64, u64)>,
    set: u32,
    /// Access rate, lines per ms.
    weight: u32,
    /// As in [`OpInfo`].
    l2: [f32; 2],
}

impl Touched {
    /// Sorts the spans and joins those that overlap or touch.
    fn merge(&mut self) {
        self.spans.sort_unstable();
        let mut out: Vec<(u64, u64)> = Vec::with_capacity(self.spans.len());
        for &(from, to) in &self.spans {
            match out.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => out.push((from, to)),
            }
        }
        self.spans = out;
    }
    fn bytes(&self) -> u64 {
        self.spans.iter().map(|(from, to)| to - from).sum()
    }
}

/// Owner process, region there, spans, power of the reuse: what makes two sets the same.
type SetKey = (usize, u32, Vec<(u64, u64)>, u64);

struct Builder<'a> {
    machine: &'a Machine,
    rates: &'a AccessRates,
    owners: Vec<Vec<(usize, u32)>>,
    /// Kinds of the regions each process maps itself.
    kinds: Vec<Vec<RegionKind>>,
    known: BTreeMap<SetKey, u32>,
    /// Numbers of spans accessed at random: process, region, offset, length, and the histogram.
    spans: BTreeMap<(usize, u32, u64, u64, Option<u32>), u32>,
    largest: u64,
    process: usize,
    /// By set: who uses it.
    users: Vec<SetUsers>,
    /// Number of the present program. A prologue has none: it runs before other threads do.
    program: Option<u32>,
    /// Number of threads of each program.
    threads: Vec<u32>,
    out: WorkingSets,
}

impl Builder<'_> {
    fn process(&mut self, p: &Process) {
        self.out.base.push(self.out.begins.len() as u32);
        let mut last: Option<(&std::sync::Arc<[Op]>, u32)> = None;
        for (i, ops) in std::iter::once(&p.prologue).chain(p.threads.iter().map(|t| &t.ops)).enumerate() {
            let known = last.filter(|(known, _)| i > 1 && std::sync::Arc::ptr_eq(known, ops));
            self.program = (i > 0).then_some(self.threads.len() as u32);
            if known.is_none() && i > 0 {
                self.threads.push(0);
            }
            if let Some(threads) = self.threads.last_mut().filter(|_| i > 0) {
                *threads += 1;
            }
            let begin = known.map_or_else(|| self.program(ops), |(_, begin)| begin);
            self.out.begins.push(begin);
            last = Some((ops, begin));
        }
    }
    /// Adds a program; returns where in `infos` it begins.
    fn program(&mut self, ops: &[Op]) -> u32 {
        let (mut bodies, of_op) = self.read(ops);
        for body in bodies.iter_mut().filter(|b| b.direct) {
            self.close(body);
        }
        let (mut spans, mut colds): (Vec<Span>, Vec<Span>) = (Vec::new(), Vec::new());
        let (kinds, l2) = (KindSet::default(), [0.0; 2]);
        let none = OpInfo { group: NO_GROUP, set: 0, kinds, bit: NEVER_WARM, cold: 0, span: 0, l2 };
        let mut infos = vec![none; ops.len()];
        for (pc, op) in ops.iter().enumerate() {
            let Op::Access(a) = op else { continue };
            let body = &bodies[of_op[pc]];
            let set = body.parts.get(&Part::of(a)).map_or(0, |t| t.set);
            infos[pc] = OpInfo {
                group: body.group,
                set,
                kinds: self.rates.kinds_of(self.machine, a),
                bit: self.bit(&mut spans, a),
                cold: number(&mut colds, a),
                span: self.span(a),
                l2: body.parts.get(&Part::of(a)).map_or([0.0; 2], |t| t.l2),
            };
        }
        self.out.colds = self.out.colds.max(colds.len());
        let begin = self.out.infos.len() as u32;
        self.out.infos.extend(infos);
        begin
    }
    fn span(&mut self, a: &Access) -> u32 {
        if !matches!(a.pattern.walk(), Walk::Random(_)) && a.pattern.scattered_block_bytes().is_none() {
            return 0;
        }
        let key = (self.process, a.span.region, a.span.offset_bytes, a.span.len_bytes, a.pattern.histogram());
        let next = self.spans.len() as u32;
        *self.spans.entry(key).or_insert(next)
    }
    fn bit(&self, spans: &mut Vec<Span>, a: &Access) -> u8 {
        let span = a.span;
        if a.pattern.cache_fit() != CacheFit::Cyclic || span.len_bytes > WARM_LIMIT * self.largest {
            return NEVER_WARM;
        }
        let at = spans.iter().position(|s| *s == span).unwrap_or(spans.len());
        if at == spans.len() && at < NEVER_WARM as usize {
            spans.push(span);
        }
        at.min(NEVER_WARM as usize) as u8
    }
    /// Loop bodies of a program, and for each op the body it stands in.
    fn read(&self, ops: &[Op]) -> (Vec<Body>, Vec<usize>) {
        let mut bodies = vec![Body { count: 1, group: NO_GROUP, ..Body::default() }];
        let mut of_op = Vec::with_capacity(ops.len());
        let mut at = 0;
        for op in ops {
            of_op.push(at);
            match op {
                Op::LoopStart(bound) => {
                    let count = if let Bound::Count(n) = bound { *n } else { 1 };
                    bodies.push(Body { parent: at, count, group: NO_GROUP, ..Body::default() });
                    at = bodies.len() - 1;
                }
                Op::LoopEnd => at = bodies[at].parent,
                Op::Compute { ns } => self.spend(&mut bodies, at, *ns as f64),
                Op::Access(a) => {
                    bodies[at].direct = true;
                    self.spend(&mut bodies, at, a.accesses as f64 * self.line_ns(a));
                    touch(&mut bodies, at, a);
                }
                _ => {}
            }
        }
        (bodies, of_op)
    }
    /// Adds time to a body and, as often as it runs, to those around it.
    fn spend(&self, bodies: &mut [Body], mut at: usize, mut ns: f64) {
        loop {
            bodies[at].ns += ns;
            if at == 0 {
                return;
            }
            ns *= bodies[at].count as f64;
            at = bodies[at].parent;
        }
    }
    /// Time of one access of the idle machine, ns.
    fn line_ns(&self, a: &Access) -> f64 {
        let near = self.machine.cpu_nodes().next().map_or(100.0, |n| self.machine.latency_ns[n][n]);
        let missed = match a.pattern.traffic() {
            Traffic::Sequential => {
                LINE_BYTES as f64 * self.machine.cache.lines_of_write(a.write) / self.machine.stream.cap_gbps
            }
            Traffic::Random => near / self.machine.stream.lines_random,
            Traffic::Dependent => near,
        };
        let memory = match a.pattern.cache_fit() {
            CacheFit::Reuse { alpha } => {
                let missing = reuse_miss(alpha, self.largest, a.span.len_bytes);
                missing * missed + (1.0 - missing) * self.machine.cache.llc_latency_ns
            }
            CacheFit::None | CacheFit::Cyclic | CacheFit::Uniform => missed,
        };
        memory + a.compute_ns
    }
    /// Makes the group of a body.
    fn close(&mut self, body: &mut Body) {
        let first = self.out.members.len() as u32;
        let mut bytes = 0;
        for (part, touched) in &mut body.parts {
            touched.merge();
            touched.set = self.set(part, touched);
            bytes += part.distinct_bytes(touched);
            let per_ms = touched.lines / body.ns.max(1.0) * 1e6;
            touched.weight = (per_ms as u32).max(1);
            let used = Used { weight: touched.weight, swept: part.random.is_none() };
            self.out.members.push(Member { set: touched.set, used });
        }
        self.fill_l2(&mut body.parts);
        let (len, round_ms) = (self.out.members.len() as u32 - first, body.ns.max(1.0) * 1e-6);
        self.out.groups.push(Group { first, len, round_ms, bytes });
        body.group = self.out.groups.len() as u32 - 1;
    }
    /// What skewed accesses of a body find in an L2 that only this body uses.
    fn fill_l2(&self, parts: &mut BTreeMap<Part, Touched>) {
        let mut mix = AccessMix::default();
        for (part, touched) in parts.iter() {
            let alpha = f64::from_bits(part.alpha);
            mix.declare(alpha);
            mix.change(alpha, 0, u64::from(touched.weight));
        }
        if mix.is_even() {
            return;
        }
        for (part, touched) in parts.iter_mut().filter(|(p, _)| p.alpha != 0.0f64.to_bits()) {
            let alpha = f64::from_bits(part.alpha);
            touched.l2 = [1, 2].map(|users| {
                let ms = mix.window_ms(self.machine.cache.l2_bytes / users);
                let held = touched_bytes(alpha, u64::from(touched.weight), ms) as u64;
                1.0 - reuse_miss(alpha, held, touched.bytes()) as f32
            });
        }
    }
    fn set(&mut self, part: &Part, touched: &Touched) -> u32 {
        let region = part.region;
        let (mut owner, mut number) = self.owners[self.process][region as usize];
        if owner != self.process && touched.written && private(self.kinds[owner][number as usize]) {
            // What is inherited and written privately is copied first.
            (owner, number) = (self.process, COPIED + region);
        }
        let bytes = touched.bytes();
        let loads = &mut self.out.loads;
        let key = (owner, number, touched.spans.clone(), part.alpha);
        let set = *self.known.entry(key).or_insert_with(|| loads.add_set(bytes, f64::from_bits(part.alpha)) as u32);
        self.note_users(set, part.region, (owner, number), touched);
        set
    }
    /// Notes that the present program uses a set, which belongs to region `number` of process `owner`.
    fn note_users(&mut self, set: u32, region: u32, (owner, number): (usize, u32), touched: &Touched) {
        let (mapper, at) = self.owners[self.process][region as usize];
        // Where stores stay a process's own, so do the pages that are written.
        let own = private(self.kinds[mapper][at as usize]).then_some(self.process);
        if self.users.len() <= set as usize {
            let none =
                SetUsers { region: (owner, number, own), spans: Vec::new(), written: false, programs: Vec::new() };
            self.users.resize(set as usize + 1, none);
        }
        let users = &mut self.users[set as usize];
        if users.spans.is_empty() {
            users.region = (owner, number, own);
            users.spans.clone_from(&touched.spans);
        }
        // What another process inherited and only reads are pages that nobody writes.
        if let Some(program) = self.program.filter(|_| users.region.2 == own) {
            users.written |= touched.written;
            if users.programs.last() != Some(&program) {
                users.programs.push(program);
            }
        }
    }
}

/// Which span of a program that is accessed at random `a` uses; 0 for sweeps.
fn number(spans: &mut Vec<Span>, a: &Access) -> u32 {
    if a.pattern.cache_fit() == CacheFit::Cyclic {
        return 0;
    }
    let at = spans.iter().position(|s| *s == a.span).unwrap_or(spans.len());
    if at == spans.len() {
        spans.push(a.span);
    }
    at as u32
}

/// Adds an access to its body and, as often as it runs, to those around it.
fn touch(bodies: &mut [Body], mut at: usize, a: &Access) {
    let mut lines = a.accesses as f64;
    loop {
        let t = bodies[at].parts.entry(Part::of(a)).or_default();
        t.lines += lines;
        t.written |= a.write > 0.0;
        t.spans.push((a.span.offset_bytes, a.span.offset_bytes + a.span.len_bytes));
        if at == 0 {
            return;
        }
        lines *= bodies[at].count as f64;
        at = bodies[at].parent;
    }
}
