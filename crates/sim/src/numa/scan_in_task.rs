//! The NUMA scan in the context of a task (kernel: `task_numa_work`): what the scanner sees of an address space, and
//! what a scan costs.

use crate::charge::time::charge_system;
use crate::charge::tlb_flush::shoot_down;
use crate::mm::pins::mapping;
use crate::record::log::log_scan;
use crate::state::logged::Visit;
use crate::state::pins::Pins;
use crate::state::process::ProcessState;
use crate::state::scan_visits::ScanVisits;
use crate::state::simulation::Simulation;
use numalab_kernel::hw::cost::{CostModel, ScanWork};
use numalab_kernel::mm::policy::MemPolicy;
use numalab_kernel::mm::{AddressSpace, HeldPages, LruBatches, SharedMemory, VmaKind, CHUNK_PAGES};
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
    /// Pages of the present mapping that are in LRU batches.
    batched: &'a mut Vec<(u32, u16)>,
    /// Pages that devices hold, and those of the present mapping.
    pins: &'a Pins,
    pinned: &'a mut Vec<(u64, u64)>,
    clock: u64,
    policies: &'a [Option<MemPolicy>],
    states: &'a mut [Option<VmaNuma>],
    scans: &'a mut [ScanVisits],
    /// The scanning thread's own policy lacks migrate-on-fault.
    policy_without_mof: bool,
    /// Pages of each call that changed something. One TLB flush of its range follows each of them.
    flushes: &'a mut Vec<u64>,
    /// Populated entries looked at and left alone.
    skipped: u64,
    /// For the log, if there is one.
    visits: Option<&'a mut Vec<Visit>>,
}

impl ScanSpace for ScanView<'_> {
    fn vma_count(&self) -> usize {
        self.space.len()
    }
    fn first_vma_with_end_above(&self, addr: u64) -> usize {
        self.space.find_vma(addr)
    }
    fn vma(&self, i: usize) -> VmaView {
        let id = self.space.id_at(i);
        let v = self.space.vma(id);
        let own = self.policies[id].as_ref().map(|p| !p.migrates_on_fault());
        VmaView {
            unmigratable: v.kind == VmaKind::Hugetlb,
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
        self.scans[id].scanned += 1;
        self.batched.clear();
        if rules.spares_batched() {
            self.batched.extend(self.batches.own_of(self.process, id as u32));
        }
        self.pinned.clear();
        if !self.pins.is_empty() {
            let of = mapping(self.space, self.process as usize, id);
            self.pins.ranges(of, self.clock, self.pinned);
        }
        let held = HeldPages { batched: self.batched, pinned: self.pinned };
        let out = self.space.vma_mut(id).mark_range_except(start, end, rules, held, self.shared);
        if out.updates > 0 {
            let page = self.space.vma(id).grain.base_page();
            self.flushes.push(page.pages(end - start));
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
        self.scans[id].pass_over(reason);
        if let Some(visits) = &mut self.visits {
            visits.push(Visit { vma: id as u32, skipped: Some(reason), updates: 0 });
        }
    }
}

/// Runtime that a scan which ends at `ends_ns` appears to have used, ns. Runtime is accounted at ticks only. So it is
/// the time from the last accounting before the scan to the last tick inside it, and 0 if no tick falls inside.
fn accounted_ns(last_ns: u64, ends_ns: u64, next_tick_ns: u64, tick_ns: u64) -> u64 {
    let Some(after) = ends_ns.checked_sub(next_tick_ns) else { return 0 };
    next_tick_ns + after / tick_ns * tick_ns - last_ns
}

/// Runs the queued scan work of `task` on `cpu` at `clock`; returns its time. `end` is the next tick. `marked(sim, cpu,
/// process)` is called once marks stand, before the pass is over: threads on other CPUs may meet them in between.
pub(crate) fn task_numa_work<'a>(
    sim: &mut Simulation<'a>,
    cpu: usize,
    task: u32,
    (clock, end): (u64, u64),
    marked: impl FnOnce(&mut Simulation<'a>, usize, usize),
) -> u64 {
    let t = &sim.tasks[task as usize];
    let process = t.process as usize;
    let p = &mut sim.processes[process];
    let args =
        ScanArgs { now: clock / sim.cfg.jiffy_ns(), this_node: sim.cpus[cpu].node, rss_pages: p.space.rss_pages() };
    let ProcessState { space, vma_numa, vma_policy, vma_scans, .. } = p;
    let visits = sim.record.log.on().then_some(&mut sim.record.log.visits);
    sim.kernel.scan_scratch.flushes.clear();
    let mut view = ScanView {
        space,
        shared: &mut sim.mm.shared,
        process: process as u32,
        batches: &sim.mm.lru_batches,
        batched: &mut sim.kernel.scan_scratch.batched,
        pins: &sim.mm.pins,
        pinned: &mut sim.kernel.scan_scratch.pinned,
        clock,
        policies: vma_policy,
        states: vma_numa,
        scans: vma_scans,
        policy_without_mof: !t.policy.migrates_on_fault(),
        flushes: &mut sim.kernel.scan_scratch.flushes,
        skipped: 0,
        visits,
    };
    let report = sim.kernel.numa.task_numa_work_begin(task, args, &mut view);
    let skipped = view.skipped;
    let mut ns = scan_cost_ns(&sim.hw.costs, sim.machine.costs.exception_ns, &report, skipped) as u64;
    for i in 0..sim.kernel.scan_scratch.flushes.len() {
        ns += shoot_down(sim, cpu, task, sim.kernel.scan_scratch.flushes[i]);
    }
    if report.updates > 0 {
        sim.processes[process].protecting_until_ns = clock + ns;
        sim.processes[process].marking_scans += 1;
        marked(sim, cpu, process);
    }
    sim.kernel.numa.task_numa_work_end(task, &report);
    charge_system(sim, task, ns);
    if sim.record.log.on() && report.end == ScanEnd::Walked {
        log_scan(sim, cpu, task, clock, ns, &report);
    }
    let accounted = accounted_ns(sim.now_ns, clock + ns, end, sim.cfg.jiffy_ns());
    sim.kernel.numa.scan_done(task, &report, accounted);
    ns
}

/// Populated entries that stay as they are cost a visit; unpopulated page tables cost nothing.
fn scan_cost_ns(costs: &CostModel, exception_ns: f64, r: &ScanReport, skipped: u64) -> f64 {
    if r.end != ScanEnd::Walked {
        return exception_ns;
    }
    let work = ScanWork {
        vmas: r.vmas_visited,
        skipped_ptes: skipped,
        marked_ptes: r.updates - r.huge * CHUNK_PAGES,
        marked_pmds: r.huge,
        flushes: 0,
    };
    costs.scan_ns(&work, 0.0)
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
