//! What must hold at the end of a run: frames conserved, reference counts right, CPU time accounted for.
//!
//! The checks stand apart from the mechanisms, and look at nothing but the state that those leave behind.

use crate::state::simulation::Simulation;
use crate::state::task::Activity;
use numalab_kernel::mm::pageblock::Frame;
use numalab_kernel::mm::{Mapper, PageClass, PageRef, CHUNK_PAGES};

/// Pages allocated for migrations that the end of the run has cut off: node, frame, base pages, whether anonymous.
pub(crate) fn in_flight<'s>(sim: &'s Simulation<'_>) -> impl Iterator<Item = (usize, Frame, u64, bool)> + 's {
    let pages = |huge: bool| if huge { CHUNK_PAGES } else { 1 };
    let shared = sim.tasks.iter().filter_map(|t| t.migration.as_deref()).map(move |m| {
        let anon = sim.mm.shared.object(m.at.object).backing.class(m.facts.huge).is_anon();
        (m.target, m.frame, pages(m.facts.huge), anon)
    });
    shared.chain(sim.kernel.numa_2012.inflight_thp_copies.iter().map(|c| (c.to, c.frame, CHUNK_PAGES, true)))
}

/// Every shared page is shown as often as its mapcount says.
fn check_mapcounts(sim: &Simulation<'_>) -> Result<(), String> {
    for (id, object) in sim.mm.shared.iter() {
        for (chunk, b) in object.blocks() {
            let mut from = 0;
            while let Some(page) = b.resident.next(from) {
                let at = PageRef { object: id, chunk: chunk as u32, page: page as u16 };
                let shown = object.mappers.iter().filter(|m| {
                    let p = &sim.processes[m.process as usize];
                    p.started && !p.ended && p.space.vma(m.vma as usize).maps(at)
                });
                let (shown, mapcount) = (shown.count(), b.mapcount[page]);
                if shown != mapcount as usize {
                    return Err(format!("{at:?} is shown {shown} times, its mapcount is {mapcount}"));
                }
                from = page + 1;
            }
            for page in 0..512 {
                let Some((slot, entries)) = b.slot(page) else { continue };
                let names = |m: &&Mapper| {
                    let v = sim.processes[m.process as usize].space.vma(m.vma as usize);
                    v.frame_map.slot(chunk, page) == Some(slot)
                };
                let named = object.mappers.iter().filter(names).count();
                if named != entries as usize {
                    return Err(format!("slot {slot} is named by {named} entries, {entries} are noted"));
                }
            }
        }
    }
    Ok(())
}

/// Every page table belongs to one mapping, and every slot of the swap device to one mapping or one shared page.
fn check_tables_and_swap(sim: &Simulation<'_>) -> Result<(), String> {
    let vmas = || sim.processes.iter().flat_map(|p| p.space.iter());
    let tables: u64 = vmas().map(|v| v.frame_map.tables()).sum();
    let allocated: u64 =
        (0..sim.mm.physical.nodes()).map(|n| sim.mm.physical.account(n).pages(PageClass::PageTables)).sum();
    let (swapped, slots) = (vmas().map(|v| v.frame_map.swapped()).sum::<u64>(), sim.mm.physical.swap.used_slots());
    let (common, entries) = sim.mm.shared.slots();
    let swapped = swapped - entries + common;
    if tables != allocated || swapped != slots {
        return Err(format!(
            "{tables} page tables in mappings, {allocated} allocated; {swapped} pages swapped, {slots} slots used"
        ));
    }
    Ok(())
}

/// Every nanosecond that an ended task had a CPU was charged to it once, as user or kernel time. Only time that its
/// process slept inside the kernel may be missing, during which the model keeps the CPU.
fn check_cpu_time(sim: &Simulation<'_>) -> Result<(), String> {
    for (number, t) in sim.tasks.iter().enumerate().filter(|(_, t)| t.activity == Activity::Dead) {
        let (charged, had) = (t.user_ns + t.system_ns, sim.kernel.sched.runtime_ns(number as u32));
        let slept = sim.processes[t.process as usize].blocked_ns;
        if charged > had || had - charged > slept {
            return Err(format!("task {number} was charged {charged} ns, had a CPU for {had} ns, slept {slept} ns"));
        }
    }
    Ok(())
}

/// Checks what must hold at the end of a run.
///
/// # Errors
/// A sentence naming the first violated rule.
pub(crate) fn check(sim: &Simulation<'_>) -> Result<(), String> {
    let mut used = vec![0u64; sim.machine.node_count()];
    for p in &sim.processes {
        p.space.check()?;
        p.space.add_exclusive_on_node(&mut used);
    }
    sim.mm.shared.add_pages_on_node(&mut used);
    let mut active = vec![0u64; sim.machine.node_count()];
    sim.processes.iter().for_each(|p| p.space.add_active_on_node(&mut active));
    sim.mm.shared.add_active_on_node(&mut active);
    for (node, frame, pages, anon) in in_flight(sim) {
        used[node] += pages;
        active[node] += if anon && frame.has(Frame::ACTIVE) { pages } else { 0 };
    }
    if let Some(n) = (0..active.len()).find(|&n| active[n] != sim.mm.physical.account(n).lru.active_anon) {
        return Err(format!("node {n}: {} active pages, {:?}", active[n], sim.mm.physical.account(n).lru));
    }
    check_mapcounts(sim)?;
    check_cpu_time(sim)?;
    sim.hw.contention.check_pipes()?;
    sim.mm.physical.check()?;
    check_tables_and_swap(sim)?;
    for (n, &u) in used.iter().enumerate() {
        let a = sim.mm.physical.account(n);
        let kept = a.pages(PageClass::PageTables) + a.file();
        if u + kept != sim.mm.physical.used(n) {
            let all = sim.mm.physical.used(n);
            return Err(format!("node {n}: {u} pages mapped, {kept} tables and cache, {all} allocated"));
        }
        if u > 0 && sim.machine.nodes[n].memory_bytes == 0 {
            return Err(format!("node {n} has no memory but holds {u} pages"));
        }
    }
    let c = &sim.kernel.numa.counters;
    if c.numa_hint_faults_local > c.numa_hint_faults {
        return Err("more local hint faults than hint faults".into());
    }
    Ok(())
}
