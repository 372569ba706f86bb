//! khugepaged: collapsing base pages into huge pages in the background (kernel: mm/khugepaged.c).

use crate::charge::core::copy_slowdown;
use crate::charge::late_ticks::owe_flush;
use crate::hardware::access_rates::{When, EPOCH_NS};
use crate::mm::daemon_time::background_ns;
use crate::mm::pins::is_pinned;
use crate::mm::shrink_pages::reclaim_context;
use crate::mm::split_partial::split_deferred_thp;
use crate::state::khugepaged_cursor::WalkStep;
use crate::state::memory_daemons::MS;
use crate::state::simulation::Simulation;
use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::alloc::{Constraint, Request};
use numalab_kernel::mm::khugepaged::{scan_pmd, target_node, Pause, PmdFacts, ScanResult};
use numalab_kernel::mm::khugepaged::{too_far_apart, Target};
use numalab_kernel::mm::thp::{collapse_gfp, ThpEnabled};
use numalab_kernel::mm::{AllocatedPage, ChunkKind, Gfp, MmConfig, PageClass, VmaKind, Work, CHUNK_PAGES};

/// Time to collapse pages of the nodes `sources` into a huge page of `node`, ns: entries and copies. The copies load
/// memory. The daemon is taken to run on the node of the huge page.
pub(crate) fn collapse_ns(sim: &mut Simulation<'_>, sources: &[usize], node: usize) -> f64 {
    let cpu = sim.machine.nodes[node].cpus.first().copied();
    let mut ns = sim.machine.costs.collapse_ns;
    for &from in sources {
        // One page after the other: each waits for the pipes on its own account.
        let slowdown = cpu.map_or(1.0, |cpu| copy_slowdown(sim, cpu, from, node));
        let copy_ns = sim.hw.costs.copy_4k_ns(from, node, slowdown);
        let when = When { now_ns: sim.now_ns, from_ns: sim.now_ns + ns as u64 };
        ns += sim.hw.contention.copied(from, node, sim.cfg.base_page().bytes(), when, copy_ns);
    }
    ns
}

/// Lets khugepaged work for an epoch, if it is awake.
pub(crate) fn collapse_in_background(sim: &mut Simulation<'_>) {
    let t = sim.cfg.mm.khugepaged;
    // AutoNUMA and schednuma have a khugepaged of their own.
    if sim.kernel.numa_2012.active()
        || !t.collapse
        || sim.cfg.mm.thp.enabled == ThpEnabled::Never
        || sim.now_ns < sim.mm.daemons.khugepaged.awake_at_ns
    {
        return;
    }
    let mut used = 0;
    while used < EPOCH_NS {
        match khugepaged_step(sim, &mut used) {
            Pause::None => {}
            Pause::Retry(ms) | Pause::NextRound(ms) => {
                sim.mm.daemons.khugepaged.awake_at_ns = sim.now_ns + used + u64::from(ms) * MS;
                return;
            }
        }
    }
    // It goes on from here once the time that it has used is over.
    sim.mm.daemons.khugepaged.awake_at_ns = sim.now_ns + used;
}

/// Looks at the next address space, mapping or slot.
fn khugepaged_step(sim: &mut Simulation<'_>, used: &mut u64) -> Pause {
    let t = &sim.cfg.mm.khugepaged;
    let k = &mut sim.mm.daemons.khugepaged;
    let step = k.cursor.advance(&sim.processes, |vma| vma.huge_ok && vma.kind == VmaKind::PrivateAnon);
    let (process, id, chunk) = match step {
        WalkStep::EndOfList => {
            sim.mm.physical.events.full_scans += 1;
            return k.pace.end_of_list(t);
        }
        WalkStep::EndOfMm | WalkStep::EndOfVma => return Pause::None,
        WalkStep::EnterMm | WalkStep::SkipVma => return k.pace.small_step(t),
        WalkStep::Slot(process, id, chunk) => (process, id, chunk),
    };
    if !sim.processes[process].space.vma(id).chunk_is_whole(chunk) {
        return Pause::None;
    }
    let pause = k.pace.slot(t);
    *used += sim.machine.costs.khugepaged_slot_ns as u64;
    if collapse(sim, process, id, chunk, used) == ScanResult::AllocFail {
        return sim.mm.daemons.khugepaged.pace.alloc_failed(t);
    }
    pause
}

/// Makes the base pages of a chunk the huge page `got`, and frees them. Returns the nodes that they were on, in order.
pub(crate) fn collapse_into(
    sim: &mut Simulation<'_>,
    process: usize,
    id: usize,
    chunk: usize,
    got: AllocatedPage,
) -> Vec<usize> {
    split_deferred_thp(sim, process, id, chunk);
    let mut from = Vec::with_capacity(CHUNK_PAGES as usize);
    let memory = &mut sim.mm.physical;
    let vma = sim.processes[process].space.vma_mut(id);
    vma.collapse(chunk, got.node, got.frame, |node, frame| {
        memory.free_page(node, frame, PageClass::Anon);
        from.push(node);
    });
    from
}

/// Collapses a slot if the rules allow it, and adds the time to `used`, ns.
fn collapse(sim: &mut Simulation<'_>, process: usize, id: usize, chunk: usize, used: &mut u64) -> ScanResult {
    let vma = sim.processes[process].space.vma_mut(id);
    if vma.chunk(chunk).kind != ChunkKind::Small {
        return ScanResult::NothingToDo;
    }
    let pinned = is_pinned(sim, (process, id), (chunk, 0), CHUNK_PAGES, sim.now_ns);
    let vma = sim.processes[process].space.vma_mut(id);
    // khugepaged is one thread, so any node's random stream may decide the accessed bits.
    let referenced = vma.referenced_pages(chunk, sim.mm.clock_hands[0].rng());
    let c = vma.chunk(chunk);
    let swapped = u32::from(vma.frame_map.swapped_in_chunk(chunk));
    let facts = PmdFacts {
        present: u32::from(c.present),
        swapped,
        shared: u32::from(c.shared),
        referenced,
        writable: c.read_only < c.present,
        pinned,
        nothing_to_do: false,
    };
    let verdict = scan_pmd(&sim.cfg.mm.khugepaged, &facts);
    if verdict != ScanResult::Collapse {
        return verdict;
    }
    if c.shared > 0 || vma.has_shared_slots(chunk, &sim.mm.shared) {
        // Pages that other processes map too would be copied; the model leaves them.
        return ScanResult::ExceedShared;
    }
    let on_node: Vec<u32> = vma.node_counts(chunk).iter().map(|&n| u32::from(n)).collect();
    let near = sim.machine.node_reclaim_distance;
    let reclaims = sim.cfg.mm.vm.zone_reclaim_mode != 0;
    if too_far_apart(reclaims, &on_node, near, |a, b| sim.mm.physical.distance(a, b)) {
        return ScanResult::ScanAbort;
    }
    let Some(target) = target_node(&on_node) else { return ScanResult::NothingToDo };
    let req = collapse_request(&sim.cfg.mm, &target);
    let mut work = Work::default();
    let (physical, mut env) = reclaim_context(sim);
    let got = physical.alloc_page(&req, &mut env, &mut work);
    let Ok(got) = got else {
        sim.mm.physical.events.thp_collapse_alloc_failed += 1;
        *used += background_ns(sim, &work, *used);
        return ScanResult::AllocFail;
    };
    sim.mm.physical.events.thp_collapse_alloc += 1;
    let vma = sim.processes[process].space.vma_mut(id);
    if vma.chunk(chunk).kind != ChunkKind::Small {
        // Reclaim for the huge page has taken the last base page meanwhile.
        sim.mm.physical.free_page(got.node, got.frame, PageClass::AnonHuge);
        return ScanResult::NothingToDo;
    }
    for page in 0..512 {
        if let Some(slot) = vma.frame_map.take_slot(chunk, page) {
            sim.mm.physical.swap.put(slot);
            sim.mm.physical.events.pswpin += 1;
            work.swapped_in += 1;
        }
    }
    let from = collapse_into(sim, process, id, chunk, got);
    let copied = collapse_ns(sim, &from, got.node) as u64;
    sim.mm.physical.events.pages_collapsed += 1;
    owe_flush(sim, process, sim.machine.costs.flush_target_ns as u64);
    *used += background_ns(sim, &work, *used);
    let locked_at = sim.now_ns + *used;
    sim.processes[process].mmap_write_locks.hold((locked_at, locked_at + copied), sim.now_ns);
    *used += copied;
    ScanResult::Collapse
}

/// What khugepaged asks the allocator for.
fn collapse_request(cfg: &MmConfig, target: &Target) -> Request {
    let t = &cfg.khugepaged;
    let local = t.this_node;
    Request {
        gfp: if local { collapse_gfp(t.defrag) | Gfp::THISNODE } else { collapse_gfp(t.defrag) },
        huge: true,
        here: target.node,
        preferred: target.node,
        allowed: if local { NodeMask::of([target.node]) } else { target.allowed },
        class: PageClass::AnonHuge,
        constraint: Constraint::None,
        interleaved: false,
    }
}
