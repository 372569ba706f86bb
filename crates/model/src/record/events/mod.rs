//! The first line of an event log, and reading a log from a file. [`numalab_nouns::record::events`] has the entries.

mod header;
#[cfg(feature = "store")]
mod reader;

pub use header::{CpuEntry, Header, ProcessEntry};
pub use numalab_nouns::record::events::*;
#[cfg(feature = "store")]
pub use reader::Events;
