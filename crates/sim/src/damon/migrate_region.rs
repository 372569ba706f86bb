//! Migrating the pages of a region (`damos_va_migrate`, `damon_migrate_pages`).

use crate::charge::tlb_flush::flush_from_daemon;
use crate::hardware::access_rates::When;
use crate::mm::move_page::move_page;
use crate::mm::pins::is_pinned;
use crate::mm::shrink_pages::ProcessAddressSpaces;
use crate::mm::split_partial::split_deferred_thp;
use crate::state::damon_state::Damon;
use crate::state::simulation::Simulation;
use numalab_kernel::damon::{Action, SchemeSettings, Span};
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{rmap, ChunkKind, PageClass, PageRef, CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};

/// CPU time for each page that a scheme looks at: its entry and the filters (estimate).
const FILTER_NS: u64 = 100;

/// A page of a mapping: process, mapping, chunk, page; and its size in base pages.
#[derive(Clone, Copy)]
struct Folio {
    at: (usize, usize, usize, usize),
    pages: u64,
}

/// Migrates what the scheme wants of a span. Adds the CPU time to `ns`, and returns the base pages that moved.
pub(super) fn migrate_span(
    sim: &mut Simulation<'_>,
    damon: &mut Damon,
    set: &SchemeSettings,
    span: Span,
    ns: &mut u64,
) -> u64 {
    let process = span.process as usize;
    if sim.processes[process].ended {
        return 0;
    }
    let (start, end) = (span.start * PAGE_BYTES, span.end * PAGE_BYTES);
    let mut moved = 0;
    for position in sim.processes[process].space.find_vma(start)..sim.processes[process].space.len() {
        let id = sim.processes[process].space.id_at(position);
        let v = sim.processes[process].space.vma(id);
        let (from, to) = (v.start.max(start), v.end.min(end));
        if v.start >= end {
            break;
        }
        if v.rss_pages() == 0 || from >= to {
            continue;
        }
        for chunk in v.chunk_of(from)..=v.chunk_of(to - 1) {
            let base = sim.processes[process].space.vma(id).chunk_base(chunk);
            let page = |addr: u64| (addr.clamp(base, base + CHUNK_BYTES) - base).div_ceil(PAGE_BYTES) as usize;
            moved += migrate_chunk(sim, damon, set, (process, id, chunk), (page(from), page(to)), ns);
        }
    }
    moved
}

/// Migrates pages `from..to` of a chunk. A huge page moves whole, also if the region has a part of it.
fn migrate_chunk(
    sim: &mut Simulation<'_>,
    damon: &mut Damon,
    set: &SchemeSettings,
    (process, id, chunk): (usize, usize, usize),
    (from, to): (usize, usize),
    ns: &mut u64,
) -> u64 {
    let v = sim.processes[process].space.vma_mut(id);
    if set.young {
        v.update_young(chunk, &mut damon.rng);
    }
    let mut moved = 0;
    match v.chunk(chunk).kind {
        ChunkKind::Empty => {}
        ChunkKind::Huge => {
            moved += migrate_folio(sim, damon, set, Folio { at: (process, id, chunk, 0), pages: CHUNK_PAGES }, ns);
        }
        ChunkKind::Small => {
            for page in from..to {
                moved += migrate_folio(sim, damon, set, Folio { at: (process, id, chunk, page), pages: 1 }, ns);
            }
            if moved > 0 {
                // Pages of one call are unmapped one by one.
                let flushes = shootdowns(FlushOp::MigrateBase { pages: moved }, &sim.cfg.flush, false);
                *ns += (0..flushes).map(|_| flush_from_daemon(sim, process, 1)).sum::<u64>();
            }
        }
    }
    moved
}

/// Migrates a page if the scheme wants it and it is not where it belongs. Returns the base pages that moved.
fn migrate_folio(sim: &mut Simulation<'_>, damon: &mut Damon, set: &SchemeSettings, f: Folio, ns: &mut u64) -> u64 {
    let (process, id, chunk, page) = f.at;
    let v = sim.processes[process].space.vma_mut(id);
    let shared = v.page_ref(chunk, page);
    let node = match shared {
        Some(at) => Some(usize::from(sim.mm.shared.block_of(at).node.get(usize::from(at.page)))),
        None if f.pages > 1 => Some(usize::from(v.chunk(chunk).node)),
        None => v.exclusive_node(chunk, page),
    };
    let Some(node) = node else { return 0 };
    *ns += FILTER_NS;
    if set.from.is_some_and(|from| usize::from(from) != node) {
        return 0;
    }
    if set.young && v.test_clear_young(chunk, page) != (set.action == Action::MigrateHot) {
        return 0;
    }
    let place = v.chunk_base(chunk) / PAGE_BYTES + page as u64;
    let Some(to) = set.to.node(place / f.pages).filter(|to| *to != node) else { return 0 };
    let held = is_pinned(sim, (process, id), (chunk, page), f.pages, sim.now_ns);
    let got = match shared {
        _ if held => None,
        Some(at) => move_shared(sim, damon, at, f.pages, to),
        None => move_own(sim, damon, f, (node, to), ns),
    };
    let Some(got) = got else {
        sim.kernel.numa.counters.pgmigrate_fail += f.pages;
        return 0;
    };
    damon.fallback_pages += if got == to { 0 } else { f.pages };
    sim.kernel.numa.counters.pgmigrate_success += f.pages;
    let (time, bytes) = if f.pages > 1 {
        sim.kernel.numa.counters.thp_migration_success += 1;
        (sim.hw.costs.migrate_2m_ns(node, got, 1.0), CHUNK_BYTES)
    } else {
        (sim.hw.costs.migrate_4k_ns(node, got, 1.0), PAGE_BYTES)
    };
    let when = When { now_ns: sim.now_ns, from_ns: sim.now_ns + *ns };
    *ns += sim.hw.contention.copied(node, got, bytes, when, time) as u64;
    if f.pages > 1 {
        *ns += flush_from_daemon(sim, process, CHUNK_PAGES);
    }
    f.pages
}

/// Moves a page that one process maps. Returns the node that it went to.
fn move_own(
    sim: &mut Simulation<'_>,
    damon: &Damon,
    f: Folio,
    (from, to): (usize, usize),
    ns: &mut u64,
) -> Option<usize> {
    let (process, id, chunk, page) = f.at;
    let class = if f.pages > 1 { PageClass::AnonHuge } else { PageClass::Anon };
    let got = sim.mm.physical.alloc_for_damon(to, to, class, damon.cfg.damon.fallback)?;
    *ns += split_deferred_thp(sim, process, id, chunk);
    let v = sim.processes[process].space.vma_mut(id);
    // The new entry has the protection of the mapping, so its mark is gone.
    v.unmark(chunk, page);
    let last = v.last_cpupid(chunk, page);
    move_page(&mut sim.mm.physical, v, (chunk, page), from, got, f.pages, last);
    Some(got.node)
}

/// Moves a page that several processes may map, unless something holds it. Returns the node that it went to.
fn move_shared(sim: &mut Simulation<'_>, damon: &Damon, at: PageRef, pages: u64, to: usize) -> Option<usize> {
    let b = sim.mm.shared.block_of(at);
    let (page, huge) = (usize::from(at.page), b.huge);
    // A huge page of which this mapping shows base pages stays, as one that is locked or not on the LRU yet.
    if b.locked.get(page) || b.batched.get(page) || huge != (pages > 1) {
        return None;
    }
    let class = sim.mm.shared.object(at.object).backing.class(huge);
    let got = sim.mm.physical.alloc_for_damon(to, to, class, damon.cfg.damon.fallback)?;
    let mut spaces = ProcessAddressSpaces(&mut sim.processes);
    rmap::migrate(at, (got.node, got.frame), &mut sim.mm.shared, &mut spaces, &mut sim.mm.physical);
    Some(got.node)
}
