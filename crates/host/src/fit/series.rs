//! Series of a record, as a fit reads them.

use numalab_model::record::{Outcome, Series};

/// Series with the memory of each process on each node: of the simulator, and of real kernels.
pub(super) const MEMORY: [&str; 2] = ["process_pages", "node_pages"];
/// Bytes of a page.
pub(super) const PAGE_BYTES: f64 = 4096.0;

/// A series by its name; `None` if the record lacks it, or it has no sample.
pub(super) fn find<'a>(outcome: &'a Outcome, name: &str) -> Option<&'a Series> {
    outcome.series.iter().find(|s| s.name == name && !s.time_ns.is_empty())
}

/// Value of a column at a sample; 0 where it has none.
pub(super) fn at(series: &Series, column: usize, sample: usize) -> f64 {
    series.values.get(column).and_then(|v| v.get(sample)).copied().unwrap_or(0.0)
}
