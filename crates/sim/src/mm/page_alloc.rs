//! Where the page of a fault comes from: memory policy, huge-page ladder, zones; and what reclaim and compaction for it
//! cost.

use crate::mm::fault_lock::{take_listed_page, take_listed_pages};
use crate::mm::shrink_pages::{reclaim_context, ReclaimContext};
use crate::mm::vma_policy::{home_node, policy};
use crate::mm::work::cpu_ns;
use crate::state::interleaved_pages::InterleavedPages;
use crate::state::page_site::PageSite;
use crate::state::policies::page_index;
use crate::state::simulation::Simulation;
use numalab_base::node_mask::NodeId;
use numalab_kernel::mm::alloc::{AllocSite, Constraint, RunSource};
use numalab_kernel::mm::thp::{fault_gfp, FaultContext, Locality};
use numalab_kernel::mm::{AllocError, AllocatedPage, Gfp, PageClass, Work, CHUNK_PAGES};
use numalab_nouns::record::Status;

/// A page for a fault.
#[derive(Clone, Copy, Debug)]
pub struct AllocatedFolio {
    /// A huge page.
    pub huge: bool,
    /// Base pages: 512 of a huge page, else 1 or those of a large folio, whose frames are in
    /// [`Memory::folio_frames`](crate::state::simulation::Memory::folio_frames).
    pub pages: u32,
    /// Node and pageblock.
    pub got: AllocatedPage,
}

impl AllocatedFolio {
    /// A base page.
    fn base(got: AllocatedPage) -> Self {
        Self { huge: false, pages: 1, got }
    }
    /// Whether it is a large folio below 2 MiB.
    pub fn is_large(&self) -> bool {
        self.pages > 1 && !self.huge
    }
}

/// Allocates a page for an empty entry of anonymous memory: a huge one if the mapping may have it there, or a large
/// folio of at most this order. Returns `None` when memory is exhausted, which ends the run. Adds the time of the task
/// to `ns`.
pub(crate) fn alloc_anon_folio(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    order: u32,
    clock: u64,
    ns: &mut u64,
) -> Option<AllocatedFolio> {
    let mut work = Work::default();
    let vma = sim.processes[s.process].space.vma(s.vma);
    let fits = vma.huge_fault_fits(s.chunk) || sim.cfg.mm.thp.zero_page_write_huge && vma.is_huge_zero_page(s.chunk);
    let placed = if fits { alloc_thp(sim, s, &mut work) } else { None };
    let placed = placed.or_else(|| alloc_large_folio(sim, s, order));
    let out = placed.or_else(|| alloc_base_or_fail(sim, s, PageClass::Anon, &mut work).map(AllocatedFolio::base));
    alloc_page_table(sim, s, &mut work);
    *ns += work_ns(sim, &work, clock + *ns);
    if let Some(AllocatedFolio { pages: 1, got, .. }) = out {
        *ns += take_listed_page(sim, s.cpu, got.node, clock + *ns);
    }
    out
}

/// Allocates a large folio of at most this order: the largest enabled one that the memory policy's nodes have room for.
fn alloc_large_folio(sim: &mut Simulation<'_>, s: &PageSite, order: u32) -> Option<AllocatedFolio> {
    if order == 0 {
        return None;
    }
    let enabled = sim.processes[s.process].space.vma(s.vma).folio_orders;
    for order in (1..=order).rev().filter(|order| enabled >> order & 1 == 1) {
        let first = PageSite { page: s.page >> order << order, ..*s };
        let site = base_site(sim, &first);
        if let Some(node) = sim.mm.physical.alloc_folio(&site, 1 << order, &mut sim.mm.folio_frames) {
            let got = AllocatedPage { node, frame: sim.mm.folio_frames[0] };
            return Some(AllocatedFolio { huge: false, pages: 1 << order, got });
        }
    }
    None
}

/// Allocates a huge page for the copy of a shared one, by the rules of a fault; `None` if there is none.
pub(crate) fn alloc_thp_for_cow(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    clock: u64,
    ns: &mut u64,
) -> Option<AllocatedPage> {
    let mut work = Work::default();
    let placed = alloc_thp(sim, s, &mut work);
    *ns += work_ns(sim, &work, clock + *ns);
    match placed {
        Some(AllocatedFolio { huge: true, got, .. }) => Some(got),
        Some(AllocatedFolio { got, .. }) => {
            // The ladder prefers a near base page, but the caller needs a huge one.
            sim.mm.physical.free_page(got.node, got.frame, PageClass::Anon);
            None
        }
        None => None,
    }
}

/// Makes the attempts of a huge-page fault, one rung of the ladder after the other.
pub(crate) fn alloc_thp(sim: &mut Simulation<'_>, s: &PageSite, work: &mut Work) -> Option<AllocatedFolio> {
    let thp = &sim.cfg.mm.thp;
    let here = sim.cpus[s.cpu].node;
    let vma = sim.processes[s.process].space.vma(s.vma);
    let own = sim.processes[s.process].vma_huge_policy[s.vma].as_ref();
    let own = own.filter(|_| thp.locality == Locality::MpolHuge);
    let mut policy_nodes = own.unwrap_or(policy(sim, s)).policy_nodes(here, page_index(vma, s.chunk, 0, 9));
    policy_nodes.preferred = home_node(&sim.kernel.numa_2012, &sim.tasks, s.task).unwrap_or(policy_nodes.preferred);
    let ctx = FaultContext {
        here,
        policy_nodes,
        huge_rules: own.map(|_| thp.huge_rules()),
        gfp: fault_gfp(thp, vma.advised),
        mems: sim.processes[s.process].mems,
        span: thp.span,
        span_max_class: thp.span_max_class,
        ladders: &sim.mm.ladders,
    };
    let (processes, shared, hands) = (&mut sim.processes, &mut sim.mm.shared, &mut sim.mm.clock_hands);
    let (forget, pins) = (sim.kernel.numa.cpupid_forgotten_from(), (&sim.mm.pins, sim.now_ns));
    let mut env = ReclaimContext { processes, shared, hands, forget, pins };
    let landed = sim.mm.physical.alloc_thp(thp.locality, &ctx, &mut env, work)?;
    let pages = if landed.huge { CHUNK_PAGES as u32 } else { 1 };
    Some(AllocatedFolio { huge: landed.huge, pages, got: landed.got })
}

/// Allocates a base page of a class for an entry, under the mapping's or the task's policy. `None` ends the run.
pub(crate) fn alloc_base_page(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    class: PageClass,
    clock: u64,
    ns: &mut u64,
) -> Option<AllocatedPage> {
    let mut work = Work::default();
    let got = alloc_base_or_fail(sim, s, class, &mut work);
    alloc_page_table(sim, s, &mut work);
    *ns += work_ns(sim, &work, clock + *ns);
    if let Some(got) = got {
        *ns += take_listed_page(sim, s.cpu, got.node, clock + *ns);
    }
    got
}

/// As [`alloc_base_page`], the base pages of a grain, one after the other.
pub(crate) fn alloc_grain(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    (class, pages): (PageClass, u64),
    clock: u64,
    ns: &mut u64,
) -> Option<AllocatedPage> {
    let mut work = Work::default();
    let site = base_site(sim, s);
    let (physical, mut env) = reclaim_context(sim);
    let got = physical.alloc_grain(class, &site, pages, &mut env, &mut work);
    let got = got.map_err(|e| exhausted(sim, s.process, e)).ok();
    alloc_page_table(sim, s, &mut work);
    *ns += work_ns(sim, &work, clock + *ns);
    if let Some(got) = got {
        *ns += take_listed_pages(sim, s.cpu, got.node, pages, clock + *ns);
    }
    got
}

/// Allocates a page of the page cache that no entry maps, under the task's policy: the mapping's does not apply to it,
/// and no page table is needed (`filemap_alloc_folio`). `None` ends the run.
pub(crate) fn alloc_cache_page(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    class: PageClass,
    clock: u64,
    ns: &mut u64,
) -> Option<AllocatedPage> {
    let mut work = Work::default();
    let here = sim.cpus[s.cpu].node;
    let index = page_index(sim.processes[s.process].space.vma(s.vma), s.chunk, s.page, 0);
    let policy_nodes = sim.tasks[s.task as usize].policy.policy_nodes(here, index);
    let site = AllocSite { here, policy_nodes, mems: sim.processes[s.process].mems };
    let (physical, mut env) = reclaim_context(sim);
    let got = physical.alloc_class(Gfp::HIGHUSER_MOVABLE, class, &site, &mut env, &mut work);
    let got = got.map_err(|e| exhausted(sim, s.process, e)).ok();
    *ns += work_ns(sim, &work, clock + *ns);
    if let Some(got) = got {
        *ns += take_listed_page(sim, s.cpu, got.node, clock + *ns);
    }
    got
}

fn alloc_base_or_fail(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    class: PageClass,
    work: &mut Work,
) -> Option<AllocatedPage> {
    try_alloc_base(sim, s, class, work).map_err(|e| exhausted(sim, s.process, e)).ok()
}

/// Allocates a base page of a class under the mapping's or the task's policy, and no page table.
fn try_alloc_base(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    class: PageClass,
    work: &mut Work,
) -> Result<AllocatedPage, AllocError> {
    let site = base_site(sim, s);
    let (physical, mut env) = reclaim_context(sim);
    physical.alloc_class(Gfp::HIGHUSER_MOVABLE, class, &site, &mut env, work)
}

/// Allocates a base page as for an entry, and frees it at once. Returns its node.
pub(crate) fn alloc_and_free_base(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    class: PageClass,
    work: &mut Work,
) -> Result<usize, AllocError> {
    let site = base_site(sim, s);
    let (physical, mut env) = reclaim_context(sim);
    physical.alloc_and_free(Gfp::HIGHUSER_MOVABLE, class, &site, &mut env, work)
}

/// Where the base pages of entries side by side come from, from that of `s` on, if it is one zone for all of them.
pub(crate) fn run_source(sim: &Simulation<'_>, s: &PageSite) -> Option<RunSource> {
    sim.mm.physical.run_source(&base_site(sim, s))
}

/// Where the base pages of entries side by side come from, from that of `s` on, at most `most`. Leaves no page if the
/// policy does not choose a node for each, and ends before the first whose own node does not give it.
pub(crate) fn interleaved_pages(sim: &Simulation<'_>, s: &PageSite, most: u64, out: &mut InterleavedPages) {
    out.nodes.clear();
    out.sources.clear();
    let (here, mems) = (sim.cpus[s.cpu].node, sim.processes[s.process].mems);
    let (vma, policy) = (sim.processes[s.process].space.vma(s.vma), policy(sim, s));
    for page in s.page..s.page + most as usize {
        let policy_nodes = policy.policy_nodes(here, page_index(vma, s.chunk, page, 0));
        let node = policy_nodes.preferred;
        if !policy_nodes.interleaved {
            return;
        }
        if !out.sources.iter().any(|source| source.node == node) {
            match sim.mm.physical.page_source(&AllocSite { here, policy_nodes, mems }) {
                Some(source) if source.node == node => out.sources.push(source),
                _ => return,
            }
        }
        out.nodes.push(node as NodeId);
    }
}

/// Where the base page of an entry may come from.
fn base_site(sim: &Simulation<'_>, s: &PageSite) -> AllocSite {
    let here = sim.cpus[s.cpu].node;
    let index = page_index(sim.processes[s.process].space.vma(s.vma), s.chunk, s.page, 0);
    let mut policy_nodes = policy(sim, s).policy_nodes(here, index);
    policy_nodes.preferred = home_node(&sim.kernel.numa_2012, &sim.tasks, s.task).unwrap_or(policy_nodes.preferred);
    AllocSite { here, policy_nodes, mems: sim.processes[s.process].mems }
}

/// Allocates the page table of a chunk that has none, under the task's policy; the mapping's policy does not apply to
/// it.
pub(crate) fn alloc_page_table(sim: &mut Simulation<'_>, s: &PageSite, work: &mut Work) {
    if sim.processes[s.process].space.vma(s.vma).frame_map.has_table(s.chunk) {
        return;
    }
    let here = sim.cpus[s.cpu].node;
    let policy_nodes = sim.tasks[s.task as usize].policy.policy_nodes(here, s.chunk as u64);
    let site = AllocSite { here, policy_nodes, mems: sim.processes[s.process].mems };
    let (physical, mut env) = reclaim_context(sim);
    if let Ok(got) = physical.alloc_class(Gfp::KERNEL, PageClass::PageTables, &site, &mut env, work) {
        sim.processes[s.process].space.vma_mut(s.vma).frame_map.set_table(s.chunk, got.node, got.frame);
    }
    let map = &sim.processes[s.process].space.vma(s.vma).frame_map;
    let tables = if map.has_table(s.chunk) { map.tables_in_chunk() } else { 1 };
    for _ in 1..tables {
        let (physical, mut env) = reclaim_context(sim);
        let Ok(got) = physical.alloc_class(Gfp::KERNEL, PageClass::PageTables, &site, &mut env, work) else { return };
        sim.processes[s.process].space.vma_mut(s.vma).frame_map.add_table(s.chunk, got.node, got.frame);
    }
}

/// Time of `work` that begins at `clock`, ns: CPU time, and waits for the swap device. The waits count as blocked time
/// later.
pub(crate) fn work_ns(sim: &mut Simulation<'_>, work: &Work, clock: u64) -> u64 {
    if *work == Work::default() {
        return 0;
    }
    let cpu = cpu_ns(work, &sim.machine.costs);
    let io = sim.mm.swap_queue.wait(clock + cpu, work, &sim.cfg.mm.swap);
    sim.mm.io_wait_ns += io;
    cpu + io
}

/// Memory is exhausted, and the kernel would kill a process. The run ends as failed.
fn exhausted(sim: &mut Simulation<'_>, process: usize, e: AllocError) {
    let name = &sim.workload.processes[process].name;
    let limit = match e {
        AllocError::Oom(Constraint::Mempolicy) => "none of the nodes that its memory policy allows has any left",
        AllocError::Oom(Constraint::Cpuset) => "none of the nodes that its cpuset allows has any left",
        _ => "no node has any left",
    };
    sim.status = Status::Failed(format!("out of memory: {name} touched a page and {limit}"));
}
