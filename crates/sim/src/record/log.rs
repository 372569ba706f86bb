//! Writing the logs of a run: each call site in a mechanism is one line.
//!
//! Reasons are read off the counters of NUMA balancing before and after a call, so that the mechanisms know nothing of
//! logs.

use crate::state::log::Log;
use crate::state::logged::{Before, Fault};
use crate::state::simulation::Simulation;
use crate::state::task::Activity;
use numalab_base::base_page::BasePage;
use numalab_kernel::numa::counters::Placement;
use numalab_kernel::numa::scan::ScanReport;
use numalab_kernel::numa::{MigrateResult, NumaBalancing};
use numalab_kernel::sched::Why as MoveWhy;
use numalab_nouns::record::events::{Event, Fate, Kind, NONE};
use numalab_nouns::record::why::Why;
use std::io;

/// State of a task that leaves its CPU to sleep (`TASK_INTERRUPTIBLE`).
const STATE_ASLEEP: u16 = 1;

/// State of a task that has ended (`EXIT_DEAD`).
const STATE_DEAD: u16 = 16;

/// Index of the first counter that grew.
fn grown(before: &[u64], after: &[u64]) -> Option<u8> {
    before.iter().zip(after).position(|(b, a)| a > b).map(|i| i as u8)
}

fn node_or_none(node: Option<usize>) -> u32 {
    node.map_or(NONE, |n| n as u32)
}

/// A task was created.
pub(crate) fn log_task_created(sim: &mut Simulation<'_>, task: u32) {
    if !sim.record.log.on {
        return;
    }
    let t = &sim.tasks[task as usize];
    let (process, thread, cpu) = (t.process, t.thread, sim.kernel.sched.cpu_of(task));
    sim.record.log.note(&Event { x: process, y: thread, ..Event::new(sim.now_ns, Kind::Born, task) });
    if let Some(w) = &mut sim.record.log.why {
        w.born(task, process, thread, cpu, sim.now_ns);
    }
}

/// A task has ended; if it was the last one of its process, its mappings are still there.
pub(crate) fn log_task_ended(sim: &mut Simulation<'_>, task: u32) {
    if !sim.record.log.on {
        return;
    }
    sim.record.log.note(&Event::new(sim.now_ns, Kind::Ended, task));
    let process = sim.tasks[task as usize].process as usize;
    if let Some(w) = &mut sim.record.log.why {
        w.ended(task, sim.now_ns);
        if sim.processes[process].live_threads == 0 {
            w.leave(process, sim.workload, &sim.processes[process]);
        }
    }
}

/// CPU `cpu` goes from one task to another.
pub(crate) fn log_switch(sim: &mut Simulation<'_>, cpu: usize, prev: Option<u32>, next: Option<u32>) {
    if sim.record.log.trace.is_none() {
        return;
    }
    let code = prev.map_or(0, |p| match sim.tasks[p as usize].activity {
        Activity::Running | Activity::Spinning { .. } => 0,
        Activity::Asleep => STATE_ASLEEP,
        Activity::Dead => STATE_DEAD,
    });
    let head = Event::new(sim.now_ns, Kind::Switch, next.unwrap_or(NONE));
    sim.record.log.note(&Event { code, x: cpu as u32, ..head });
}

/// A task was put on another CPU.
pub(crate) fn log_moved(sim: &mut Simulation<'_>, task: u32, from: u32, to: u32, why: MoveWhy) {
    if !sim.record.log.on || from == to {
        return;
    }
    sim.record.log.decide(&Event { code: why as u16, x: from, y: to, ..Event::new(sim.now_ns, Kind::Moved, task) });
    let preferred = sim.kernel.numa.tasks[task as usize].numa_preferred_nid;
    let nodes = (sim.cpus[from as usize].node, sim.cpus[to as usize].node);
    if let Some(w) = &mut sim.record.log.why {
        w.moved(task, (from, to), nodes, why as u16, preferred, sim.now_ns);
    }
}

/// Pages were allocated for an access that found none.
pub(crate) fn log_first_touch(log: &mut Log, node: usize, pages: u64) {
    if let Some(w) = &mut log.why {
        w.why.nodes[node].first_touched += pages;
    }
}

/// A scan is over; what it did to each mapping is in `visits`.
pub(crate) fn log_scan(sim: &mut Simulation<'_>, cpu: usize, task: u32, clock: u64, ns: u64, report: &ScanReport) {
    let process = sim.tasks[task as usize].process;
    let scanned = report.vmas_scanned.min(u64::from(u32::MAX)) as u32;
    let head = Event::new(clock, Kind::Scan, task);
    let code = u16::from(report.forced);
    sim.record.log.decide(&Event { ns, code, x: cpu as u32, y: scanned, z: report.updates, ..head });
    let mut visits = std::mem::take(&mut sim.record.log.visits);
    for v in visits.drain(..) {
        let (kind, code, z) = match v.skipped {
            Some(reason) => (Kind::Skip, reason as u16, 0),
            None => (Kind::Scanned, 0, v.updates),
        };
        sim.record.log.decide_only(&Event { code, x: process, y: v.vma, z, ..Event::new(clock, kind, task) });
        if let Some(w) = &mut sim.record.log.why {
            let at = w.vma(process as usize, v.vma as usize, sim.workload, &sim.processes[process as usize]);
            w.visited(at, &v, clock);
        }
    }
    sim.record.log.visits = visits;
    if let Some(w) = &mut sim.record.log.why {
        w.scan(task, clock, ns);
    }
}

/// What to remember before a hint fault of `task`.
pub(crate) fn log_before(log: &Log, numa: &NumaBalancing, task: u32) -> Option<Before> {
    let preferred = || numa.tasks[task as usize].numa_preferred_nid;
    log.on.then(|| Before { reasons: numa.reasons, preferred: preferred() })
}

/// A hint fault is over.
pub(crate) fn log_fault(sim: &mut Simulation<'_>, before: &Before, f: &Fault) {
    let here = sim.cpus[f.cpu].node;
    let reasons = sim.kernel.numa.reasons;
    let fate = match f.result {
        MigrateResult::Migrated => Fate::Migrated,
        MigrateResult::Refused | MigrateResult::Failed | MigrateResult::FailedEntryChanged => {
            grown(&before.reasons.refused, &reasons.refused).map_or(Fate::Failed, Fate::Refused)
        }
        MigrateResult::NotTried if f.node == here => Fate::Local,
        MigrateResult::NotTried => grown(&before.reasons.denied, &reasons.denied).map_or(Fate::Stayed, Fate::Denied),
    };
    sim.record.log.burst(f, f.node == here);
    let process = sim.tasks[f.task as usize].process;
    let y = (f.node as u32) << 16 | here as u32;
    let head = Event::new(f.clock_ns, Kind::Fault, f.task);
    if fate != Fate::Local {
        // A fault on a page that is local decides nothing.
        sim.record.log.decide_only(&Event { ns: f.ns, code: fate.code(), x: process, y, z: f.address, ..head });
    }
    let preferred = sim.kernel.numa.tasks[f.task as usize].numa_preferred_nid;
    let placed = grown(&before.reasons.placed, &reasons.placed);
    let group = grown(
        &[before.reasons.groups_created, before.reasons.groups_joined],
        &[reasons.groups_created, reasons.groups_joined],
    );
    let at = |kind| Event::new(f.clock_ns, kind, f.task);
    if preferred != before.preferred {
        let (x, y) = (node_or_none(before.preferred), node_or_none(preferred));
        sim.record.log.decide(&Event { x, y, ..at(Kind::Preferred) });
    }
    if let Some(code) = placed {
        sim.record.log.decide(&Event { code: u16::from(code), x: f.cpu as u32, ..at(Kind::Placed) });
    }
    if let Some(code) = group {
        sim.record.log.decide(&Event { code: u16::from(code), ..at(Kind::Grouped) });
    }
    if let Some(w) = &mut sim.record.log.why {
        let vma = w.vma(process as usize, f.vma, sim.workload, &sim.processes[process as usize]);
        w.fault(vma, f, here, fate);
        if preferred != before.preferred {
            w.preferred(f.task, before.preferred, preferred, f.clock_ns);
        }
        w.placement(f.task, placed, group, f.clock_ns);
    }
}

/// A move of `task`, decided by a hint fault on `cpu`, has been made or given up.
pub(crate) fn log_placed(sim: &mut Simulation<'_>, task: u32, cpu: usize, what: Placement) {
    if !sim.record.log.on {
        return;
    }
    let head = Event::new(sim.now_ns, Kind::Placed, task);
    sim.record.log.decide(&Event { code: what as u16, x: cpu as u32, ..head });
    if let Some(w) = &mut sim.record.log.why {
        w.placement(task, Some(what as u8), None, sim.now_ns);
    }
}

/// Ends the logs; the counts, if they were asked for.
///
/// # Errors
/// A log could not be written.
pub(crate) fn finish_logs(sim: &mut Simulation<'_>) -> io::Result<Option<Why>> {
    if !sim.record.log.on {
        return Ok(None);
    }
    (0..sim.cpus.len()).for_each(|cpu| sim.record.log.end_burst(cpu));
    let streams = [sim.record.log.trace.take(), sim.record.log.decisions.take()];
    streams.into_iter().flatten().try_for_each(|s| s.finish(sim.end_ns))?;
    let Some(mut collector) = sim.record.log.why.take() else { return Ok(None) };
    for (i, p) in sim.processes.iter().enumerate() {
        collector.leave(i, sim.workload, p);
    }
    let page = sim.cfg.base_page();
    for s in sim.record.samples.last_pages() {
        collector.why.nodes[s.0].pages_at_end += page.pages(BasePage::Kib4.bytes_of(s.1));
    }
    collector.why.base_page_bytes = page.bytes();
    collector.why.end_ns = sim.end_ns;
    Ok(Some(collector.why))
}
