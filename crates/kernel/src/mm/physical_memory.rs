//! Physical memory of the machine: zones, fallback orders, accounts, page cache, swap, kernel daemons.
//!
//! The page allocator (`alloc`), reclaim and compaction are methods of [`PhysicalMemory`] in their own folders. This
//! file builds it, frees pages, and answers queries. A page is named by its pageblock ([`Frame`]).

use super::account::{NodeAccount, PageClass};
use super::config::{MmConfig, ZoneLayout};
use super::counters::{AllocCounters, MmCounters};
use super::units::CHUNK_PAGES;
use crate::mm::alloc::slow_rules::SlowRules;
use crate::mm::compact::attempt::ZoneCompaction;
use crate::mm::compact::odds::Odds;
use crate::mm::pageblock::frame::Frame;
use crate::mm::pageblock::pageblocks::Pageblocks;
use crate::mm::reclaim::daemons::{Kcompactd, Kswapd};
use crate::mm::reclaim::demotion::demotion_targets;
use crate::mm::reclaim::files::FileLists;
use crate::mm::reclaim::swap::SwapDevice;
use crate::mm::thp::tunables::ThpEnabled;
use crate::mm::zone::layout::{layout, Zone};
use crate::mm::zone::watermark::{min_free_kbytes, recommended_min_free_kbytes, Watermarks};
use crate::mm::zone::zonelist::{fallback_orders, NodeShape};
use crate::numa::migrate::{self, ZoneFacts};
use numalab_base::node_mask::NodeMask;
use numalab_base::rng::Rng;
use numalab_nouns::machine::Machine;

/// Label of the random stream of a node's memory.
const RNG_PURPOSE: u64 = 0x6d65_6d00;

/// Memory of all nodes.
#[derive(Clone, Debug)]
pub struct PhysicalMemory {
    /// Allocation statistics, summed over all nodes.
    pub counters: AllocCounters,
    /// Events of huge pages, compaction, reclaim and swap.
    pub events: MmCounters,
    /// The swap device.
    pub swap: SwapDevice,
    /// Allocation statistics of each node.
    pub(super) node_counters: Vec<AllocCounters>,
    pub(super) cfg: MmConfig,
    pub(super) rules: SlowRules,
    pub(super) zones: Vec<Zone>,
    /// Free pages and watermarks of each zone, as NUMA balancing reads them. The zones of a node are adjacent.
    pub(super) facts: Vec<ZoneFacts>,
    /// First zone of each node, plus one entry for the end.
    first_zone: Vec<usize>,
    /// Nodes with memory in the fallback order of each node.
    pub(super) fallback: Vec<Vec<u16>>,
    /// Zones in the fallback order of each node, the highest zone of a node first.
    pub(super) zonelists: Vec<Vec<u16>>,
    pub(super) distance: Vec<Vec<u8>>,
    /// Present pages of each node.
    pub(super) present: Vec<u64>,
    pub(super) reclaim_distance: u8,
    memory_nodes: NodeMask,
    pub(super) cpu_nodes: NodeMask,
    /// Demotion target of each node.
    pub(super) demotion: Vec<Option<usize>>,
    pub(super) accounts: Vec<NodeAccount>,
    pub(super) files: Vec<FileLists>,
    pub(super) kswapd: Vec<Kswapd>,
    pub(super) kcompactd: Vec<Kcompactd>,
    /// Hugetlb pages that nobody has mapped, by node.
    pub(super) hugetlb_pool: Vec<Vec<Frame>>,
    /// Unmapped pages of partly mapped huge pages, by node.
    pub(super) deferred_split_pages: Vec<u64>,
    /// Pages evicted and activated so far, by node (`nonresident_age`).
    pub(super) nonresident_age: Vec<u64>,
    /// Whether a node reclaim is under way, by node.
    pub(super) reclaiming: Vec<bool>,
    pub(super) rng: Vec<Rng>,
    pub(super) async_odds: Odds,
    pub(super) sync_odds: Odds,
}

impl PhysicalMemory {
    /// All memory free, with default settings: watermarks as with huge pages enabled, one zone per node, no swap.
    pub fn new(machine: &Machine) -> Self {
        Self::with_config(machine, &MmConfig::default(), 0)
    }
    /// All memory free, with these settings. `seed` feeds what depends on hardware and timing.
    pub fn with_config(machine: &Machine, cfg: &MmConfig, seed: u64) -> Self {
        let n = machine.nodes.len();
        let present: Vec<u64> = machine.nodes.iter().map(|node| cfg.vm.base_page.pages(node.memory_bytes)).collect();
        let memory = NodeMask::of((0..n).filter(|i| present[*i] > 0));
        let cpus = NodeMask::of((0..n).filter(|i| !machine.nodes[*i].cpus.is_empty()));
        let fallback = fallback_orders(&NodeShape { distance: &machine.distance, memory, cpus });
        let (zones, facts, first_zone) = build_zones(&present, cfg);
        let zones_of = |node: &u16| (first_zone[usize::from(*node)]..first_zone[usize::from(*node) + 1]).rev();
        let walk = |order: &Vec<u16>| order.iter().flat_map(zones_of).map(|z| z as u16).collect();
        Self {
            counters: AllocCounters::default(),
            events: MmCounters::default(),
            swap: SwapDevice::new(cfg.swap.size_mb, cfg.vm.base_page),
            node_counters: vec![AllocCounters::default(); n],
            cfg: *cfg,
            rules: cfg.slow_rules(),
            zonelists: fallback.iter().map(walk).collect(),
            zones,
            facts,
            first_zone,
            fallback,
            distance: machine.distance.clone(),
            reclaim_distance: machine.node_reclaim_distance,
            memory_nodes: memory,
            cpu_nodes: cpus,
            demotion: demotion_targets(machine),
            accounts: vec![NodeAccount::default(); n],
            files: vec![FileLists::default(); n],
            kswapd: vec![Kswapd::default(); n],
            kcompactd: vec![Kcompactd::default(); n],
            hugetlb_pool: vec![Vec::new(); n],
            deferred_split_pages: vec![0; n],
            nonresident_age: vec![0; n],
            reclaiming: vec![false; n],
            rng: (0..n as u64).map(|i| Rng::stream(seed, i, RNG_PURPOSE)).collect(),
            async_odds: Odds::new(cfg.compact.async_unmovable),
            sync_odds: Odds::new(cfg.compact.sync_unmovable),
            present,
        }
    }
    /// The settings.
    pub fn config(&self) -> &MmConfig {
        &self.cfg
    }
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.present.len()
    }
    /// Nodes with memory.
    #[inline]
    pub fn memory_nodes(&self) -> NodeMask {
        self.memory_nodes
    }
    /// Memory that the state of pageblocks takes in the simulator, bytes.
    pub fn state_bytes(&self) -> usize {
        self.zones.iter().map(|z| z.pageblocks.state_bytes()).sum()
    }
    /// Free pages of a node.
    pub fn free(&self, node: usize) -> u64 {
        self.zones_of(node).map(|z| self.facts[z].free_pages).sum()
    }
    /// Used pages of a node.
    pub fn used(&self, node: usize) -> u64 {
        self.present[node] - self.free(node)
    }
    /// Free aligned blocks of 512 pages of a node (F9).
    pub fn empty_blocks(&self, node: usize) -> u64 {
        self.zones_of(node).map(|z| self.zones[z].pageblocks.empty_blocks()).sum()
    }
    /// Use of a node's memory.
    pub fn account(&self, node: usize) -> &NodeAccount {
        &self.accounts[node]
    }
    /// Allocation statistics of a node.
    pub fn node_counters(&self, node: usize) -> &AllocCounters {
        &self.node_counters[node]
    }
    /// Pages of a node that belong to partly mapped huge pages and are not mapped. Memory pressure frees them.
    pub fn deferred_split_pages(&self, node: usize) -> u64 {
        self.deferred_split_pages[node]
    }
    /// Watermarks of a node without boost: sums over its zones. Vectors of thp-and-allocation.md section 17 give them;
    /// allocation looks at single zones.
    pub fn watermarks(&self, node: usize) -> Watermarks {
        self.zones_of(node).map(|z| self.zones[z].marks).fold(Watermarks::default(), |a, b| Watermarks {
            min: a.min + b.min,
            low: a.low + b.low,
            high: a.high + b.high,
            promo: a.promo + b.promo,
        })
    }
    /// Node to which reclaim of `node` demotes pages; `None` if demotion is off or there is no slower tier.
    pub fn demotion_target(&self, node: usize) -> Option<usize> {
        self.cfg.vm.demotion.then(|| self.demotion[node]).flatten()
    }
    /// Whether reclaim can swap out or demote anonymous pages of a node.
    pub fn can_reclaim_anon(&self, node: usize) -> bool {
        self.swap.free_slots() > 0 || self.demotion_target(node).is_some()
    }
    /// Nodes with memory in the fallback order of `node`.
    pub fn fallback(&self, node: usize) -> &[u16] {
        &self.fallback[node]
    }
    /// Distance between two nodes (SLIT).
    pub fn distance(&self, from: usize, to: usize) -> u8 {
        self.distance[from][to]
    }
    /// Indices of a node's zones, lowest first.
    #[inline]
    pub(super) fn zones_of(&self, node: usize) -> std::ops::Range<usize> {
        self.first_zone[node]..self.first_zone[node + 1]
    }
    /// The zone of a frame of a node. For an unknown frame it is the highest zone of the node with such a page.
    #[inline]
    pub(in crate::mm) fn zone_of_frame(&self, node: usize, frame: Frame, class: PageClass) -> usize {
        let zones = self.zones_of(node);
        if zones.len() == 1 {
            return zones.start;
        }
        let huge = class.is_huge();
        let used = |z: &usize| {
            let zone = &self.zones[*z];
            if huge {
                zone.pageblocks.huge_blocks() > 0
            } else {
                self.facts[*z].free_pages + CHUNK_PAGES * zone.pageblocks.huge_blocks() < zone.managed
            }
        };
        let known = |z: &usize| self.zones[*z].pageblocks.holds(frame);
        zones.clone().find(known).or_else(|| zones.clone().rev().find(used)).unwrap_or(zones.start)
    }

    /// Frees a page of a node (512 base pages for a huge one).
    #[inline]
    pub fn free_page(&mut self, node: usize, frame: Frame, class: PageClass) {
        let zone = self.zone_of_frame(node, frame, class);
        let pageblocks = &mut self.zones[zone].pageblocks;
        let (freed, pages) = match class {
            c if c.is_huge() => (pageblocks.put_huge(frame), CHUNK_PAGES),
            c if c.is_movable() => (pageblocks.put_movable(frame), 1),
            _ => (pageblocks.put_unmovable(frame), 1),
        };
        debug_assert!(freed, "{class:?} {frame:?} is not in use on node {node}");
        if freed {
            self.facts[zone].free_pages += pages;
            let accounted = self.accounts[node].remove(class, pages, frame.has(Frame::ACTIVE));
            debug_assert!(accounted, "no {class:?} pages on node {node}");
        }
    }
    /// Splits a huge page into 512 anonymous base pages of the same pageblock. Returns false if the frame is not a
    /// huge page.
    pub fn split_frame(&mut self, node: usize, frame: Frame) -> bool {
        let zone = self.zone_of_frame(node, frame, PageClass::AnonHuge);
        self.zones[zone].pageblocks.split_huge(frame)
            && self.accounts[node].change(PageClass::AnonHuge, PageClass::Anon, CHUNK_PAGES)
    }
    /// Fragments the free memory of a node for a scenario (see [`Pageblocks::fragment`]). Movable pages put into use
    /// count as shared memory, unmovable ones as other memory of the kernel.
    pub fn fragment(&mut self, node: usize, free_permille: u64, unmovable_permille: u64) {
        for z in self.zones_of(node) {
            let aged = self.zones[z].pageblocks.fragment(free_permille, unmovable_permille, &mut self.rng[node]);
            self.facts[z].free_pages -= aged.movable + aged.unmovable;
            self.accounts[node].add(PageClass::Shmem, aged.movable, false);
            self.accounts[node].add(PageClass::KernelOther, aged.unmovable, false);
        }
    }

    /// Checks accounts, pageblocks and free counts of every node.
    ///
    /// # Errors
    /// A sentence that names the first disagreement.
    pub fn check(&self) -> Result<(), String> {
        for node in 0..self.nodes() {
            for z in self.zones_of(node) {
                let free = self.zones[z].pageblocks.check().map_err(|e| format!("zone {z}: {e}"))?;
                if free != self.facts[z].free_pages {
                    return Err(format!(
                        "zone {z}: {free} pages free in its blocks, {} counted",
                        self.facts[z].free_pages
                    ));
                }
            }
            let account = &self.accounts[node];
            account
                .check(&self.zones[self.zones_of(node)], self.free(node))
                .map_err(|e| format!("node {node}: {e}"))?;
            let huge: u64 = self.zones_of(node).map(|z| self.zones[z].pageblocks.huge_blocks()).sum();
            let pages = account.pages(PageClass::AnonHuge) + account.pages(PageClass::Hugetlb);
            if huge * CHUNK_PAGES != pages {
                return Err(format!("node {node}: {huge} huge blocks, {pages} pages"));
            }
            let files = &self.files[node];
            if (files.inactive(), files.active()) != (account.lru.inactive_file, account.lru.active_file) {
                return Err(format!("node {node}: file lists and LRU counts differ"));
            }
        }
        Ok(())
    }
}

impl migrate::ZoneInfo for PhysicalMemory {
    fn zones(&self, node: usize) -> &[ZoneFacts] {
        &self.facts[self.zones_of(node)]
    }
    fn present_pages(&self, node: usize) -> u64 {
        self.present[node]
    }
}

/// Zones of all nodes with their watermarks, their data for NUMA balancing, and the first zone of each node.
fn build_zones(present: &[u64], cfg: &MmConfig) -> (Vec<Zone>, Vec<ZoneFacts>, Vec<usize>) {
    let lowmem: u64 = present.iter().sum();
    let min_free_pages = cfg.vm.base_page.pages(min_free_kb(present, lowmem, cfg) << 10);
    let (mut zones, mut facts, mut first) = (Vec::new(), Vec::new(), vec![0]);
    let mut base = 0;
    for (node, pages) in present.iter().enumerate() {
        for (kind, managed, lowmem_reserve) in layout(node, *pages, cfg.vm.zones == ZoneLayout::Z2) {
            let marks = Watermarks::new(managed, min_free_pages, lowmem, u64::from(cfg.vm.watermark_scale_factor));
            let pageblocks = Pageblocks::new(base, managed);
            base = pageblocks.end();
            zones.push(Zone {
                node,
                kind,
                managed,
                marks,
                boost: 0,
                pageblocks,
                compaction: ZoneCompaction::default(),
            });
            facts.push(ZoneFacts {
                populated: true,
                free_pages: managed,
                high_wmark: marks.high,
                promo_wmark: marks.promo,
                lowmem_reserve,
            });
        }
        first.push(zones.len());
    }
    (zones, facts, first)
}

/// `min_free_kbytes` after boot and, with huge pages enabled, after khugepaged has started. The real machine has a DMA
/// and a DMA32 zone besides one Normal zone per node, and khugepaged counts them all.
fn min_free_kb(present: &[u64], lowmem: u64, cfg: &MmConfig) -> u64 {
    if cfg.vm.min_free_kbytes > 0 {
        return cfg.vm.min_free_kbytes;
    }
    let boot = min_free_kbytes(cfg.vm.base_page.bytes_of(lowmem) >> 10, cfg.vm.min_free_cap_kbytes);
    let zones = present.iter().filter(|p| **p > 0).count() as u64 + 2;
    if cfg.thp.enabled == ThpEnabled::Never {
        boot
    } else {
        boot.max(recommended_min_free_kbytes(zones, lowmem))
    }
}
