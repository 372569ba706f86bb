//! A process: its address space and what belongs to all its threads.

use numalab_kernel::mm::{AddressSpace, Vma, VmaKind, CHUNK_BYTES};
use numalab_kernel::numa::VmaNuma;
use numalab_model::workload::{HugeAdvice, Process, Region};

/// Size of a thread stack mapping: the usual `ulimit -s` that glibc maps per thread.
pub const STACK_BYTES: u64 = 8 << 20;
/// Stack pages a thread touches: its frame and its thread-local data.
pub const STACK_PAGES: u64 = 2;
/// Top of the mmap area; mappings are placed downwards from here.
const MMAP_TOP: u64 = 0x7f00_0000_0000;

/// Run-time state of a process.
#[derive(Debug)]
pub struct ProcessState {
    /// Mappings.
    pub space: AddressSpace,
    /// NUMA state of each mapping, by mapping id.
    pub vma_numa: Vec<Option<VmaNuma>>,
    /// Mapping id of each region of the workload.
    pub region_vma: Vec<u32>,
    /// Mapping id of the stack of thread 1, 2, ...
    stacks: Vec<u32>,
    /// Next free address below everything mapped so far.
    next_top: u64,
    /// CPUs of each node that run a thread of this process now.
    pub running_on_node: Vec<u32>,
    /// Live threads.
    pub live_threads: u32,
    /// Time that shoot-downs so far cost each CPU running this process, ns; a CPU pays the part it has not paid.
    pub flush_debt_ns: u64,
    /// A protection change of this space is in progress until this time.
    pub protecting_until_ns: u64,
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
    /// A process that has not started.
    pub fn new(nodes: usize) -> Self {
        Self {
            space: AddressSpace::default(),
            vma_numa: Vec::new(),
            region_vma: Vec::new(),
            stacks: Vec::new(),
            next_top: MMAP_TOP,
            running_on_node: vec![0; nodes],
            live_threads: 0,
            flush_debt_ns: 0,
            protecting_until_ns: 0,
            user_ns: 0,
            system_ns: 0,
            blocked_ns: 0,
            joiner: None,
            started: false,
            ended: false,
        }
    }
    /// Maps the process's own regions: the first one lowest, all of them above later stacks.
    pub fn map_regions(&mut self, spec: &Process, thp: Thp, nodes: usize) {
        for region in spec.regions.iter().rev() {
            let start = self.place(region.size_bytes, region.misalign_bytes);
            let vma = Vma::new(start, start + region.size_bytes, VmaKind::PrivateAnon, thp.allows(region), nodes);
            let id = self.space.insert(vma);
            self.vma_numa.push(None);
            self.region_vma.push(id as u32);
        }
        self.region_vma.reverse();
    }
    /// Maps the stack of the next thread below everything else.
    pub fn map_stack(&mut self, nodes: usize) {
        let start = self.place(STACK_BYTES, 0);
        self.vma_numa.push(None);
        let id = self.space.insert(Vma::new(start, start + STACK_BYTES, VmaKind::Stack, false, nodes));
        self.stacks.push(id as u32);
    }
    /// Mapping id of a thread's stack; the initial thread's is not modelled.
    pub fn stack_of(&self, thread: u32) -> Option<usize> {
        self.stacks.get((thread as usize).checked_sub(1)?).map(|&v| v as usize)
    }
    /// Name of a mapping: the region of the workload, or the stack of a thread.
    pub fn name_of(&self, vma: usize, spec: &Process) -> String {
        let is = |id: &u32| *id as usize == vma;
        if let Some(region) = self.region_vma.iter().position(is).and_then(|r| spec.regions.get(r)) {
            return region.name.clone();
        }
        self.stacks.iter().position(is).map_or_else(|| format!("mapping {vma}"), |t| format!("stack of t{}", t + 1))
    }
    fn place(&mut self, size: u64, misalign: u64) -> u64 {
        let start = (self.next_top - size - CHUNK_BYTES) / CHUNK_BYTES * CHUNK_BYTES + misalign;
        self.next_top = start / CHUNK_BYTES * CHUNK_BYTES;
        start
    }
}

/// `transparent_hugepage/enabled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thp {
    /// Everywhere it fits.
    Always,
    /// Only where advised.
    Madvise,
    /// Nowhere.
    Never,
}

impl Thp {
    /// Whether a region may hold huge pages.
    pub fn allows(self, region: &Region) -> bool {
        match (self, region.advice) {
            (Thp::Never, _) | (_, HugeAdvice::NoHuge) => false,
            (Thp::Always, _) | (Thp::Madvise, HugeAdvice::Huge) => true,
            (Thp::Madvise, HugeAdvice::Default) => false,
        }
    }
}
