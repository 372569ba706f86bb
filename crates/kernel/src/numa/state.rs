//! What NUMA balancing keeps per address space, task, VMA and page (kernel-numa-balancing.md §2).

use super::jiffies::Jiffies;
use numalab_base::node_mask::NodeMask;

/// Index of a task.
pub type TaskId = u32;
/// Index of an address space.
pub type MmId = u32;

/// Type of a shared fault: the "priv" index of every fault array.
pub const SHARED: usize = 0;
/// Type of a private fault.
pub const PRIVATE: usize = 1;

/// Averages of faults by the node of the memory.
pub const MEM: usize = 0;
/// Averages of faults by the node of the CPU, normalised.
pub const CPU: usize = 1;
/// Faults by the node of the memory since the last placement.
pub const MEMBUF: usize = 2;
/// Faults by the node of the CPU since the last placement.
pub const CPUBUF: usize = 3;

/// Position in a fault array of `nodes` nodes: 2·(stat·nodes + nid) + private.
#[inline]
pub fn fault_index(stat: usize, nodes: usize, nid: usize, private: usize) -> usize {
    2 * (stat * nodes + nid) + private
}

/// Whether 3.8's scanner may start (`mm.first_nid`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstNid {
    /// No scan work has run yet.
    #[default]
    Unset,
    /// Scan works ran on this node only.
    Node(usize),
    /// A scan work ran on another node, so scanning is on for good.
    Active,
}

/// State of an address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MmNuma {
    /// No thread of this mm may scan before this time, jiffies. 0: the first work sets it.
    pub numa_next_scan: Jiffies,
    /// Address where the next scan resumes.
    pub numa_scan_offset: u64,
    /// Completed passes over the address space.
    pub numa_scan_seq: i32,
    /// Memory nodes of the cpuset of its tasks; `None` while the machine has no cpuset but the root.
    pub mems_allowed: Option<NodeMask>,
    /// Sum of its tasks' memory faults, pages (7.2, for cache-aware scheduling).
    pub footprint_pages: u64,
    /// Users of the mm, which are its live threads.
    pub users: u32,
    /// 3.8 only: when the period is next reset to its minimum, jiffies.
    pub numa_next_reset: Jiffies,
    /// 3.8 only: whether the scanner may start.
    pub first_nid: FirstNid,
}

/// State of a VMA (`numab_state`), created when the scanner first visits the VMA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VmaNuma {
    /// Time before which the VMA is not scanned once the first pass is over, jiffies.
    pub next_scan: Jiffies,
    /// Time of the next shift of the PID windows, jiffies.
    pub pids_active_reset: Jiffies,
    /// Threads that faulted here, hashed to 64 bits: previous and current window.
    pub pids_active: [u64; 2],
    /// The same of two windows before (`vma.pid_windows`).
    pub pids_older: [u64; 2],
    /// Pass in which the state was created.
    pub start_scan_seq: i32,
    /// Last pass that completed the VMA.
    pub prev_scan_seq: i32,
    /// Number of scan visits so far (`rfc_*` filters).
    pub scan_counter: u32,
    /// Refusals until a refused visit is allowed (`vma.disjoint_select`).
    pub scan_select: u32,
}

/// Bit of a thread in a PID window: ⌊(pid · 0x61C88647 mod 2³²) / 2²⁶⌋ (`hash_32(pid, 6)`).
#[inline]
pub fn pid_bit(pid: u32) -> u32 {
    pid.wrapping_mul(0x61C8_8647) >> 26
}

impl VmaNuma {
    /// Records that a thread faulted in the VMA (`vma_set_access_pid_bit`).
    #[inline]
    pub fn record(&mut self, pid: u32) {
        self.pids_active[1] |= 1 << pid_bit(pid);
    }
    /// Whether a thread, or one with the same bit, faulted in either window.
    #[inline]
    pub fn accessed_by(&self, pid: u32) -> bool {
        self.pids() >> pid_bit(pid) & 1 == 1
    }
    /// How many threads, or bits of threads, faulted in the windows.
    pub fn accessed_count(&self) -> u32 {
        self.pids().count_ones()
    }
    #[inline]
    fn pids(&self) -> u64 {
        self.pids_active[0] | self.pids_active[1] | self.pids_older[0] | self.pids_older[1]
    }
    /// Ends the current window. `windows` of them are remembered, the new one included.
    pub fn shift_windows(&mut self, windows: u8) {
        self.pids_older = match windows {
            4 => [self.pids_active[0], self.pids_older[0]],
            3 => [self.pids_active[0], 0],
            _ => [0; 2],
        };
        self.pids_active = [if windows > 1 { self.pids_active[1] } else { 0 }, 0];
    }
}

/// CPU and task of a page's last fault: (cpu << 8) | (pid & 255), or unset. With memory tiering, slow-tier pages keep a
/// scan time here instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastCpupid(u32);

impl Default for LastCpupid {
    fn default() -> Self {
        Self::UNSET
    }
}

impl LastCpupid {
    /// Value of a page without a fault since its allocation: all ones.
    pub const UNSET: Self = Self(u32::MAX);
    /// The value after a fault of `pid` on `cpu`.
    #[inline]
    pub fn new(cpu: usize, pid: u32) -> Self {
        Self((cpu as u32) << 8 | (pid & 255))
    }
    /// A value as stored; inverse of [`Self::raw`].
    #[inline]
    pub fn from_raw(raw: u32) -> Self {
        Self(raw)
    }
    /// The value as stored.
    #[inline]
    pub fn raw(self) -> u32 {
        self.0
    }
    /// Whether the whole value is unset.
    #[inline]
    pub fn is_unset(self) -> bool {
        self == Self::UNSET
    }
    /// Whether the PID part looks unset. It also does for every pid that is 255 modulo 256.
    #[inline]
    pub fn pid_unset(self) -> bool {
        self.0 & 255 == 255
    }
    /// Whether the low 8 bits of `pid` equal the recorded ones.
    #[inline]
    pub fn matches(self, pid: u32) -> bool {
        self.0 & 255 == pid & 255
    }
    /// The CPU part. It is not a CPU of the machine if the value is unset or a stale time.
    #[inline]
    pub fn cpu(self) -> usize {
        (self.0 >> 8) as usize
    }
}

/// State of a task. Fields that every tick reads come first, in one cache line.
#[derive(Clone, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub struct TaskNuma {
    /// Runtime after which the next scan is due, less one period, ns.
    pub node_stamp: u64,
    /// Scan period, ms of runtime.
    pub numa_scan_period: u32,
    /// A scan work is queued.
    pub work_queued: bool,
    /// Set by [`exit`](super::NumaBalancing::exit); the slot may be reused by a later fork.
    pub exiting: bool,
    /// Address space; `None` for a kernel thread.
    pub mm: Option<MmId>,
    /// Kernel-global thread id.
    pub pid: u32,
    /// The task's copy of the mm's pass counter, taken at placement.
    pub numa_scan_seq: i32,
    /// Node the task should run on.
    pub numa_preferred_nid: Option<usize>,
    /// Largest period, ms, as of the last placement.
    pub numa_scan_period_max: u32,
    /// Group: an index into [`Groups`](super::Groups).
    pub numa_group: Option<u32>,
    /// Time before which the task is not placed, jiffies.
    pub numa_migrate_retry: Jiffies,
    /// The fault array, see [`fault_index`]; empty until the first recorded fault.
    pub faults: Vec<u64>,
    /// Decayed sum of recorded faults.
    pub total_numa_faults: u64,
    /// Pages of remote, local and failed-migration faults since the last placement.
    pub numa_faults_locality: [u64; 3],
    /// Number of further migrations of pages with several users that the task skips (3.13).
    pub numa_migrate_deferred: u32,
    /// Pages that this task's faults migrated.
    pub numa_pages_migrated: u64,
    /// Task clock of the last placement, ns; 0 before the first.
    pub last_task_numa_placement: u64,
    /// Runtime at the last placement, ns.
    pub last_sum_exec_runtime: u64,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(TaskNuma, pid) < 64, "what ticks read is in one line of 64 bytes");

impl TaskNuma {
    /// Faults of the task on memory of a node, both types (`task_faults`); 0 without an array.
    #[inline]
    pub fn task_faults(&self, nodes: usize, nid: usize) -> u64 {
        if self.faults.is_empty() {
            return 0;
        }
        let i = fault_index(MEM, nodes, nid, SHARED);
        self.faults[i].wrapping_add(self.faults[i + 1])
    }
}
