//! A run as a Perfetto trace: threads on CPUs, scans, hint faults, moves with reasons, and counters of every node.
//!
//! Problem: a trace viewer shows best who ran where, who scanned and what moved, and a log may be larger than memory.
//! Approach: one pass over the event log ([`numalab_model::record::events`]), one packet at a time. Only the name of
//! every task and the task on every CPU are kept. Threads on CPUs are `sched_switch` events, which viewers know;
//! everything else is on tracks below the threads and below the nodes. Units: ns of run time, as the boot clock of the
//! trace. Invariant: the same log and series give the same bytes.

pub mod proto;

use numalab_model::machine::cpulist;
use numalab_model::record::events::{Event, Events, Header, Kind, MOVE_WORDS, NONE};
use numalab_model::record::{RecordError, Series};
use prost::Message;
use proto::{
    CounterDescriptor, DebugAnnotation, EventType, FtraceEvent, FtraceEventBundle, Process, ProcessDescriptor,
    ProcessTree, SchedSwitch, Thread, ThreadDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use std::io::{self, Write};

/// Number of the packet sequence, which all packets are on.
const SEQUENCE: u32 = 1;
/// Start of the name of the first track.
const MACHINE: &str = "machine ";
/// First byte of a packet: field 1 of a trace, a message.
const PACKET: u8 = 0x0a;
/// Thread number of the first task. The idle task is 0, and viewers use 1 and 2 for others.
const FIRST_TID: u32 = 1000;
/// Ordinary priority of a task.
const PRIORITY: i32 = 120;

/// Kinds of tracks. The upper bits of a track's identity are its kind.
#[derive(Clone, Copy)]
enum Track {
    Machine = 1,
    Node = 2,
    Counter = 3,
    Process = 4,
    Thread = 5,
    Scan = 6,
    Faults = 7,
}

impl Track {
    fn id(self, number: u64) -> u64 {
        (self as u64) << 32 | number
    }
}

/// What [`write`] wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Number of events read from the log.
    pub events: u64,
    /// Number of packets written.
    pub packets: u64,
    /// Number of bytes written.
    pub bytes: u64,
}

/// Why a trace could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The log is damaged or cannot be read.
    #[error(transparent)]
    Log(#[from] RecordError),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// Writes the trace of a run from its event log and its time series.
///
/// # Errors
/// The log is damaged, or `out` fails.
pub fn write(log: &mut Events, series: &[Series], out: &mut dyn Write) -> Result<Written, TraceError> {
    let header = log.header.clone();
    let mut w =
        Writer { out, header: &header, buffer: Vec::new(), written: Written::default(), tasks: vec![], on: vec![] };
    w.on = vec![NONE; header.cpus.len()];
    w.topology()?;
    for s in series {
        w.series(s)?;
    }
    while let Some(e) = log.next_event()? {
        w.written.events += 1;
        w.event(&e)?;
    }
    w.out.flush()?;
    Ok(w.written)
}

/// Whether a file that begins with `head` is a trace of [`write`]: packets, of which the first names the machine.
pub fn begins(head: &[u8]) -> bool {
    let machine = MACHINE.as_bytes();
    head.first() == Some(&PACKET) && head.windows(machine.len()).any(|w| w == machine)
}

/// A task in the trace.
struct Task {
    name: String,
    process: u32,
    /// Whether its tracks of scans and of hint faults have been described.
    announced: [bool; 2],
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    header: &'a Header,
    buffer: Vec<u8>,
    written: Written,
    tasks: Vec<Task>,
    /// The task on each CPU, [`NONE`] for the idle task.
    on: Vec<u32>,
}

impl Writer<'_> {
    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        self.buffer.clear();
        // A trace is its packets, concatenated: the encoding of a repeated field is that of its messages one after the
        // other.
        let one = Trace { packet: vec![TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet }] };
        // A vector grows as needed, so encoding cannot fail.
        one.encode(&mut self.buffer).map_err(io::Error::other)?;
        self.written.packets += 1;
        self.written.bytes += self.buffer.len() as u64;
        self.out.write_all(&self.buffer)
    }

    fn track(&mut self, uuid: u64, parent: Option<u64>, name: &str) -> io::Result<()> {
        let d =
            TrackDescriptor { uuid: Some(uuid), parent_uuid: parent, name: Some(name.into()), ..Default::default() };
        self.packet(TracePacket { track_descriptor: Some(d), ..Default::default() })
    }

    /// Tracks of the machine and of its nodes.
    fn topology(&mut self) -> io::Result<()> {
        let h = self.header;
        let sockets = h.cpus.iter().map(|c| c.socket + 1).max().unwrap_or(0);
        let llcs = h.cpus.iter().map(|c| c.llc + 1).max().unwrap_or(0);
        let shape = format!("{sockets} sockets, {} nodes, {llcs} LLCs, {} CPUs", h.nodes.len(), h.cpus.len());
        self.track(Track::Machine.id(0), None, &format!("{MACHINE}{} ({shape})", h.machine))?;
        for (n, id) in h.nodes.iter().enumerate() {
            let cpus: Vec<u32> = h.cpus.iter().filter(|c| c.node as usize == n).map(|c| c.id).collect();
            let cpus = if cpus.is_empty() { "no CPUs".into() } else { format!("CPUs {}", cpulist::format(&cpus)) };
            let socket = h.cpus.iter().find(|c| c.node as usize == n).map(|c| format!(", socket {}", c.socket));
            let name = format!("node {id} ({cpus}{})", socket.unwrap_or_default());
            self.track(Track::Node.id(n as u64), Some(Track::Machine.id(0)), &name)?;
        }
        Ok(())
    }

    /// A counter track per column: below a node if the name of the column ends in one, else below the machine. Maps are
    /// no counters.
    fn series(&mut self, s: &Series) -> io::Result<()> {
        if s.unit == "node" {
            return Ok(());
        }
        for (column, values) in s.columns.iter().zip(&s.values) {
            let node = column.rsplit_once("/node").and_then(|(_, n)| n.parse::<u64>().ok());
            let parent = node.map_or(Track::Machine.id(0), |n| Track::Node.id(n));
            let uuid = Track::Counter.id(self.written.packets);
            let d = TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: Some(parent),
                name: Some(format!("{} {column}", s.name)),
                counter: Some(CounterDescriptor { unit_name: Some(s.unit.clone()) }),
                ..Default::default()
            };
            self.packet(TracePacket { track_descriptor: Some(d), ..Default::default() })?;
            for (t, v) in s.time_ns.iter().zip(values) {
                let value = TrackEvent { double_counter_value: Some(*v), ..Default::default() };
                self.track_event(*t, uuid, EventType::Counter, value)?;
            }
        }
        Ok(())
    }

    fn track_event(&mut self, time_ns: u64, track: u64, kind: EventType, event: TrackEvent) -> io::Result<()> {
        let event = TrackEvent { r#type: Some(kind as i32), track_uuid: Some(track), ..event };
        self.packet(TracePacket { timestamp: Some(time_ns), track_event: Some(event), ..Default::default() })
    }

    fn event(&mut self, e: &Event) -> io::Result<()> {
        match e.kind {
            Kind::Born => self.born(e),
            Kind::Switch => self.switch(e),
            Kind::Scan => {
                let name = format!("NUMA scan: {} pages marked", e.z);
                let forced = ("second round", u64::from(e.code));
                self.slice(
                    e,
                    (Track::Scan, 0),
                    &name,
                    "scan",
                    &[("pages marked", e.z), ("mappings", u64::from(e.y)), forced],
                )
            }
            Kind::Faults => {
                let (local, migrated) = e.local_and_migrated();
                let name = format!("{} hint faults, {migrated} pages migrated", e.y);
                let numbers = [("faults", u64::from(e.y)), ("local", local), ("pages migrated", migrated)];
                self.slice(e, (Track::Faults, 1), &name, "faults", &numbers)
            }
            Kind::Moved => {
                let why = MOVE_WORDS.get(usize::from(e.code)).unwrap_or(&"");
                let (from, to) = (self.cpu(e.x), self.cpu(e.y));
                let name = format!("moved by {why}: {from} → {to}");
                self.instant(e, &name, "move", why)
            }
            Kind::Preferred => {
                let name = format!("prefers {} (before: {})", self.node(e.y), self.node(e.x));
                self.instant(e, &name, "preferred node", "")
            }
            Kind::Placed => {
                let word = self.header.placements.get(usize::from(e.code)).cloned().unwrap_or_default();
                self.instant(e, &format!("NUMA placement: {word}"), "placement", &word)
            }
            Kind::Grouped => {
                let name = if e.code == 0 { "first of a group" } else { "joins a group" };
                self.instant(e, name, "group", "")
            }
            Kind::Ended | Kind::Skip | Kind::Scanned | Kind::Fault | Kind::End => Ok(()),
        }
    }

    fn cpu(&self, cpu: u32) -> String {
        self.header.cpus.get(cpu as usize).map_or_else(String::new, |c| {
            let node = self.header.nodes.get(c.node as usize).copied().unwrap_or(c.node);
            format!("CPU {} (node {node})", c.id)
        })
    }

    fn node(&self, node: u32) -> String {
        match self.header.nodes.get(node as usize) {
            Some(id) => format!("node {id}"),
            None => "none".into(),
        }
    }

    fn tid(task: u32) -> i32 {
        i32::try_from(FIRST_TID.saturating_add(task)).unwrap_or(i32::MAX)
    }

    /// Number of a process: that of its first thread, which starts before the others.
    fn pid(&self, process: u32) -> i32 {
        Self::tid(self.tasks.iter().position(|t| t.process == process).unwrap_or(0) as u32)
    }

    fn born(&mut self, e: &Event) -> io::Result<()> {
        let process =
            self.header.processes.get(e.x as usize).map_or("the machine's own", |p| p.name.as_str()).to_string();
        let name = format!("{process}/t{}", e.y);
        self.tasks.push(Task { name: name.clone(), process: e.x, announced: [false; 2] });
        let (pid, tid) = (self.pid(e.x), Self::tid(e.task));
        let mut tree = ProcessTree::default();
        if pid == tid {
            tree.processes.push(Process { pid: Some(pid), ppid: Some(0), cmdline: vec![process.clone()] });
            let d = ProcessDescriptor { pid: Some(pid), process_name: Some(process) };
            let uuid = Some(Track::Process.id(u64::from(e.x)));
            let d = TrackDescriptor { uuid, process: Some(d), ..Default::default() };
            self.packet(TracePacket { track_descriptor: Some(d), ..Default::default() })?;
        }
        tree.threads.push(Thread { tid: Some(tid), name: Some(name.clone()), tgid: Some(pid) });
        self.packet(TracePacket { timestamp: Some(e.time_ns), process_tree: Some(tree), ..Default::default() })?;
        let d = ThreadDescriptor { pid: Some(pid), tid: Some(i64::from(tid)), thread_name: Some(name) };
        let uuid = Some(Track::Thread.id(u64::from(e.task)));
        let parent_uuid = Some(Track::Process.id(u64::from(e.x)));
        let d = TrackDescriptor { uuid, parent_uuid, thread: Some(d), ..Default::default() };
        self.packet(TracePacket { track_descriptor: Some(d), ..Default::default() })
    }

    fn switch(&mut self, e: &Event) -> io::Result<()> {
        let Some(on) = self.on.get_mut(e.x as usize) else { return Ok(()) };
        let prev = std::mem::replace(on, e.task);
        let name = |task: u32| self.tasks.get(task as usize).map_or("swapper", |t| t.name.as_str()).to_string();
        let pid = |task: u32| if task == NONE { 0 } else { Self::tid(task) };
        let switch = SchedSwitch {
            prev_comm: Some(name(prev)),
            prev_pid: Some(pid(prev)),
            prev_prio: Some(PRIORITY),
            prev_state: Some(i64::from(e.code)),
            next_comm: Some(name(e.task)),
            next_pid: Some(pid(e.task)),
            next_prio: Some(PRIORITY),
        };
        let event = FtraceEvent {
            timestamp: Some(e.time_ns),
            pid: Some(u32::try_from(pid(prev)).unwrap_or(0)),
            sched_switch: Some(switch),
        };
        let cpu = self.header.cpus.get(e.x as usize).map(|c| c.id);
        let bundle = FtraceEventBundle { cpu, event: vec![event] };
        self.packet(TracePacket { ftrace_events: Some(bundle), ..Default::default() })
    }

    /// An activity of a task that took time, on a track of its own below the thread.
    fn slice(
        &mut self,
        e: &Event,
        (track, slot): (Track, usize),
        name: &str,
        category: &str,
        numbers: &[(&str, u64)],
    ) -> io::Result<()> {
        let uuid = track.id(u64::from(e.task));
        let Some(task) = self.tasks.get_mut(e.task as usize) else { return Ok(()) };
        if !std::mem::replace(&mut task.announced[slot], true) {
            let what = if slot == 0 { "NUMA scans" } else { "hint faults" };
            let name = format!("{what} of {}", task.name);
            self.track(uuid, Some(Track::Thread.id(u64::from(e.task))), &name)?;
        }
        let number = |(n, v): &(&str, u64)| DebugAnnotation {
            name: Some((*n).into()),
            uint_value: Some(*v),
            string_value: None,
        };
        let begin = TrackEvent {
            name: Some(name.into()),
            categories: vec![category.into()],
            debug_annotations: numbers.iter().map(number).collect(),
            ..Default::default()
        };
        self.track_event(e.time_ns, uuid, EventType::SliceBegin, begin)?;
        self.track_event(e.time_ns + e.ns, uuid, EventType::SliceEnd, TrackEvent::default())
    }

    fn instant(&mut self, e: &Event, name: &str, category: &str, reason: &str) -> io::Result<()> {
        let annotation =
            DebugAnnotation { name: Some("reason".into()), string_value: Some(reason.into()), uint_value: None };
        let event = TrackEvent {
            name: Some(name.into()),
            categories: vec![category.into()],
            debug_annotations: if reason.is_empty() { vec![] } else { vec![annotation] },
            ..Default::default()
        };
        self.track_event(e.time_ns, Track::Thread.id(u64::from(e.task)), EventType::Instant, event)
    }
}
