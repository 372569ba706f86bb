//! Memory policies: the seven modes, per task and per VMA (thp-and-allocation.md section 6).
//!
//! A policy turns into a [`PolicyNodes`] for one allocation: where the walk starts and which nodes it may use. The page
//! allocator knows nothing of policies.

pub(in crate::mm) mod interleave;
pub(in crate::mm) mod mempolicy;
pub(in crate::mm) mod placement;

pub use interleave::{interleave_index, node_of_index};
pub use mempolicy::{all_nodes, MemPolicy, PolicyError};
pub use numalab_model::workload::PolicyMode;
pub use placement::PolicyNodes;
