//! The event log of a run: what happened when, one fixed-size entry per event.
//!
//! Problem: a trace of a long run is gigabytes, so it must be written and read in constant memory, and its writer must not
//! slow the run. Approach: one line of JSON ([`Header`]: machine and processes), then entries of [`Event::BYTES`] bytes,
//! little-endian, the last one [`Kind::End`] with the number of those before it and a digest of the whole log ([`Sink`]); a
//! log that was cut off or changed is noticed.
//! Units: ns of run time; nodes and CPUs are dense. Field meanings are at [`Kind`].

use super::RecordError;
use crate::machine::Machine;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// `format` of a log.
const FORMAT: &str = "numalab events";
/// Format version this program writes and reads.
const VERSION: u64 = 1;
/// Longest header that is read, bytes.
const HEADER_BYTES_MAX: u64 = 1 << 26;
/// "None" in a field of 32 bits.
pub const NONE: u32 = u32::MAX;

/// What an event is. Fields not named are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// A task was created: `x` process, `y` thread.
    Born = 1,
    /// A task ended.
    Ended = 2,
    /// CPU `x` runs `task` from now on, or nothing ([`NONE`]); `code` is the state of the task that leaves: 0 runnable,
    /// 1 asleep, 16 ended.
    Switch = 3,
    /// A task changed CPU: `x` from, `y` to, `code` why ([`MOVE_WORDS`]).
    Moved = 4,
    /// A scan ran for `ns` on CPU `x`: `y` mappings scanned, `z` pages updated, `code` 1 if it was a forced second round.
    Scan = 5,
    /// The scanner passed over mapping `y` of process `x`; `code` why ([`Header::skips`]).
    Skip = 6,
    /// The scanner went through (a part of) mapping `y` of process `x`: `z` pages updated.
    Scanned = 7,
    /// Hint faults of a task on CPU `x` close together, `ns` from the first to the end of the last: `y` faults, `z` local ones
    /// (upper half) and pages migrated (lower half).
    Faults = 8,
    /// One hint fault on a page elsewhere (logs of decisions only): `x` process, `y` node of the page (upper half) and
    /// of the CPU (lower half), `z` address, `ns` what it took, `code` its end ([`Fate`]).
    Fault = 9,
    /// The preferred node changed: `x` from, `y` to.
    Preferred = 10,
    /// Task placement looked for a better CPU from CPU `x`: `code` what came of it ([`Header::placements`]).
    Placed = 11,
    /// The task became part of a group of others that share memory: `code` 0 a new one, 1 an existing one.
    Grouped = 12,
    /// Last entry: `z` events before it, `ns` digest of the log, 0 in logs of releases up to 0.13.0, which have none.
    End = 13,
}

impl Kind {
    const ALL: [Kind; 13] = [
        Kind::Born,
        Kind::Ended,
        Kind::Switch,
        Kind::Moved,
        Kind::Scan,
        Kind::Skip,
        Kind::Scanned,
        Kind::Faults,
        Kind::Fault,
        Kind::Preferred,
        Kind::Placed,
        Kind::Grouped,
        Kind::End,
    ];
}

/// Why a task changed CPU, by code: fork, exec, wake-up, periodic, new-idle and tickless balance, active balance, NUMA
/// balancing, affinity.
pub const MOVE_WORDS: [&str; 9] = [
    "fork",
    "exec",
    "wake-up",
    "periodic balance",
    "new-idle balance",
    "tickless balance",
    "active balance",
    "NUMA balancing",
    "affinity",
];

/// How a hint fault ended, as `code` of [`Kind::Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The page was where it should be.
    Local,
    /// The page moved to the node of the CPU.
    Migrated,
    /// The migration was tried and failed.
    Failed,
    /// The page was on another node and nothing asked for it here (policy).
    Stayed,
    /// The migration rule said no: index into [`Header::denials`].
    Denied(u8),
    /// The migration was refused before it was tried: index into [`Header::refusals`].
    Refused(u8),
}

impl Fate {
    /// As a code.
    pub fn code(self) -> u16 {
        match self {
            Fate::Local => 0,
            Fate::Migrated => 1,
            Fate::Failed => 2,
            Fate::Stayed => 3,
            Fate::Denied(i) => 0x100 + u16::from(i),
            Fate::Refused(i) => 0x200 + u16::from(i),
        }
    }
    /// From a code; what no code says is [`Fate::Stayed`].
    pub fn of(code: u16) -> Self {
        match (code >> 8, (code & 0xff) as u8) {
            (0, 0) => Fate::Local,
            (0, 1) => Fate::Migrated,
            (0, 2) => Fate::Failed,
            (1, i) => Fate::Denied(i),
            (2, i) => Fate::Refused(i),
            _ => Fate::Stayed,
        }
    }
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, ns.
    pub time_ns: u64,
    /// How long, ns.
    pub ns: u64,
    /// What.
    pub kind: Kind,
    /// Reason or result.
    pub code: u16,
    /// Task, numbered by birth; [`NONE`] if none.
    pub task: u32,
    /// See [`Kind`].
    pub x: u32,
    /// See [`Kind`].
    pub y: u32,
    /// See [`Kind`].
    pub z: u64,
}

impl Event {
    /// Bytes of an entry.
    pub const BYTES: usize = 40;

    /// An event with nothing but a time, a kind and a task.
    pub fn new(time_ns: u64, kind: Kind, task: u32) -> Self {
        Self { time_ns, ns: 0, kind, code: 0, task, x: 0, y: 0, z: 0 }
    }

    /// As bytes.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0..8].copy_from_slice(&self.time_ns.to_le_bytes());
        out[8..16].copy_from_slice(&self.ns.to_le_bytes());
        out[16..18].copy_from_slice(&(self.kind as u16).to_le_bytes());
        out[18..20].copy_from_slice(&self.code.to_le_bytes());
        out[20..24].copy_from_slice(&self.task.to_le_bytes());
        out[24..28].copy_from_slice(&self.x.to_le_bytes());
        out[28..32].copy_from_slice(&self.y.to_le_bytes());
        out[32..40].copy_from_slice(&self.z.to_le_bytes());
        out
    }

    /// From bytes; `None` if no kind has its number.
    pub fn decode(b: &[u8; Self::BYTES]) -> Option<Self> {
        let u16_at = |i: usize| u16::from_le_bytes([b[i], b[i + 1]]);
        let u32_at = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
        let u64_at = |i: usize| u64::from(u32_at(i)) | u64::from(u32_at(i + 4)) << 32;
        let kind = *Kind::ALL.get(usize::from(u16_at(16)).checked_sub(1)?)?;
        Some(Self {
            time_ns: u64_at(0),
            ns: u64_at(8),
            kind,
            code: u16_at(18),
            task: u32_at(20),
            x: u32_at(24),
            y: u32_at(28),
            z: u64_at(32),
        })
    }

    /// Number of local faults and of pages migrated, of [`Kind::Faults`].
    pub fn local_and_migrated(&self) -> (u64, u64) {
        (self.z >> 32, self.z & 0xffff_ffff)
    }
    /// Node of the page and of the CPU, of [`Kind::Fault`].
    pub fn nodes(&self) -> (usize, usize) {
        ((self.y >> 16) as usize, (self.y & 0xffff) as usize)
    }
}

/// A CPU by its dense number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuEntry {
    /// Number the kernel gives it.
    pub id: u32,
    /// Node, dense.
    pub node: u32,
    /// Socket.
    pub socket: u32,
    /// Last-level cache, dense.
    pub llc: u32,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEntry {
    /// Name.
    pub name: String,
    /// Number of threads.
    pub threads: u32,
}

/// First line of a log: what its numbers stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always `numalab events`.
    pub format: String,
    /// Format version.
    pub format_version: u64,
    /// Id of the record the log belongs to.
    pub record: String,
    /// Machine.
    pub machine: String,
    /// Nodes: the number the kernel gives each.
    pub nodes: Vec<u32>,
    /// CPUs.
    pub cpus: Vec<CpuEntry>,
    /// Processes.
    pub processes: Vec<ProcessEntry>,
    /// Words for the codes of [`Kind::Skip`].
    pub skips: Vec<String>,
    /// Words for [`Fate::Denied`].
    pub denials: Vec<String>,
    /// Words for [`Fate::Refused`].
    pub refusals: Vec<String>,
    /// Words for the codes of [`Kind::Placed`].
    pub placements: Vec<String>,
}

impl Header {
    /// Header of a run; the words are the backend's to fill in.
    pub fn new(record: &str, machine: &Machine, workload: &Workload) -> Self {
        let cpu = |c: &crate::machine::Cpu| CpuEntry {
            id: c.id,
            node: c.node as u32,
            socket: c.socket as u32,
            llc: c.llc as u32,
        };
        let process =
            |p: &crate::workload::Process| ProcessEntry { name: p.name.clone(), threads: p.threads.len() as u32 };
        Self {
            format: FORMAT.into(),
            format_version: VERSION,
            record: record.into(),
            machine: machine.name.clone(),
            nodes: machine.nodes.iter().map(|n| n.id).collect(),
            cpus: machine.cpus.iter().map(cpu).collect(),
            processes: workload.processes.iter().map(process).collect(),
            ..Self::default()
        }
    }

    /// The line, line feed included.
    ///
    /// # Errors
    /// None in practice.
    pub fn line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|s| s + "\n")
    }
}

/// A check of a log's bytes against damage, in order: not against intent. Gigabytes pass through it while a run goes on, so
/// it takes words of eight bytes, each in a step that has an inverse: a change in one word always shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest(u64);

impl Digest {
    /// Offset basis and prime of FNV-1a.
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;

    fn add(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(Self::PRIME);
            self.0 ^= self.0 >> 29;
        }
    }
    /// The digest of everything so far and of the last entry, which is to hold it; never 0, which means none.
    fn with_end(mut self, end: &Event) -> u64 {
        self.add(&Event { ns: 0, ..*end }.encode());
        self.0.max(1)
    }
}

/// Writes a log.
pub struct Sink {
    to: Box<dyn Write + Send>,
    digest: Digest,
    events: u64,
}

impl Sink {
    /// Begins a log with its first line.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(header: &Header, mut to: Box<dyn Write + Send>) -> io::Result<Self> {
        let line = header.line()?;
        to.write_all(line.as_bytes())?;
        let mut digest = Digest(Digest::START);
        digest.add(line.as_bytes());
        Ok(Self { to, digest, events: 0 })
    }
    /// Writes whole entries, none of them the last.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(&mut self, entries: &[u8]) -> io::Result<()> {
        self.digest.add(entries);
        self.events += (entries.len() / Event::BYTES) as u64;
        self.to.write_all(entries)
    }
    /// Ends the log of a run that ended at `end_ns`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self, end_ns: u64) -> io::Result<()> {
        let end = Event { z: self.events, ..Event::new(end_ns, Kind::End, NONE) };
        self.to.write_all(&Event { ns: self.digest.with_end(&end), ..end }.encode())?;
        self.to.flush()
    }
}

/// Reads a log from its beginning to its end.
#[derive(Debug)]
pub struct Events {
    /// What the numbers stand for.
    pub header: Header,
    path: PathBuf,
    file: BufReader<File>,
    digest: Digest,
    read: u64,
    ended: bool,
}

impl Events {
    /// Opens a log.
    ///
    /// # Errors
    /// There is none, or it is of another format or version.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let file = File::open(path).map_err(|e| RecordError::io(path, &e))?;
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut line = Vec::new();
        file.by_ref().take(HEADER_BYTES_MAX).read_until(b'\n', &mut line).map_err(|e| RecordError::io(path, &e))?;
        let mut digest = Digest(Digest::START);
        digest.add(&line);
        let header: Header =
            serde_json::from_slice(&line).map_err(|e| RecordError::damaged(path, format!("its first line: {e}")))?;
        if header.format != FORMAT || header.format_version != VERSION {
            let what = format!("it is `{}` of version {}", header.format, header.format_version);
            return Err(RecordError::damaged(path, format!("{what}, not `{FORMAT}` of version {VERSION}")));
        }
        Ok(Self { header, path: path.into(), file, digest, read: 0, ended: false })
    }

    /// Reads a whole log for nothing but whether it is as it was written.
    ///
    /// # Errors
    /// As [`Events::open`] and [`Events::next_event`].
    pub fn check(path: &Path) -> Result<Header, RecordError> {
        let mut log = Self::open(path)?;
        while log.next_event()?.is_some() {}
        Ok(log.header)
    }

    /// The next event, `None` after the last one.
    ///
    /// # Errors
    /// The log is cut off or damaged, or cannot be read.
    pub fn next_event(&mut self) -> Result<Option<Event>, RecordError> {
        if self.ended {
            return Ok(None);
        }
        let mut bytes = [0; Event::BYTES];
        let damaged = |what: String| RecordError::damaged(&self.path, what);
        self.file.read_exact(&mut bytes).map_err(|_| damaged(format!("it is cut off after {} events", self.read)))?;
        let event = Event::decode(&bytes).ok_or_else(|| damaged(format!("event {} is of no known kind", self.read)))?;
        if event.kind == Kind::End {
            if event.z != self.read {
                return Err(damaged(format!("it has {} events, not {}", self.read, event.z)));
            }
            if event.ns != 0 && event.ns != self.digest.with_end(&event) {
                return Err(damaged("its contents differ from their digest".into()));
            }
            self.ended = true;
            return Ok(None);
        }
        self.digest.add(&bytes);
        self.read += 1;
        Ok(Some(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn every_kind_survives_its_bytes() {
        for (i, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i + 1);
            let e =
                Event { ns: 1 << 40, code: 0x203, x: 7, y: NONE, z: u64::MAX - 1, ..Event::new(u64::MAX - 5, kind, 3) };
            assert_eq!(Event::decode(&e.encode()), Some(e));
        }
        assert_eq!(Event::decode(&[0; Event::BYTES]), None);
        assert_eq!(Event::decode(&[0xff; Event::BYTES]), None);
        for fate in [Fate::Local, Fate::Migrated, Fate::Failed, Fate::Stayed, Fate::Denied(4), Fate::Refused(0)] {
            assert_eq!(Fate::of(fate.code()), fate);
        }
    }

    #[test]
    fn a_log_that_is_cut_off_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let header = Header { format: FORMAT.into(), format_version: VERSION, ..Header::default() };
        let (a, b) = (Event::new(1, Kind::Born, 0), Event::new(2, Kind::Ended, 0));
        let write = |events: &[Event]| {
            let mut f = File::create(&path).unwrap();
            f.write_all(header.line().unwrap().as_bytes()).unwrap();
            events.iter().for_each(|e| f.write_all(&e.encode()).unwrap());
        };
        let all = || -> Result<Vec<Event>, RecordError> {
            let mut log = Events::open(&path)?;
            let mut out = Vec::new();
            while let Some(e) = log.next_event()? {
                out.push(e);
            }
            assert_eq!(log.next_event()?, None, "the end stays the end");
            Ok(out)
        };
        write(&[a, b, Event { z: 2, ..Event::new(2, Kind::End, NONE) }]);
        assert_eq!(all().unwrap(), [a, b]);
        write(&[a, b]);
        assert!(all().unwrap_err().to_string().contains("cut off after 2 events"));
        write(&[a, Event { z: 2, ..Event::new(2, Kind::End, NONE) }]);
        assert!(all().unwrap_err().to_string().contains("it has 1 events, not 2"));
        std::fs::write(&path, "{}\n").unwrap();
        assert!(Events::open(&path).is_err());
        std::fs::write(&path, [0xff, 0xfe, b'\n']).unwrap();
        assert!(Events::open(&path).unwrap_err().to_string().contains("expected an unchanged"));
    }

    #[test]
    fn every_changed_bit_of_a_log_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let header = Header {
            format: FORMAT.into(),
            format_version: VERSION,
            record: "r".into(),
            machine: "m".into(),
            ..Header::default()
        };
        let mut sink = Sink::new(&header, Box::new(File::create(&path).unwrap())).unwrap();
        for e in [Event::new(1, Kind::Born, 0), Event { x: 3, z: 9, ..Event::new(2, Kind::Scanned, 0) }] {
            sink.write(&e.encode()).unwrap();
        }
        sink.end(7).unwrap();
        assert_eq!(Events::check(&path).unwrap(), header);
        let good = std::fs::read(&path).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).unwrap();
            assert!(Events::check(&path).is_err(), "bit {bit} of {}", good.len() * 8);
        }
    }
}
