//! Small value types and macros that every other crate may use. This crate depends on no other crate of the workspace.
//!
//! * [`tunable`] tunables of policies and their values; the macro [`tunables!`];
//! * [`base_page`] the size of a base page;
//! * [`rung_list`] the value of the tunable `thp.ladder`;
//! * [`mod@words`] the macro [`words!`]: enums whose variants have a word in catalogs and on the command line;
//!   the macro [`variants!`]: such enums with a file for each variant;
//! * [`mod@counters`] the macro [`counters!`]: structs of event counters with a table of names;
//! * [`node_mask`] and [`cpu_set`] sets of NUMA nodes and of CPUs;
//! * [`mod@plain_name`] names of programs as names of columns and files;
//! * [`mod@visible_text`] text of unknown origin as it may be shown;
//! * [`rng`] the frozen random number generators;
//! * [`math`] logarithm and exponential with the same bits on every platform.

pub mod base_page;
pub mod counters;
pub mod cpu_set;
pub mod grain;
pub mod hook;
pub mod math;
pub mod node_mask;
pub mod node_weights;
pub mod plain_name;
pub mod rng;
pub mod rung_list;
pub mod tunable;
pub mod visible_text;
pub mod words;
