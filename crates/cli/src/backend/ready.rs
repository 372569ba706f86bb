//! What a backend makes of an experiment.

use crate::execute::Backend;
use numalab_model::experiment::Cell;

/// An experiment resolved for a backend.
pub struct Ready {
    /// The backend that carries out its runs.
    pub backend: Box<dyn Backend>,
    /// The runs, with everything they name resolved.
    pub cells: Vec<Cell>,
    /// Suffix of the default directory's name, so that every backend has a directory of its own.
    pub suffix: &'static str,
    /// Largest number of runs at a time.
    pub jobs_max: usize,
}
