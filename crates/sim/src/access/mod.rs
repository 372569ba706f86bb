//! How tasks use memory and compute: one file per way of walking memory, their list in [`walks`], and what it costs.

pub(crate) mod access_cost;
pub(crate) mod compute;
pub(crate) mod cow_run;
pub(crate) mod direct_io;
pub(crate) mod fault_run;
pub(crate) mod first_comer;
pub(crate) mod hint_run;
pub(crate) mod interleaved_run;
pub(crate) mod progress;
pub(crate) mod random;
pub(crate) mod random_pages;
pub(crate) mod read_file;
pub(crate) mod rounds;
pub(crate) mod scattered_blocks;
pub(crate) mod stride;
pub(crate) mod sweep;
pub(crate) mod touch_run;
pub(crate) mod walk;
pub(crate) mod walks;
