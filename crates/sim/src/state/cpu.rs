//! A CPU as the engine sees it: what it runs, and what it does at the end of its slice.

use crate::hardware::working_sets::NO_GROUP;
use crate::state::lock_line::OwnUses;
use numalab_nouns::machine::Machine;

/// What a CPU does at the end of its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Nothing planned.
    None,
    /// Scheduler tick.
    Tick,
    /// The current task goes to sleep for the time given, ns.
    Sleep(u64),
    /// The current task goes to sleep at a barrier or channel; the sleep number tells a wake already due.
    Wait,
    /// The current task ends.
    Exit,
    /// The current task goes on to its next stage (fork, clone).
    Stage,
    /// A task (its own or another) is moved by NUMA balancing.
    Moves,
    /// The current task creates a thread by a message.
    Birth,
    /// The current task goes on: what it is about to do must happen in the order of time.
    Resume,
    /// The current task carries out the hint fault that it has decided ahead.
    HintFault,
    /// The current task comes to the next instant of the page migration it carries out.
    Migration,
    /// The current task busy-waits alone on this CPU up to the tick, or until its barrier opens.
    Spin,
    /// The CPU has nothing to run and looks at others.
    Search,
}

impl Pending {
    /// Whether the task stops running by itself at the end of its slice.
    pub(crate) fn leaves(self) -> bool {
        matches!(
            self,
            Self::Sleep(_) | Self::Wait | Self::Exit | Self::Stage | Self::Birth | Self::HintFault | Self::Migration
        )
    }
}

/// A CPU as the engine sees it. Fields that its own events read come first, in one cache line; fields that other CPUs
/// read follow in the next.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct CpuState {
    /// Number of the current plan.
    pub plan: u32,
    /// Task on the CPU since the last switch.
    pub task: Option<u32>,
    /// Working set of its task on the LLC.
    pub group: u32,
    /// What it does at the end of the planned slice.
    pub pending: Pending,
    /// Kernel time to be paid at the start of the next slice (switches, balancing), ns.
    pub debt_ns: u64,
    /// Its next tick, ns; the last one if that has passed.
    pub next_tick_ns: u64,
    /// LLC.
    pub llc: usize,
    /// Node.
    pub node: usize,
    /// Sibling CPUs of the core.
    pub siblings: Vec<u32>,
    /// Until then it is busy with balancing that it does while idle, ns.
    pub busy_until_ns: u64,
    /// Most of that time that a task which arrives has to wait, ns.
    pub busy_stretch_ns: u64,
    /// Latest tick asked for while idle, ns.
    pub idle_tick_ns: u64,
    /// The base page that it has cleared and freed last, if nobody has taken it since.
    pub freed_page: Option<FreedPage>,
    /// Base pages that its list of free pages still has since it was filled last.
    pub listed_pages: u16,
    /// Its recent uses of the lock of a zone, and of an LRU list.
    pub lock_uses: [OwnUses; 2],
}

/// A base page at the head of a CPU's list of free pages, whose lines are in the CPU's cache.
#[derive(Clone, Copy, Debug)]
pub struct FreedPage {
    /// Node of its memory.
    pub node: u16,
    /// Until then its lines are still there, ns.
    pub until_ns: u64,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(CpuState, node) == 56, "what its events read is in one line of 64 bytes");

impl CpuState {
    /// CPU `cpu` of `machine` before anything has run on it.
    pub(crate) fn idle(machine: &Machine, cpu: usize) -> Self {
        let own = &machine.cpus[cpu];
        let sibling = |&o: &usize| o != cpu && machine.cpus[o].core == own.core;
        Self {
            plan: 0,
            pending: Pending::None,
            task: None,
            debt_ns: 0,
            busy_until_ns: 0,
            busy_stretch_ns: 0,
            group: NO_GROUP,
            next_tick_ns: 0,
            idle_tick_ns: 0,
            freed_page: None,
            listed_pages: 0,
            lock_uses: [OwnUses::default(); 2],
            node: own.node,
            llc: own.llc,
            siblings: (0..machine.cpu_count()).filter(sibling).map(|o| o as u32).collect(),
        }
    }
}
