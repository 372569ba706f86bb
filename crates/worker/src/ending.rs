//! How a run ends that has no outcome, and what is added to the reason of one that has failed.

use crate::sample::vmstat::Vmstat;
use numalab_job::setting::SettingError;
use numalab_nouns::record::Status;

/// Why a run has no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It could not be started or observed, for this reason.
    #[error("{0}")]
    Refused(String),
    /// The kernel lacks, refuses or changes a setting.
    #[error("{0}")]
    Setting(#[from] SettingError),
    /// A signal of this number ended it.
    #[error("ended by signal {0}; settings are undone, nothing is recorded")]
    Stopped(i32),
}

impl From<String> for RunError {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

/// Adds to a failure that the kernel ran out of memory, if it killed a process for that.
pub fn add_oom_kill(status: Status, start: &Vmstat, end: &Vmstat) -> Status {
    let kills = end.get("oom_kill").unwrap_or(0).saturating_sub(start.get("oom_kill").unwrap_or(0));
    match status {
        Status::Failed(reason) if kills > 0 => Status::Failed(format!("out of memory: {reason}")),
        other => other,
    }
}
