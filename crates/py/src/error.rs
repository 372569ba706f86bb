//! Failures of the command as exceptions of `numalab.errors`.

use numalab_cli::failure::Failure;
use numalab_model::record::RecordError;
use numalab_model::spec::SpecError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception `SpecError`, with place, expectation and suggestion as fields.
pub fn spec(py: Python<'_>, e: &SpecError) -> PyErr {
    let made = (|| {
        let fields = PyDict::new(py);
        fields.set_item("file", &e.file)?;
        fields.set_item("line", (e.line > 0).then_some(e.line))?;
        fields.set_item("column", (e.column > 0).then_some(e.column))?;
        fields.set_item("what", &e.what)?;
        fields.set_item("expected", &e.expected)?;
        fields.set_item("suggestion", &e.nearest)?;
        let class = py.import("numalab.errors")?.getattr("SpecError")?;
        class.call((e.to_string(),), Some(&fields))
    })();
    made.map_or_else(|e| e, PyErr::from_value)
}

/// The exception `LabError`, with the exit code that the command would end with.
pub fn failure(py: Python<'_>, e: &Failure) -> PyErr {
    lab(py, e.exit.code(), &e.message)
}

/// The exception `LabError` for records.
pub fn record(py: Python<'_>, e: RecordError) -> PyErr {
    failure(py, &Failure::from(e))
}

/// The exception `LabError`.
pub fn lab(py: Python<'_>, code: u8, message: &str) -> PyErr {
    let class = py.import("numalab.errors").and_then(|m| m.getattr("LabError"));
    class.and_then(|c| c.call1((code, message))).map_or_else(|e| e, PyErr::from_value)
}
