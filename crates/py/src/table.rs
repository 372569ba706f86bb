//! A table of figures, which leaves as an Arrow stream.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;
use std::sync::Arc;

/// Columns of equal length, as a producer of the Arrow PyCapsule interface.
#[pyclass(frozen, module = "numalab._native")]
pub struct Table {
    batch: RecordBatch,
}

/// A column: its name, its unit, and its values.
pub struct Column {
    pub name: String,
    pub unit: String,
    pub values: ArrayRef,
}

impl Table {
    /// A table of columns without nulls; a unit is kept as metadata of its column.
    pub fn new(columns: Vec<Column>) -> PyResult<Self> {
        Self::of(columns, false)
    }
    /// A table of columns that may have nulls.
    pub fn with_nulls(columns: Vec<Column>) -> PyResult<Self> {
        Self::of(columns, true)
    }
    fn of(columns: Vec<Column>, nulls: bool) -> PyResult<Self> {
        let field = |c: &Column| {
            let unit = (!c.unit.is_empty()).then(|| ("unit".to_string(), c.unit.clone()));
            let kind: DataType = c.values.data_type().clone();
            Field::new(&c.name, kind, nulls).with_metadata(unit.into_iter().collect::<HashMap<_, _>>())
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let batch = RecordBatch::try_new(schema, columns.into_iter().map(|c| c.values).collect());
        batch.map(|batch| Self { batch }).map_err(|e| PyValueError::new_err(e.to_string()))
    }
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|f| f.name().clone()).collect()
    }
    /// Units of the columns, in their order; empty for a column without one.
    #[getter]
    fn units(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema.fields().iter().map(|f| f.metadata().get("unit").cloned().unwrap_or_default()).collect()
    }
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
    /// The Arrow C stream of the table. Buffers are shared, not copied.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore the request (Arrow PyCapsule interface).
        let _ = requested_schema;
        let schema = self.batch.schema();
        let reader = RecordBatchIterator::new(vec![Ok(self.batch.clone())], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}
