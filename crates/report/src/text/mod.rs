//! Reports as text, one file per form.

pub mod csv;
pub mod lkp;
pub mod markdown;
pub mod mmtests;
