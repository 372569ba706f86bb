//! What a run measured.

use crate::table::{Column, Table};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use numalab_model::record::{self, Status};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Times in s, and name and rates of each score.
type SettledParts = (f64, f64, f64, Vec<(String, f64, f64)>);

/// The outcome of a run.
#[pyclass(frozen, module = "numalab._native")]
pub struct Outcome {
    pub inner: Arc<record::Outcome>,
}

impl From<record::Outcome> for Outcome {
    fn from(outcome: record::Outcome) -> Self {
        Self { inner: Arc::new(outcome) }
    }
}

impl Outcome {
    /// How the run ended, in a word.
    pub fn word(&self) -> &'static str {
        match self.inner.status {
            Status::Completed => "completed",
            Status::Timeout => "timeout",
            Status::Failed(_) => "failed",
        }
    }
    /// Why a failed run failed.
    pub fn failure(&self) -> Option<&str> {
        match &self.inner.status {
            Status::Failed(why) => Some(why),
            _ => None,
        }
    }
}

fn column(name: &str, unit: &str, values: ArrayRef) -> Column {
    Column { name: name.into(), unit: unit.into(), values }
}

#[pymethods]
impl Outcome {
    /// `completed`, `timeout` or `failed`.
    #[getter]
    fn status(&self) -> &'static str {
        self.word()
    }
    /// Why a failed run failed; `None` for any other.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.failure()
    }
    /// Figures by name: `elapsed_s` and so on, then scores.
    #[getter]
    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        self.inner.scalars.iter().try_for_each(|s| out.set_item(&s.name, s.value))?;
        Ok(out)
    }
    /// Figures as a table: name, value, unit, higher_is_better.
    #[getter]
    fn scalar_table(&self) -> PyResult<Table> {
        let s = &self.inner.scalars;
        let text = |of: fn(&record::Scalar) -> &str| Arc::new(StringArray::from_iter_values(s.iter().map(of)));
        Table::new(vec![
            column("name", "", text(|s| &s.name)),
            column("value", "", Arc::new(Float64Array::from_iter_values(s.iter().map(|s| s.value)))),
            column("unit", "", text(|s| &s.unit)),
            column(
                "higher_is_better",
                "",
                Arc::new(BooleanArray::from(s.iter().map(|s| s.higher_is_better).collect::<Vec<_>>())),
            ),
        ])
    }
    /// Counters of vmstat by name.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        self.inner.counters.iter().try_for_each(|(name, value)| out.set_item(name, *value))?;
        Ok(out)
    }
    /// Counts of skips and refusals by reason.
    #[getter]
    fn reasons<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        self.inner.reasons.iter().try_for_each(|(name, value)| out.set_item(name, *value))?;
        Ok(out)
    }
    /// Effective tunables: name, value, unit, and the name that the kernel gives it.
    #[getter]
    fn tunables(&self) -> Vec<(String, String, String, String)> {
        let one =
            |t: &record::EffectiveTunable| (t.name.clone(), t.value.clone(), t.unit.clone(), t.kernel_name.clone());
        self.inner.tunables.iter().map(one).collect()
    }
    /// Of a run whose rest was not simulated: when it had settled, what was simulated and what was not, s, and of each
    /// score its units a second once settled and before.
    #[getter]
    fn settled(&self) -> Option<SettledParts> {
        let s = self.inner.settled.as_ref()?;
        let rates = s.rates.iter().map(|r| (r.name.clone(), r.per_second, r.before_per_second));
        Some((s.after_s, s.simulated_s, s.skipped_s, rates.collect()))
    }
    /// Warnings for the reader.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings.clone()
    }
    /// Names of the time series.
    #[getter]
    fn series_names(&self) -> Vec<String> {
        self.inner.series.iter().map(|s| s.name.clone()).collect()
    }
    /// A time series: `time_ns`, then its columns.
    fn series(&self, name: &str) -> PyResult<Table> {
        let found = self.inner.series.iter().find(|s| s.name == name);
        let series = found.ok_or_else(|| {
            PyKeyError::new_err(format!("no series `{name}`; expected one of {}", self.series_names().join(", ")))
        })?;
        let time = Arc::new(UInt64Array::from(series.time_ns.clone()));
        let mut columns = vec![column("time_ns", "ns", time)];
        for (name, values) in series.columns.iter().zip(&series.values) {
            columns.push(column(name, &series.unit, Arc::new(Float64Array::from(values.clone()))));
        }
        Table::new(columns)
    }
    /// Whether another run measured the same, series included.
    fn same_as(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}
