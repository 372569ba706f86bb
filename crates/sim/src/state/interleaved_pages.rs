//! Pages side by side of which a policy chooses the node of each, on their way to be allocated.

use numalab_base::node_mask::NodeId;
use numalab_kernel::mm::alloc::RunSource;

/// The pages, and where they come from. Kept from run to run, so that a run allocates nothing.
#[derive(Debug, Default)]
pub struct InterleavedPages {
    /// The node of each page.
    pub nodes: Vec<NodeId>,
    /// The zone of each node that they have.
    pub sources: Vec<RunSource>,
}
