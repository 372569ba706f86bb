//! The verbs of the command, one file or folder each: arguments and what they do.

pub mod advise;
pub mod balance;
pub mod compare;
pub mod completions;
pub mod counters;
pub mod doctor;
pub mod explain;
pub mod fit;
pub mod kernel;
pub mod list;
pub mod machine;
pub mod man;
pub mod record;
pub mod repeat;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod show;
pub mod sweep;
pub mod trace;
pub mod tune;
pub mod validate;
pub mod watch;
