//! The verbs, one file each: arguments and what they do.

pub mod compare;
pub mod counters;
pub mod doctor;
pub mod domains;
pub mod explain;
pub mod kernel;
pub mod list;
pub mod machine;
pub mod repeat;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod shell;
pub mod show;
pub mod trace;
pub mod validate;
