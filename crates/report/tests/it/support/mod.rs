//! What several subjects share.

pub mod layout;
pub mod synthetic;
