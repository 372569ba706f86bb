//! One entry of a log: 40 bytes, little-endian.

/// The value of a field of 32 bits that stands for none.
pub const NONE: u32 = u32::MAX;

/// What an event is. A field that the kind does not name is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// A task was created: `x` process, `y` thread.
    Born = 1,
    /// A task ended.
    Ended = 2,
    /// CPU `x` runs `task` from now on, or nothing ([`NONE`]). `code` is the state of the task that leaves the CPU:
    /// 0 runnable, 1 asleep, 16 ended.
    Switch = 3,
    /// A task changed CPU: `x` from, `y` to, `code` the reason ([`MOVE_WORDS`]).
    Moved = 4,
    /// A scan ran for `ns` on CPU `x`: `y` mappings scanned, `z` pages updated, `code` 1 if the scan was a forced
    /// second round.
    Scan = 5,
    /// The scanner skipped mapping `y` of process `x`: `code` the reason (`skips` of the first line).
    Skip = 6,
    /// The scanner went through mapping `y` of process `x`, or a part of it: `z` pages updated.
    Scanned = 7,
    /// Hint faults of a task on CPU `x` that were close together: `y` faults, `ns` from the start of the first to the
    /// end of the last. `z` holds the local faults (upper half) and the pages migrated (lower half).
    Faults = 8,
    /// One hint fault on a page of another node (logs of decisions only): `x` process, `z` address, `ns` duration,
    /// `code` how it ended ([`Fate`]). `y` holds the node of the page (upper half) and of the CPU (lower half).
    Fault = 9,
    /// The preferred node of the task changed: `x` from, `y` to.
    Preferred = 10,
    /// Task placement looked for a better CPU from CPU `x`: `code` the result (`placements` of the first line).
    Placed = 11,
    /// The task joined a NUMA group of tasks that share memory: `code` 0 for a new group, 1 for an existing one.
    Grouped = 12,
    /// Last entry: `z` events before it, `ns` digest of the log. Logs of releases up to 0.13.0 have no digest, and `ns`
    /// is 0.
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

/// Why a task changed CPU, by the `code` of [`Kind::Moved`].
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
    /// The page was on the node of the CPU.
    Local,
    /// The page moved to the node of the CPU.
    Migrated,
    /// The migration was tried and failed.
    Failed,
    /// The page was on another node, and its memory policy did not ask for a migration.
    Stayed,
    /// The migration rule denied the migration: index into `denials` of the first line.
    Denied(u8),
    /// The migration was refused before an attempt: index into `refusals` of the first line.
    Refused(u8),
}

impl Fate {
    /// The fate as the `code` of an event.
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
    /// The fate of a code; an unknown code is [`Fate::Stayed`].
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

/// An entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Start of the event, ns.
    pub time_ns: u64,
    /// Duration, ns; another meaning where [`Kind`] says so.
    pub ns: u64,
    /// What happened.
    pub kind: Kind,
    /// Reason or result; see [`Kind`].
    pub code: u16,
    /// Task, numbered in order of birth; [`NONE`] if none.
    pub task: u32,
    /// See [`Kind`].
    pub x: u32,
    /// See [`Kind`].
    pub y: u32,
    /// See [`Kind`].
    pub z: u64,
}

impl Event {
    /// Size of an entry, bytes.
    pub const BYTES: usize = 40;

    /// An event with a time, a kind and a task; all other fields are 0.
    pub fn new(time_ns: u64, kind: Kind, task: u32) -> Self {
        Self { time_ns, ns: 0, kind, code: 0, task, x: 0, y: 0, z: 0 }
    }

    /// The event as the bytes of an entry.
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

    /// The event of an entry; `None` if its kind is unknown.
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

    /// Local faults and pages migrated of a [`Kind::Faults`].
    pub fn local_and_migrated(&self) -> (u64, u64) {
        (self.z >> 32, self.z & 0xffff_ffff)
    }
    /// Node of the page and node of the CPU of a [`Kind::Fault`].
    pub fn nodes(&self) -> (usize, usize) {
        ((self.y >> 16) as usize, (self.y & 0xffff) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
