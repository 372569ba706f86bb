//! Which memory is kept in grains of several base pages that share their state (docs/explanation/grains.md).
//!
//! Random accesses make the pages of a large region alike. So it may be kept in grains, as many as it takes for chance
//! to look the same. All that reckons in single pages, or walks them one after the other, keeps its pages.

use crate::sim_config::SimConfig;
use numalab_base::base_page::BasePage;
use numalab_kernel::damon::Schemes;
use numalab_nouns::access::{Lines, Order, Walk};
use numalab_nouns::workload::{ForkPoint, Op, Region, RegionKind, Span, Workload};

/// A region is kept in no fewer grains: what is counted of it then spreads by 1 % at most.
const LEAST_GRAINS: u64 = 1 << 14;

/// Nor in fewer for each thread of the workload. Threads meet at grains that move, more often than at pages: 64 threads
/// on 16,384 grains of a pool of 4 GiB made 8 % fewer queries than page by page, and on 65,536 grains 0.7 %
/// (docs/log/performance.md).
const LEAST_GRAINS_PER_THREAD: u64 = 1_000;

/// Logarithm of the most base pages of a grain. With 256 of them, 64 connections on a pool of 16 GiB made 7 % fewer
/// queries than page by page, and with 64 of them 2.6 % (docs/log/performance.md).
const MOST_ORDER: u32 = 7;

/// Logarithm of the fewest: what has fewer than a GiB is small enough page by page.
const LEAST_ORDER: u32 = 4;

/// A region as a process sees it: the process that maps it, and its number there.
pub(crate) type Home = (usize, usize);

/// Regions that each process sees, those it inherits first.
pub(crate) fn homes(workload: &Workload) -> Vec<Vec<Home>> {
    let mut out: Vec<Vec<Home>> = Vec::with_capacity(workload.processes.len());
    for (at, p) in workload.processes.iter().enumerate() {
        let mut homes: Vec<Home> = Vec::new();
        if let Some((parent, seen)) = p.parent.and_then(|i| out.get(i).map(|of| (i, of))) {
            let all = p.fork == ForkPoint::AfterPrologue;
            homes.extend(seen.iter().filter(|h| all || h.0 != parent));
        }
        homes.extend((0..p.regions.len()).map(|r| (at, r)));
        out.push(homes);
    }
    out
}

/// Logarithm of the base pages of a grain of each region of each process; 0 where a grain is a page.
pub(crate) fn grain_orders(workload: &Workload, cfg: &SimConfig) -> Vec<Vec<u32>> {
    let regions = |p: &numalab_nouns::workload::Process| vec![0; p.regions.len()];
    let mut out: Vec<Vec<u32>> = workload.processes.iter().map(regions).collect();
    if refused_by_kernel(cfg).is_some() {
        return out;
    }
    let threads = threads(workload, cfg);
    let order_by_size = |r: &Region| cfg.grain_order.unwrap_or_else(|| order_by_size(r, threads));
    let candidates = |r: &Region| refused_by_region(r).is_none() && order_by_size(r) > 0;
    if !workload.processes.iter().flat_map(|p| &p.regions).any(candidates) {
        return out;
    }
    let uses = Uses::of(workload);
    for (process, p) in workload.processes.iter().enumerate() {
        for (number, region) in p.regions.iter().enumerate() {
            if candidates(region) && !uses.refused[process][number] {
                let aligned = uses.bits[process][number] | region.size_bytes | region.misalign_bytes;
                let whole = aligned.trailing_zeros() - BasePage::Kib4.shift();
                out[process][number] = order_by_size(region).min(whole);
            }
        }
    }
    out
}

/// Bytes of memory from which on ops of a loop over it go on side by side (`access/rounds.rs`), whatever its kind: it
/// has enough pages for grains, for so many threads, so what they meet is chance alone.
pub(crate) fn side_by_side_bytes(workload: &Workload, cfg: &SimConfig) -> u64 {
    match (refused_by_kernel(cfg), cfg.grain_order) {
        (Some(_), _) => u64::MAX,
        (None, Some(0)) => u64::MAX,
        (None, Some(_)) => 0,
        (None, None) => BasePage::Kib4.bytes_of(least_grains(threads(workload, cfg)) << LEAST_ORDER),
    }
}

/// Threads of the workload, without those in the background.
fn threads(workload: &Workload, cfg: &SimConfig) -> u64 {
    let own = &workload.processes[..workload.processes.len().saturating_sub(cfg.background)];
    own.iter().map(|p| p.threads.len() as u64).sum()
}

/// The fewest grains of a region for so many threads.
fn least_grains(threads: u64) -> u64 {
    LEAST_GRAINS.max(LEAST_GRAINS_PER_THREAD * threads)
}

/// The order by which a region has enough grains for so many threads; 0 if it is small enough page by page.
fn order_by_size(region: &Region, threads: u64) -> u32 {
    let pages = BasePage::Kib4.pages(region.size_bytes);
    if pages < LEAST_GRAINS << LEAST_ORDER {
        return 0;
    }
    (pages / least_grains(threads)).max(1).ilog2().min(MOST_ORDER)
}

/// Why no region of a run is kept in grains, if so.
fn refused_by_kernel(cfg: &SimConfig) -> Option<&'static str> {
    let reasons = [
        (cfg.exact, "each page is asked for"),
        (cfg.base_page() != BasePage::Kib4, "base pages are large already"),
        (cfg.harness.is_worker(), "runs of the worker program are compared with guests page by page"),
        (cfg.design.active(), "the designs of 2012 reckon in single pages"),
        (cfg.numa.switches.table_marks, "a mark on a page table is for its 512 pages"),
        (cfg.numa.tiering(), "a tier has a time of access for each page"),
        (cfg.mm.vm.demotion, "reclaim demotes single pages"),
        (cfg.damon.damon.schemes != Schemes::None, "DAMON looks at single pages"),
        (cfg.userspace_balance.interval_ms > 0, "the daemon that balances moves single pages"),
    ];
    reasons.into_iter().find(|(is, _)| *is).map(|(_, why)| why)
}

/// Why a region is not kept in grains whatever the programs do, if so.
fn refused_by_region(r: &Region) -> Option<&'static str> {
    let reasons = [
        (r.kind != RegionKind::SharedAnon, "only shared memory is: other kinds may have huge pages, swap or files"),
        (r.pinned, "pins are of single pages"),
        (r.second_level_fault_ns > 0, "memory of a virtual machine has a second table of pages"),
    ];
    reasons.into_iter().find(|(is, _)| *is).map(|(_, why)| why)
}

/// What the programs of a workload do with its regions.
struct Uses {
    /// Whether something is done that grains do not go with.
    refused: Vec<Vec<bool>>,
    /// Bits of all begins and lengths of what is accessed, bytes: the lowest says how they are aligned.
    bits: Vec<Vec<u64>>,
}

impl Uses {
    fn of(workload: &Workload) -> Self {
        let mut out = Self {
            refused: workload.processes.iter().map(|p| vec![false; p.regions.len()]).collect(),
            bits: workload.processes.iter().map(|p| vec![0; p.regions.len()]).collect(),
        };
        for (process, (p, homes)) in workload.processes.iter().zip(homes(workload)).enumerate() {
            out.program(&homes, &p.prologue, Some(process));
            let mut before = None;
            for t in &p.threads {
                if before.is_none_or(|b| !std::sync::Arc::ptr_eq(b, &t.ops)) {
                    out.program(&homes, &t.ops, None);
                }
                before = Some(&t.ops);
            }
        }
        out
    }
    /// Adds a program. `alone` is the process whose own regions nobody else uses meanwhile.
    fn program(&mut self, homes: &[Home], ops: &[Op], alone: Option<usize>) {
        let home = |span: &Span| homes.get(span.region as usize).copied();
        for op in ops {
            match op {
                Op::Access(a) => {
                    let Some((process, region)) = home(&a.span) else { continue };
                    let fits = match a.pattern.walk() {
                        // A histogram has odds of its own for each page.
                        Walk::Random(Lines::Recorded { .. }) => false,
                        Walk::Random(_) => true,
                        // Threads that sweep meet at single pages, and blocks and strides touch a part of a grain.
                        Walk::Sweep(Order::Address) => alone == Some(process),
                        Walk::Sweep(Order::Blocks { .. }) | Walk::Stride { .. } => false,
                    };
                    self.refused[process][region] |= !fits;
                    self.bits[process][region] |= a.span.offset_bytes | a.span.len_bytes;
                }
                Op::Discard(span) => self.refuse(home(span)),
                Op::DirectIo(io) => self.refuse(home(&io.span)),
                Op::MovePages(m) => self.refuse(home(&m.span)),
                Op::ReadFile(r) => [&r.span, &r.into].into_iter().for_each(|span| self.refuse(home(span))),
                _ => {}
            }
        }
    }
    fn refuse(&mut self, home: Option<Home>) {
        if let Some((process, region)) = home {
            self.refused[process][region] = true;
        }
    }
}
