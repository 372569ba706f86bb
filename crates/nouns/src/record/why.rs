//! The decision log of a run: what was decided about every mapping, task and 2 MiB chunk of memory.
//!
//! Problem: "why was this mapping never scanned?" is asked after the run, and a full trace is too large to keep by
//! default.
//! Approach: decisions are counted by reason, with the first and last time. Each subject has a history of at most
//! [`History::MAX`] entries: the first and the last of what happened. The size is bounded by the number of mappings,
//! tasks and chunks.
//! Units: ns of run time; nodes and CPUs dense; addresses in bytes.

use serde::{Deserialize, Serialize};

/// The first and the last entries of a history, which may have been longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History<T> {
    /// Number of entries that were added.
    pub count: u64,
    /// The first entries.
    pub first: Vec<T>,
    /// The last entries after those in `first`, a ring once it is full: see [`History::recent`].
    last: Vec<T>,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        Self { count: 0, first: Vec::new(), last: Vec::new() }
    }
}

impl<T: Clone> History<T> {
    /// Most entries kept.
    pub const MAX: usize = 16;
    const HALF: usize = Self::MAX / 2;

    /// Adds an entry. Beyond [`Self::MAX`] an entry from the middle is dropped.
    pub fn push(&mut self, entry: T) {
        if self.first.len() < Self::HALF {
            self.first.push(entry);
        } else if self.last.len() < Self::HALF {
            self.last.push(entry);
        } else {
            self.last[(self.count as usize - Self::HALF) % Self::HALF] = entry;
        }
        self.count += 1;
    }

    /// The last entries in order of time.
    pub fn recent(&self) -> Vec<T> {
        if self.last.len() < Self::HALF {
            return self.last.clone();
        }
        let oldest = (self.count as usize - Self::HALF) % Self::HALF;
        self.last[oldest..].iter().chain(&self.last[..oldest]).cloned().collect()
    }

    /// Number of entries that were dropped between the first and the last ones.
    pub fn dropped(&self) -> u64 {
        self.count - (self.first.len() + self.last.len()) as u64
    }
}

/// How long events of one kind took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations {
    /// All of them together, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// Number of events by duration: the first entry counts those below 1 µs, entry `n` those from 2^(n-1) to 2^n µs.
    pub by_power: Vec<u64>,
}

impl Durations {
    /// Counts an event that took `ns`.
    pub fn add(&mut self, ns: u64) {
        self.total_ns = self.total_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
        let power = (64 - (ns / 1000).leading_zeros()) as usize;
        if self.by_power.len() <= power {
            self.by_power.resize(power + 1, 0);
        }
        self.by_power[power] += 1;
    }
    /// Adds the events of another.
    pub fn merge(&mut self, other: &Durations) {
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        if self.by_power.len() < other.by_power.len() {
            self.by_power.resize(other.by_power.len(), 0);
        }
        self.by_power.iter_mut().zip(&other.by_power).for_each(|(a, b)| *a += b);
    }
    /// Number of events.
    pub fn count(&self) -> u64 {
        self.by_power.iter().sum()
    }
}

/// A count of events of one kind, with the times of the first and the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Number of events.
    pub count: u64,
    /// Time of the first event, ns.
    pub first_ns: u64,
    /// Time of the last event, ns.
    pub last_ns: u64,
}

impl Tally {
    /// Counts an event at `now_ns`.
    pub fn add(&mut self, now_ns: u64) {
        if self.count == 0 {
            self.first_ns = now_ns;
        }
        self.count += 1;
        self.last_ns = now_ns;
    }
}

/// Tallies by the word of a reason, in the order of first appearance.
pub type Tallies = Vec<(String, Tally)>;

/// What was decided about a mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmaWhy {
    /// Index of the process.
    pub process: u32,
    /// Number of the mapping in its process.
    pub id: u32,
    /// Name of the workload's region, or of the thread's stack.
    pub name: String,
    /// Address of the first byte.
    pub start: u64,
    /// Address after the last byte.
    pub end: u64,
    /// Scans that went through a part of it.
    pub scanned: Tally,
    /// Pages that scans marked in it.
    pub updates: u64,
    /// Times that the scanner skipped it, by reason.
    pub skips: Tallies,
    /// Hint faults on its pages.
    pub faults: u64,
}

/// A change of the CPU of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveWhy {
    /// Time, ns.
    pub time_ns: u64,
    /// CPU before.
    pub from: u32,
    /// CPU after.
    pub to: u32,
    /// Reason, as an index into [`MOVE_WORDS`](super::events::MOVE_WORDS).
    pub why: u16,
    /// Preferred node of the task at that time.
    pub preferred: Option<u32>,
}

/// A change of the preferred node of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreferredWhy {
    /// Time, ns.
    pub time_ns: u64,
    /// Node before.
    pub from: Option<u32>,
    /// Node after.
    pub to: Option<u32>,
    /// Hint faults of the task so far, and the local ones among them.
    pub faults: (u64, u64),
}

/// What was decided about a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskWhy {
    /// Index of the process.
    pub process: u32,
    /// Thread of the process; 0 is the initial one.
    pub thread: u32,
    /// Time of birth, ns.
    pub born_ns: u64,
    /// CPU on which it was created.
    pub born_cpu: u32,
    /// Time of its end, ns, if it ended.
    pub ended_ns: Option<u64>,
    /// Changes of CPU by reason.
    pub by_why: Tallies,
    /// Changes of CPU between nodes, by reason.
    pub nodes_by_why: Tallies,
    /// History of its moves between nodes.
    pub moves: History<MoveWhy>,
    /// History of its preferred node.
    pub preferred: History<PreferredWhy>,
    /// Results of task placement, by word.
    pub placed: Tallies,
    /// Scans that it ran.
    pub scans: Tally,
    /// How long they took.
    #[serde(default)]
    pub scan_time: Durations,
    /// Hint faults that it took.
    pub faults: u64,
    /// Local hint faults among them.
    pub local: u64,
    /// Time at which it joined a NUMA group, ns.
    pub grouped_ns: Option<u64>,
}

/// A hint fault on the page whose history a chunk keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultWhy {
    /// Time, ns.
    pub time_ns: u64,
    /// Task that took the fault.
    pub task: u32,
    /// Node of the page before the fault.
    pub page_node: u32,
    /// Node of the CPU.
    pub cpu_node: u32,
    /// How the fault ended, as a code of [`Fate`](super::events::Fate).
    pub fate: u16,
}

/// What was decided about a 2 MiB chunk of a mapping that had hint faults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkWhy {
    /// Index of the mapping in [`Why::vmas`].
    pub vma: u32,
    /// Address of the first byte.
    pub start: u64,
    /// Whether it was one huge page at its last hint fault.
    pub huge: bool,
    /// Hint faults on its pages.
    pub faults: Tally,
    /// Local hint faults among them.
    pub local: u64,
    /// How the hint faults ended, by word.
    pub fates: Tallies,
    /// Page migrations; a page counts each time it moves.
    pub migrated: u64,
    /// Address of the page whose hint faults `history` holds: the first page of the chunk that took one.
    pub watched: u64,
    /// Times that this page returned to a node that it had left.
    pub returns: u64,
    /// Hint faults of this page.
    pub history: History<FaultWhy>,
}

/// Moves and faults of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeWhy {
    /// Pages that hint faults migrated to it.
    pub pages_in: u64,
    /// Pages that hint faults migrated away from it.
    pub pages_out: u64,
    /// Tasks that came from another node.
    pub tasks_in: u64,
    /// Tasks that went to another node.
    pub tasks_out: u64,
    /// Hint faults that its CPUs took.
    pub faults: u64,
    /// Local hint faults among them.
    pub local: u64,
    /// Base pages that a first touch allocated on it.
    pub first_touched: u64,
    /// Pages on it at the last sample.
    pub pages_at_end: u64,
}

/// Base pages of a log that does not say.
fn four_kib() -> u64 {
    4096
}

/// The decision log of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// End of the run, ns.
    pub end_ns: u64,
    /// Whether NUMA balancing was on.
    pub balancing: bool,
    /// Bytes of a base page.
    #[serde(default = "four_kib")]
    pub base_page_bytes: u64,
    /// Mappings.
    pub vmas: Vec<VmaWhy>,
    /// Tasks in order of birth.
    pub tasks: Vec<TaskWhy>,
    /// Chunks that had hint faults, in order of the first fault.
    pub chunks: Vec<ChunkWhy>,
    /// Hint faults in chunks beyond the limit of the log.
    pub faults_not_kept: u64,
    /// Nodes.
    pub nodes: Vec<NodeWhy>,
}

/// Counts an event at `now_ns` under a word.
pub fn tally(list: &mut Tallies, word: &str, now_ns: u64) {
    match list.iter_mut().find(|t| t.0 == word) {
        Some(t) => t.1.add(now_ns),
        None => {
            let mut t = Tally::default();
            t.add(now_ns);
            list.push((word.to_string(), t));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_keeps_its_beginning_and_its_end() {
        let mut h = History::default();
        for i in 0..100 {
            h.push(i);
            assert!(h.first.len() + h.recent().len() <= History::<i32>::MAX);
        }
        assert_eq!(h.first, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(h.recent(), [92, 93, 94, 95, 96, 97, 98, 99]);
        assert_eq!((h.count, h.dropped()), (100, 84));
        let mut short = History::default();
        (0..11).for_each(|i| short.push(i));
        assert_eq!((short.recent(), short.dropped()), (vec![8, 9, 10], 0));
    }

    #[test]
    fn tallies_know_their_first_and_last_time() {
        let mut list = Tallies::new();
        [(3, "a"), (5, "b"), (9, "a")].iter().for_each(|(t, w)| tally(&mut list, w, *t));
        assert_eq!(list[0], ("a".into(), Tally { count: 2, first_ns: 3, last_ns: 9 }));
        assert_eq!(list[1].1.count, 1);
    }
}
