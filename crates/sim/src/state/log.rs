//! The logs of a run, written when asked for: an event log, the first decisions, and counts with reasons.
//!
//! A trace must not slow runs that have none, and must not grow in memory in those that have. So every call site asks
//! [`Log::on`] first. Events go into a buffer of fixed size and from there to a writer. The counts
//! ([`why`](crate::state::why)) are bounded by mappings, tasks and stretches of memory. A run with logs has the same
//! outcome as one without.

use crate::state::logged::{Fault, Visit};
use crate::state::why::Collector;
use numalab_kernel::numa::MigrateResult;
use numalab_nouns::record::events::{Event, Kind, Sink, NONE};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::Arc;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Most decisions in the log of first decisions.
const MAX_DECISIONS: u64 = 131_072;

/// Most events that are kept between two looks at a run; of more, the first ones stay.
const MAX_LIVE: usize = 4096;

/// Hint faults of one task on one CPU that are closer than this are one burst, ns.
const BURST_GAP_NS: u64 = 200_000;

/// Which logs a run writes; none by default.
#[derive(Default)]
pub struct Observers {
    /// The event log.
    pub trace: Option<Sink>,
    /// The first decisions.
    pub decisions: Option<Sink>,
    /// Counts with reasons.
    pub why: bool,
    /// The latest events and decisions are kept for whoever looks at the run on its way.
    pub live: bool,
    /// Where the model time of the run is written now and then, ns.
    pub clock: Option<Arc<AtomicU64>>,
    /// Whoever watches the run sets this to end it early: it then has
    /// [`Status::Timeout`](numalab_nouns::record::Status::Timeout), and its figures are worth nothing.
    pub stop: Option<Arc<AtomicBool>>,
}

/// Events on their way to a writer.
pub(crate) struct Stream {
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
    pub(crate) fn finish(mut self, end_ns: u64) -> io::Result<()> {
        self.flush();
        match self.error {
            Some(e) => Err(e),
            None => self.sink.end(end_ns),
        }
    }
}

/// The latest events of a run, for whoever looks at it on its way.
#[derive(Default)]
pub(crate) struct Latest {
    /// Up to [`MAX_LIVE`] events since the last look.
    pub(crate) events: Vec<Event>,
    /// Events that found no room.
    pub(crate) dropped: u64,
}

impl Latest {
    fn put(&mut self, e: &Event) {
        if self.events.len() < MAX_LIVE {
            self.events.push(*e);
        } else {
            self.dropped += 1;
        }
    }
}

/// A burst of hint faults on a CPU, which may go on.
#[derive(Clone, Copy)]
pub(crate) struct Burst {
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
    pub(crate) on: bool,
    pub(crate) trace: Option<Stream>,
    pub(crate) decisions: Option<Stream>,
    pub(crate) why: Option<Box<Collector>>,
    pub(crate) live: Option<Latest>,
    pub(crate) bursts: Vec<Burst>,
    /// What the scan in progress did to each mapping.
    pub(crate) visits: Vec<Visit>,
}

impl Log {
    /// Logs as asked for, of a machine with `cpus` CPUs and `nodes` nodes.
    pub fn new(ask: Observers, cpus: usize, nodes: usize, balancing: bool) -> Self {
        Self {
            on: ask.trace.is_some() || ask.decisions.is_some() || ask.why || ask.live,
            trace: ask.trace.map(|s| Stream::new(s, u64::MAX)),
            decisions: ask.decisions.map(|s| Stream::new(s, MAX_DECISIONS)),
            why: ask.why.then(|| Box::new(Collector::new(nodes, balancing))),
            live: ask.live.then(Latest::default),
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
    pub(crate) fn note(&mut self, e: &Event) {
        if let Some(live) = &mut self.live {
            live.put(e);
        }
        if let Some(s) = &mut self.trace {
            s.put(e);
        }
    }
    /// An event that is a decision, for the trace and the decision log.
    pub(crate) fn decide(&mut self, e: &Event) {
        if let Some(s) = &mut self.trace {
            s.put(e);
        }
        self.decide_only(e);
    }
    /// A decision that is too frequent for the trace, for the decision log only.
    pub(crate) fn decide_only(&mut self, e: &Event) {
        if let Some(live) = &mut self.live {
            live.put(e);
        }
        if let Some(s) = &mut self.decisions {
            s.put(e);
        }
    }
    /// Adds a hint fault to the burst of its CPU.
    pub(crate) fn burst(&mut self, f: &Fault, local: bool) {
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
    pub(crate) fn end_burst(&mut self, cpu: usize) {
        let b = std::mem::replace(&mut self.bursts[cpu], NO_BURST);
        if b.task != NONE {
            let z = u64::from(b.local) << 32 | u64::from(b.migrated);
            let head = Event::new(b.start_ns, Kind::Faults, b.task);
            self.note(&Event { ns: b.end_ns - b.start_ns, x: cpu as u32, y: b.faults, z, ..head });
        }
    }
}
