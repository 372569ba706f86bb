//! The scan work: gate, walk, end of the pass (kernel: `task_numa_work`, kernel-numa-balancing.md §5).

use super::report::{ScanArgs, ScanEnd, ScanReport};
use super::space::ScanSpace;
use super::vma_walk;
use crate::numa::balancing::NumaBalancing;
use crate::numa::jiffies::{after, before, Jiffies};
use crate::numa::period::v38;
use crate::numa::rate_limit::RateLimit;
use crate::numa::rules::PeriodModel;
use crate::numa::state::{FirstNid, MmId, TaskId};

/// Runtime by which each ns of scanning postpones the next scan, ns.
const OVERHEAD_FACTOR: u64 = 32;

impl NumaBalancing {
    /// Runs the scan work at return to user mode: gate, walk, end of the pass. The caller charges the cost of the
    /// report to the task's runtime and then calls [`Self::scan_done`]. For callers whose faults do not overlap with
    /// the walk.
    pub fn task_numa_work<S: ScanSpace>(&mut self, task: TaskId, args: ScanArgs, space: &mut S) -> ScanReport {
        let report = self.task_numa_work_begin(task, args, space);
        self.task_numa_work_end(task, &report);
        report
    }

    /// The gate and the walk of [`Self::task_numa_work`]. Faults of threads on other CPUs during the walk still belong
    /// to the pass, which [`Self::task_numa_work_end`] ends.
    pub fn task_numa_work_begin<S: ScanSpace>(&mut self, task: TaskId, args: ScanArgs, space: &mut S) -> ScanReport {
        let mut report = ScanReport::default();
        let t = &mut self.tasks[task as usize];
        t.work_queued = false;
        let Some(mm) = t.mm.filter(|_| !t.exiting) else { return report };
        let one_node = self.mms[mm as usize].mems_allowed.is_some_and(|m| m.len() == 1);
        if self.cfg.switches.skip_single_node_cpuset && one_node {
            self.reasons.cpuset_skips += 1;
            report.end = ScanEnd::SingleNodeCpuset;
            return report;
        }
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

    /// Ends the pass after the walk, if the walk came to the end of the list.
    pub fn task_numa_work_end(&mut self, task: TaskId, report: &ScanReport) {
        if let Some(mm) = self.tasks[task as usize].mm.filter(|_| report.list_ended) {
            vma_walk::reset_ptenuma_scan(&mut self.mms[mm as usize]);
        }
    }

    /// Charges the scanner's own runtime to its pace (§5 step 14). Call it once per report, after the cost of the work
    /// has been accounted. `runtime_delta_ns` is the *accounted* runtime that the work added; 0 if no accounting came.
    pub fn scan_done(&mut self, task: TaskId, report: &ScanReport, runtime_delta_ns: u64) {
        if report.end == ScanEnd::Walked && self.cfg.switches.overhead_guard {
            let t = &mut self.tasks[task as usize];
            t.node_stamp = t.node_stamp.wrapping_add(OVERHEAD_FACTOR.wrapping_mul(runtime_delta_ns));
        }
    }

    /// The gate (§5 steps 2 to 6); `Walked` if the work may continue.
    fn pass_gate(&mut self, task: TaskId, mm: MmId, args: ScanArgs) -> ScanEnd {
        if self.cfg.switches.first_nid_gate && !self.second_node_reached(mm, args.this_node) {
            return ScanEnd::FirstNode;
        }
        if self.cfg.period_model == PeriodModel::V38 {
            self.reset_period_v38(task, mm, args.now);
        }
        let hz = self.cfg.hz;
        // 3.8 neither arms a gate of 0 nor delays the thread that scans.
        let v38 = self.cfg.period_model == PeriodModel::V38;
        let m = &mut self.mms[mm as usize];
        if m.numa_next_scan == 0 && !v38 {
            m.numa_next_scan = args.now.wrapping_add(hz.jiffies(self.cfg.scan.scan_delay_ms));
        }
        if before(args.now, m.numa_next_scan) {
            return ScanEnd::NotDue;
        }
        if self.tasks[task as usize].numa_scan_period == 0 {
            let (start, max) = (self.task_scan_start(task, args.rss_pages), self.task_scan_max(task, args.rss_pages));
            let t = &mut self.tasks[task as usize];
            t.numa_scan_period_max = max;
            t.numa_scan_period = start;
        }
        let t = &mut self.tasks[task as usize];
        self.mms[mm as usize].numa_next_scan = args.now.wrapping_add(hz.jiffies(t.numa_scan_period));
        if !v38 {
            // Another thread is likely to scan next time.
            t.node_stamp = t.node_stamp.wrapping_add(2 * hz.tick_ns());
        }
        if self.cfg.switches.rate_limit == RateLimit::LegacyAndMarking
            && self.limits[args.this_node].limited(hz, args.now)
        {
            return ScanEnd::RateLimited;
        }
        ScanEnd::Walked
    }

    /// 3.8: whether a scan work of the mm has run on a node other than that of its first work.
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
}
