//! A thread of the workload: its program, where it is in it, what it has used.

use crate::state::lock_line::OwnUses;
use crate::state::page_migration::{DecidedFault, PageMigration, PlannedSweep};
use crate::state::unrun::Unrun;
use crate::state::wait::Wait;
use numalab_kernel::mm::policy::MemPolicy;
use numalab_nouns::workload::{Bound, Op, Span};

/// One open loop of a task's program.
#[derive(Clone, Copy, Debug)]
pub struct LoopFrame {
    /// Op after `LoopStart`.
    pub body: usize,
    /// Rounds left after the current one, for counted loops.
    pub left: u64,
    /// End time, for timed loops (`u64::MAX` for counted ones).
    pub until_ns: u64,
    /// When the current round began, ns.
    pub round_ns: u64,
    /// The op that leads its rounds, if its ops go on side by side ([`rounds`](crate::access::rounds)).
    pub leading: Option<usize>,
}

/// The pages of a transfer that a direct I/O is getting, counted from the start of the mapping's first chunk.
#[derive(Clone, Copy, Debug)]
pub struct GettingPages {
    /// First page.
    pub first: u64,
    /// The first page that it does not have yet.
    pub next: u64,
    /// Page behind the last.
    pub end: u64,
}

/// A block of an access by blocks: the next access of the thread to the same span goes on where this one ended, as a
/// thread does with its allocation buffer.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// What it is a block of.
    pub span: Span,
    /// Length, bytes.
    pub bytes: u64,
    /// Where in the span it begins, bytes.
    pub start: u64,
    /// Progress of the current access where the block began, bytes: below 0 in the accesses after that one.
    pub begun: i64,
}

/// Flushes of the TLB for the address space of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushesMet {
    /// Time lost to them that the task's CPU has paid for, ns.
    pub paid_ns: u64,
    /// Those that it has met, or that came while it did not run.
    pub seen: u64,
}

/// What the task does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Runnable or running its program.
    Running,
    /// Asleep until an event.
    Asleep,
    /// Busy-waiting at a barrier since this time.
    Spinning {
        /// Arrival, ns.
        since_ns: u64,
    },
    /// Ended.
    Dead,
}

/// A thread. The running tasks of a large machine do not fit the L2 cache of the simulating CPU. So the fields that
/// every slice reads lie together in front, and rarely used ones behind them.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Task<'a> {
    /// Process (index), which is also its address space.
    pub process: u32,
    /// Thread number inside its process; 0 is the initial thread.
    pub thread: u32,
    /// Program of the current stage. Borrowed from the workload: a step must not count references.
    pub ops: &'a [Op],
    /// Next op.
    pub pc: usize,
    /// What it does.
    pub activity: Activity,
    /// Whether the current op has been entered.
    pub entered: bool,
    /// Whether the ops of its innermost loop go on side by side ([`rounds`](crate::access::rounds)).
    pub together: bool,
    /// Working set of the loop it is in ([`NO_GROUP`](crate::hardware::working_sets::NO_GROUP) = none).
    pub group: u32,
    /// Bytes (sequential, strided) or accesses (random) of the current access already done.
    pub done: u64,
    /// End of its present or last slice, ns. What it does to memory up to there has been carried out.
    pub planned_until_ns: u64,
    /// Time per byte of its last sweep without a fault, ns (0 before the first).
    pub ns_per_byte: f64,
    /// Up to then it looks for no runs of pages, since others have come to its pages, ns.
    pub crowded_until_ns: u64,
    /// Bins of memory traffic that it plans one by one, since it has come back from a wait and the machine does not
    /// know yet what it will ask for: what is left of the present one, and the next.
    pub short_bins: u8,
    /// LLC it last ran on (`u32::MAX` = none yet).
    pub llc: u32,
    /// Spans of its program that it has loaded into this LLC, as bits.
    pub warm: u64,
    /// Random accesses that still have to load its part of this LLC, for each such span of its program; [`NOT_LOADED`]
    /// before the first.
    pub cold_lines: Box<[u64]>,
    /// Marking scans of its process after which it last used its stack and the program's data.
    pub marking_scans: u32,
    /// Flushes of its address space that it has met and paid for.
    pub flushes: FlushesMet,
    /// Open loops, innermost last.
    pub loops: Vec<LoopFrame>,
    /// When each request that it is in began, ns; innermost last.
    pub requests: Vec<u64>,
    /// Nanoseconds of the current compute op still to do, in units of unshared core time.
    pub compute_left_ns: u64,
    /// Time in user mode, ns.
    pub user_ns: u64,
    /// Time in the kernel, ns.
    pub system_ns: u64,
    /// Stage of the initial thread.
    pub stage: Stage,
    /// Rest of a slice in which it lost its CPU.
    pub unrun: Unrun,
    /// What it waits for, and what it sleeps or busy-waits for now.
    pub wait: Wait,
    /// Page (chunk, page) that its random access still has to fault in, and whether the access is a store.
    pub pending_access: Option<(usize, usize, bool)>,
    /// Random accesses that are still to be made, and whose faults are behind them.
    pub drawn_accesses: u64,
    /// Hint fault that it has decided ahead of the run.
    pub decided_fault: Option<Box<DecidedFault>>,
    /// Migration it carries out.
    pub migration: Option<Box<PageMigration>>,
    /// The block that its accesses by blocks are in.
    pub block: Option<Block>,
    /// The sweep that is planned for it, while shared pages are under migration.
    pub planned_sweep: Option<PlannedSweep>,
    /// The transfer of a direct I/O whose pages it is getting.
    pub getting_pages: Option<GettingPages>,
    /// Its recent uses of a lock of its address space.
    pub lock_uses: OwnUses,
    /// Own policy.
    pub policy: MemPolicy,
}

/// [`Task::cold_lines`] of a span that the task has not accessed since it came to its LLC.
pub const NOT_LOADED: u64 = u64::MAX;

/// [`Task::short_bins`] after a wait.
pub const SHORT_BINS: u8 = 2;

/// Life stages of a thread: initial threads have all of them, others only the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Forking children that exist before the prologue; next child to look at.
    ForkEarly(usize),
    /// Prologue ops.
    Prologue,
    /// Forking children that inherit the prologue's memory.
    ForkLate(usize),
    /// Creating the other threads; next thread number.
    Clone(usize),
    /// Own ops.
    Body,
    /// Waiting for the other threads before exit.
    Join,
}

impl<'a> Task<'a> {
    /// A task about to run `ops`. No program of it accesses more than `random_spans` spans at random.
    pub fn new(process: u32, thread: u32, ops: &'a [Op], stage: Stage, random_spans: usize) -> Self {
        Self {
            process,
            thread,
            ops,
            pc: 0,
            loops: Vec::with_capacity(4),
            requests: Vec::new(),
            done: 0,
            compute_left_ns: 0,
            entered: false,
            together: false,
            activity: Activity::Running,
            lock_uses: OwnUses::default(),
            policy: MemPolicy::DEFAULT,
            user_ns: 0,
            system_ns: 0,
            pending_access: None,
            drawn_accesses: 0,
            block: None,
            planned_sweep: None,
            getting_pages: None,
            decided_fault: None,
            migration: None,
            marking_scans: u32::MAX,
            llc: u32::MAX,
            warm: 0,
            cold_lines: vec![NOT_LOADED; random_spans].into(),
            planned_until_ns: 0,
            short_bins: 0,
            ns_per_byte: 0.0,
            crowded_until_ns: 0,
            group: crate::hardware::working_sets::NO_GROUP,
            flushes: FlushesMet::default(),
            unrun: Unrun::default(),
            wait: Wait::default(),
            stage,
        }
    }
    /// Which program it runs: `None` for the prologue, else its thread's.
    #[inline]
    pub fn program(&self) -> Option<u32> {
        (self.stage != Stage::Prologue).then_some(self.thread)
    }
    /// Nothing that it uses is in its LLC.
    pub fn unload(&mut self) {
        self.warm = 0;
        self.cold_lines.fill(NOT_LOADED);
    }
    /// Goes to the next op.
    #[inline]
    pub fn advance(&mut self) {
        self.pc += 1;
        self.done = 0;
        self.pending_access = None;
        self.drawn_accesses = 0;
        self.entered = false;
    }
    /// Starts another program from its first op.
    pub fn load(&mut self, ops: &'a [Op]) {
        self.ops = ops;
        self.unload();
        self.pc = 0;
        self.loops.clear();
        self.done = 0;
        self.entered = false;
        self.together = false;
    }
    /// Enters a loop at the current op. If its ops go on side by side, `leading` is the one that leads.
    pub fn open_loop(&mut self, bound: Bound, now_ns: u64, leading: Option<usize>) {
        let (left, until_ns) = match bound {
            Bound::Count(n) => (n - 1, u64::MAX),
            Bound::Time { ns } => (0, now_ns + ns),
        };
        self.loops.push(LoopFrame { body: self.pc + 1, left, until_ns, round_ns: now_ns, leading });
        self.advance();
        if let Some(op) = leading {
            (self.pc, self.together) = (op, true);
        }
    }
    /// Leaves the innermost loop, whose ops went on side by side.
    pub fn leave_loop(&mut self) {
        self.loops.pop();
        self.together = false;
        while self.ops.get(self.pc).is_some_and(|op| !matches!(op, Op::LoopEnd)) {
            self.pc += 1;
        }
        self.advance();
    }
    /// Comes to the end of the innermost loop: begins the next round, or leaves the loop. Returns what the end costs,
    /// ns.
    ///
    /// A round whose steps all round to 0 ns costs 1 ns if another follows. Else a loop could run for ever at one
    /// instant.
    pub fn close_loop(&mut self, now_ns: u64) -> u64 {
        if let Some(frame) = self.loops.last_mut() {
            let again = if frame.until_ns == u64::MAX {
                let more = frame.left > 0;
                frame.left = frame.left.saturating_sub(1);
                more
            } else {
                now_ns < frame.until_ns
            };
            if again {
                let ns = u64::from(now_ns <= frame.round_ns);
                frame.round_ns = now_ns + ns;
                self.pc = frame.body;
                self.done = 0;
                self.entered = false;
                return ns;
            }
            self.loops.pop();
        }
        self.advance();
        0
    }
}
