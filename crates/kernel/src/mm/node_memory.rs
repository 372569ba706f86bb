//! Free memory per node, allocation by fallback order, allocation counters.
//!
//! One zone per node: the watermarks follow thp-and-allocation.md section 2, the walk its section 3.1.
//! Counters are those of `zone_statistics` (numa_hit, numa_miss, numa_foreign, numa_local, numa_other).

use crate::numa::migrate::{self, ZoneFacts};
use numalab_model::machine::Machine;

/// Allocation statistics, summed over the nodes, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocCounters {
    /// Allocated on the first node of the request's list.
    pub numa_hit: u64,
    /// Allocated elsewhere.
    pub numa_miss: u64,
    /// Intended here, allocated elsewhere.
    pub numa_foreign: u64,
    /// Allocated on the node of the allocating CPU.
    pub numa_local: u64,
    /// Allocated on another node than that of the allocating CPU.
    pub numa_other: u64,
    /// Allocated by an interleave policy on the intended node.
    pub numa_interleave: u64,
}

/// Memory of all nodes.
#[derive(Clone, Debug)]
pub struct NodeMemory {
    total_pages: Vec<u64>,
    /// One zone per node, with its free pages.
    zones: Vec<ZoneFacts>,
    low_pages: Vec<u64>,
    min_pages: Vec<u64>,
    /// Nodes by distance from each node, nearest first, nodes without memory left out.
    fallback: Vec<Vec<u8>>,
    /// Statistics.
    pub counters: AllocCounters,
}

impl NodeMemory {
    /// All memory free; watermarks by thp-and-allocation.md section 2 (cap 262144 KiB, scale factor 10).
    pub fn new(machine: &Machine) -> Self {
        let total: Vec<u64> = machine.nodes.iter().map(|n| n.memory_bytes / super::PAGE_BYTES).collect();
        let all: u64 = total.iter().sum();
        let min_free_kb = ((16.0 * all as f64 * 4.0).sqrt() as u64).clamp(128, 262_144);
        let min =
            |t: u64| if all == 0 { 0 } else { (u128::from(min_free_kb / 4) * u128::from(t) / u128::from(all)) as u64 };
        let step = |t: u64| (min(t) / 4).max(t / 1000);
        let fallback = (0..total.len())
            .map(|from| {
                let mut order: Vec<u8> = (0..total.len()).filter(|&n| total[n] > 0).map(|n| n as u8).collect();
                order.sort_by_key(|&n| (machine.distance[from][n as usize], n));
                order
            })
            .collect();
        Self {
            zones: total
                .iter()
                .map(|&t| ZoneFacts {
                    populated: t > 0,
                    free_pages: t,
                    high_wmark: min(t) + 2 * step(t),
                    promo_wmark: min(t) + 3 * step(t),
                    lowmem_reserve: 0,
                })
                .collect(),
            min_pages: total.iter().map(|&t| min(t)).collect(),
            low_pages: total.iter().map(|&t| min(t) + step(t)).collect(),
            total_pages: total,
            fallback,
            counters: AllocCounters::default(),
        }
    }
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.total_pages.len()
    }
    /// Free pages of a node.
    pub fn free(&self, node: usize) -> u64 {
        self.zones[node].free_pages
    }
    /// Used pages of a node.
    pub fn used(&self, node: usize) -> u64 {
        self.total_pages[node] - self.zones[node].free_pages
    }
    /// Nodes with memory in order of distance from `node`.
    pub fn fallback(&self, node: usize) -> &[u8] {
        &self.fallback[node]
    }
    /// Allocates `pages` (1 or 512) for a CPU of node `here`, trying `preferred`'s fallback order within
    /// `allowed` (a node bit mask), first above the low, then above the min watermark.
    /// Returns the node, or `None` when nothing is left (out of memory).
    pub fn alloc(&mut self, here: usize, preferred: usize, allowed: u64, pages: u64) -> Option<usize> {
        let first = self.fallback[preferred].iter().copied().find(|&n| allowed >> n & 1 != 0)? as usize;
        let node = if self.zones[first].free_pages > self.low_pages[first] + pages - 1 {
            first
        } else {
            self.walk(preferred, allowed, pages)?
        };
        self.take(node, pages);
        self.count(here, first, node, pages);
        Some(node)
    }
    /// Allocates strictly on `node`, whatever the watermarks (migration destination; the caller has asked
    /// [`migrate::nearly_full`] first). False if the node has not so many free pages.
    pub fn alloc_migration(&mut self, here: usize, node: usize, pages: u64) -> bool {
        if self.zones[node].free_pages < pages {
            return false;
        }
        self.take(node, pages);
        self.count(here, node, node, pages);
        true
    }
    /// Allocates strictly on `node` above its low watermark (`__GFP_THISNODE`).
    pub fn alloc_this_node(&mut self, here: usize, node: usize, pages: u64) -> bool {
        if self.zones[node].free_pages < self.low_pages[node] + pages {
            return false;
        }
        self.take(node, pages);
        self.count(here, node, node, pages);
        true
    }
    /// Returns pages to a node.
    pub fn release(&mut self, node: usize, pages: u64) {
        self.zones[node].free_pages += pages;
        debug_assert!(self.zones[node].free_pages <= self.total_pages[node]);
    }
    fn walk(&self, preferred: usize, allowed: u64, pages: u64) -> Option<usize> {
        for marks in [&self.low_pages, &self.min_pages] {
            for &n in &self.fallback[preferred] {
                let n = n as usize;
                if allowed >> n & 1 != 0 && self.zones[n].free_pages > marks[n] + pages - 1 {
                    return Some(n);
                }
            }
        }
        None
    }
    #[inline]
    fn take(&mut self, node: usize, pages: u64) {
        self.zones[node].free_pages -= pages;
    }
    #[inline]
    fn count(&mut self, here: usize, first: usize, node: usize, pages: u64) {
        let c = &mut self.counters;
        if node == first {
            c.numa_hit += pages;
        } else {
            c.numa_miss += pages;
            c.numa_foreign += pages;
        }
        if node == here {
            c.numa_local += pages;
        } else {
            c.numa_other += pages;
        }
    }
}

impl migrate::NodeMemory for NodeMemory {
    fn zones(&self, node: usize) -> &[ZoneFacts] {
        std::slice::from_ref(&self.zones[node])
    }
    fn present_pages(&self, node: usize) -> u64 {
        self.total_pages[node]
    }
}
