//! What a run shows on its way: where threads and memory are, and what has just happened.
//!
//! Problem: a page that draws a run needs its state sixty times a second, and must not change it. Approach: a
//! [`Layout`] says once which memory the cells stand for, and each [`Look`] reads the state as it is. CPUs that are
//! [quiet](crate::state::quiet_cpus) are not brought up to date for it, so counts may be a few ticks old. Cells are as
//! small as a page where all memory has few pages, else a multiple of 2 MiB.

use crate::state::log::Latest;
use crate::state::simulation::Simulation;
use crate::state::task::Activity;
use numalab_kernel::mm::vma::{ChunkKind, PageState, Vma};
use numalab_kernel::mm::CHUNK_PAGES;
use numalab_nouns::record::events::{Event, Kind};

/// Most cells of memory, except that every region has at least one.
const MOST_CELLS: u64 = 512;

/// Up to so many pages in all, cells may be smaller than a chunk of 2 MiB.
const FEW_PAGES: u64 = 65_536;

/// A part of a region of memory, in pages of its process from the start of the region's first chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Process, by number in the workload.
    pub process: usize,
    /// Region, by number in its process.
    pub region: usize,
    /// First page.
    pub first: u64,
    /// Page behind the last.
    pub end: u64,
}

/// Which memory the cells of every [`Look`] stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The cells, by process, region and address.
    pub cells: Vec<Cell>,
    /// Bytes of a base page.
    pub page_bytes: u64,
    /// Nodes of the machine.
    pub nodes: usize,
    /// Processes of the workload; threads of others are the machine's own.
    pub processes: usize,
}

impl Layout {
    /// Cells of the regions of a workload's own processes.
    pub(crate) fn of(sim: &Simulation<'_>) -> Self {
        let page = sim.cfg.base_page();
        let own = &sim.workload.processes[..sim.own_processes()];
        let regions = || own.iter().enumerate().flat_map(|(p, x)| x.regions.iter().enumerate().map(move |r| (p, r)));
        let pages = |bytes: u64| page.pages_up(bytes).max(1);
        let total: u64 = regions().map(|(_, (_, r))| pages(r.size_bytes)).sum();
        let step = total.div_ceil(MOST_CELLS).max(1);
        let step = if total <= FEW_PAGES { step.next_power_of_two() } else { step.next_multiple_of(CHUNK_PAGES) };
        let mut cells = Vec::new();
        for (process, (region, r)) in regions() {
            let all = pages(r.size_bytes + r.misalign_bytes);
            cells.extend((0..all).step_by(step as usize).map(|first| {
                let end = (first + step).min(all);
                Cell { process, region, first, end }
            }));
        }
        Self { cells, page_bytes: page.bytes(), nodes: sim.machine.node_count(), processes: own.len() }
    }
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It runs on its CPU.
    Runs,
    /// It waits for its CPU.
    Queued,
    /// It sleeps.
    Sleeps,
    /// It has ended.
    Ended,
}

/// A thread at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadLook {
    /// Its task, as events name it.
    pub task: u32,
    /// Process, by number in the workload.
    pub process: u32,
    /// Thread, by number in its process.
    pub thread: u32,
    /// CPU that it runs on, or ran on last.
    pub cpu: u32,
    /// What it does.
    pub doing: Doing,
    /// Node that NUMA balancing prefers for it.
    pub preferred: Option<usize>,
    /// Its scan period, ms.
    pub scan_period_ms: u32,
}

/// The run at an instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Model time, ns.
    pub now_ns: u64,
    /// Threads of the workload, in order of creation.
    pub threads: Vec<ThreadLook>,
    /// Pages of each cell on each node: those of the first cell, then those of the second, and so on.
    pub pages: Vec<u32>,
    /// Pages of each cell that are marked PROT_NONE.
    pub marked: Vec<u32>,
    /// Where the next scan of each process begins: cell, or none before the first.
    pub scan_cells: Vec<Option<usize>>,
    /// Hint faults, local ones, pages migrated, entries marked, page faults, since the start.
    pub counts: [u64; 5],
    /// User, system and blocked time of the workload since the start, ns.
    pub cpu_ns: [u64; 3],
    /// What happened since the last look, if the run keeps it.
    pub events: Vec<Event>,
    /// Where each of these events was: its cell, or the first one of its region; none if it was at no cell.
    pub places: Vec<Option<usize>>,
    /// Events since the last look that were too many to keep.
    pub dropped: u64,
}

/// The state of a run as it is, and what happened since the last look.
pub(crate) fn look(sim: &mut Simulation<'_>, layout: &Layout) -> Look {
    let latest = sim.record.log.live.as_mut().map(std::mem::take).unwrap_or_default();
    let (pages, marked) = memory(sim, layout);
    let c = &sim.kernel.numa.counters;
    let counts = [c.numa_hint_faults, c.numa_hint_faults_local, c.numa_pages_migrated, c.numa_pte_updates];
    let [faults, local, migrated, updates] = counts;
    let mut cpu_ns = [0; 3];
    for p in &sim.processes[..layout.processes] {
        cpu_ns = [cpu_ns[0] + p.user_ns, cpu_ns[1] + p.system_ns, cpu_ns[2] + p.blocked_ns];
    }
    let Latest { events, dropped } = latest;
    let places = events.iter().map(|e| place(sim, layout, e)).collect();
    Look {
        now_ns: sim.now_ns,
        threads: threads(sim, layout),
        pages,
        marked,
        scan_cells: (0..layout.processes).map(|p| scan_cell(sim, layout, p)).collect(),
        counts: [faults, local, migrated, updates, sim.kernel.vm.pgfault],
        cpu_ns,
        events,
        places,
        dropped,
    }
}

fn threads(sim: &Simulation<'_>, layout: &Layout) -> Vec<ThreadLook> {
    let own = |(_, t): &(usize, &crate::state::task::Task<'_>)| (t.process as usize) < layout.processes;
    let one = |(id, t): (usize, &crate::state::task::Task<'_>)| {
        let cpu = sim.kernel.sched.cpu_of(id as u32);
        let doing = match t.activity {
            Activity::Dead => Doing::Ended,
            Activity::Asleep => Doing::Sleeps,
            _ if sim.cpus[cpu as usize].task == Some(id as u32) => Doing::Runs,
            _ => Doing::Queued,
        };
        let numa = sim.kernel.numa.tasks.get(id);
        ThreadLook {
            task: id as u32,
            process: t.process,
            thread: t.thread,
            cpu,
            doing,
            preferred: numa.and_then(|n| n.numa_preferred_nid),
            scan_period_ms: numa.map_or(0, |n| n.numa_scan_period),
        }
    };
    sim.tasks.iter().enumerate().filter(own).map(one).collect()
}

/// The mapping that a process has of a region, by the mapping's id.
fn mapped<'a>(sim: &'a Simulation<'_>, process: usize, id: Option<&u32>) -> Option<&'a Vma> {
    let (space, id) = (&sim.processes[process].space, *id? as usize);
    (id < space.len()).then(|| space.vma(id))
}

/// The mapping that shows a region: of those that its process and its children have, the first with most pages.
fn mapping<'a>(sim: &'a Simulation<'_>, process: usize, region: usize) -> Option<&'a Vma> {
    let own = sim.processes[process].own_regions();
    let at = sim.processes[process].region_vma.len() - own.len() + region;
    let children = (process + 1..sim.processes.len()).filter(|p| sim.workload.processes[*p].parent == Some(process));
    let inherited = children.filter_map(|p| mapped(sim, p, sim.processes[p].region_vma.get(at)));
    let all = mapped(sim, process, own.get(region)).into_iter().chain(inherited);
    all.reduce(|most, vma| if vma.rss_pages() > most.rss_pages() { vma } else { most })
}

/// Where an event was: the cell of a fault's address, or the first cell of the mapping that a scan went through or
/// skipped.
fn place(sim: &Simulation<'_>, layout: &Layout, e: &Event) -> Option<usize> {
    let process = e.x as usize;
    if process >= layout.processes {
        return None;
    }
    let space = &sim.processes[process].space;
    let vma = match e.kind {
        Kind::Fault => space.id_at(space.find_vma(e.z).min(space.len().checked_sub(1)?)),
        Kind::Scanned | Kind::Skip => e.y as usize,
        _ => return None,
    };
    let regions = &sim.processes[process].region_vma;
    let at = regions.iter().position(|id| *id as usize == vma)?;
    let inherited = regions.len() - sim.processes[process].own_regions().len();
    let (owner, region) = match at.checked_sub(inherited) {
        Some(own) => (process, own),
        // A region of the parent, which inherited none itself.
        None => (sim.workload.processes[process].parent?, at),
    };
    let page = match e.kind {
        Kind::Fault => space.vma(vma).page_number(e.z),
        _ => 0,
    };
    let cells = layout.cells.iter().enumerate().filter(|(_, c)| (c.process, c.region) == (owner, region));
    cells.filter(|(_, c)| page < c.end).map(|(i, _)| i).next()
}

/// Pages of each cell by node, and its marked pages.
fn memory(sim: &Simulation<'_>, layout: &Layout) -> (Vec<u32>, Vec<u32>) {
    let mut pages = vec![0; layout.cells.len() * layout.nodes];
    let mut marked = vec![0; layout.cells.len()];
    // Cells of a region follow each other.
    let mut last = (usize::MAX, 0, None);
    for ((cell, on_node), marked) in layout.cells.iter().zip(pages.chunks_mut(layout.nodes)).zip(&mut marked) {
        if (last.0, last.1) != (cell.process, cell.region) {
            last = (cell.process, cell.region, mapping(sim, cell.process, cell.region));
        }
        let Some(vma) = last.2 else { continue };
        let whole = cell.first.is_multiple_of(CHUNK_PAGES) && (cell.end - cell.first) >= CHUNK_PAGES;
        if !whole {
            *marked = count_pages(sim, vma, cell, on_node);
            continue;
        }
        let chunks = cell.first / CHUNK_PAGES..cell.end.div_ceil(CHUNK_PAGES).min(vma.chunk_count() as u64);
        for chunk in chunks {
            let chunk = chunk as usize;
            on_node.iter_mut().zip(vma.node_counts(chunk)).for_each(|(sum, n)| *sum += u32::from(*n));
            let c = vma.chunk(chunk);
            let huge = c.kind == ChunkKind::Huge && c.pmd_marked;
            *marked += if huge { CHUNK_PAGES as u32 } else { u32::from(c.marked) };
        }
    }
    (pages, marked)
}

/// Adds the pages of a cell by node to `on_node`, and returns the number of marked ones.
fn count_pages(sim: &Simulation<'_>, vma: &Vma, cell: &Cell, on_node: &mut [u32]) -> u32 {
    let mut marked = 0;
    for at in cell.first..cell.end.min(vma.chunk_count() as u64 * CHUNK_PAGES) {
        let (chunk, page) = ((at / CHUNK_PAGES) as usize, (at % CHUNK_PAGES) as usize);
        let node = match vma.page(chunk, page, &sim.mm.shared) {
            PageState::Absent | PageState::Migrating(_) => continue,
            PageState::Marked { node, .. } => {
                marked += 1;
                node
            }
            PageState::ReadOnly { node, .. } | PageState::Ready { node } => node,
        };
        on_node[usize::from(node)] += 1;
    }
    marked
}

/// The cell in which the next scan of a process begins.
fn scan_cell(sim: &Simulation<'_>, layout: &Layout, process: usize) -> Option<usize> {
    let offset = sim.kernel.numa.mms.get(process).map(|m| m.numa_scan_offset).filter(|at| *at > 0)?;
    layout.cells.iter().position(|cell| {
        let own = cell.process == process;
        own && mapping(sim, cell.process, cell.region)
            .is_some_and(|vma| vma.chunk_base(0) + cell.end * layout.page_bytes > offset)
    })
}
