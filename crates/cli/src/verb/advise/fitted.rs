//! A workload that was fitted to a recorded command, and the size at which it is simulated.

use crate::failure::Failure;
use numalab_accesses::fit::{Fit, Scaled};
use numalab_model::experiment::Param;
use numalab_model::kernel::Setting;
use numalab_model::spec::Spot;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// A fitted workload and its file.
pub struct Made {
    /// The fit.
    pub fit: Fit,
    /// The file.
    pub file: PathBuf,
}

/// For what size, how long, and where a fit is simulated.
pub struct Sized<'a> {
    /// The size.
    pub scaled: &'a Scaled,
    /// How often its loops are repeated.
    pub repeat: u64,
    /// The machine as asked.
    pub machine: &'a str,
    /// The kernel.
    pub kernel: &'a Spot<String>,
    /// Simulated runs at a time, if the user chose it.
    pub jobs: Option<NonZeroUsize>,
}

/// The parameters of a workload of that size.
///
/// # Errors
/// A value is no expression.
pub fn params(workload: &str, sized: &Sized<'_>) -> Result<Vec<Param>, Failure> {
    let repeated = ("repeat".to_string(), sized.repeat.to_string());
    let one = |(key, value): &(String, String)| {
        let setting = Setting::from_argument("--param", &format!("{key}={value}"))?;
        Ok(Param { workload: Some(workload.to_string()), setting })
    };
    sized.scaled.params.iter().chain([&repeated]).map(one).collect()
}
