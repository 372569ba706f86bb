//! Decisions of the modelled kernel that an object of Python makes.
//!
//! Problem: a policy of a mail should be tried in minutes. Each role asks once per decision, so the price of a call of
//! Python is paid then, and by no run without a policy.
//! Approach: [`Policy`] holds an [`Asker`] for an object, which implements the traits of the kernel. It calls those
//! methods that the object has. The first exception is kept, further questions get the answer of a kernel that does
//! nothing, and the exception is raised when the run has ended.
//! Invariant: a hook lives as long as the program, so each `Policy` leaves one small object behind.

use numalab_kernel::numa::page::PageFacts;
use numalab_kernel::numa::page_filter::{PagePolicy, Verdict};
use numalab_kernel::numa::state::VmaNuma;
use numalab_kernel::numa::vma_filter::{Access, FilterContext, VmaPolicy};
use numalab_kernel::numa::PlacementPolicy;
use numalab_kernel::sched::imbalance::{ForkSides, ImbalancePolicy, PlacementLoad, PullSides};
use numalab_sim::Policies;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// An object of Python that makes decisions, and the first exception that it raised.
struct Asker {
    object: Py<PyAny>,
    questions: Vec<String>,
    counts_visits: bool,
    problem: Mutex<Option<PyErr>>,
}

/// An exception of a policy.
pub struct Problem(pub PyErr);

/// A policy that runs can be given.
#[pyclass(frozen, module = "numalab._native")]
pub struct Policy {
    asker: &'static Asker,
}

#[pymethods]
impl Policy {
    /// A policy of `object`, which has the methods `questions`: `access`, `mark`, `fork_stays`, `tasks_to_move`,
    /// `placement_imbalance`, `preferred_node`.
    #[new]
    fn new(object: Py<PyAny>, questions: Vec<String>, counts_visits: bool) -> Self {
        let asker = Asker { object, questions, counts_visits, problem: Mutex::new(None) };
        Self { asker: Box::leak(Box::new(asker)) }
    }
}

impl Policy {
    /// The hooks of the roles that the object fills.
    pub fn hooks(&self) -> Policies {
        let (asker, has) = (self.asker, |q: &str| self.asker.has(q));
        let balances = ["fork_stays", "tasks_to_move", "placement_imbalance"].iter().any(|q| has(q));
        Policies {
            vma_filter: has("access").then_some(asker as &'static dyn VmaPolicy),
            page_filter: has("mark").then_some(asker as &'static dyn PagePolicy),
            imbalance: balances.then_some(asker as &'static dyn ImbalancePolicy),
            placement: has("preferred_node").then_some(asker as &'static dyn PlacementPolicy),
        }
    }
    /// The first exception since the last call.
    pub fn problem(&self) -> Option<Problem> {
        self.asker.problem.lock().unwrap_or_else(PoisonError::into_inner).take().map(Problem)
    }
}

impl Asker {
    fn has(&self, question: &str) -> bool {
        self.questions.iter().any(|q| q == question)
    }
    /// The answer to a question; `None` if the object does not answer it, or has raised an exception.
    fn ask<T>(
        &self,
        question: &str,
        answer: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Option<T>>,
    ) -> Option<T> {
        if !self.has(question) || self.problem.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return None;
        }
        Python::attach(|py| match answer(self.object.bind(py)) {
            Ok(answer) => answer,
            Err(e) => {
                *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
                None
            }
        })
    }
}

impl VmaPolicy for Asker {
    fn access(&self, vma: &VmaNuma, c: &FilterContext) -> Access {
        let answer = self.ask("access", |object| {
            let seen = (Vma { vma: *vma, start: c.start, end: c.end }, Scan { context: *c });
            let answer = object.call_method1("access", seen)?;
            if let Ok(word) = answer.extract::<&str>() {
                let problem =
                    || PyTypeError::new_err(format!("access returned {word:?}; expected True, False or \"partial\""));
                return if word == "partial" { Ok(Some(Access::AllowPartial)) } else { Err(problem()) };
            }
            Ok(Some(if answer.extract::<bool>()? { Access::Allow } else { Access::Deny }))
        });
        answer.unwrap_or(Access::Deny)
    }
    fn counts_visits(&self) -> bool {
        self.counts_visits
    }
}

impl PagePolicy for Asker {
    fn verdict(&self, page: &PageFacts) -> Verdict {
        let answer = self.ask("mark", |object| {
            let mark = object.call_method1("mark", (Page { page: *page },))?.extract::<bool>()?;
            Ok(Some(if mark { Verdict::Mark } else { Verdict::Skip }))
        });
        answer.unwrap_or(Verdict::Skip)
    }
}

impl ImbalancePolicy for Asker {
    fn fork_stays(&self, s: &ForkSides) -> Option<bool> {
        let sides = Sides { nr: s.local_nr, weight: s.local_weight, idle: s.local_idle, ..Sides::default() };
        let sides = Sides { other_idle: s.idlest_idle, imb_numa_nr: s.imb_numa_nr, ..sides };
        self.ask("fork_stays", |object| object.call_method1("fork_stays", (sides,))?.extract())
    }
    fn tasks_to_move(&self, raw: i64, s: &PullSides) -> Option<i64> {
        let sides = Sides { nr: s.local_nr, weight: s.local_weight, other_nr: s.busiest_nr, ..Sides::default() };
        let sides = Sides { other_weight: s.busiest_weight, imb_numa_nr: s.imb_numa_nr, ..sides };
        self.ask("tasks_to_move", |object| object.call_method1("tasks_to_move", (raw, sides))?.extract())
    }
    fn placement(&self, l: &PlacementLoad) -> Option<u32> {
        let sides = Sides { nr: l.src_running, other_nr: l.dst_running, ..Sides::default() };
        let sides = Sides { other_weight: l.dst_weight, imb_numa_nr: l.imb_numa_nr, ..sides };
        self.ask("placement_imbalance", |object| {
            object.call_method1("placement_imbalance", (l.imbalance, sides))?.extract()
        })
    }
}

impl PlacementPolicy for Asker {
    fn preferred_node(&self, task: u32, faults: &[u64], node: usize, role: Option<usize>) -> Option<usize> {
        let answer = self.ask("preferred_node", |object| {
            let chosen = object.call_method1("preferred_node", (task, faults.to_vec(), node, role))?;
            Ok(Some(chosen.extract::<Option<usize>>()?))
        });
        answer.unwrap_or(role)
    }
}

/// A mapping, as the scanner knows it.
#[pyclass(frozen, module = "numalab._native")]
pub struct Vma {
    vma: VmaNuma,
    start: u64,
    end: u64,
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
    context: FilterContext,
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
    page: PageFacts,
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
