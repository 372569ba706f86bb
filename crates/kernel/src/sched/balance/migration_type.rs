//! What a pass counts while it detaches tasks (`enum migration_type`).

/// What is counted while tasks are detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationType {
    /// Load averages.
    Load,
    /// Utilisation.
    Util,
    /// Tasks.
    Task,
}
