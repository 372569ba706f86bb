//! A NUMA scan in the context of a task: the scanner's view of the address space, and what a scan costs.

use crate::config::Harness;
use crate::engine::World;
use crate::process::ProcessState;
use crate::task::Activity;
use numalab_kernel::hw::cost::ScanWork;
use numalab_kernel::mm::policy::MemPolicy;
use numalab_kernel::mm::{AddressSpace, LruBatches, SharedMemory, VmaKind, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::counters::SkipReason;
use numalab_kernel::numa::mark::MarkRules;
use numalab_kernel::numa::scan::{Marked, ScanArgs, ScanEnd, ScanReport, ScanSpace, VmaView};
use numalab_kernel::numa::state::VmaNuma;

/// Borrowed parts of a process while one of its threads scans it.
struct ScanView<'a> {
    space: &'a mut AddressSpace,
    shared: &'a mut SharedMemory,
    process: u32,
    batches: &'a LruBatches,
    /// Pages of the mapping at hand that are in batches.
    batched: &'a mut Vec<(u32, u16)>,
    policies: &'a [Option<MemPolicy>],
    states: &'a mut [Option<VmaNuma>],
    /// The scanning thread's own policy lacks migrate-on-fault.
    policy_without_mof: bool,
    /// Pages of each call that changed something, which is followed by one flush of its range.
    flushes: &'a mut Vec<u64>,
    /// Populated entries looked at and left alone.
    skipped: u64,
    /// For the log, if there is one.
    visits: Option<&'a mut Vec<Visit>>,
}

/// What a scan did to a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Mapping id.
    pub vma: u32,
    /// Why it was passed over, if it was.
    pub skipped: Option<SkipReason>,
    /// Pages marked.
    pub updates: u64,
}

impl ScanSpace for ScanView<'_> {
    fn vma_count(&self) -> usize {
        self.space.len()
    }
    fn first_vma_with_end_above(&self, addr: u64) -> usize {
        self.space.first_above(addr)
    }
    fn vma(&self, i: usize) -> VmaView {
        let id = self.space.id_at(i);
        let v = self.space.vma(id);
        let own = self.policies[id].as_ref().map(|p| !p.migrates_on_fault());
        VmaView {
            policy_without_mof: own.unwrap_or(self.policy_without_mof),
            shmem_without_policy: own.is_none() && v.kind == VmaKind::SharedAnon,
            shared_ro: v.kind == VmaKind::FileRead,
            shared: v.kind.is_shared(),
            ..VmaView::anonymous(v.start, v.end)
        }
    }
    fn state(&mut self, i: usize) -> &mut Option<VmaNuma> {
        &mut self.states[self.space.id_at(i)]
    }
    fn mark(&mut self, i: usize, start: u64, end: u64, rules: &MarkRules) -> Marked {
        let id = self.space.id_at(i);
        self.batched.clear();
        if rules.spares_batched() {
            self.batched.extend(self.batches.own_of(self.process, id as u32));
        }
        let vma = self.space.vma_mut(id);
        let out = vma.mark_range_but(start, end, rules, self.batched, self.shared);
        if out.updates > 0 {
            self.flushes.push((end - start) / PAGE_BYTES);
        }
        self.skipped += out.skipped;
        if let Some(visits) = &mut self.visits {
            match visits.last_mut().filter(|v| v.vma == id as u32 && v.skipped.is_none()) {
                Some(v) => v.updates += out.updates,
                None => visits.push(Visit { vma: id as u32, skipped: None, updates: out.updates }),
            }
        }
        Marked { updates: out.updates, huge: out.huge, stop_at: out.stop_at }
    }
    #[inline]
    fn passed_over(&mut self, i: usize, reason: SkipReason) {
        let id = self.space.id_at(i);
        if let Some(visits) = &mut self.visits {
            visits.push(Visit { vma: id as u32, skipped: Some(reason), updates: 0 });
        }
    }
}

/// Runtime that a work which ends at `ends_ns` is seen to have used: the account is brought up to date at ticks only, so
/// it grows from the last accounting before the work to the last tick inside it, and not at all without one.
fn accounted_ns(last_ns: u64, ends_ns: u64, next_tick_ns: u64, tick_ns: u64) -> u64 {
    let Some(after) = ends_ns.checked_sub(next_tick_ns) else { return 0 };
    next_tick_ns + after / tick_ns * tick_ns - last_ns
}

impl World<'_> {
    /// Runs the queued scan work of `task` on `cpu` at `clock`; returns its time. `end` is the next tick.
    pub(crate) fn scan(&mut self, cpu: usize, task: u32, clock: u64, end: u64) -> u64 {
        let t = &self.tasks[task as usize];
        let process = t.process as usize;
        let p = &mut self.processes[process];
        let args = ScanArgs {
            now: clock / self.cfg.jiffy_ns(),
            this_node: self.cpus[cpu].node,
            rss_pages: p.space.rss_pages(),
        };
        let ProcessState { space, vma_numa, vma_policy, .. } = p;
        let visits = self.log.on().then_some(&mut self.log.visits);
        self.flushes.clear();
        let mut view = ScanView {
            space,
            shared: &mut self.shared,
            process: process as u32,
            batches: &self.lru_batches,
            batched: &mut self.batched,
            policies: vma_policy,
            states: vma_numa,
            policy_without_mof: !t.policy.migrates_on_fault(),
            flushes: &mut self.flushes,
            skipped: 0,
            visits,
        };
        let report = self.numa.scan_marks(task, args, &mut view);
        let skipped = view.skipped;
        let mut ns = self.scan_cost_ns(&report, skipped) as u64;
        for i in 0..self.flushes.len() {
            ns += self.shoot_down(cpu, task, self.flushes[i]);
        }
        if report.updates > 0 {
            self.processes[process].protecting_until_ns = clock + ns;
            self.processes[process].marking_scans += 1;
            self.others_touch_program(cpu, process);
        }
        self.numa.scan_ends(task, &report);
        self.charge_system(task, ns);
        if self.log.on() && report.end == ScanEnd::Walked {
            self.log_scan(cpu, task, clock, ns, &report);
        }
        let accounted = accounted_ns(self.now_ns, clock + ns, end, self.cfg.jiffy_ns());
        self.numa.scan_done(task, &report, accounted);
        ns
    }

    /// The worker's threads look at their clocks and counters all the time, so those on other CPUs meet the marks on their
    /// stacks and on the program's data while the walk goes on, in the pass that it may end.
    fn others_touch_program(&mut self, cpu: usize, process: usize) {
        if self.cfg.harness != Harness::Worker {
            return;
        }
        for other in (0..self.cpus.len()).filter(|&other| other != cpu) {
            let Some(task) = self.cpus[other].task else { continue };
            let t = &mut self.tasks[task as usize];
            if t.process as usize == process && t.activity == Activity::Running {
                t.marking_scans = self.processes[process].marking_scans;
                self.touch_program(other, task);
            }
        }
    }

    /// Populated entries that stay as they are cost a visit; unpopulated page tables cost nothing.
    fn scan_cost_ns(&self, r: &ScanReport, skipped: u64) -> f64 {
        if r.end != ScanEnd::Walked {
            return self.machine.costs.exception_ns;
        }
        let work = ScanWork {
            vmas: r.vmas_visited,
            skipped_ptes: skipped,
            marked_ptes: r.updates - r.huge * CHUNK_PAGES,
            marked_pmds: r.huge,
            flushes: 0,
        };
        self.costs.scan_ns(&work, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// kernel-numa-balancing.md section 5, step 14: every tick inside the work accounts for its time.
    #[test]
    fn a_scan_is_charged_up_to_the_last_tick_inside_it() {
        const TICK: u64 = 4_000_000;
        let charged = |ends| accounted_ns(10 * TICK, ends, 11 * TICK, TICK);
        assert_eq!(charged(11 * TICK - 1), 0, "it met no tick");
        assert_eq!(charged(11 * TICK), TICK);
        assert_eq!(charged(12 * TICK - 1), TICK);
        assert_eq!(charged(14 * TICK + 1), 4 * TICK, "and not the first tick only");
    }
}
