//! What a run writes down: logs, time series and the outcome.

pub(crate) mod footprint;
pub(crate) mod log;
pub(crate) mod maps;
pub(crate) mod never_scanned;
pub(crate) mod outcome;
pub(crate) mod samples;
pub(crate) mod steady;
