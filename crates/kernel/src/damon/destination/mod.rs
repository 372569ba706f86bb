//! Where a page goes that a scheme migrates: one file per form, and their list in [`rule`].

pub(super) mod one_node;
mod rule;
pub(super) mod weighted;

pub use rule::{Destination, Destinations};
