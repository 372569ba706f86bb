//! The decision log of a run: what was decided about every mapping, task and stretch of memory, counted, with a bounded
//! history of each.
//!
//! Problem: "why was this mapping never scanned?" is asked after the run, and a full trace is too large to keep by default.
//! Approach: counts by reason with the first and last time, and at most [`History::MAX`] entries of history for each subject:
//! the first half and the last half of what happened. Size is bounded by the number of mappings, tasks and chunks.
//! Units: ns of run time; nodes and CPUs dense; addresses in bytes.

use crate::plan::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Entries from the beginning and the end of a history that may be longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History<T> {
    /// How many there were.
    pub count: u64,
    /// The first ones.
    pub first: Vec<T>,
    /// The last ones after those; the oldest is at `count` modulo the length once it is full.
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

    /// Adds an entry; beyond [`Self::MAX`] one from the middle is dropped.
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

    /// Entries between the first and the last ones that were dropped.
    pub fn dropped(&self) -> u64 {
        self.count - (self.first.len() + self.last.len()) as u64
    }
}

/// Something that happened several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// How often.
    pub count: u64,
    /// First time, ns.
    pub first_ns: u64,
    /// Last time, ns.
    pub last_ns: u64,
}

impl Tally {
    /// Once more.
    pub fn add(&mut self, now_ns: u64) {
        if self.count == 0 {
            self.first_ns = now_ns;
        }
        self.count += 1;
        self.last_ns = now_ns;
    }
}

/// Tallies by the word of a reason, in order of first appearance.
pub type Tallies = Vec<(String, Tally)>;

/// A mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmaWhy {
    /// Process (index).
    pub process: u32,
    /// Number of the mapping in its process.
    pub id: u32,
    /// Region of the workload, or the stack of a thread.
    pub name: String,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Times a scan went through a part of it.
    pub scanned: Tally,
    /// Pages it marked there.
    pub updates: u64,
    /// Times the scanner passed over it, by reason.
    pub skips: Tallies,
    /// Hint faults in it.
    pub faults: u64,
}

/// A change of CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveWhy {
    /// When, ns.
    pub time_ns: u64,
    /// CPU before.
    pub from: u32,
    /// CPU after.
    pub to: u32,
    /// Why, as an index into [`MOVE_WORDS`](super::events::MOVE_WORDS).
    pub why: u16,
    /// Node it prefers at that time.
    pub preferred: Option<u32>,
}

/// A change of the preferred node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreferredWhy {
    /// When, ns.
    pub time_ns: u64,
    /// Node before.
    pub from: Option<u32>,
    /// Node after.
    pub to: Option<u32>,
    /// Hint faults of the task so far, and local ones among them.
    pub faults: (u64, u64),
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskWhy {
    /// Process (index).
    pub process: u32,
    /// Thread of the process; 0 is the initial one.
    pub thread: u32,
    /// Birth, ns.
    pub born_ns: u64,
    /// CPU it was born on.
    pub born_cpu: u32,
    /// End, ns, if it ended.
    pub ended_ns: Option<u64>,
    /// CPU changes by reason.
    pub by_why: Tallies,
    /// Those between nodes, by reason.
    pub nodes_by_why: Tallies,
    /// Moves between nodes.
    pub moves: History<MoveWhy>,
    /// Changes of its preferred node.
    pub preferred: History<PreferredWhy>,
    /// What task placement did, by word.
    pub placed: Tallies,
    /// Scans it ran.
    pub scans: Tally,
    /// Hint faults it took.
    pub faults: u64,
    /// Local ones.
    pub local: u64,
    /// When it became part of a group, ns.
    pub grouped_ns: Option<u64>,
}

/// A hint fault on the page that stands for its stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultWhy {
    /// When, ns.
    pub time_ns: u64,
    /// Faulting task.
    pub task: u32,
    /// Node of the page before.
    pub page_node: u32,
    /// Node of the CPU.
    pub cpu_node: u32,
    /// End, as a code of [`Fate`](super::events::Fate).
    pub fate: u16,
}

/// A 2 MiB stretch of a mapping that had hint faults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkWhy {
    /// Mapping (index into [`Why::vmas`]).
    pub vma: u32,
    /// First address.
    pub start: u64,
    /// It was one huge page at its last fault.
    pub huge: bool,
    /// Hint faults.
    pub faults: Tally,
    /// Local ones.
    pub local: u64,
    /// How the faults ended, by word.
    pub fates: Tallies,
    /// Pages that moved, every move counted.
    pub migrated: u64,
    /// Address of the page whose faults `history` holds: the first of the stretch that took one.
    pub watched: u64,
    /// Times that page came back to a node it had left.
    pub returns: u64,
    /// Its faults.
    pub history: History<FaultWhy>,
}

/// A node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeWhy {
    /// Pages that hint faults brought.
    pub pages_in: u64,
    /// Pages that hint faults took.
    pub pages_out: u64,
    /// Tasks that came from another node.
    pub tasks_in: u64,
    /// Tasks that went to another node.
    pub tasks_out: u64,
    /// Hint faults on its CPUs.
    pub faults: u64,
    /// Local ones.
    pub local: u64,
    /// Base pages first touched into it.
    pub first_touched: u64,
    /// Pages on it at the last sample.
    pub pages_at_end: u64,
}

/// Everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// End of the run, ns.
    pub end_ns: u64,
    /// Whether NUMA balancing was on.
    pub balancing: bool,
    /// Mappings.
    pub vmas: Vec<VmaWhy>,
    /// Tasks by birth.
    pub tasks: Vec<TaskWhy>,
    /// Stretches that had hint faults, by first fault.
    pub chunks: Vec<ChunkWhy>,
    /// Hint faults in stretches beyond the limit of the log.
    pub faults_not_kept: u64,
    /// Nodes.
    pub nodes: Vec<NodeWhy>,
}

/// `ID.why.json`: the decision log of a run, with what its numbers stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyFile {
    /// Names and numbers.
    pub header: super::events::Header,
    /// The log.
    pub why: Why,
}

/// What comes before the digest at the end of a [`WhyFile`].
const SEAL: &str = ",\"sha256\":\"";

impl WhyFile {
    /// As it is kept: JSON, with the SHA-256 of what it would be without it as the last key, `sha256`.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        let digest = hex(&Sha256::digest(&text));
        text.pop();
        Ok(format!("{text}{SEAL}{digest}\"}}"))
    }

    /// Reads what [`WhyFile::to_text`] wrote; releases up to 0.13.0 wrote no digest.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_text(text: &str) -> Result<Self, String> {
        if let Some((whole, digest)) = text.rsplit_once(SEAL) {
            let said = digest.strip_suffix("\"}").unwrap_or_default();
            if said != hex(&Sha256::digest(format!("{whole}}}"))) {
                return Err("its contents differ from their digest".into());
            }
        }
        let file: Self = serde_json::from_str(text).map_err(|e| e.to_string())?;
        // Readers take a stretch's mapping by its number.
        match file.why.chunks.iter().find(|c| c.vma as usize >= file.why.vmas.len()) {
            Some(c) => Err(format!("a stretch of mapping {}, and there are {} mappings", c.vma, file.why.vmas.len())),
            None => Ok(file),
        }
    }
}

/// One more of a word.
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
    fn a_changed_file_is_noticed_and_one_without_a_digest_is_read() {
        let f = WhyFile { why: Why { end_ns: 1234, balancing: true, ..Why::default() }, ..WhyFile::default() };
        let text = f.to_text().unwrap();
        assert_eq!(WhyFile::from_text(&text), Ok(f.clone()));
        for (from, to) in [("1234", "1235"), ("true", "false"), ("\"sha256\":\"", "\"sha256\":\"0")] {
            let e = WhyFile::from_text(&text.replacen(from, to, 1)).unwrap_err();
            assert!(e.contains("differ from their digest"), "{e}");
        }
        assert_eq!(WhyFile::from_text(&serde_json::to_string(&f).unwrap()), Ok(f.clone()));
        let mut lost = f;
        lost.why.chunks.push(ChunkWhy { vma: 7, ..ChunkWhy::default() });
        let e = WhyFile::from_text(&serde_json::to_string(&lost).unwrap()).unwrap_err();
        assert_eq!(e, "a stretch of mapping 7, and there are 0 mappings");
    }

    #[test]
    fn tallies_know_their_first_and_last_time() {
        let mut list = Tallies::new();
        [(3, "a"), (5, "b"), (9, "a")].iter().for_each(|(t, w)| tally(&mut list, w, *t));
        assert_eq!(list[0], ("a".into(), Tally { count: 2, first_ns: 3, last_ns: 9 }));
        assert_eq!(list[1].1.count, 1);
    }
}
