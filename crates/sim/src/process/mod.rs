//! Processes and threads: creation, and the pages that every program has.

pub(crate) mod background;
pub(crate) mod fork;
pub(crate) mod program_pages;
