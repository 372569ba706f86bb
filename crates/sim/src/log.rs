//! What a run writes down beside its record, when asked: an event log, the first decisions, and counts with reasons.
//!
//! Problem: a trace must not slow the runs that have none, and must not grow in memory in those that have. Approach: every
//! call site is one line that asks [`Log::on`] first; events go into a buffer made beforehand and from there to a writer;
//! the counts ([`why`]) are bounded by mappings, tasks and stretches. Reasons are read off the balancer's counters before
//! and after a call, so that the kernel's code knows nothing of logs.
//! Invariant: a run with logs has the same outcome as one without.

use crate::engine::World;
use crate::scan::Visit;
use crate::task::Activity;
use crate::why::Collector;
use numalab_kernel::numa::counters::{NumaReasons, Placement};
use numalab_kernel::numa::scan::ScanReport;
use numalab_kernel::numa::MigrateResult;
use numalab_kernel::sched::Why as MoveWhy;
use numalab_model::record::events::{Event, Fate, Kind, Sink, NONE};
use numalab_model::record::why::Why;
use std::io;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;
/// Most decisions in the log of first decisions.
const MAX_DECISIONS: u64 = 131_072;
/// Hint faults of one task on one CPU that are closer than this are one burst, ns.
const BURST_GAP_NS: u64 = 200_000;

/// State of a task that leaves its CPU to sleep (`TASK_INTERRUPTIBLE`).
const STATE_ASLEEP: u16 = 1;
/// State of a task that has ended (`EXIT_DEAD`).
const STATE_DEAD: u16 = 16;

/// Which logs a run writes; none by default.
#[derive(Default)]
pub struct Observers {
    /// The event log.
    pub trace: Option<Sink>,
    /// The first decisions.
    pub decisions: Option<Sink>,
    /// Counts with reasons.
    pub why: bool,
}

/// Events on their way to a writer.
struct Stream {
    sink: Sink,
    buffer: Vec<u8>,
    events: u64,
    limit: u64,
    error: Option<io::Error>,
}

impl Stream {
    fn new(sink: Sink, limit: u64) -> Self {
        Self { sink, buffer: Vec::with_capacity(BUFFER_BYTES), events: 0, limit, error: None }
    }
    fn put(&mut self, e: &Event) {
        if self.events == self.limit {
            return;
        }
        self.events += 1;
        self.buffer.extend_from_slice(&e.encode());
        if self.buffer.len() + Event::BYTES > BUFFER_BYTES {
            self.flush();
        }
    }
    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.sink.write(&self.buffer).err();
        }
        self.buffer.clear();
    }
    fn finish(mut self, end_ns: u64) -> io::Result<()> {
        self.flush();
        match self.error {
            Some(e) => Err(e),
            None => self.sink.end(end_ns),
        }
    }
}

/// Hint faults of a CPU that may go on.
#[derive(Clone, Copy)]
struct Burst {
    task: u32,
    start_ns: u64,
    end_ns: u64,
    faults: u32,
    local: u32,
    migrated: u32,
}

const NO_BURST: Burst = Burst { task: NONE, start_ns: 0, end_ns: 0, faults: 0, local: 0, migrated: 0 };

/// The logs of a run.
#[derive(Default)]
pub struct Log {
    on: bool,
    trace: Option<Stream>,
    decisions: Option<Stream>,
    pub(crate) why: Option<Box<Collector>>,
    bursts: Vec<Burst>,
    /// What the scan in progress did to each mapping.
    pub(crate) visits: Vec<Visit>,
}

/// What the balancer had counted before a hint fault.
#[derive(Clone, Copy)]
pub struct Before {
    reasons: NumaReasons,
    preferred: Option<usize>,
}

/// A hint fault that is over.
pub struct Fault {
    pub task: u32,
    pub cpu: usize,
    pub vma: usize,
    pub address: u64,
    /// Node of the page before.
    pub node: usize,
    pub pages: u32,
    pub clock_ns: u64,
    pub ns: u64,
    pub result: MigrateResult,
}

impl Log {
    /// Logs as asked for, of a machine with `cpus` CPUs and `nodes` nodes.
    pub fn new(ask: Observers, cpus: usize, nodes: usize, balancing: bool) -> Self {
        Self {
            on: ask.trace.is_some() || ask.decisions.is_some() || ask.why,
            trace: ask.trace.map(|s| Stream::new(s, u64::MAX)),
            decisions: ask.decisions.map(|s| Stream::new(s, MAX_DECISIONS)),
            why: ask.why.then(|| Box::new(Collector::new(nodes, balancing))),
            bursts: vec![NO_BURST; cpus],
            visits: Vec::with_capacity(1024),
        }
    }
    /// Whether anything is logged.
    #[inline]
    pub fn on(&self) -> bool {
        self.on
    }
    /// An event for the trace only.
    fn note(&mut self, e: &Event) {
        if let Some(s) = &mut self.trace {
            s.put(e);
        }
    }
    /// An event that somebody decided.
    fn decide(&mut self, e: &Event) {
        self.note(e);
        self.decide_only(e);
    }
    /// The same, too frequent for the trace.
    fn decide_only(&mut self, e: &Event) {
        if let Some(s) = &mut self.decisions {
            s.put(e);
        }
    }
    /// Adds a hint fault to the burst of its CPU.
    fn burst(&mut self, f: &Fault, local: bool) {
        if self.trace.is_none() {
            return;
        }
        let b = self.bursts[f.cpu];
        let end_ns = f.clock_ns + f.ns;
        let migrated = if f.result == MigrateResult::Migrated { f.pages } else { 0 };
        if b.task == f.task && f.clock_ns < b.end_ns + BURST_GAP_NS && f.clock_ns >= b.start_ns {
            let b = &mut self.bursts[f.cpu];
            b.end_ns = b.end_ns.max(end_ns);
            b.faults += 1;
            b.local += u32::from(local);
            b.migrated += migrated;
            return;
        }
        self.end_burst(f.cpu);
        let local = u32::from(local);
        self.bursts[f.cpu] = Burst { task: f.task, start_ns: f.clock_ns, end_ns, faults: 1, local, migrated };
    }
    fn end_burst(&mut self, cpu: usize) {
        let b = std::mem::replace(&mut self.bursts[cpu], NO_BURST);
        if b.task != NONE {
            let z = u64::from(b.local) << 32 | u64::from(b.migrated);
            let head = Event::new(b.start_ns, Kind::Faults, b.task);
            self.note(&Event { ns: b.end_ns - b.start_ns, x: cpu as u32, y: b.faults, z, ..head });
        }
    }
}

/// Index of the first counter that grew.
fn grown(before: &[u64], after: &[u64]) -> Option<u8> {
    before.iter().zip(after).position(|(b, a)| a > b).map(|i| i as u8)
}

fn node_or_none(node: Option<usize>) -> u32 {
    node.map_or(NONE, |n| n as u32)
}

impl World<'_> {
    /// A task was created.
    pub(crate) fn log_born(&mut self, task: u32) {
        if !self.log.on {
            return;
        }
        let t = &self.tasks[task as usize];
        let (process, thread, cpu) = (t.process, t.thread, self.sched.cpu_of(task));
        self.log.note(&Event { x: process, y: thread, ..Event::new(self.now_ns, Kind::Born, task) });
        if let Some(w) = &mut self.log.why {
            w.born(task, process, thread, cpu, self.now_ns);
        }
    }

    /// A task has ended; if it was the last one of its process, its mappings are still there.
    pub(crate) fn log_ended(&mut self, task: u32) {
        if !self.log.on {
            return;
        }
        self.log.note(&Event::new(self.now_ns, Kind::Ended, task));
        let process = self.tasks[task as usize].process as usize;
        if let Some(w) = &mut self.log.why {
            w.ended(task, self.now_ns);
            if self.processes[process].live_threads == 0 {
                w.leave(process, self.workload, &self.processes[process]);
            }
        }
    }

    /// CPU `cpu` goes from one task to another.
    pub(crate) fn log_switch(&mut self, cpu: usize, prev: Option<u32>, next: Option<u32>) {
        if self.log.trace.is_none() {
            return;
        }
        let code = prev.map_or(0, |p| match self.tasks[p as usize].activity {
            Activity::Running | Activity::Spinning { .. } => 0,
            Activity::Asleep => STATE_ASLEEP,
            Activity::Dead => STATE_DEAD,
        });
        let head = Event::new(self.now_ns, Kind::Switch, next.unwrap_or(NONE));
        self.log.note(&Event { code, x: cpu as u32, ..head });
    }

    /// A task was put on another CPU.
    pub(crate) fn log_moved(&mut self, task: u32, from: u32, to: u32, why: MoveWhy) {
        if !self.log.on || from == to {
            return;
        }
        self.log.decide(&Event { code: why as u16, x: from, y: to, ..Event::new(self.now_ns, Kind::Moved, task) });
        let preferred = self.numa.tasks[task as usize].numa_preferred_nid;
        let nodes = (self.cpus[from as usize].node, self.cpus[to as usize].node);
        if let Some(w) = &mut self.log.why {
            w.moved(task, (from, to), nodes, why as u16, preferred, self.now_ns);
        }
    }

    /// Pages were allocated for an access that found none.
    pub(crate) fn log_first_touch(&mut self, node: usize, pages: u64) {
        if let Some(w) = &mut self.log.why {
            w.why.nodes[node].first_touched += pages;
        }
    }

    /// A scan is over; what it did to each mapping is in `visits`.
    pub(crate) fn log_scan(&mut self, cpu: usize, task: u32, clock: u64, ns: u64, report: &ScanReport) {
        let process = self.tasks[task as usize].process;
        let scanned = report.vmas_scanned.min(u64::from(u32::MAX)) as u32;
        let head = Event::new(clock, Kind::Scan, task);
        let code = u16::from(report.forced);
        self.log.decide(&Event { ns, code, x: cpu as u32, y: scanned, z: report.updates, ..head });
        let mut visits = std::mem::take(&mut self.log.visits);
        for v in visits.drain(..) {
            let (kind, code, z) = match v.skipped {
                Some(reason) => (Kind::Skip, reason as u16, 0),
                None => (Kind::Scanned, 0, v.updates),
            };
            self.log.decide_only(&Event { code, x: process, y: v.vma, z, ..Event::new(clock, kind, task) });
            if let Some(w) = &mut self.log.why {
                let at = w.vma(process as usize, v.vma as usize, self.workload, &self.processes[process as usize]);
                w.visited(at, &v, clock);
            }
        }
        self.log.visits = visits;
        if let Some(w) = &mut self.log.why {
            w.scan(task, clock);
        }
    }

    /// What to remember before a hint fault of `task`.
    pub(crate) fn log_before(&self, task: u32) -> Option<Before> {
        let preferred = || self.numa.tasks[task as usize].numa_preferred_nid;
        self.log.on.then(|| Before { reasons: self.numa.reasons, preferred: preferred() })
    }

    /// A hint fault is over.
    pub(crate) fn log_fault(&mut self, before: &Before, f: &Fault) {
        let here = self.cpus[f.cpu].node;
        let reasons = self.numa.reasons;
        let fate = match f.result {
            MigrateResult::Migrated => Fate::Migrated,
            MigrateResult::Failed | MigrateResult::FailedEntryChanged => Fate::Failed,
            MigrateResult::Refused => {
                grown(&before.reasons.refused, &reasons.refused).map_or(Fate::Failed, Fate::Refused)
            }
            MigrateResult::NotTried if f.node == here => Fate::Local,
            MigrateResult::NotTried => {
                grown(&before.reasons.denied, &reasons.denied).map_or(Fate::Stayed, Fate::Denied)
            }
        };
        self.log.burst(f, f.node == here);
        let process = self.tasks[f.task as usize].process;
        let y = (f.node as u32) << 16 | here as u32;
        let head = Event::new(f.clock_ns, Kind::Fault, f.task);
        if fate != Fate::Local {
            // A fault on a page in its place decides nothing.
            self.log.decide_only(&Event { ns: f.ns, code: fate.code(), x: process, y, z: f.address, ..head });
        }
        let preferred = self.numa.tasks[f.task as usize].numa_preferred_nid;
        let placed = grown(&before.reasons.placed, &reasons.placed);
        let group = grown(
            &[before.reasons.groups_created, before.reasons.groups_joined],
            &[reasons.groups_created, reasons.groups_joined],
        );
        let at = |kind| Event::new(f.clock_ns, kind, f.task);
        if preferred != before.preferred {
            let (x, y) = (node_or_none(before.preferred), node_or_none(preferred));
            self.log.decide(&Event { x, y, ..at(Kind::Preferred) });
        }
        if let Some(code) = placed {
            self.log.decide(&Event { code: u16::from(code), x: f.cpu as u32, ..at(Kind::Placed) });
        }
        if let Some(code) = group {
            self.log.decide(&Event { code: u16::from(code), ..at(Kind::Grouped) });
        }
        if let Some(w) = &mut self.log.why {
            let vma = w.vma(process as usize, f.vma, self.workload, &self.processes[process as usize]);
            w.fault(vma, f, here, fate);
            if preferred != before.preferred {
                w.preferred(f.task, before.preferred, preferred, f.clock_ns);
            }
            w.placement(f.task, placed, group, f.clock_ns);
        }
    }

    /// A move of `task`, decided by a hint fault on `cpu`, has been made or given up.
    pub(crate) fn log_placed(&mut self, task: u32, cpu: usize, what: Placement) {
        if !self.log.on {
            return;
        }
        let head = Event::new(self.now_ns, Kind::Placed, task);
        self.log.decide(&Event { code: what as u16, x: cpu as u32, ..head });
        if let Some(w) = &mut self.log.why {
            w.placement(task, Some(what as u8), None, self.now_ns);
        }
    }

    /// Ends the logs; the counts, if they were asked for.
    ///
    /// # Errors
    /// A log could not be written.
    pub(crate) fn finish_logs(&mut self) -> io::Result<Option<Why>> {
        if !self.log.on {
            return Ok(None);
        }
        (0..self.cpus.len()).for_each(|cpu| self.log.end_burst(cpu));
        let streams = [self.log.trace.take(), self.log.decisions.take()];
        streams.into_iter().flatten().try_for_each(|s| s.finish(self.end_ns))?;
        let Some(mut collector) = self.log.why.take() else { return Ok(None) };
        for (i, p) in self.processes.iter().enumerate() {
            collector.leave(i, self.workload, p);
        }
        for s in self.samples.last_pages() {
            collector.why.nodes[s.0].pages_at_end += s.1;
        }
        collector.why.end_ns = self.end_ns;
        Ok(Some(collector.why))
    }
}
