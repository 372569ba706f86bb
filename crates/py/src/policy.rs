//! Decisions of the modelled kernel that an object of Python makes.
//!
//! Problem: a policy of a mail should be tried in minutes. Each role asks once per decision, so the price of a call of
//! Python is paid then, and by no run without a policy.
//! Approach: [`Policy`] holds an [`Asker`] for an object, which implements the traits of the kernel. It calls those
//! methods that the object has. The first exception is kept, further questions get the answer of a kernel that does
//! nothing, and the exception is raised when the run has ended.
//! Invariant: a hook lives as long as the program, so each `Policy` leaves one small object behind.

use crate::policy_views::{Page, PageMove, Pass, Scan, Sides, TaskMove, Vma};
use numalab_kernel::numa::caller::{self, PageMovePolicy, PeriodPolicy, PlacementPolicy, TaskMovePolicy};
use numalab_kernel::numa::page::PageFacts;
use numalab_kernel::numa::page_filter::{PagePolicy, Verdict};
use numalab_kernel::numa::state::VmaNuma;
use numalab_kernel::numa::vma_filter::{Access, FilterContext, VmaPolicy};
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
    /// `placement_imbalance`, `preferred_node`, `scan_period`, `migrate_page`, `move_task`.
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
            period: has("scan_period").then_some(asker as &'static dyn PeriodPolicy),
            page_move: has("migrate_page").then_some(asker as &'static dyn PageMovePolicy),
            task_move: has("move_task").then_some(asker as &'static dyn TaskMovePolicy),
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

impl PeriodPolicy for Asker {
    fn scan_period(&self, pass: &caller::Pass, role_ms: u32) -> Option<u32> {
        self.ask("scan_period", |object| object.call_method1("scan_period", (Pass::of(pass), role_ms))?.extract())
    }
}

impl PageMovePolicy for Asker {
    fn migrate_page(&self, page: &caller::PageMove<'_>, role: bool) -> Option<bool> {
        self.ask("migrate_page", |object| object.call_method1("migrate_page", (PageMove::of(page), role))?.extract())
    }
}

impl TaskMovePolicy for Asker {
    fn move_task(&self, found: &caller::TaskMove) -> Option<bool> {
        self.ask("move_task", |object| object.call_method1("move_task", (TaskMove::of(found),))?.extract())
    }
}
