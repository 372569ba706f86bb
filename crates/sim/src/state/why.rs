//! Collecting the counts of the decision log ([`numalab_nouns::record::why`]).

use crate::state::logged::{Fault, Visit};
use crate::state::process::ProcessState;
use numalab_kernel::mm::{CHUNK_BYTES, CHUNK_PAGES};
use numalab_kernel::numa::counters::{Denial, Placement, Refusal, SkipReason};
use numalab_kernel::numa::MigrateResult;
use numalab_nouns::record::events::{Fate, MOVE_WORDS};
use numalab_nouns::record::why::{tally, ChunkWhy, FaultWhy, MoveWhy, NodeWhy, PreferredWhy, TaskWhy, VmaWhy, Why};
use numalab_nouns::workload::Workload;

/// Most stretches of 2 MiB that are told apart: 32 GiB, and some 20 MB of log.
const MAX_CHUNKS: usize = 1 << 14;

/// No index.
const NONE: u32 = u32::MAX;

/// The counts so far, and where things are in them.
pub struct Collector {
    pub why: Why,
    /// Index of each mapping, by process and mapping id.
    vma_at: Vec<Vec<u32>>,
    /// Index of each stretch, by mapping and chunk.
    chunk_at: Vec<Vec<u32>>,
    /// Nodes that the watched page of each stretch has left, as bits.
    left: Vec<u64>,
}

/// Word of the end of a hint fault.
pub fn fate_word(fate: Fate) -> String {
    match fate {
        Fate::Local => "local".into(),
        Fate::Migrated => "migrated".into(),
        Fate::Failed => "failed".into(),
        Fate::Stayed => "stayed".into(),
        Fate::Denied(i) => format!("denied.{}", Denial::WORDS.get(usize::from(i)).unwrap_or(&"")),
        Fate::Refused(i) => format!("refused.{}", Refusal::WORDS.get(usize::from(i)).unwrap_or(&"")),
    }
}

impl Collector {
    /// Nothing collected yet; `balancing`: the kernel balances NUMA memory.
    pub fn new(nodes: usize, balancing: bool) -> Self {
        let why = Why { balancing, nodes: vec![NodeWhy::default(); nodes], ..Why::default() };
        Self { why, vma_at: Vec::new(), chunk_at: Vec::new(), left: Vec::new() }
    }

    /// A task was created on `cpu` at `now` ns; tasks come in the order of their numbers.
    pub fn born(&mut self, task: u32, process: u32, thread: u32, cpu: u32, now: u64) {
        // Tasks are numbered by birth, so each is the next one.
        debug_assert_eq!(task as usize, self.why.tasks.len());
        self.why.tasks.push(TaskWhy { process, thread, born_ns: now, born_cpu: cpu, ..TaskWhy::default() });
    }

    /// A task ended at `now` ns.
    pub fn ended(&mut self, task: u32, now: u64) {
        self.why.tasks[task as usize].ended_ns = Some(now);
    }

    /// A task changed its CPU at `time_ns`, for the reason number `why`.
    pub fn moved(
        &mut self,
        task: u32,
        (from, to): (u32, u32),
        nodes: (usize, usize),
        why: u16,
        preferred: Option<usize>,
        time_ns: u64,
    ) {
        // A task that is being forked may be moved before its creation is logged.
        let Some(t) = self.why.tasks.get_mut(task as usize) else { return };
        let word = MOVE_WORDS.get(usize::from(why)).unwrap_or(&"");
        tally(&mut t.by_why, word, time_ns);
        if nodes.0 == nodes.1 {
            return;
        }
        tally(&mut t.nodes_by_why, word, time_ns);
        t.moves.push(MoveWhy { time_ns, from, to, why, preferred: preferred.map(|n| n as u32) });
        self.why.nodes[nodes.0].tasks_out += 1;
        self.why.nodes[nodes.1].tasks_in += 1;
    }

    /// Index of a mapping, which gets an entry at its first appearance.
    pub fn vma(&mut self, process: usize, id: usize, workload: &Workload, state: &ProcessState) -> usize {
        if self.vma_at.len() <= process {
            self.vma_at.resize(process + 1, Vec::new());
        }
        let list = &mut self.vma_at[process];
        if list.len() <= id {
            list.resize(id + 1, NONE);
        }
        if list[id] == NONE {
            list[id] = self.why.vmas.len() as u32;
            let v = state.space.vma(id);
            let name = state.name_of(id, (process, &workload.processes));
            let entry = VmaWhy {
                process: process as u32,
                id: id as u32,
                name,
                start: v.start,
                end: v.end,
                ..VmaWhy::default()
            };
            self.why.vmas.push(entry);
            self.chunk_at.push(vec![NONE; v.chunk_count()]);
        }
        list[id] as usize
    }

    /// Gives every mapping of a process an entry, before it is released.
    pub fn leave(&mut self, process: usize, workload: &Workload, state: &ProcessState) {
        for id in 0..state.space.len() {
            self.vma(process, id, workload, state);
        }
    }

    /// A scan visited a mapping at `now` ns.
    pub fn visited(&mut self, vma: usize, v: &Visit, now: u64) {
        let entry = &mut self.why.vmas[vma];
        // A mapping that is scanned although the thread is inactive there counts as both.
        if let Some(reason) = v.skipped {
            tally(&mut entry.skips, SkipReason::word(reason), now);
        } else {
            entry.scanned.add(now);
            entry.updates += v.updates;
        }
    }

    /// A task scanned at `now` ns, for `ns`.
    pub fn scan(&mut self, task: u32, now: u64, ns: u64) {
        let t = &mut self.why.tasks[task as usize];
        t.scans.add(now);
        t.scan_time.add(ns);
    }

    /// A hint fault on a mapping, taken on node `here`, and how it ended.
    pub fn fault(&mut self, vma: usize, f: &Fault, here: usize, fate: Fate) {
        let local = f.node == here;
        let moved = if f.result == MigrateResult::Migrated { u64::from(f.pages) } else { 0 };
        self.why.vmas[vma].faults += 1;
        let t = &mut self.why.tasks[f.task as usize];
        t.faults += 1;
        t.local += u64::from(local);
        let nodes = &mut self.why.nodes;
        nodes[here].faults += 1;
        nodes[here].local += u64::from(local);
        nodes[here].pages_in += moved;
        nodes[f.node].pages_out += moved;
        let chunk = (f.address / CHUNK_BYTES - self.why.vmas[vma].start / CHUNK_BYTES) as usize;
        let at = match self.chunk_at[vma][chunk] {
            NONE if self.why.chunks.len() == MAX_CHUNKS => {
                self.why.faults_not_kept += 1;
                return;
            }
            NONE => self.new_chunk(vma, chunk, f.address),
            at => at as usize,
        };
        let c = &mut self.why.chunks[at];
        c.huge = u64::from(f.pages) == CHUNK_PAGES;
        c.faults.add(f.clock_ns);
        c.local += u64::from(local);
        c.migrated += moved;
        tally(&mut c.fates, &fate_word(fate), f.clock_ns);
        if f.address != c.watched {
            return;
        }
        if moved > 0 {
            // Beyond 64 nodes a return goes unnoticed; no machine of the catalog has as many.
            let bit = |node: usize| 1_u64.checked_shl(node as u32).unwrap_or(0);
            c.returns += u64::from(self.left[at] & bit(here) != 0);
            self.left[at] |= bit(f.node);
        }
        let (page_node, cpu_node) = (f.node as u32, here as u32);
        c.history.push(FaultWhy { time_ns: f.clock_ns, task: f.task, page_node, cpu_node, fate: fate.code() });
    }

    fn new_chunk(&mut self, vma: usize, chunk: usize, watched: u64) -> usize {
        let at = self.why.chunks.len();
        self.chunk_at[vma][chunk] = at as u32;
        let start = (watched / CHUNK_BYTES * CHUNK_BYTES).max(self.why.vmas[vma].start);
        self.why.chunks.push(ChunkWhy { vma: vma as u32, start, watched, ..ChunkWhy::default() });
        self.left.push(0);
        at
    }

    /// The preferred node of a task changed at `time_ns`.
    pub fn preferred(&mut self, task: u32, from: Option<usize>, to: Option<usize>, time_ns: u64) {
        let t = &mut self.why.tasks[task as usize];
        let node = |n: Option<usize>| n.map(|n| n as u32);
        t.preferred.push(PreferredWhy { time_ns, from: node(from), to: node(to), faults: (t.faults, t.local) });
    }

    /// NUMA placement or the task's group did something with a task at `now` ns; `placed` and `group` are numbers of
    /// words.
    pub fn placement(&mut self, task: u32, placed: Option<u8>, group: Option<u8>, now: u64) {
        let t = &mut self.why.tasks[task as usize];
        if let Some(word) = placed.and_then(|i| Placement::WORDS.get(usize::from(i))) {
            tally(&mut t.placed, word, now);
        }
        if group.is_some() {
            t.grouped_ns.get_or_insert(now);
        }
    }
}
