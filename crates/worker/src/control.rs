//! The block of atomics that the coordinator and all processes share.
//!
//! It is one anonymous file that all of them map. [`Layout`] computes the place of each cell from the job alone, so all
//! processes agree on it. Cells have 64 bits, futex words 32. Each cell has one writer, the process or thread that it
//! belongs to; only the start gate, barriers, channels, score clocks and requests have several.

use crate::access::LOOPS;
use crate::job::Job;
use crate::sys;
use numalab_nouns::record::Latencies;
use numalab_nouns::workload::Score;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Cells of the header.
#[derive(Clone, Copy, Debug)]
pub enum HeaderCell {
    /// Time at which the gate opened, ns.
    StartNs,
    /// Turns of the spin loop per second ([`crate::spin`]).
    SpinPerSecond,
    /// Own cost of the access loops, picoseconds per line, in the order of [`LOOPS`].
    AccessCost0,
}

/// Cells of a process.
#[derive(Clone, Copy, Debug)]
pub enum ProcessCell {
    /// [`State`].
    State,
    /// Process id.
    Pid,
    /// Start, ns.
    StartNs,
    /// End, ns.
    EndNs,
    /// User time, ns.
    UserNs,
    /// System time, ns.
    SystemNs,
}

/// Cells of a thread.
#[derive(Clone, Copy, Debug)]
pub enum ThreadCell {
    /// Thread id; 0 = not started.
    Tid,
    /// 1 once it has ended.
    Done,
    /// `numa_preferred_nid` + 1 at its end (0 = none).
    Preferred,
    /// `total_numa_faults`.
    Faults,
    /// Pages migrated on its faults (`numa_pages_migrated`).
    Migrated,
    /// `numa_group_id`.
    Group,
    /// `mm->numa_scan_seq`.
    ScanSeq,
    /// Time blocked in the kernel (`sum_block_runtime`), ns.
    BlockNs,
    /// The longest such time (`block_max`), ns.
    BlockMaxNs,
    /// Sleeps behind pages (`iowait_count`).
    PageWaits,
}

/// State of a process, the value of [`ProcessCell::State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not started.
    Absent = 0,
    /// It has mapped the block and waits at the gate (processes started by exec).
    Ready = 1,
    /// It carries out its ops.
    Running = 2,
    /// It has ended, and its figures are stored.
    Finished = 3,
    /// It has failed; the reason is in its text.
    Failed = 4,
}

const HEAD_CELLS: usize = (HeaderCell::AccessCost0 as usize + LOOPS.len()).next_multiple_of(8);
const PROCESS_CELLS: usize = 6;
const THREAD_CELLS: usize = 10;
/// Longest reason of a failed process, bytes.
const TEXT_BYTES: usize = 256;
/// Least distance between the score cells of two threads, in cells: threads share no cache line.
const SCORE_STRIDE: usize = 8;
/// Cells of a score's clock: lock, number of threads whose clock runs, its last start, its time so far, units counted
/// at that start, the best rate of an interval, and whether there is one.
const CLOCK_CELLS: usize = 7;
/// Distance between two futex words, in words: they share no cache line.
const WORD_STRIDE: usize = 16;

/// Places of all cells, in cells from the start of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    processes: usize,
    /// First thread of each process, then the total.
    thread_base: Vec<usize>,
    /// First visible region of each process, then the total.
    region_base: Vec<usize>,
    nodes: usize,
    score_stride: usize,
    process_at: usize,
    text_at: usize,
    thread_at: usize,
    faults_at: usize,
    score_at: usize,
    clock_at: usize,
    region_at: usize,
    /// Buckets of the requests of each score that is a latency.
    requests_at: Vec<Option<usize>>,
    word_at: usize,
    barriers: usize,
    cells: usize,
}

impl Layout {
    /// The layout of a job.
    pub fn of(job: &Job) -> Self {
        let processes = job.workload.processes.len();
        let mut thread_base = vec![0];
        let mut region_base = vec![0];
        for (p, process) in job.workload.processes.iter().enumerate() {
            thread_base.push(thread_base[p] + process.threads.len());
            region_base.push(region_base[p] + job.visible_regions(p).len());
        }
        let (threads, regions) = (thread_base[processes], region_base[processes]);
        let nodes = job.node_ids.len();
        let score_stride = job.workload.scores.len().next_multiple_of(SCORE_STRIDE);
        let barriers = job.workload.barrier_widths.len();
        let process_at = HEAD_CELLS;
        let text_at = process_at + processes * PROCESS_CELLS;
        let thread_at = text_at + processes * TEXT_BYTES / 8;
        let faults_at = thread_at + threads * THREAD_CELLS;
        let score_at = (faults_at + threads * nodes).next_multiple_of(8);
        let clock_at = score_at + threads * score_stride;
        let region_at = clock_at + job.workload.scores.len() * CLOCK_CELLS;
        let mut end = region_at + regions * (nodes + 1);
        let mut room = |score: &Score| {
            let at = end;
            end += if score.latency { Latencies::BUCKETS } else { 0 };
            score.latency.then_some(at)
        };
        let requests_at = job.workload.scores.iter().map(&mut room).collect();
        let word_at = end.next_multiple_of(8);
        // One word for the gate, two for each barrier, one for each channel. A cell holds two words.
        let words = 1 + 2 * barriers + job.workload.channels as usize;
        let cells = word_at + words * WORD_STRIDE / 2;
        Self {
            processes,
            thread_base,
            region_base,
            nodes,
            score_stride,
            process_at,
            text_at,
            thread_at,
            faults_at,
            score_at,
            clock_at,
            region_at,
            requests_at,
            word_at,
            barriers,
            cells,
        }
    }

    /// Size of the block, bytes.
    pub fn bytes(&self) -> usize {
        self.cells * 8
    }

    /// Global index of thread `t` of process `p`.
    pub fn thread(&self, p: usize, t: usize) -> usize {
        self.thread_base[p] + t
    }

    /// Number of processes.
    pub fn processes(&self) -> usize {
        self.processes
    }
}

/// The mapped block.
#[derive(Debug)]
pub struct Control {
    base: *mut u8,
    layout: Layout,
}

// SAFETY: the block is only accessed through atomics, and is mapped as long as the process lives.
unsafe impl Send for Control {}
// SAFETY: the block is only accessed through atomics, and is mapped as long as the process lives.
unsafe impl Sync for Control {}

impl Control {
    /// Creates the block; the descriptor is for processes started by exec.
    ///
    /// # Errors
    /// The kernel's error: no memory or no `memfd`.
    pub fn create(layout: Layout) -> io::Result<(Self, OwnedFd)> {
        let fd = sys::memfd("numalab-control", layout.bytes() as u64, true)?;
        let control = Self::attach(fd.as_raw_fd(), layout)?;
        Ok((control, fd))
    }

    /// Maps the block that the coordinator has created.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn attach(fd: RawFd, layout: Layout) -> io::Result<Self> {
        let base = sys::map_shared(fd, layout.bytes())?;
        // The block is not part of the workload, so NUMA balancing must not scan it. The scanner skips shared memory
        // with a policy of its own without migrate-on-fault. The policy "local" allocates as the default does. An error
        // is ignored: a kernel without NUMA policies has no scanner.
        let _ = sys::mbind(base as u64, layout.bytes() as u64, sys::RawPolicy { mode: libc::MPOL_LOCAL, nodes: 0 });
        Ok(Self { base, layout })
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn cell(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.layout.cells, "control cell {index} of {}", self.layout.cells);
        // SAFETY: the cell is in range by the assertion, aligned because the mapping is page-aligned, and never
        // unmapped.
        unsafe { &*self.base.cast::<AtomicU64>().add(index) }
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        let cell = self.layout.word_at + index * WORD_STRIDE / 2;
        assert!(cell < self.layout.cells, "control word {index}");
        // SAFETY: the word is in range by the assertion, aligned because cells are, and never unmapped.
        unsafe { &*self.base.cast::<AtomicU64>().add(cell).cast::<AtomicU32>() }
    }

    /// A header cell.
    pub fn head(&self, cell: HeaderCell) -> &AtomicU64 {
        self.cell(cell as usize)
    }
    /// Cost cell of an access loop, by its number among the [`LOOPS`].
    pub fn access_cost(&self, number: usize) -> &AtomicU64 {
        debug_assert!(number < LOOPS.len());
        self.cell(HeaderCell::AccessCost0 as usize + number)
    }
    /// A process's cell.
    pub fn process(&self, p: usize, cell: ProcessCell) -> &AtomicU64 {
        self.cell(self.layout.process_at + p * PROCESS_CELLS + cell as usize)
    }
    /// A process's state.
    pub fn state(&self, p: usize) -> State {
        match self.process(p, ProcessCell::State).load(Ordering::Acquire) {
            1 => State::Ready,
            2 => State::Running,
            3 => State::Finished,
            4 => State::Failed,
            _ => State::Absent,
        }
    }
    /// Sets a process's state.
    pub fn set_state(&self, p: usize, state: State) {
        self.process(p, ProcessCell::State).store(state as u64, Ordering::Release);
    }
    /// A thread's cell, by global thread index.
    pub fn thread(&self, thread: usize, cell: ThreadCell) -> &AtomicU64 {
        self.cell(self.layout.thread_at + thread * THREAD_CELLS + cell as usize)
    }
    /// Cell of a thread's NUMA faults on a dense node.
    pub fn faults(&self, thread: usize, node: usize) -> &AtomicU64 {
        self.cell(self.layout.faults_at + thread * self.layout.nodes + node)
    }
    /// Cell of a thread's score, which holds the bits of an `f64`.
    pub fn score(&self, thread: usize, score: usize) -> &AtomicU64 {
        self.cell(self.layout.score_at + thread * self.layout.score_stride + score)
    }
    /// Adds to a score of the calling thread, the only writer of its cell.
    pub fn add_score(&self, thread: usize, score: usize, amount: f64) {
        let cell = self.score(thread, score);
        let sum = f64::from_bits(cell.load(Ordering::Relaxed)) + amount;
        cell.store(sum.to_bits(), Ordering::Relaxed);
    }
    /// Sum of a score over all threads.
    pub fn score_sum(&self, score: usize) -> f64 {
        let threads = self.layout.thread_base[self.layout.processes];
        (0..threads).map(|t| f64::from_bits(self.score(t, score).load(Ordering::Relaxed))).sum()
    }
    /// Counts a request of a score that is a latency, by the calling thread: it took `ns`.
    pub fn add_request(&self, thread: usize, score: usize, ns: u64) {
        if let Some(at) = self.layout.requests_at[score] {
            self.cell(at + Latencies::bucket(ns)).fetch_add(1, Ordering::Relaxed);
            self.add_score(thread, score, 1.0);
        }
    }
    /// The requests of a score so far.
    pub fn requests(&self, score: usize) -> Latencies {
        let at = self.layout.requests_at[score];
        let counts = |at: usize| (0..Latencies::BUCKETS).map(|b| self.cell(at + b).load(Ordering::Relaxed)).collect();
        at.map_or_else(Latencies::default, |at| Latencies::of_counts(counts(at)))
    }
    fn clock(&self, score: usize, cell: usize) -> &AtomicU64 {
        self.cell(self.layout.clock_at + score * CLOCK_CELLS + cell)
    }
    /// Starts or stops the calling thread's clock of a score at `now_ns`, which must not be 0. An interval lasts from
    /// the first thread's start to the last thread's stop.
    pub fn run_clock(&self, score: usize, higher_is_better: bool, run: bool, now_ns: u64) {
        let lock = self.clock(score, 0);
        while lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        let (running, since, total) = (self.clock(score, 1), self.clock(score, 2), self.clock(score, 3));
        let threads = running.load(Ordering::Relaxed);
        if run {
            if threads == 0 {
                since.store(now_ns, Ordering::Relaxed);
                self.clock(score, 4).store(self.score_sum(score).to_bits(), Ordering::Relaxed);
            }
            running.store(threads + 1, Ordering::Relaxed);
        } else if threads > 0 {
            running.store(threads - 1, Ordering::Relaxed);
            if threads == 1 {
                let ran = now_ns.saturating_sub(since.load(Ordering::Relaxed));
                total.fetch_add(ran, Ordering::Relaxed);
                self.note_interval(score, higher_is_better, ran);
            }
        }
        lock.store(0, Ordering::Release);
    }
    /// Notes the rate of an interval of `ns` that has just ended; one of no time has none. Called with the clock
    /// locked.
    fn note_interval(&self, score: usize, higher_is_better: bool, ns: u64) {
        if ns == 0 {
            return;
        }
        let counted = self.score_sum(score) - f64::from_bits(self.clock(score, 4).load(Ordering::Relaxed));
        let rate = Score::better_rate(higher_is_better, self.best_rate(score), counted / (ns as f64 / 1e9));
        self.clock(score, 5).store(rate.to_bits(), Ordering::Relaxed);
        self.clock(score, 6).store(1, Ordering::Relaxed);
    }
    /// Best rate of an interval that has ended, units per second.
    pub fn best_rate(&self, score: usize) -> Option<f64> {
        let some = self.clock(score, 6).load(Ordering::Relaxed) != 0;
        some.then(|| f64::from_bits(self.clock(score, 5).load(Ordering::Relaxed)))
    }
    /// Time up to `now_ns` during which the score's clock of at least one thread ran, ns; `None` if none ever ran.
    pub fn clock_ns(&self, score: usize, now_ns: u64) -> Option<u64> {
        let since = self.clock(score, 2).load(Ordering::Acquire);
        let running = self.clock(score, 1).load(Ordering::Relaxed) > 0;
        let open = if running { now_ns.saturating_sub(since) } else { 0 };
        (since != 0).then(|| self.clock(score, 3).load(Ordering::Relaxed) + open)
    }
    /// Cell of the pages of process `p` in its visible region `r` on dense node `node`. The node after the last one
    /// counts absent pages.
    pub fn placement(&self, p: usize, r: usize, node: usize) -> &AtomicU64 {
        self.cell(self.layout.region_at + (self.layout.region_base[p] + r) * (self.layout.nodes + 1) + node)
    }

    /// Marks process `p` as failed and stores the reason, unless it has failed before.
    pub fn fail(&self, p: usize, reason: &str) {
        if self.state(p) == State::Failed {
            return;
        }
        let at = self.layout.text_at + p * TEXT_BYTES / 8;
        let mut bytes = [0u8; TEXT_BYTES];
        let length = (0..=reason.len().min(TEXT_BYTES)).rev().find(|&l| reason.is_char_boundary(l)).unwrap_or(0);
        bytes[..length].copy_from_slice(&reason.as_bytes()[..length]);
        for (i, chunk) in bytes.chunks_exact(8).enumerate() {
            let mut word = [0u8; 8];
            word.copy_from_slice(chunk);
            self.cell(at + i).store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        self.set_state(p, State::Failed);
    }

    /// Why process `p` failed.
    pub fn reason(&self, p: usize) -> String {
        let at = self.layout.text_at + p * TEXT_BYTES / 8;
        let cells = (0..TEXT_BYTES / 8).flat_map(|i| self.cell(at + i).load(Ordering::Relaxed).to_le_bytes());
        let bytes: Vec<u8> = cells.take_while(|&b| b != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the coordinator opens the gate.
    pub fn wait_gate(&self) {
        let gate = self.word(0);
        while gate.load(Ordering::Acquire) == 0 {
            sys::futex_wait(gate, 0);
        }
    }
    /// Opens the gate.
    pub fn open_gate(&self) {
        self.word(0).store(1, Ordering::Release);
        sys::futex_wake(self.word(0), i32::MAX);
    }

    /// Waits at barrier `id` until `width` threads have reached it.
    pub fn barrier(&self, id: u32, width: u32, spin: bool) {
        let count = self.word(1 + 2 * id as usize);
        let turn = self.word(2 + 2 * id as usize);
        let mine = turn.load(Ordering::Acquire);
        if count.fetch_add(1, Ordering::AcqRel) + 1 >= width {
            count.store(0, Ordering::Release);
            turn.store(mine.wrapping_add(1), Ordering::Release);
            sys::futex_wake(turn, i32::MAX);
            return;
        }
        while turn.load(Ordering::Acquire) == mine {
            if spin {
                std::hint::spin_loop();
            } else {
                sys::futex_wait(turn, mine);
            }
        }
    }

    fn channel(&self, id: u32) -> &AtomicU32 {
        self.word(1 + 2 * self.layout.barriers + id as usize)
    }
    /// Posts a message to a channel.
    pub fn signal(&self, id: u32) {
        let word = self.channel(id);
        word.fetch_add(1, Ordering::Release);
        sys::futex_wake(word, 1);
    }
    /// Takes a message from a channel, sleeping until there is one.
    pub fn wait(&self, id: u32) {
        let word = self.channel(id);
        loop {
            let count = word.load(Ordering::Acquire);
            if count == 0 {
                sys::futex_wait(word, 0);
            } else if word.compare_exchange(count, count - 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }
}
