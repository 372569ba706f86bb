//! Migrating a page that several processes map (kernel: `migrate_misplaced_page`, `migrate_pages`).
//!
//! What happens when is told in [`state::page_migration`](crate::state::page_migration).

use crate::charge::core::copy_slowdown;
use crate::charge::late_ticks::limit_flushes;
use crate::charge::rewind::rewind_sweep;
use crate::charge::time::charge_system;
use crate::hardware::access_rates::When;
use crate::mm::cow_fault::shared_write_fault;
use crate::mm::page_lock::{has_page_waiters, wake_page_waiters};
use crate::mm::pins::is_pinned;
use crate::mm::reclaim_threads::wake_kswapd_after_refusal;
use crate::numa::grain_refusals::{batched_pages, owe_locked, refuse_one, refuse_owed};
use crate::numa::held_page::ATTEMPTS;
use crate::numa::task_migration::apply_new_migrations;
use crate::numa::task_numa_fault::{fault_site, log_hint_fault, numa_migrate_check, task_numa_fault};
use crate::record::log::log_before;
use crate::state::cpu::Pending;
use crate::state::logged::Before;
use crate::state::page_migration::{DecidedFault, Entry, PageMigration, Phase, PlannedSweep};
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::step::FaultEnd;
use numalab_base::node_mask::NodeId;
use numalab_kernel::mm::pageblock::Frame;
use numalab_kernel::mm::{Mapper, PageClass, PageRef, PhysicalMemory, SharedMemory, CHUNK_PAGES};
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::migrate::ZoneInfo as _;
use numalab_kernel::numa::{FaultDecision, FaultSite, LastCpupid, MigrateResult, PageFacts};

/// Cache lines of another process that replacing its entry brings in: its VMA, the lock of its page table, the entry
/// (model).
const RMAP_LINES: f64 = 3.0;

/// Handles an access to a marked entry of a shared page. Returns the time, ns, and how the fault ends.
pub(crate) fn shared_hint_fault(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef) -> (u64, FaultEnd) {
    let decided = decide_hint_fault(sim, s, at, sim.now_ns);
    let clock = sim.now_ns;
    carry_out_hint_fault(sim, decided, clock)
}

/// As [`shared_hint_fault`], at `clock`, which may lie ahead of the run. The mark belongs to one process and the
/// statistics to one task, so others do not meet them. Where the page is to move, the slice ends, and the move begins
/// at its own instant.
pub(crate) fn hint_fault_ahead(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef, clock: u64) -> (u64, FaultEnd) {
    let decided = decide_hint_fault(sim, s, at, clock);
    if decided.decision.target.is_none() {
        return carry_out_hint_fault(sim, decided, clock);
    }
    sim.tasks[s.task as usize].decided_fault = Some(Box::new(decided));
    (0, FaultEnd::Stop(Pending::HintFault))
}

/// The run has come to a hint fault that [`hint_fault_ahead`] decided. A page that has moved meanwhile stays where it
/// is.
pub(crate) fn finish_hint_fault(sim: &mut Simulation<'_>, cpu: usize) {
    let Some(task) = sim.cpus[cpu].task else { return };
    let Some(mut decided) = sim.tasks[task as usize].decided_fault.take() else { return };
    (decided.site.cpu, decided.fault.cpu) = (cpu, cpu);
    let DecidedFault { site, at, .. } = *decided;
    let now = sim.now_ns;
    let node = sim.mm.shared.block_of(at).node.get(usize::from(at.page));
    let mapped = sim.processes[site.process].space.vma(site.vma).maps(at);
    if !mapped || usize::from(node) != decided.facts.nid {
        decided.decision.target = None;
    }
    let (ns, end) = carry_out_hint_fault(sim, *decided, now);
    if matches!(end, FaultEnd::Stop(_)) {
        stay_in_kernel(sim, cpu, task, ns);
    } else {
        sim.cpus[cpu].debt_ns += ns;
        apply_new_migrations(sim, cpu);
    }
}

/// Decides what becomes of a page (`numa_migrate_check`), and removes the mark.
fn decide_hint_fault(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef, clock: u64) -> DecidedFault {
    let before = log_before(&sim.record.log, &sim.kernel.numa, s.task);
    let fault = fault_site(sim.cfg.jiffy_ns(), s, clock);
    let mut facts = sim.processes[s.process].space.vma(s.vma).shared_facts(at, &sim.mm.shared);
    let batched = batched_pages(sim, at, facts.grain);
    facts.grain -= batched.saturating_sub(1);
    sim.kernel.vm.pgfault += u64::from(facts.grain);
    let decision = numa_migrate_check(sim, fault, s, &mut facts);
    if !sim.mm.shared.locked(at) {
        sim.processes[s.process].space.vma_mut(s.vma).unmark(s.chunk, s.page);
    }
    sim.mm.shared.block_of(at).last[usize::from(at.page)] = facts.last.raw();
    DecidedFault { site: *s, at, fault, facts, batched, decision, before, decided_ns: sim.now_ns }
}

/// Begins to move the page, if it should move, or else records the fault.
fn carry_out_hint_fault(sim: &mut Simulation<'_>, decided: DecidedFault, clock: u64) -> (u64, FaultEnd) {
    let DecidedFault { site, at, fault, mut facts, batched, mut decision, before, decided_ns } = decided;
    let ns = hint_faults_ns(sim, &facts);
    let grain = sim.mm.shared.object(at.object).grain() as u32;
    let mut result = MigrateResult::NotTried;
    if decision.target.is_some()
        && grain > 1
        && is_refused(sim, (at, fault, decided_ns), (&mut facts, batched), &decision)
    {
        decision.target = None;
    }
    if let Some(target) = decision.target {
        let page = usize::from(at.page);
        let b = sim.mm.shared.block_of(at);
        let in_batch = grain == 1 && sim.kernel.numa.cfg.switches.migration_lru_batch && b.batched.get(page);
        let isolatable = !b.locked.get(page) && !in_batch;
        let zones = sim.mm.physical.zones(target);
        result = MigrateResult::Refused;
        let refusal = sim.kernel.numa.migrate_misplaced_folio_prepare(fault, &facts, target, zones, isolatable).err();
        wake_kswapd_after_refusal(&mut sim.mm.physical, &sim.kernel.numa, refusal, target, facts.base_pages());
        if refusal.is_none() {
            let owed = batched == 0 && refuse_owed(sim, fault, &facts, &decision);
            let refused = batched.max(owed.into());
            facts.grain = grain;
            let m = PageMigration {
                site,
                at,
                fault,
                facts,
                refused,
                decision,
                target,
                frame: Frame::UNKNOWN,
                attempt: 0,
                phase: Phase::Move,
                page_ns: 0,
                phase_left_ns: 0,
                moved: false,
                held: None,
                entries: Vec::new(),
            };
            match start_attempt(sim, m) {
                Some(first_ns) => return (ns + first_ns, FaultEnd::Stop(Pending::Migration)),
                None => {
                    facts.grain -= refused;
                    result = MigrateResult::Failed;
                }
            }
        }
    }
    (ns + account_hint_fault(sim, &site, at, (fault, before, clock), &mut facts, &decision, result), FaultEnd::Go)
}

/// Refuses what cannot move of a grain: one page that is in an LRU batch, or one that another task moves just now.
/// Returns whether the others stay too.
fn is_refused(
    sim: &mut Simulation<'_>,
    (at, fault, decided_ns): (PageRef, FaultSite, u64),
    (facts, batched): (&mut PageFacts, u32),
    decision: &FaultDecision,
) -> bool {
    let locked = sim.mm.shared.locked(at);
    if locked || batched > 0 {
        refuse_one(sim, fault, facts, decision);
        facts.grain -= 1;
    }
    if locked {
        owe_locked(sim, at, sim.now_ns - decided_ns);
    }
    locked || facts.grain == 0
}

/// Time of the hint faults on a page, or on all pages of a grain, ns.
fn hint_faults_ns(sim: &Simulation<'_>, facts: &PageFacts) -> u64 {
    u64::from(facts.grain) * sim.machine.costs.hint_fault_ns as u64
}

/// Records a hint fault on a shared page. Returns the time of a write fault that follows at once, ns.
fn account_hint_fault(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    at: PageRef,
    (fault, before, clock): (FaultSite, Option<Before>, u64),
    facts: &mut PageFacts,
    decision: &FaultDecision,
    result: MigrateResult,
) -> u64 {
    let node = facts.nid;
    let out = task_numa_fault(sim, fault, facts, decision, result);
    sim.mm.shared.block_of(at).last[usize::from(at.page)] = facts.last.raw();
    let ns = hint_faults_ns(sim, facts);
    log_hint_fault(sim, before, s, (node, facts.base_pages()), (clock, ns), result);
    let v = sim.processes[s.process].space.vma_mut(s.vma);
    if out.write_dropped && !facts.huge && v.maps(at) {
        v.set_read_only(s.chunk, s.page);
        if s.write {
            return shared_write_fault(sim, s, at, sim.now_ns).0;
        }
    }
    0
}

/// Allocates the target page, locks the old one and begins to replace its entries; returns the time until all are
/// replaced, `None` without a target page.
fn start_attempt(sim: &mut Simulation<'_>, mut m: PageMigration) -> Option<u64> {
    let here = sim.cpus[m.site.cpu].node;
    let class = sim.mm.shared.object(m.at.object).backing.class(m.facts.huge);
    if !sim.processes[m.site.process].mems.contains(m.target) {
        return None;
    }
    m.frame = match u64::from(m.facts.grain) {
        1 => sim.mm.physical.alloc_class_on(here, m.target, class)?,
        pages => sim.mm.physical.alloc_grain_on(here, m.target, class, pages)?,
    };
    sim.mm.shared.block_of(m.at).locked.set(usize::from(m.at.page));
    m.attempt += 1;
    m.phase = Phase::Move;
    m.moved = false;
    let unmap_ns = replace_entries(sim, &mut m);
    let copy_ns = sim.hw.costs.migrate_4k_ns(m.facts.nid, m.target, 1.0) as u64;
    m.page_ns = unmap_ns / u64::from(m.facts.grain) + copy_ns;
    let until = sim.now_ns + 2 * unmap_ns + sim.cfg.jiffy_ns();
    sim.mm.shared_migration_until_ns = sim.mm.shared_migration_until_ns.max(until);
    cut_planned_sweeps(sim, &m);
    let task = m.site.task;
    sim.mm.migrating.push((m.at, task));
    sim.tasks[task as usize].migration = Some(Box::new(m));
    Some(unmap_ns)
}

/// Works out when each entry is replaced, flushes included, and makes the next access to each of them fault. Returns
/// the time for all of them, ns.
fn replace_entries(sim: &mut Simulation<'_>, m: &mut PageMigration) -> u64 {
    let here = sim.cpus[m.site.cpu].node;
    // Each page of a grain has its entries replaced by itself.
    let grain = m.facts.grain;
    let mut ns = 0.0;
    m.entries.clear();
    for mapper in &sim.mm.shared.object(m.at.object).mappers {
        let p = &mut sim.processes[mapper.process as usize];
        let v = p.space.vma_mut(mapper.vma as usize);
        if !v.maps(m.at) {
            m.entries.push(Entry { replaced_ns: u64::MAX, marked: false });
            continue;
        }
        let marked = !v.set_migrating(m.site.chunk, m.site.page);
        if mapper.process as usize != m.site.process {
            let tables = p.table_node.unwrap_or(here);
            ns += f64::from(grain)
                * RMAP_LINES
                * sim.machine.latency_ns[here][tables]
                * sim.hw.contention.latency_factor(here, tables);
            let running: u32 = p.running_on_node.iter().sum();
            if !marked && running > 0 {
                let targets = sim.hw.costs.targets_by_node(here, &p.running_on_node);
                let s = sim.hw.costs.shootdown(targets, u64::from(m.facts.pages));
                ns += f64::from(grain) * s.initiator_ns;
                p.owe_flushes(sim.now_ns, s.target_ns as u64, u64::from(grain));
                sim.kernel.vm.nr_tlb_remote_flush += u64::from(grain);
                sim.kernel.vm.nr_tlb_remote_flush_received += u64::from(grain * running);
            }
        }
        m.entries.push(Entry { replaced_ns: sim.now_ns + ns as u64, marked });
    }
    limit_flushes(sim);
    ns as u64
}

/// Cuts sweeps short that have been planned across the page, at the instant when they meet the migration entry.
fn cut_planned_sweeps(sim: &mut Simulation<'_>, m: &PageMigration) {
    for cpu in 0..sim.cpus.len() {
        let Some(task) = sim.cpus[cpu].task else { continue };
        let t = &sim.tasks[task as usize];
        let Some(s) = t.planned_sweep.filter(|s| s.chunk == m.site.chunk) else { continue };
        let page_at = sim.cfg.base_page().bytes_of(m.site.page as u64 * u64::from(m.facts.grain));
        if page_at <= s.at || !matches!(sim.cpus[cpu].pending, Pending::Resume | Pending::Tick) {
            continue;
        }
        let meets_ns = s.meets_ns(page_at);
        if meets_ns <= sim.now_ns || meets_ns >= t.planned_until_ns {
            continue;
        }
        let process = t.process as usize;
        let shows = sim.processes[process].space.vma(s.vma as usize).maps(m.at);
        if shows && meets_ns >= migration_entry(&sim.mm.shared, m, process, s.vma).map_or(0, |e| e.replaced_ns) {
            cut_sweep(sim, cpu, task, &s, page_at - s.at, meets_ns);
        }
    }
}

/// Ends a sweep after `bytes`, at `at_ns`.
fn cut_sweep(sim: &mut Simulation<'_>, cpu: usize, task: u32, s: &PlannedSweep, bytes: u64, at_ns: u64) {
    rewind_sweep(sim, task, s, bytes, at_ns);
    sim.effects.plan(cpu, at_ns, Pending::Resume);
}

/// The entry of a process and mapping in a migration.
fn migration_entry<'m>(shared: &SharedMemory, m: &'m PageMigration, process: usize, vma: u32) -> Option<&'m Entry> {
    m.entries.get(mapper_number(shared, m.at, process, vma)?)
}

pub(crate) fn mapper_number(shared: &SharedMemory, at: PageRef, process: usize, vma: u32) -> Option<usize> {
    let mappers = &shared.object(at.object).mappers;
    let is = |m: &Mapper| m.process as usize == process && m.vma == vma;
    // Mappers of processes that were forked in a row follow each other, so their distance is a good guess.
    let guess = process.wrapping_sub(mappers.first()?.process as usize);
    if mappers.get(guess).is_some_and(is) {
        return Some(guess);
    }
    mappers.iter().position(is)
}

/// The migrating task on `cpu` has come to the end of a phase.
pub(crate) fn migration_phase(sim: &mut Simulation<'_>, cpu: usize) {
    let Some(task) = sim.cpus[cpu].task else { return };
    let Some(mut m) = sim.tasks[task as usize].migration.take() else { return };
    let ns = match m.phase {
        Phase::Move => {
            m.held = who_holds(sim, &m);
            m.phase = Phase::Restore;
            m.moved = m.held.is_none();
            restore_ns(sim, &m)
        }
        Phase::Restore => {
            restore_entries(sim, &m);
            sim.mm.migrating.retain(|x| x.0 != m.at);
            wake_page_waiters(sim, m.at, cpu);
            if m.moved || m.attempt == ATTEMPTS {
                end_migration(sim, cpu, task, *m);
                return;
            }
            let given_up = (*m).clone();
            match start_attempt(sim, *m) {
                Some(ns) => stay_in_kernel(sim, cpu, task, ns),
                None => end_migration(sim, cpu, task, given_up),
            }
            return;
        }
    };
    sim.tasks[task as usize].migration = Some(m);
    stay_in_kernel(sim, cpu, task, ns);
}

/// Who holds a reference to a page whose entries are all replaced, so that it cannot move.
fn who_holds(sim: &Simulation<'_>, m: &PageMigration) -> Option<Refusal> {
    if sim.kernel.numa.cfg.switches.migration_waiters_pin && has_page_waiters(&sim.mm, m.at) {
        return Some(Refusal::Waiters);
    }
    let (s, pages) = (&m.site, u64::from(m.facts.pages));
    is_pinned(sim, (s.process, s.vma), (s.chunk, s.page), pages, sim.now_ns).then_some(Refusal::Pinned)
}

/// The migrating task stays in the kernel for `ns`.
fn stay_in_kernel(sim: &mut Simulation<'_>, cpu: usize, task: u32, ns: u64) {
    charge_system(sim, task, ns);
    plan_phase_end(sim, cpu, task, ns);
}

/// Plans the end of the phase that has `ns` left. Between two pages of a grain the task returns to its program, so a
/// phase that lasts beyond the next tick stops there, for the scan that the tick may ask for.
pub(crate) fn plan_phase_end(sim: &mut Simulation<'_>, cpu: usize, task: u32, ns: u64) {
    let (end_ns, tick_ns) = (sim.now_ns + ns, sim.cpus[cpu].next_tick_ns);
    let t = &mut sim.tasks[task as usize];
    let stops = t.migration.as_ref().is_some_and(|m| m.facts.grain > 1);
    let at = if stops && (sim.now_ns + 1..end_ns).contains(&tick_ns) { tick_ns } else { end_ns };
    if let Some(m) = &mut t.migration {
        m.phase_left_ns = end_ns - at;
    }
    t.planned_until_ns = at;
    sim.effects.plan(cpu, at, Pending::Migration);
}

/// Time of copying (if the page moves) and of restoring all entries.
fn restore_ns(sim: &mut Simulation<'_>, m: &PageMigration) -> u64 {
    let mapcount = sim.mm.shared.object(m.at.object).block(m.site.chunk).map_or(0, |b| b.mapcount[m.at.page as usize]);
    let grain = f64::from(m.facts.grain);
    let entries = grain * f64::from(mapcount) * sim.machine.costs.fork_pte_ns;
    let (from, to) = (m.facts.nid, m.target);
    let slowdown = copy_slowdown(sim, m.site.cpu, from, to);
    let whole = if m.facts.huge {
        sim.hw.costs.migrate_2m_ns(from, to, slowdown)
    } else {
        grain * sim.hw.costs.migrate_4k_ns(from, to, slowdown)
    };
    if !m.moved {
        return entries as u64;
    }
    let bytes = sim.cfg.base_page().bytes_of(u64::from(m.facts.base_pages()));
    (entries + sim.hw.contention.copied(from, to, bytes, When::now(sim.now_ns), whole)) as u64
}

/// Makes all entries ordinary again, on the target if the page has moved, and drops the lock.
fn restore_entries(sim: &mut Simulation<'_>, m: &PageMigration) {
    let page = usize::from(m.at.page);
    let object = sim.mm.shared.object_mut(m.at.object);
    let class = object.backing.class(m.facts.huge);
    let b = object.block_mut(m.site.chunk);
    b.locked.clear(page);
    let old = usize::from(b.node.get(page));
    if m.moved {
        b.node.set(page, m.target as NodeId);
        let pages = if m.facts.huge { CHUNK_PAGES } else { 1 };
        let frame = b.frame[page];
        b.frame[page] =
            if class.is_anon() { sim.mm.physical.carry_flags(frame, m.target, m.frame, pages) } else { m.frame };
        free_all(&mut sim.mm.physical, old, frame, (class, m.facts.grain));
    } else {
        free_all(&mut sim.mm.physical, m.target, m.frame, (class, m.facts.grain));
    }
    for mapper in &object.mappers {
        let v = sim.processes[mapper.process as usize].space.vma_mut(mapper.vma as usize);
        if !v.maps(m.at) {
            continue;
        }
        v.unmark(m.site.chunk, m.site.page);
        if m.moved {
            v.shared_moved(m.site.chunk, old, m.target);
        }
    }
}

/// Frees a page, or all pages of a grain.
fn free_all(physical: &mut PhysicalMemory, node: usize, frame: Frame, (class, grain): (PageClass, u32)) {
    match u64::from(grain) {
        1 => physical.free_page(node, frame, class),
        pages => physical.free_grain(node, frame, class, pages),
    }
}

fn end_migration(sim: &mut Simulation<'_>, cpu: usize, task: u32, mut m: PageMigration) {
    if m.facts.huge || m.moved && sim.kernel.numa.cfg.switches.migration_drains_lru {
        sim.mm.lru_batches.drain(cpu, &mut sim.mm.shared);
    } else {
        for _ in 0..m.facts.grain {
            sim.mm.lru_batches.add(cpu, m.at, &mut sim.mm.shared);
        }
    }
    m.facts.grain -= m.refused;
    let result = if m.moved { MigrateResult::Migrated } else { MigrateResult::Failed };
    m.facts.last = LastCpupid::from_raw(sim.mm.shared.block_of(m.at).last[usize::from(m.at.page)]);
    let log = (m.fault, log_before(&sim.record.log, &sim.kernel.numa, task), sim.now_ns);
    if let Some(reason) = m.held.filter(|_| !m.moved) {
        sim.kernel.numa.reasons.refused[reason as usize] += u64::from(m.facts.grain);
    }
    let ns = account_hint_fault(sim, &m.site, m.at, log, &mut m.facts, &m.decision, result);
    sim.cpus[cpu].debt_ns += ns;
    debug_assert_eq!(task, m.site.task);
    apply_new_migrations(sim, cpu);
}
