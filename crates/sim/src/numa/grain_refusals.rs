//! Pages of a grain that cannot move with the rest of it (docs/explanation/grains.md).
//!
//! One refused page makes its task scan less often, so *how many* tasks meet one matters, and not how many pages there
//! are. Of n pages in LRU batches each is met at its own instant. So all but one fault by themselves, before the fault
//! of the whole grain, which refuses the last of them. A grain that another task has locked refuses one page. It is
//! locked for as long as all its pages, so where a fault waits for less than that, locked pages would be met more
//! often: what is missing is owed, and counts one by one at the next faults.

use crate::numa::task_numa_fault::{fault_site, numa_migrate_check, task_numa_fault};
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{PageRef, PageState};
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::{FaultDecision, FaultSite, MigrateResult, PageFacts};

/// Pages of a grain that are in LRU batches; 0 where a grain is a page.
pub(crate) fn batched_pages(sim: &Simulation<'_>, at: PageRef, grain: u32) -> u32 {
    if grain == 1 || !sim.kernel.numa.cfg.switches.migration_lru_batch {
        return 0;
    }
    let object = sim.mm.shared.object(at.object);
    if !object.block(at.chunk as usize).is_some_and(|b| b.batched.get(usize::from(at.page))) {
        return 0;
    }
    (sim.mm.lru_batches.count(at) as u32).min(grain)
}

/// One page of a grain stays where it is, and its task learns of it.
pub(crate) fn refuse_one(sim: &mut Simulation<'_>, fault: FaultSite, facts: &PageFacts, decision: &FaultDecision) {
    sim.kernel.numa.reasons.refused[Refusal::NotIsolated as usize] += 1;
    task_numa_fault(sim, fault, &mut PageFacts { grain: 1, ..*facts }, decision, MigrateResult::Refused);
}

/// A fault that was decided `waited_ns` ago has found a grain that was locked since. Of n faults on n pages, each page
/// locked for T, n min(waited, T) would find one, where the grain is found min(waited, n T): the rest is owed.
pub(crate) fn owe_locked(sim: &mut Simulation<'_>, at: PageRef, waited_ns: u64) {
    let Some(&(_, migrator)) = sim.mm.migrating.iter().find(|m| m.0 == at) else { return };
    let Some(m) = &sim.tasks[migrator as usize].migration else { return };
    let (pages, page_ns) = (f64::from(m.facts.grain), m.page_ns as f64);
    let waited_ns = (waited_ns as f64).max(1.0);
    let found = pages * waited_ns.min(page_ns) / waited_ns.min(pages * page_ns);
    let owed = (found - 1.0).max(0.0);
    sim.mm.refusals_owed += owed as u64 + u64::from(sim.rng.unit() < owed.fract());
}

/// As [`refuse_one`], for a page that is owed, if one is.
pub(crate) fn refuse_owed(
    sim: &mut Simulation<'_>,
    fault: FaultSite,
    facts: &PageFacts,
    decision: &FaultDecision,
) -> bool {
    let owed = facts.grain > 1 && sim.mm.refusals_owed > 0;
    if owed {
        sim.mm.refusals_owed -= 1;
        refuse_one(sim, fault, facts, decision);
    }
    owed
}

/// A random access of a task has met one of the pages of shared objects that are in LRU batches. If it is in `range`,
/// marked, and one of those of its grain that fault by themselves, it does so at `clock`. Returns the time, ns.
pub(crate) fn batched_page_fault(sim: &mut Simulation<'_>, s: &PageSite, (from, to): (u64, u64), clock: u64) -> u64 {
    let places = sim.mm.lru_batches.of_objects() as u64;
    let place = sim.rng.below(places.max(1)) as usize;
    let Some(at) = sim.mm.lru_batches.nth_of_objects(place) else { return 0 };
    let vma = sim.processes[s.process].space.vma(s.vma);
    let (chunk, page) = (at.chunk as usize, usize::from(at.page));
    if vma.objects.first() != Some(&at.object) || !(from..to).contains(&vma.page_addr(chunk, page)) {
        return 0;
    }
    // Most are not marked, and counting takes a look at all batches.
    if !matches!(vma.page(chunk, page, &sim.mm.shared), PageState::Marked { .. }) {
        return 0;
    }
    let batched = batched_pages(sim, at, vma.grain.pages() as u32);
    if batched == 0 || sim.rng.below(batched.into()) == 0 {
        return 0;
    }
    let site = PageSite { chunk, page, ..*s };
    let fault = fault_site(sim.cfg.jiffy_ns(), &site, clock);
    let facts = sim.processes[s.process].space.vma(s.vma).shared_facts(at, &sim.mm.shared);
    let mut facts = PageFacts { grain: 1, ..facts };
    sim.kernel.vm.pgfault += 1;
    let decision = numa_migrate_check(sim, fault, &site, &mut facts);
    if decision.target.is_some() {
        refuse_one(sim, fault, &facts, &decision);
    } else {
        task_numa_fault(sim, fault, &mut facts, &decision, MigrateResult::NotTried);
    }
    sim.machine.costs.hint_fault_ns as u64
}
