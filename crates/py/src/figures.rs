//! Figures of many plans, collected row by row.
//!
//! Problem: a sweep keeps a hundred figures of every plan, twice: as a file of the cache and as a row of the dataset.
//! As objects of Python they took more time than everything else between two runs.
//! Approach: a row goes from the outcome, or from a text of the cache, into typed columns. They leave as one table.

use crate::outcome::Outcome;
use crate::table::{Column, Table};
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use numalab_model::record;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Figures of plans, a row for each.
#[pyclass(module = "numalab._native")]
#[derive(Default)]
pub struct Figures {
    status: Vec<String>,
    reason: Vec<Option<String>>,
    names: HashMap<String, usize>,
    columns: Vec<(String, Numbers)>,
}

/// A column; rows that lack the figure have `None`.
enum Numbers {
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
}

/// A figure.
#[derive(Clone, Copy)]
enum Number {
    Whole(i64),
    Real(f64),
}

impl Numbers {
    /// Appends a figure as that of row `row`. A column of whole numbers that gets another one becomes one of reals.
    fn put(&mut self, row: usize, number: Number) {
        if let (Self::Whole(values), Number::Real(_)) = (&mut *self, number) {
            *self = Self::Real(values.iter().map(|v| v.map(|v| v as f64)).collect());
        }
        match (self, number) {
            (Self::Whole(values), Number::Whole(value)) => {
                values.resize(row, None);
                values.push(Some(value));
            }
            (Self::Real(values), Number::Real(value)) => {
                values.resize(row, None);
                values.push(Some(value));
            }
            (Self::Real(values), Number::Whole(value)) => {
                values.resize(row, None);
                values.push(Some(value as f64));
            }
            (Self::Whole(_), Number::Real(_)) => {}
        }
    }
    /// The column as an array of `rows` values.
    fn array(&self, rows: usize) -> ArrayRef {
        let missing = |there: usize| rows.saturating_sub(there);
        match self {
            Self::Whole(v) => {
                let rest = std::iter::repeat_n(None, missing(v.len()));
                Arc::new(v.iter().copied().chain(rest).collect::<Int64Array>())
            }
            Self::Real(v) => {
                let rest = std::iter::repeat_n(None, missing(v.len()));
                Arc::new(v.iter().copied().chain(rest).collect::<Float64Array>())
            }
        }
    }
}

/// A count as a number of 64 bits with a sign, which is what readers of the dataset have.
fn whole(count: u64) -> Number {
    Number::Whole(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Figures, counters and reasons of an outcome by name.
fn numbers(outcome: &record::Outcome) -> impl Iterator<Item = (&str, Number)> {
    let scalars = outcome.scalars.iter().map(|s| (s.name.as_str(), Number::Real(s.value)));
    let counts = outcome.counters.iter().chain(&outcome.reasons);
    scalars.chain(counts.map(|(name, count)| (name.as_str(), whole(*count))))
}

/// The text of an outcome in a cache: an object of `status`, `reason` and every figure.
fn text(outcome: &Outcome) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(4096);
    let mut json = serde_json::Serializer::new(&mut out);
    let mut map = json.serialize_map(None)?;
    map.serialize_entry("status", outcome.word())?;
    map.serialize_entry("reason", &outcome.failure())?;
    for (name, number) in numbers(&outcome.inner) {
        match number {
            Number::Whole(value) => map.serialize_entry(name, &value)?,
            Number::Real(value) => map.serialize_entry(name, &value)?,
        }
    }
    map.end()?;
    Ok(out)
}

/// Status, reason and figures of a plan.
type Parts = (String, Option<String>, Vec<(String, Number)>);

/// The parts of a text of a cache; `None` if it is no such text.
fn parts(text: &[u8]) -> Option<Parts> {
    let Value::Object(mut map) = serde_json::from_slice(text).ok()? else { return None };
    let Value::String(status) = map.remove("status")? else { return None };
    let reason = match map.remove("reason") {
        None | Some(Value::Null) => None,
        Some(Value::String(reason)) => Some(reason),
        Some(_) => return None,
    };
    let number = |value: Value| match value.as_i64() {
        Some(value) => Some(Number::Whole(value)),
        None => value.as_f64().map(Number::Real),
    };
    let figures = map.into_iter().map(|(name, value)| Some((name, number(value)?)));
    Some((status, reason, figures.collect::<Option<_>>()?))
}

impl Figures {
    fn put(&mut self, row: usize, name: &str, number: Number) {
        let at = self.names.get(name).copied().unwrap_or_else(|| {
            self.names.insert(name.to_string(), self.columns.len());
            self.columns.push((name.to_string(), Numbers::Whole(Vec::new())));
            self.columns.len() - 1
        });
        self.columns[at].1.put(row, number);
    }
    /// Begins a row and returns its number.
    fn begin(&mut self, status: &str, reason: Option<&str>) -> usize {
        self.status.push(status.to_string());
        self.reason.push(reason.map(str::to_string));
        self.status.len() - 1
    }
}

#[pymethods]
impl Figures {
    #[new]
    fn new() -> Self {
        Self::default()
    }
    fn __len__(&self) -> usize {
        self.status.len()
    }
    /// Adds the row of an outcome, and returns the text that `read` takes: JSON.
    fn add<'py>(&mut self, py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyBytes>> {
        let text = text(outcome).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let row = self.begin(outcome.word(), outcome.failure());
        for (name, number) in numbers(&outcome.inner) {
            self.put(row, name, number);
        }
        Ok(PyBytes::new(py, &text))
    }
    /// Adds the row of a text that `add` returned. A text of anything else adds nothing, and `False` is returned.
    fn read(&mut self, text: &[u8]) -> bool {
        let Some((status, reason, figures)) = parts(text) else { return false };
        let row = self.begin(&status, reason.as_deref());
        for (name, number) in figures {
            self.put(row, &name, number);
        }
        true
    }
    /// Adds the row of a plan that was refused.
    fn refuse(&mut self, reason: &str) {
        self.begin("refused", Some(reason));
    }
    /// The rows as a table: `status`, `reason`, then a column for each figure; null where a row has none.
    fn table(&self) -> PyResult<Table> {
        let rows = self.status.len();
        let own = |name: &str, values: ArrayRef| Column { name: name.into(), unit: String::new(), values };
        let mut columns = vec![
            own("status", Arc::new(StringArray::from_iter_values(&self.status))),
            own("reason", Arc::new(StringArray::from_iter(&self.reason))),
        ];
        columns.extend(self.columns.iter().map(|(name, values)| own(name, values.array(rows))));
        Table::with_nulls(columns)
    }
}
