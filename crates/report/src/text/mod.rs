//! Reports as text, one file per form.

pub mod answer;
pub mod assessment;
pub mod csv;
pub mod lkp;
pub mod markdown;
pub mod mmtests;
pub mod summary;
