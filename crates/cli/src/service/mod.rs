//! What several verbs do: each file is one service. A verb imports services and no other verb; a service imports no
//! verb.

pub mod accesses;
pub mod answer;
pub mod carry_out;
pub mod dry_run;
pub mod entries;
pub mod guest_accesses;
pub mod measured_program;
pub mod page;
pub mod python;
pub mod sampled_accesses;
pub mod show;
