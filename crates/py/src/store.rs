//! Records on disk, as the command writes them.

use crate::catalog::Request;
use crate::error;
use crate::outcome::Outcome;
use crate::plan::Plan;
use numalab_model::record;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;

/// An experiment's directory that is open for runs. While it is, no other process can write to it.
#[pyclass(frozen, module = "numalab._native")]
pub struct Store {
    // `close` drops it, which releases the lock on the directory.
    store: Mutex<Option<record::Store>>,
}

impl Store {
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&record::Store) -> Result<T, record::RecordError>,
    ) -> PyResult<T> {
        let store = self.store.lock().map_err(|e| error::lab(py, 3, &e.to_string()))?;
        let open = store.as_ref().ok_or_else(|| error::lab(py, 2, "the records are closed"))?;
        work(open).map_err(|e| error::record(py, e))
    }
}

#[pymethods]
impl Store {
    /// Opens `dir` for the runs of `request`.
    #[new]
    fn new(py: Python<'_>, request: &Request, dir: PathBuf) -> PyResult<Self> {
        let store = record::Store::create(&dir, &request.experiment, &request.cells);
        let store = store.map_err(|e| error::record(py, e))?;
        Ok(Self { store: Mutex::new(Some(store)) })
    }
    /// The outcome of a plan that has a record, else `None`.
    fn get(&self, py: Python<'_>, plan: &Plan) -> PyResult<Option<Outcome>> {
        let found = self.with(py, |s| s.get(&plan.input().id))?;
        Ok(found.map(|r| Outcome::from(r.outcome)))
    }
    /// Removes the record of a plan, if there is one.
    fn forget(&self, py: Python<'_>, plan: &Plan) -> PyResult<()> {
        self.with(py, |s| s.forget(&plan.input().id))
    }
    /// Writes the record of a plan.
    fn put(&self, py: Python<'_>, plan: &Plan, outcome: &Outcome) -> PyResult<()> {
        self.with(py, |s| s.put(plan.input(), &outcome.inner).map(|_| ()))
    }
    /// Lists the runs in the experiment, in place of those that they replace, and lets others write again.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, record::Store::settle)?;
        self.release();
        Ok(())
    }
    /// Lets others write again; runs without a record stay unlisted.
    fn release(&self) {
        if let Ok(mut store) = self.store.lock() {
            store.take();
        }
    }
}
