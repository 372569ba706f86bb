//! Memory policies: the seven modes, per task and per VMA (thp-and-allocation.md section 6).
//!
//! For one allocation a policy gives [`PolicyNodes`]: the node whose fallback order is used, and the allowed nodes.
//! The page allocator does not know policies.

pub mod auto_weights;
pub(in crate::mm) mod interleave;
pub(in crate::mm) mod mempolicy;
pub(in crate::mm) mod policy_nodes;
mod tunables;

pub use interleave::{interleave_index, node_of_index};
pub use mempolicy::{all_nodes, MemPolicy, PolicyError};
pub use numalab_nouns::workload::PolicyMode;
pub use policy_nodes::PolicyNodes;
pub use tunables::MempolicyTunables;
