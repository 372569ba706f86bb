//! Who pays: CPU time, waits, TLB flushes, and what tasks that share a core or a cache take from each other.

pub(crate) mod blocking;
pub(crate) mod core;
pub(crate) mod late_ticks;
pub(crate) mod rewind;
pub(crate) mod spin;
pub(crate) mod time;
pub(crate) mod tlb_flush;
pub(crate) mod working_set;
