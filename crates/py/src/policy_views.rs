//! What the methods of a policy in Python are given: copies of what the modelled kernel knows.

use numalab_kernel::numa::caller;
use numalab_kernel::numa::page::PageFacts;
use numalab_kernel::numa::state::VmaNuma;
use numalab_kernel::numa::vma_filter::FilterContext;
use pyo3::prelude::*;

/// A mapping, as the scanner knows it.
#[pyclass(frozen, module = "numalab._native")]
pub struct Vma {
    /// What the scanner has noted.
    pub vma: VmaNuma,
    /// First address.
    pub start: u64,
    /// Address after it.
    pub end: u64,
}

#[pymethods]
impl Vma {
    /// First address.
    #[getter]
    fn start(&self) -> u64 {
        self.start
    }
    /// Address after the mapping.
    #[getter]
    fn end(&self) -> u64 {
        self.end
    }
    /// Number of scan visits so far, if they are counted.
    #[getter]
    fn scan_counter(&self) -> u32 {
        self.vma.scan_counter
    }
    /// Pass in which the scanner first came to the mapping.
    #[getter]
    fn start_scan_seq(&self) -> i32 {
        self.vma.start_scan_seq
    }
    /// Last pass that completed the mapping.
    #[getter]
    fn prev_scan_seq(&self) -> i32 {
        self.vma.prev_scan_seq
    }
    /// Whether a thread faulted here lately.
    fn accessed_by(&self, tid: u32) -> bool {
        self.vma.accessed_by(tid)
    }
    /// How many threads faulted here lately.
    fn accessed_count(&self) -> u32 {
        self.vma.accessed_count()
    }
}

/// The scan that comes to a mapping.
#[pyclass(frozen, module = "numalab._native")]
pub struct Scan {
    /// Who scans.
    pub context: FilterContext,
}

#[pymethods]
impl Scan {
    /// Completed passes over the address space.
    #[getter]
    fn seq(&self) -> i32 {
        self.context.seq
    }
    /// Thread that scans.
    #[getter]
    fn tid(&self) -> u32 {
        self.context.tid
    }
    /// Address where the scan of the process resumes.
    #[getter]
    fn scan_offset(&self) -> u64 {
        self.context.scan_offset
    }
    /// Threads of the process.
    #[getter]
    fn nr_threads(&self) -> u32 {
        self.context.nr_threads
    }
    /// Budget of one scan, MiB.
    #[getter]
    fn scan_size_mb(&self) -> u32 {
        self.context.scan_size_mb
    }
}

/// A page, as the scanner meets it.
#[pyclass(frozen, module = "numalab._native")]
pub struct Page {
    /// Its facts.
    pub page: PageFacts,
}

#[pymethods]
impl Page {
    /// Node.
    #[getter]
    fn node(&self) -> usize {
        self.page.nid
    }
    /// Base pages of 4 KiB.
    #[getter]
    fn pages(&self) -> u32 {
        self.page.pages
    }
    /// Whether a huge entry maps it.
    #[getter]
    fn huge(&self) -> bool {
        self.page.huge
    }
    /// Mappings by all processes.
    #[getter]
    fn mapcount(&self) -> u32 {
        self.page.mapcount
    }
    /// References.
    #[getter]
    fn refcount(&self) -> u32 {
        self.page.refcount
    }
    /// Whether the mapping is shared.
    #[getter]
    fn shared_mapping(&self) -> bool {
        self.page.shared_mapping
    }
    /// Whether the mapping may become writable.
    #[getter]
    fn may_write(&self) -> bool {
        self.page.may_write
    }
    /// Whether it is of a file.
    #[getter]
    fn file(&self) -> bool {
        self.page.file_lru
    }
    /// Whether it is dirty.
    #[getter]
    fn dirty(&self) -> bool {
        self.page.dirty
    }
}

/// The two sides of a decision about an imbalance; what a question has no figure for is 0.
#[pyclass(frozen, get_all, module = "numalab._native")]
#[derive(Default)]
pub struct Sides {
    /// Tasks here.
    pub nr: u32,
    /// CPUs here.
    pub weight: u32,
    /// Idle CPUs here.
    pub idle: u32,
    /// Tasks there.
    pub other_nr: u32,
    /// CPUs there.
    pub other_weight: u32,
    /// Idle CPUs there.
    pub other_idle: u32,
    /// Threshold of the domain.
    pub imb_numa_nr: u32,
}

/// What a task has learned since its last placement.
#[pyclass(frozen, get_all, module = "numalab._native")]
pub struct Pass {
    /// Thread.
    pub task: u32,
    /// Its scan period until now, ms of its run time.
    pub period_ms: u32,
    /// Shortest period, ms.
    pub min_ms: u32,
    /// Longest period, ms.
    pub max_ms: u32,
    /// Pages of remote faults.
    pub remote: u64,
    /// Pages of local faults.
    pub local: u64,
    /// Pages whose migration failed.
    pub failed: u64,
    /// Pages that other threads faulted on before.
    pub shared: u64,
    /// Pages that the thread itself faulted on before.
    pub private: u64,
}

impl Pass {
    /// A copy.
    pub fn of(p: &caller::Pass) -> Self {
        Self {
            task: p.task,
            period_ms: p.period_ms,
            min_ms: p.min_ms,
            max_ms: p.max_ms,
            remote: p.remote,
            local: p.local,
            failed: p.failed,
            shared: p.shared,
            private: p.private,
        }
    }
}

/// A page on which a thread of another node has faulted.
#[pyclass(frozen, get_all, module = "numalab._native")]
pub struct PageMove {
    /// The faulting thread.
    pub task: u32,
    /// Node of the page.
    pub node: usize,
    /// The faulting node.
    pub to_node: usize,
    /// Base pages of it.
    pub pages: u32,
    /// Whether a huge entry maps it.
    pub huge: bool,
    /// Mappings by all processes.
    pub mapcount: u32,
    /// Whether the mapping is shared.
    pub shared_mapping: bool,
    /// Node of its last hint fault; `None` before the first one.
    pub last_node: Option<usize>,
    /// Whether its last hint fault was one of this thread.
    pub last_was_own: bool,
    /// Averages of the thread's memory faults, by node; empty before its first pass.
    pub faults: Vec<u64>,
}

impl PageMove {
    /// A copy.
    pub fn of(p: &caller::PageMove<'_>) -> Self {
        Self {
            task: p.task,
            node: p.node,
            to_node: p.to_node,
            pages: p.pages,
            huge: p.huge,
            mapcount: p.mapcount,
            shared_mapping: p.shared_mapping,
            last_node: p.last_node,
            last_was_own: p.last_was_own,
            faults: p.faults.to_vec(),
        }
    }
}

/// The move of a thread that a search has found.
#[pyclass(frozen, get_all, module = "numalab._native")]
pub struct TaskMove {
    /// Thread.
    pub task: u32,
    /// CPU on which it runs.
    pub cpu: usize,
    /// Node of that CPU.
    pub node: usize,
    /// CPU that was found.
    pub to_cpu: usize,
    /// Node of that CPU.
    pub to_node: usize,
    /// Thread that would come in return.
    pub swap_with: Option<u32>,
    /// What the search expects of it, thousandths of all faults of the thread or its group.
    pub gain: i64,
}

impl TaskMove {
    /// A copy.
    pub fn of(found: &caller::TaskMove) -> Self {
        Self {
            task: found.task,
            cpu: found.cpu,
            node: found.node,
            to_cpu: found.to_cpu,
            to_node: found.to_node,
            swap_with: found.swap_with,
            gain: found.gain,
        }
    }
}
