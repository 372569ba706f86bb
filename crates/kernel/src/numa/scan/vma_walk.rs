//! The walk of a scan work over the VMAs (kernel-numa-balancing.md §5 steps 7 to 13).
//!
//! Two budgets limit it. `pages` is charged with the length of chunks in which an entry changed, `virt` with the length
//! of every chunk. The forms before 4.4 are switches: `scan_charges_updates`, `scan_charges_all_after`. Skipped VMAs
//! charge neither. A work whose budget is used up leaves its VMA incomplete, even at the VMA's very end. A walk that
//! reaches the end of the list ends the pass.

use super::report::{ScanArgs, ScanReport};
use super::space::{Marked, ScanSpace, VmaView};
use crate::numa::balancing::NumaBalancing;
use crate::numa::config::NumaConfig;
use crate::numa::counters::SkipReason;
use crate::numa::jiffies::{after, before};
use crate::numa::mark::MarkRules;
use crate::numa::period;
use crate::numa::state::{MmId, MmNuma, TaskId, VmaNuma};
use crate::numa::vma_filter::{Access, FilterContext, Parts};
use numalab_base::base_page::BasePage;

/// Largest length of a walk, as a multiple of the scan size.
const VIRTUAL_FACTOR: i64 = 8;
/// Length of a PID window in scan delays.
const VMA_PID_RESET_DELAYS: u32 = 4;

/// A walk: for whom it is made, its position and its budgets.
struct Walk {
    /// The task that scans.
    task: TaskId,
    /// Its address space.
    mm: MmId,
    /// Where and when.
    args: ScanArgs,
    /// Address after the last chunk.
    start: u64,
    /// Scan budget left, pages.
    pages: i64,
    /// Virtual budget left, pages.
    virt: i64,
    /// Some VMA was skipped as inactive.
    skipped: bool,
    /// This is the second round, in which the access filter does not apply.
    forced: bool,
}

/// What to do after a VMA.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Continue with the next VMA.
    Next,
    /// Leave the loop; the VMA stays current.
    Leave,
}

/// Ends a pass of the address space.
pub(super) fn reset_ptenuma_scan(mm: &mut MmNuma) {
    mm.numa_scan_seq = mm.numa_scan_seq.wrapping_add(1);
    mm.numa_scan_offset = 0;
}

impl NumaBalancing {
    pub(super) fn walk<S: ScanSpace>(
        &mut self,
        task: TaskId,
        mm: MmId,
        args: ScanArgs,
        space: &mut S,
        report: &mut ScanReport,
    ) {
        let (pages, virt) = budgets(&self.cfg);
        let mut walk = Walk { task, mm, args, start: 0, pages, virt, skipped: false, forced: false };
        let parts = *self.cfg.vma_filter.parts();
        loop {
            let current = self.round(space, &mut walk, report);
            if current {
                self.mms[mm as usize].numa_scan_offset = walk.start;
                return;
            }
            if walk.forced || !walk.skipped || !parts.force_inactive {
                report.list_ended = true;
                report.resets += 1;
                return;
            }
            // The list ended and a VMA was skipped as inactive: walk once more and take the first such VMA.
            walk.forced = true;
            report.forced = true;
        }
    }

    /// One round from the stored offset. Returns true if it left with a current VMA, false if the list ended.
    fn round<S: ScanSpace>(&mut self, space: &mut S, walk: &mut Walk, report: &mut ScanReport) -> bool {
        let m = &mut self.mms[walk.mm as usize];
        walk.start = m.numa_scan_offset;
        let mut index = space.first_vma_with_end_above(walk.start);
        if index >= space.vma_count() {
            reset_ptenuma_scan(m);
            report.resets += 1;
            walk.start = 0;
            index = space.first_vma_with_end_above(0);
        }
        while index < space.vma_count() {
            report.vmas_visited += 1;
            if self.visit(space, index, walk, report) == Step::Leave {
                return true;
            }
            index += 1;
        }
        false
    }

    fn visit<S: ScanSpace>(&mut self, space: &mut S, index: usize, walk: &mut Walk, report: &mut ScanReport) -> Step {
        let vma = space.vma(index);
        let parts = *self.cfg.vma_filter.parts();
        let skip = self.skip_by_kind(&vma).or_else(|| {
            let state = parts.state.then(|| space.state(index))?;
            self.admit(&vma, state, walk).err()
        });
        if let Some(reason) = skip {
            self.reasons.skip[reason as usize] += 1;
            space.passed_over(index, reason);
            let gated = matches!(reason, SkipReason::PidInactive | SkipReason::SharedRo);
            if gated && self.cfg.switches.promote_only && self.cfg.tiering() {
                let rules = self.mark_rules(&vma, walk).slow_tier_only(&self.topo);
                let done = self.scan_vma(space, (index, &vma), &rules, walk, report);
                return if done && walk.pages > 0 && walk.virt > 0 { Step::Next } else { Step::Leave };
            }
            return Step::Next;
        }
        let rules = self.mark_rules(&vma, walk);
        let complete = self.scan_vma(space, (index, &vma), &rules, walk, report);
        if !complete {
            return Step::Leave;
        }
        if parts.completion {
            let seq = self.mms[walk.mm as usize].numa_scan_seq;
            if let Some(state) = space.state(index) {
                state.prev_scan_seq = seq;
            }
        }
        // `cow_skip_vma` completes a VMA whose scan may have used up the budgets.
        if walk.forced || walk.pages <= 0 || walk.virt <= 0 {
            return Step::Leave;
        }
        Step::Next
    }

    /// Whether the kind of the VMA makes the scanner skip it (§5 checks 11.1 to 11.3).
    fn skip_by_kind(&self, vma: &VmaView) -> Option<SkipReason> {
        let s = &self.cfg.switches;
        // vma_policy_mof(): from 3.18 to the fix, an object without policy counts as one without migrate-on-fault.
        let without_mof = vma.policy_without_mof || (vma.shmem_without_policy && !s.shmem_task_policy);
        if vma.unmigratable || (s.skip_by_policy && without_mof) || (s.skip_mixed_map && vma.mixed_map) {
            Some(SkipReason::Unsuitable)
        } else if s.skip_small_vma && vma.end - vma.start < self.cfg.scan.huge_page_bytes {
            Some(SkipReason::Small)
        } else if s.skip_shared_ro && vma.shared_ro {
            Some(SkipReason::SharedRo)
        } else if s.skip_inaccessible && vma.inaccessible {
            Some(SkipReason::Inaccessible)
        } else {
            None
        }
    }

    /// Whether the scan state admits the VMA (§5 checks 11.4 to 11.8): state, delay, PID window, completion, access
    /// filter.
    fn admit(&mut self, vma: &VmaView, state: &mut Option<VmaNuma>, walk: &mut Walk) -> Result<(), SkipReason> {
        let (task, mm, args) = (walk.task, walk.mm, walk.args);
        let parts = *self.cfg.vma_filter.parts();
        let m = &mut self.mms[mm as usize];
        let seq = m.numa_scan_seq;
        let delay = self.cfg.hz.jiffies(self.cfg.scan.scan_delay_ms);
        let window = self.cfg.hz.jiffies(self.cfg.scan.scan_delay_ms.saturating_mul(VMA_PID_RESET_DELAYS));
        let state = state.get_or_insert_with(|| VmaNuma {
            next_scan: args.now.wrapping_add(delay),
            pids_active_reset: args.now.wrapping_add(delay).wrapping_add(window),
            start_scan_seq: seq,
            prev_scan_seq: seq.wrapping_sub(1),
            ..VmaNuma::default()
        });
        refill(&parts, seq, state);
        if parts.delay && seq != 0 && before(args.now, state.next_scan) {
            return Err(SkipReason::ScanDelay);
        }
        let windows = parts.pid_windows;
        if parts.shift_before_filter {
            shift_window(state, seq, args.now, window, windows);
        }
        if parts.completion && state.prev_scan_seq == seq {
            m.numa_scan_offset = vma.end;
            return Err(SkipReason::SeqCompleted);
        }
        if !walk.forced {
            let context = FilterContext {
                seq,
                tid: self.tasks[task as usize].pid,
                scan_offset: m.numa_scan_offset,
                nr_threads: m.users,
                scan_size_mb: self.cfg.scan.scan_size_mb,
                start: vma.start,
                end: vma.end,
            };
            match self.cfg.vma_filter.visit(state, &context) {
                Access::Allow => {}
                Access::AllowPartial => self.reasons.skip[SkipReason::IgnorePidInactive as usize] += 1,
                Access::Deny => {
                    walk.skipped = true;
                    return Err(SkipReason::PidInactive);
                }
            }
        }
        if !parts.shift_before_filter {
            shift_window(state, seq, args.now, window, windows);
        }
        if self.cfg.vma_filter.counts_visits() {
            state.scan_counter = state.scan_counter.saturating_add(1);
        }
        Ok(())
    }

    /// Which pages of a VMA the walk marks.
    fn mark_rules(&self, vma: &VmaView, walk: &Walk) -> MarkRules {
        let (users, args) = (self.mms[walk.mm as usize].users, &walk.args);
        MarkRules::new(&self.cfg, &self.topo, args.this_node, users, vma.shared, args.now)
    }

    /// Scans the VMA (§5 step 11.9). Returns false if a budget was used up first.
    fn scan_vma<S: ScanSpace>(
        &mut self,
        space: &mut S,
        (index, vma): (usize, &VmaView),
        rules: &MarkRules,
        walk: &mut Walk,
        report: &mut ScanReport,
    ) -> bool {
        report.vmas_scanned += 1;
        let (page, huge_bytes) = (self.cfg.scan.base_page, self.cfg.scan.huge_page_bytes);
        loop {
            walk.start = walk.start.max(vma.start);
            let end = align_up(walk.start.saturating_add(bytes(page, walk.pages)), huge_bytes).min(vma.end);
            let marked = space.mark(index, walk.start, end, rules);
            self.counters.numa_pte_updates += marked.updates;
            self.counters.numa_huge_pte_updates += marked.huge;
            let walked_to = marked.stop_at.map_or(end, |at| at + page.bytes());
            let len = page.pages(walked_to - walk.start) as i64;
            self.charge(walk, report, len, &marked);
            if marked.stop_at.is_some() {
                // The rest of the VMA is complete for this pass.
                walk.start = vma.end;
                return true;
            }
            walk.start = end;
            if walk.pages <= 0 || walk.virt <= 0 {
                return false;
            }
            if end >= vma.end {
                return true;
            }
        }
    }

    fn charge(&self, walk: &mut Walk, report: &mut ScanReport, len: i64, marked: &Marked) {
        let s = &self.cfg.switches;
        // From 3.13 to 4.3 `nr_pte_updates` counts over the whole work.
        let updates = marked.updates + if s.scan_charges_all_after { report.updates } else { 0 };
        let charged = match (updates, s.scan_charges_updates) {
            (0, _) => 0,
            (updates, true) => updates as i64,
            (_, false) => len,
        };
        walk.pages -= charged;
        walk.virt -= len;
        report.chunks += 1;
        report.pages_walked += len as u64;
        report.pages_charged += charged as u64;
        report.updates += marked.updates;
        report.huge += marked.huge;
    }
}

/// Rounds up to a huge page, saturating at the top of the address space.
fn align_up(addr: u64, huge_bytes: u64) -> u64 {
    addr.checked_next_multiple_of(huge_bytes).unwrap_or(u64::MAX)
}

/// Shifts the PID windows at most once per visit. The due time advances from its old value, not from now.
fn shift_window(state: &mut VmaNuma, seq: i32, now: u64, window: u64, windows: u8) {
    if seq != 0 && after(now, state.pids_active_reset) {
        state.pids_active_reset = state.pids_active_reset.wrapping_add(window);
        state.shift_windows(windows);
    }
}

fn refill(parts: &Parts, seq: i32, state: &mut VmaNuma) {
    if parts.refill_passes > 0 && seq != 0 && seq % parts.refill_passes == 0 {
        state.scan_counter = 0;
        state.start_scan_seq = seq;
    }
}

/// Bytes of `pages` pages. It saturates: a budget that reaches beyond the address space covers all of it.
fn bytes(page: BasePage, pages: i64) -> u64 {
    (pages.max(0) as u64).saturating_mul(page.bytes())
}

/// Scan budget and virtual budget of a scan work, pages.
fn budgets(cfg: &NumaConfig) -> (i64, i64) {
    let pages = period::window_pages(&cfg.scan) as i64;
    let virt = if cfg.switches.virtual_budget { VIRTUAL_FACTOR * pages } else { i64::MAX };
    (pages, virt)
}
