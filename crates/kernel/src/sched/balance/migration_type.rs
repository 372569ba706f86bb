//! What a pass counts while it detaches tasks (kernel: `enum migration_type`).

/// What a pass counts while it detaches tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationType {
    /// Load averages.
    Load,
    /// Utilisation.
    Util,
    /// Tasks.
    Task,
    /// Tasks that prefer the cache of the destination (7.2).
    LlcTask,
}
