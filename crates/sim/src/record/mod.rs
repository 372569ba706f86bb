//! What a run writes down: logs, time series, the outcome, and the checks at its end.

pub(crate) mod check;
pub(crate) mod footprint;
pub(crate) mod log;
pub(crate) mod maps;
pub(crate) mod outcome;
pub(crate) mod samples;
