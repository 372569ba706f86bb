//! A process: its address space and what belongs to all its threads.

use crate::sim_config::Harness;
use crate::state::lock_line::LockLine;
use crate::state::mmap_lock::MmapWriteLocks;
use crate::state::policies::{allowed, compile};
use crate::state::quiet_cpus::OwedFlush;
use crate::state::scan_visits::ScanVisits;
use crate::state::wait::NOBODY;
use numalab_base::base_page::BasePage;
use numalab_base::grain::Grain;
use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::policy::MemPolicy;
use numalab_kernel::mm::thp::{folio_orders, may_have_huge, ThpTunables};
use numalab_kernel::mm::{
    AddressSpace, CopiedEntries, Mapper, PhysicalMemory, SharedMemory, Vma, VmaKind, CHUNK_PAGES,
};
use numalab_kernel::numa::VmaNuma;
use numalab_nouns::workload::{ForkPoint, HugeAdvice, Process, Region, RegionKind, Workload};

/// Size of a thread stack mapping: the usual `ulimit -s` that glibc maps per thread.
pub const STACK_BYTES: u64 = 8 << 20;

/// The same in the worker program (`STACK_BYTES` of its process.rs).
const WORKER_STACK_BYTES: u64 = 128 << 10;

/// Page of a stack, counted from 1 at the top, that holds the thread's control block and thread-local data.
pub const CONTROL_BLOCK: usize = 1;

/// Page of a stack that its frames are in.
pub const FRAME: usize = 2;

/// Static data and heap that every thread of a process uses (estimate; in guests 73 to 101 pages of 4 KiB of eight
/// single-threaded processes of `cow-shared` are marked that belong to no region).
const DATA_BYTES: u64 = 32 << 10;

/// The same of a process of the worker of 2026-11-24: 19 pages beside its stack (`/proc/PID/pagemap` in a guest, with
/// the job of `cow-shared`; docs/log/linux-series.md).
const EARLIER_WORKER_DATA_BYTES: u64 = 76 << 10;

/// The same of a worker process that was started by exec: what is mapped writable and is its own, in a guest (31 to 35
/// pages in `/proc/PID/pagemap`, stack included).
const WORKER_DATA_BYTES: u64 = 124 << 10;

/// Size of the mapping of the initial thread's stack after exec (`setup_arg_pages` of fs/exec.c: 128 KiB beyond the
/// arguments, here one page).
const INITIAL_STACK_BYTES: u64 = 132 << 10;

/// Top of the mmap area; mappings are placed downwards from here.
const MMAP_TOP: u64 = 0x7f00_0000_0000;

/// Run-time state of a process.
#[derive(Debug)]
pub struct ProcessState {
    /// Base pages of its mappings.
    base_page: BasePage,
    /// Mappings.
    pub space: AddressSpace,
    /// NUMA state of each mapping, by mapping id.
    pub vma_numa: Vec<Option<VmaNuma>>,
    /// Visits of the scanner to each mapping, by mapping id.
    pub vma_scans: Vec<ScanVisits>,
    /// Policy of each mapping that has one of its own (`mbind`), by mapping id.
    pub vma_policy: Vec<Option<MemPolicy>>,
    /// The same for its huge pages, where the kernel has that (`mpol_huge`).
    pub vma_huge_policy: Vec<Option<MemPolicy>>,
    /// What a fault on each mapping takes more because it is memory of a virtual machine, ns; 0 for others.
    pub vma_second_level_fault_ns: Vec<u64>,
    /// Memory nodes of its cpuset.
    pub mems: NodeMask,
    /// Node its page tables are taken to be on: where a fork copied them, else where it first faulted.
    pub table_node: Option<usize>,
    /// It maps pages that other processes may map too.
    pub shares: bool,
    /// Regions inherited from its parent.
    inherited: usize,
    /// Mapping id of each region of the workload.
    pub region_vma: Vec<u32>,
    /// Mapping id of the stack of each thread.
    stacks: Vec<u32>,
    /// Mapping id of static data and heap.
    data: u32,
    /// Next free address below everything mapped so far.
    next_top: u64,
    /// CPUs of each node that run a thread of this process now.
    pub running_on_node: Vec<u32>,
    /// Live threads.
    pub live_threads: u32,
    /// Time that shoot-downs so far cost each CPU running this process, ns; a CPU pays the part it has not paid.
    pub flush_debt_ns: u64,
    /// Flushes that interrupted the CPUs that run it.
    pub flushes: u64,
    /// Flushes that its quiet CPUs may not have seen yet, in order of time.
    pub owed_flushes: Vec<OwedFlush>,
    /// Quiet CPUs that run it.
    pub quiet_cpus: u32,
    /// Scans of this space that marked something.
    pub marking_scans: u32,
    /// A protection change of this space is in progress until this time.
    pub protecting_until_ns: u64,
    /// Thread that does (schednuma).
    pub protector: u32,
    /// Until when a thread clears a new huge page with the lock of the address space held for reading, ns.
    pub filling_until_ns: u64,
    /// When khugepaged wants or has the lock of the address space for writing.
    pub mmap_write_locks: MmapWriteLocks,
    /// The lock that a fault takes for reading, once there are threads: of the address space, or of each mapping that
    /// was there before them, by mapping id. Stacks of threads come later, and nobody else faults there.
    pub lock_lines: Vec<LockLine>,
    /// Up to then slices that fault end with each bin of these locks, because one is in demand, ns.
    pub pressed_until_ns: u64,
    /// User time of ended and live threads, ns.
    pub user_ns: u64,
    /// System time, ns.
    pub system_ns: u64,
    /// Time blocked on pages, ns.
    pub blocked_ns: u64,
    /// Thread waiting for all others to end.
    pub joiner: Option<u32>,
    /// The initial thread exists.
    pub started: bool,
    /// Everything has ended.
    pub ended: bool,
}

impl ProcessState {
    /// A flush of its address space interrupts every CPU that runs it for `ns`.
    #[inline]
    pub fn owe_flush(&mut self, now_ns: u64, ns: u64) {
        self.owe_flushes(now_ns, ns, 1);
    }
    /// As [`Self::owe_flush`], so many flushes one after the other.
    #[inline]
    pub fn owe_flushes(&mut self, now_ns: u64, ns: u64, flushes: u64) {
        self.flush_debt_ns += ns * flushes;
        self.flushes += flushes;
        if self.quiet_cpus > 0 {
            self.owed_flushes.push(OwedFlush { at_ns: now_ns, debt_ns: self.flush_debt_ns, flushes: self.flushes });
        }
    }

    /// Whether its quiet CPUs have not seen many flushes, or flushes that take a good part of a tick.
    pub fn owes_much(&self, tick_ns: u64) -> bool {
        const MOST: usize = 1000;
        let unseen_ns = self.owed_flushes.first().map_or(0, |f| self.flush_debt_ns - f.debt_ns);
        unseen_ns > tick_ns / 4 || self.owed_flushes.len() > MOST
    }

    /// All processes of a workload, before any has started; `all` are the nodes with memory.
    pub fn all(workload: &Workload, page: BasePage, nodes: usize, all: NodeMask) -> Vec<Self> {
        workload.processes.iter().map(|p| Self::new(page, nodes, allowed(p, all))).collect()
    }
    /// A process that has not started, with the memory nodes of its cpuset.
    pub fn new(base_page: BasePage, nodes: usize, mems: NodeMask) -> Self {
        Self {
            base_page,
            mems,
            space: AddressSpace::default(),
            vma_numa: Vec::new(),
            vma_scans: Vec::new(),
            vma_policy: Vec::new(),
            vma_huge_policy: Vec::new(),
            vma_second_level_fault_ns: Vec::new(),
            table_node: None,
            shares: false,
            inherited: 0,
            region_vma: Vec::new(),
            stacks: Vec::new(),
            data: 0,
            next_top: MMAP_TOP,
            running_on_node: vec![0; nodes],
            live_threads: 0,
            flush_debt_ns: 0,
            flushes: 0,
            owed_flushes: Vec::new(),
            quiet_cpus: 0,
            marking_scans: 0,
            protecting_until_ns: 0,
            protector: NOBODY,
            filling_until_ns: 0,
            mmap_write_locks: MmapWriteLocks::default(),
            lock_lines: Vec::new(),
            pressed_until_ns: 0,
            user_ns: 0,
            system_ns: 0,
            blocked_ns: 0,
            joiner: None,
            started: false,
            ended: false,
        }
    }
    /// Copies the mappings of its parent at the fork: all regions, or only those the parent inherited itself.
    /// Returns what was copied.
    pub fn inherit(
        &mut self,
        parent: &mut ProcessState,
        (parent_id, id): (u32, u32),
        all: bool,
        (memory, store): (&mut PhysicalMemory, &mut SharedMemory),
    ) -> CopiedEntries {
        let regions = if all { parent.region_vma.len() } else { parent.inherited };
        let ids = &parent.region_vma[..regions];
        let copied = self.space.dup_mmap(ids, &mut parent.space, (parent_id, id), (memory, store));
        self.vma_policy = ids.iter().map(|&v| parent.vma_policy[v as usize].clone()).collect();
        // A child has no virtual CPUs.
        self.vma_second_level_fault_ns = vec![0; ids.len()];
        self.vma_huge_policy = ids.iter().map(|&v| parent.vma_huge_policy[v as usize].clone()).collect();
        self.vma_numa.resize(regions, None);
        self.vma_scans.resize(regions, ScanVisits::default());
        self.region_vma = (0..regions as u32).collect();
        self.inherited = regions;
        self.next_top = parent.next_top;
        self.shares = regions > 0;
        parent.shares |= regions > 0;
        copied
    }
    /// Maps the process's own regions, in grains of these orders: the first one lowest, all of them above later stacks.
    pub fn map_regions(
        &mut self,
        id: u32,
        spec: &Process,
        (thp, orders): (&ThpTunables, &[u32]),
        at: &PhysicalMemory,
        store: &mut SharedMemory,
    ) {
        let (nodes, mems) = (at.nodes(), self.mems);
        let mut own: Vec<u32> = Vec::with_capacity(spec.regions.len());
        for (number, region) in spec.regions.iter().enumerate().rev() {
            // A mapping begins and ends with whole pages (`mmap`).
            let size = self.base_page.ceil(region.size_bytes);
            let start = self.place(size, self.base_page.ceil(region.misalign_bytes));
            let end = start + size;
            let kind = kind_of(region.kind);
            let huge_ok = kind == VmaKind::PrivateAnon && may_have_huge(thp, region.advice);
            let grain = Grain::of(self.base_page, orders.get(number).copied().unwrap_or(0));
            let mut vma = Vma::in_grains(grain, (start, end), kind, huge_ok, nodes);
            if let Some(backing) = kind.backing() {
                vma.objects.push(store.create_in_grains(backing, vma.chunk_count(), grain.pages()));
            }
            vma.advised = region.advice == HugeAdvice::Huge;
            if kind == VmaKind::PrivateAnon {
                vma.folio_orders = folio_orders(thp, region.advice);
            }
            let objects = vma.objects.clone();
            let vma_id = self.space.insert(vma) as u32;
            for object in objects {
                store.object_mut(object).mappers.push(Mapper { process: id, vma: vma_id });
            }
            self.vma_numa.push(None);
            self.vma_scans.push(ScanVisits::default());
            self.vma_policy.push(region.policy.as_ref().map(|p| compile(p, mems)));
            self.vma_huge_policy.push(region.huge_policy.as_ref().map(|p| compile(p, mems)));
            self.vma_second_level_fault_ns.push(region.second_level_fault_ns);
            own.push(vma_id);
        }
        self.region_vma.extend(own.iter().rev());
    }
    /// Maps what every program has: static data with the heap, and the stack of the initial thread, above all regions.
    /// A pass of the scanner ends with them, so a scan whose budget ends with the last region leaves them to the next
    /// one.
    pub fn map_program(&mut self, nodes: usize, started_by_exec: Option<Harness>) {
        let end = MMAP_TOP + 2 * self.chunk_bytes();
        self.insert_stack(end - self.base_page.ceil(INITIAL_STACK_BYTES), end, nodes);
        let bytes = match started_by_exec {
            Some(Harness::Worker) => WORKER_DATA_BYTES,
            Some(Harness::EarlierWorker) => EARLIER_WORKER_DATA_BYTES,
            _ => DATA_BYTES,
        };
        let data = (MMAP_TOP, MMAP_TOP + self.base_page.ceil(bytes));
        self.data = self.insert(Vma::in_grains(Grain::one(self.base_page), data, VmaKind::PrivateAnon, false, nodes));
    }
    /// Makes the locks that its threads share in page faults: one, or one for each mapping.
    pub fn share_locks(&mut self, nodes: usize, one: bool) {
        if self.lock_lines.is_empty() {
            let locks = if one { 1 } else { self.space.len() };
            self.lock_lines.extend((0..locks).map(|_| LockLine::new(nodes)));
        }
    }
    /// Maps the stack of the next thread: below everything else, in the worker above.
    pub fn map_stack(&mut self, nodes: usize, harness: Harness) {
        if harness.is_worker() {
            let end = MMAP_TOP + (2 + self.stacks.len() as u64) * self.chunk_bytes();
            self.insert_stack(end - WORKER_STACK_BYTES, end, nodes);
            return;
        }
        let start = self.place(STACK_BYTES, 0);
        self.insert_stack(start, start + STACK_BYTES, nodes);
    }
    fn insert_stack(&mut self, start: u64, end: u64, nodes: usize) {
        let id = self.insert(Vma::in_grains(Grain::one(self.base_page), (start, end), VmaKind::Stack, false, nodes));
        self.stacks.push(id);
    }
    fn insert(&mut self, vma: Vma) -> u32 {
        self.vma_numa.push(None);
        self.vma_scans.push(ScanVisits::default());
        self.vma_policy.push(None);
        self.vma_huge_policy.push(None);
        self.vma_second_level_fault_ns.push(0);
        self.space.insert(vma) as u32
    }
    /// Mapping ids of its own regions, in the order of the workload; those that it inherited come before them.
    pub fn own_regions(&self) -> &[u32] {
        self.region_vma.get(self.inherited..).unwrap_or_default()
    }
    /// Mapping id of static data and heap.
    pub fn data(&self) -> usize {
        self.data as usize
    }
    /// Pages of static data and heap.
    pub fn data_pages(&self) -> usize {
        let data = self.space.vma(self.data());
        self.base_page.pages_up(data.end - data.start) as usize
    }
    /// Bytes of a chunk of its mappings.
    fn chunk_bytes(&self) -> u64 {
        self.base_page.bytes_of(CHUNK_PAGES)
    }
    /// Mapping id of a thread's stack.
    pub fn stack_of(&self, thread: u32) -> Option<usize> {
        self.stacks.get(thread as usize).map(|&v| v as usize)
    }
    /// Name of a mapping of this process, number `process` of the workload: that of the region, which may be one of the
    /// process that it was forked from, or of the stack of a thread.
    pub fn name_of(&self, vma: usize, (process, all): (usize, &[Process])) -> String {
        let is = |id: &u32| *id as usize == vma;
        if let Some(region) = self.region_vma.iter().position(is).and_then(|r| region(all, process, r, self.inherited))
        {
            return region.name.clone();
        }
        if vma == self.data() {
            return "data and heap".into();
        }
        self.stacks.iter().position(is).map_or_else(|| format!("mapping {vma}"), |t| format!("stack of t{t}"))
    }
    fn place(&mut self, size: u64, misalign: u64) -> u64 {
        let chunk_bytes = self.chunk_bytes();
        self.next_top = (self.next_top - size - chunk_bytes) / chunk_bytes * chunk_bytes;
        self.next_top + misalign
    }
}

/// Region `at` among those that a process has, of which it inherited the first ones.
fn region(all: &[Process], process: usize, at: usize, inherited: usize) -> Option<&Region> {
    match at.checked_sub(inherited) {
        Some(own) => all[process].regions.get(own),
        // A child has the first regions of its parent at the same places.
        None => all[process].parent.and_then(|parent| region(all, parent, at, inherited_by(all, parent))),
    }
}

/// Number of regions that a process inherits: all of its parent's, or what that one inherited itself
/// ([`ProcessState::inherit`]).
fn inherited_by(all: &[Process], process: usize) -> usize {
    let Some(parent) = all[process].parent else { return 0 };
    let own = if all[process].fork == ForkPoint::AfterPrologue { all[parent].regions.len() } else { 0 };
    inherited_by(all, parent) + own
}

/// A region's kind as the kernel sees the mapping.
fn kind_of(kind: RegionKind) -> VmaKind {
    match kind {
        RegionKind::PrivateAnon => VmaKind::PrivateAnon,
        RegionKind::SharedAnon => VmaKind::SharedAnon,
        RegionKind::CowData => VmaKind::CowData,
        RegionKind::FileRead => VmaKind::FileRead,
        RegionKind::FileShared => VmaKind::FileShared,
        RegionKind::Hugetlb => VmaKind::Hugetlb,
    }
}
