//! The cells of a record of accesses, as a table.

use crate::table::{Column, Table};
use arrow_array::{ArrayRef, StringArray, UInt64Array};
use numalab_accesses::{heat, record};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Who visited which memory when: a row for each thread, 2 MiB and slice of time of a record.
#[pyfunction]
pub fn accesses(py: Python<'_>, dir: PathBuf) -> PyResult<Table> {
    let rows = py.detach(|| record::read(&dir).map(|record| heat::rows(&record)));
    let rows = rows.map_err(|e| PyValueError::new_err(e.to_string()))?;
    let numbers = |name: &str, unit: &str, of: &dyn Fn(&heat::Row) -> u64| Column {
        name: name.into(),
        unit: unit.into(),
        values: Arc::new(UInt64Array::from_iter_values(rows.iter().map(of))) as ArrayRef,
    };
    let texts = |name: &str, of: fn(&heat::Row) -> &str| Column {
        name: name.into(),
        unit: String::new(),
        values: Arc::new(StringArray::from_iter_values(rows.iter().map(of))) as ArrayRef,
    };
    Table::new(vec![
        texts("process", |r| &r.process),
        numbers("pid", "", &|r| r.pid.into()),
        numbers("thread", "", &|r| r.thread.into()),
        numbers("begin", "instructions", &|r| r.begin),
        numbers("end", "instructions", &|r| r.end),
        texts("mapping", |r| &r.mapping),
        texts("place", |r| &r.place),
        numbers("address", "", &|r| r.address),
        numbers("bytes", "bytes", &|r| r.bytes),
        numbers("lines", "lines", &|r| r.lines),
        numbers("written", "lines", &|r| r.written),
        numbers("beyond_private", "lines", &|r| r.beyond_private),
        numbers("beyond_llc", "lines", &|r| r.beyond_llc),
        numbers("foreign", "lines", &|r| r.foreign),
    ])
}
