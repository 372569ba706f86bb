//! What a run will need, known before it starts.

pub(crate) mod memory;
pub(crate) mod model_time;
pub(crate) mod touched;
