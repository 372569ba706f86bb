//! Totals that a source states, beside what it lists.

/// Totals as a source states them; what it does not state is `None` or empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    /// CPUs that are there, offline ones included.
    pub cpus: Option<usize>,
    /// CPUs that are online, and those that are not.
    pub online: Option<Vec<u32>>,
    pub offline: Vec<u32>,
    /// Nodes, by number and by id.
    pub nodes: Option<usize>,
    pub node_ids: Option<Vec<u32>>,
    pub packages: Option<usize>,
    pub cores_per_package: Option<usize>,
    pub threads_per_core: Option<usize>,
    /// Whether the machine is known to have cores of different kinds, so that a product of totals means nothing.
    pub hybrid: bool,
    /// Memory of the whole machine with the share by which it may be off, and who says so.
    pub memory: Option<(u64, f64, &'static str)>,
}
