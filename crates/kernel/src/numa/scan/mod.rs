//! When a task scans: the trigger on the tick and the gate of the scan work (kernel-numa-balancing.md §4, §5).
//!
//! Two clocks must agree. The trigger compares *runtime* with `node_stamp`, so sleeping tasks do not scan; the gate
//! compares *wall time* with the mm's `numa_next_scan`, so one scan runs per period and address space, whoever wins.
//! The walk itself is in [`walk`].

pub mod walk;

use super::config::NumaConfig;
use super::counters::SkipReason;
use super::mark::MarkRules;
use super::page::PAGE_BYTES;
use super::period::{self, v38, PeriodModel};
use super::rate_limit::RateLimit;
use super::state::{FirstNid, MmId, TaskId, VmaNuma};
use super::time::{after, before, Jiffies, NSEC_PER_MSEC};
use super::NumaBalancing;

/// Each ns of scanning postpones the next scan by this many ns of runtime.
const OVERHEAD_FACTOR: u64 = 32;
/// A work walks at most this many times its size of address space.
const VIRTUAL_FACTOR: i64 = 8;

/// What the scanner sees of a VMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmaView {
    /// First address.
    pub start: u64,
    /// Address after it.
    pub end: u64,
    /// Not migratable: I/O or PFN-mapped, DAX, hugetlb, or a file whose allocation zone is below the policy zone.
    pub unmigratable: bool,
    /// Its effective policy (VMA, else scanning task, else default) lacks migrate-on-fault.
    pub policy_without_mof: bool,
    /// Shared memory (`shmem_get_policy`) whose object has no policy here.
    pub shmem_without_policy: bool,
    /// Mixed map.
    pub mixed_map: bool,
    /// File-backed, readable, not writable.
    pub shared_ro: bool,
    /// No access permitted.
    pub inaccessible: bool,
    /// Shared mapping.
    pub shared: bool,
}

impl VmaView {
    /// A private anonymous writable VMA.
    pub fn anonymous(start: u64, end: u64) -> Self {
        Self {
            start,
            end,
            unmigratable: false,
            policy_without_mof: false,
            shmem_without_policy: false,
            mixed_map: false,
            shared_ro: false,
            inaccessible: false,
            shared: false,
        }
    }
}

/// What marking a range did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// Base pages newly marked PROT_NONE (512 per huge entry).
    pub updates: u64,
    /// Huge entries marked.
    pub huge: u64,
    /// Address of the page at which a filter ended the VMA ([`Verdict::SkipVma`](super::page_filter::Verdict)).
    pub stop_at: Option<u64>,
}

/// An address space as the scanner walks it; the simulator's page tables implement it.
pub trait ScanSpace {
    /// Tries to take the mm's lock for reading; false while a writer holds it.
    fn try_lock(&mut self) -> bool {
        true
    }
    /// Number of VMAs; they are indexed in address order.
    fn vma_count(&self) -> usize;
    /// Index of the first VMA whose end is above `addr`, or the number of VMAs if there is none.
    fn first_vma_with_end_above(&self, addr: u64) -> usize;
    /// A VMA.
    fn vma(&self, index: usize) -> VmaView;
    /// Its scan state.
    fn state(&mut self, index: usize) -> &mut Option<VmaNuma>;
    /// Marks `start..end` of a VMA by the rules: every present entry that is not yet PROT_NONE, in address order.
    fn mark(&mut self, index: usize, start: u64, end: u64, rules: &MarkRules) -> Marked;
    /// The walk passed over a VMA; for logs.
    #[inline]
    fn passed_over(&mut self, _index: usize, _reason: SkipReason) {}
}

/// When and where a scan work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanArgs {
    /// Time at entry, jiffies.
    pub now: Jiffies,
    /// Node of the CPU it runs on.
    pub this_node: usize,
    /// Resident pages of the mm (file, anonymous and shmem).
    pub rss_pages: u64,
}

/// How a scan work ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScanEnd {
    /// Nothing to do: exiting, no mm.
    #[default]
    NoTask,
    /// 3.8: no thread of the mm has run on a second node yet.
    FirstNode,
    /// The gate was closed (or has only been armed).
    NotDue,
    /// The node is rate-limited, so nothing is marked.
    RateLimited,
    /// The mm's lock was not free; the period is consumed.
    Locked,
    /// The address space was walked.
    Walked,
}

/// What a scan work did, so that its cost can be charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// How it ended.
    pub end: ScanEnd,
    /// VMAs looked at, scanned or not (a forced retry counts again).
    pub vmas_visited: u64,
    /// VMAs of which at least one chunk was walked.
    pub vmas_scanned: u64,
    /// Calls of [`ScanSpace::mark`].
    pub chunks: u64,
    /// Length of the chunks, pages.
    pub pages_walked: u64,
    /// Pages charged to the scan budget.
    pub pages_charged: u64,
    /// Base pages marked.
    pub updates: u64,
    /// Huge entries marked.
    pub huge: u64,
    /// The walk was repeated to force an inactive VMA.
    pub forced: bool,
    /// Passes completed.
    pub resets: u32,
    /// The last of them ends with the walk, which came to the end of the list.
    pub list_ended: bool,
}

impl NumaBalancing {
    /// Trigger on the tick of a running fair task (`task_tick_numa`); true if scan work was queued, to run when
    /// the task next returns to user mode. `runtime_ns` is its accumulated CPU time.
    #[inline]
    pub fn tick(&mut self, task: TaskId, runtime_ns: u64, now: Jiffies, rss_pages: u64) -> bool {
        let t = &mut self.tasks[task as usize];
        let Some(mm) = t.mm else { return false };
        if !self.cfg.enabled() || t.exiting || t.work_queued {
            return false;
        }
        let period_ns = u64::from(t.numa_scan_period) * NSEC_PER_MSEC;
        if !self.period_over(task, runtime_ns) {
            return false;
        }
        let t = &self.tasks[task as usize];
        if t.node_stamp == 0 {
            let start = self.scan_start(task, rss_pages);
            self.tasks[task as usize].numa_scan_period = start;
        }
        let t = &mut self.tasks[task as usize];
        t.node_stamp = match self.cfg.period_model {
            PeriodModel::V38 => runtime_ns,
            // Not the runtime: a task may catch up on consecutive ticks. The old period, even if it just changed.
            _ => t.node_stamp.wrapping_add(period_ns),
        };
        t.work_queued = !before(now, self.mms[mm as usize].numa_next_scan);
        t.work_queued
    }

    /// Whether [`Self::tick`] could do anything: lets the caller skip computing its arguments.
    #[inline]
    pub fn trigger_due(&self, task: TaskId, runtime_ns: u64) -> bool {
        !self.tasks[task as usize].work_queued && self.period_over(task, runtime_ns)
    }

    /// Whether a period of runtime has passed since the stamp. Before 4.4 the difference underflows once the stamp is
    /// ahead of the runtime, as after each scan (two ticks) and each trigger on; then only the wall clock paces scans.
    #[inline]
    fn period_over(&self, task: TaskId, runtime_ns: u64) -> bool {
        let t = &self.tasks[task as usize];
        let period_ns = u64::from(t.numa_scan_period) * NSEC_PER_MSEC;
        if self.cfg.switches.trigger_underflows {
            runtime_ns.wrapping_sub(t.node_stamp) > period_ns
        } else {
            runtime_ns > t.node_stamp.wrapping_add(period_ns)
        }
    }

    /// Scan work at return to user mode (`task_numa_work`): gate, then walk. The caller charges the cost of the
    /// report to the task's runtime and then calls [`Self::scan_done`].
    pub fn scan_work<S: ScanSpace>(&mut self, task: TaskId, args: ScanArgs, space: &mut S) -> ScanReport {
        let report = self.scan_marks(task, args, space);
        self.scan_ends(task, &report);
        report
    }

    /// [`Self::scan_work`] up to the end of the pass, if its walk has come to that: what threads of other CPUs fault on
    /// meanwhile still belongs to the pass. [`Self::scan_ends`] ends it.
    pub fn scan_marks<S: ScanSpace>(&mut self, task: TaskId, args: ScanArgs, space: &mut S) -> ScanReport {
        let mut report = ScanReport::default();
        let t = &mut self.tasks[task as usize];
        t.work_queued = false;
        let Some(mm) = t.mm.filter(|_| !t.exiting) else { return report };
        report.end = self.pass_gate(task, mm, args);
        if report.end != ScanEnd::Walked {
            return report;
        }
        if !space.try_lock() && !self.cfg.switches.scan_lock_blocks {
            report.end = ScanEnd::Locked;
            return report;
        }
        self.walk(task, mm, args, space, &mut report);
        report
    }

    /// The end of [`Self::scan_work`] behind its walk: the next pass begins if the walk came to the end of the list.
    pub fn scan_ends(&mut self, task: TaskId, report: &ScanReport) {
        if let Some(mm) = self.tasks[task as usize].mm.filter(|_| report.list_ended) {
            walk::end_pass(&mut self.mms[mm as usize]);
        }
    }

    /// Charges the scanner's own runtime to its pace (§5 step 14); call once per report, after the cost of the work
    /// has been accounted. `runtime_delta_ns` is the *accounted* runtime the work added (0 if it met no accounting).
    pub fn scan_done(&mut self, task: TaskId, report: &ScanReport, runtime_delta_ns: u64) {
        if report.end == ScanEnd::Walked && self.cfg.switches.overhead_guard {
            let t = &mut self.tasks[task as usize];
            t.node_stamp = t.node_stamp.wrapping_add(OVERHEAD_FACTOR.wrapping_mul(runtime_delta_ns));
        }
    }

    /// §5 steps 2 to 6; `Walked` if the work may go on.
    fn pass_gate(&mut self, task: TaskId, mm: MmId, args: ScanArgs) -> ScanEnd {
        if self.cfg.switches.first_nid_gate && !self.second_node_reached(mm, args.this_node) {
            return ScanEnd::FirstNode;
        }
        if self.cfg.period_model == PeriodModel::V38 {
            self.reset_period_v38(task, mm, args.now);
        }
        let hz = self.cfg.hz;
        // 3.8 neither arms a gate of 0 nor holds the winner back.
        let v38 = self.cfg.period_model == PeriodModel::V38;
        let m = &mut self.mms[mm as usize];
        if m.numa_next_scan == 0 && !v38 {
            m.numa_next_scan = args.now.wrapping_add(hz.jiffies(self.cfg.scan.scan_delay_ms));
        }
        if before(args.now, m.numa_next_scan) {
            return ScanEnd::NotDue;
        }
        if self.tasks[task as usize].numa_scan_period == 0 {
            let (start, max) = (self.scan_start(task, args.rss_pages), self.scan_max(task, args.rss_pages));
            let t = &mut self.tasks[task as usize];
            t.numa_scan_period_max = max;
            t.numa_scan_period = start;
        }
        let t = &mut self.tasks[task as usize];
        self.mms[mm as usize].numa_next_scan = args.now.wrapping_add(hz.jiffies(t.numa_scan_period));
        if !v38 {
            // Another thread is likely to win next time.
            t.node_stamp = t.node_stamp.wrapping_add(2 * hz.tick_ns());
        }
        if self.cfg.rate_limit == RateLimit::LegacyAndMarking && self.limits[args.this_node].limited(hz, args.now) {
            return ScanEnd::RateLimited;
        }
        ScanEnd::Walked
    }

    /// 3.8: whether some work of the mm has run on a node other than that of its first work.
    fn second_node_reached(&mut self, mm: MmId, this_node: usize) -> bool {
        let m = &mut self.mms[mm as usize];
        match m.first_nid {
            FirstNid::Active => true,
            FirstNid::Node(first) if first != this_node => {
                m.first_nid = FirstNid::Active;
                true
            }
            FirstNid::Node(_) => false,
            FirstNid::Unset => {
                m.first_nid = FirstNid::Node(this_node);
                false
            }
        }
    }

    fn reset_period_v38(&mut self, task: TaskId, mm: MmId, now: Jiffies) {
        let m = &mut self.mms[mm as usize];
        if after(now, m.numa_next_reset) {
            m.numa_next_reset = now.wrapping_add(self.cfg.hz.jiffies(self.cfg.scan_v38.scan_period_reset_ms));
            self.tasks[task as usize].numa_scan_period = v38::scan_min(&self.cfg.scan);
        }
    }

    /// First period of a task as of now, ms (`task_scan_start`).
    pub fn scan_start(&self, task: TaskId, rss_pages: u64) -> u32 {
        period::scan_start(&self.cfg, rss_pages, self.group_scale(task))
    }

    /// Longest period of a task as of now, ms (`task_scan_max`).
    pub fn scan_max(&self, task: TaskId, rss_pages: u64) -> u32 {
        period::scan_max(&self.cfg, rss_pages, self.group_scale(task))
    }
}

/// Bytes of `pages` pages, saturating: a budget that reaches beyond the address space covers all of it.
fn bytes(pages: i64) -> u64 {
    (pages.max(0) as u64).saturating_mul(PAGE_BYTES)
}

/// Scan budget and virtual budget of a work, pages.
fn budgets(cfg: &NumaConfig) -> (i64, i64) {
    let pages = period::window_pages(&cfg.scan) as i64;
    let virt = if cfg.switches.virtual_budget { VIRTUAL_FACTOR * pages } else { i64::MAX };
    (pages, virt)
}
