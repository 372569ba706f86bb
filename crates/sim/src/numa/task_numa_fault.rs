//! A hint fault as NUMA balancing sees it, whatever page it is about: first it decides whether the page should move,
//! then it records the fault with what became of the page (kernel: `numa_migrate_check`, `task_numa_fault`).

use crate::mm::vma_policy::effective_policy;
use crate::numa::task_host::SchedView;
use crate::record::log::log_fault;
use crate::state::logged::Before;
use crate::state::logged::Fault;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use numalab_kernel::numa::{FaultDecision, FaultOutcome, FaultSite, MigrateResult, PageFacts};

/// Who faults at `clock`, as NUMA balancing names it.
pub(crate) fn fault_site(jiffy_ns: u64, s: &PageSite, clock: u64) -> FaultSite {
    FaultSite { task: s.task, cpu: s.cpu, now: clock / jiffy_ns }
}

/// Whether the page should move, and where to (`numa_migrate_check`).
pub(crate) fn numa_migrate_check(
    sim: &mut Simulation<'_>,
    at: FaultSite,
    s: &PageSite,
    facts: &mut PageFacts,
) -> FaultDecision {
    let policy = effective_policy(sim, s);
    let state = sim.processes[s.process].vma_numa[s.vma].as_mut();
    sim.kernel.numa.hint_fault_begin(at, facts, state, &policy, &sim.mm.physical)
}

/// Records the fault (`task_numa_fault`); task migrations that it decides wait for the end of the slice.
pub(crate) fn task_numa_fault(
    sim: &mut Simulation<'_>,
    at: FaultSite,
    facts: &mut PageFacts,
    decision: &FaultDecision,
    result: MigrateResult,
) -> FaultOutcome {
    let (sched, processes, decided) = (&mut sim.kernel.sched, &sim.processes, &mut sim.task_migrations.decided);
    let mut host = SchedView { sched, processes, decided, due: &sim.task_migrations.due };
    sim.kernel.numa.hint_fault_end(at, facts, decision, result, &mut host)
}

/// Notes how long a hint fault took, and logs it if anything is logged: it began at `clock_ns`, took `ns` and found
/// `pages` base pages on `node`.
pub(crate) fn log_hint_fault(
    sim: &mut Simulation<'_>,
    before: Option<Before>,
    s: &PageSite,
    (node, pages): (usize, u32),
    (clock_ns, ns): (u64, u64),
    result: MigrateResult,
) {
    let stalls = sim.record.stalls.of(s.task);
    stalls.hint_fault_max_ns = stalls.hint_fault_max_ns.max(ns);
    let Some(before) = before else { return };
    let vma = sim.processes[s.process].space.vma(s.vma);
    let address = vma.page_addr(s.chunk, s.page);
    let (task, cpu, vma) = (s.task, s.cpu, s.vma);
    log_fault(sim, &before, &Fault { task, cpu, vma, address, node, pages, clock_ns, ns, result });
}
