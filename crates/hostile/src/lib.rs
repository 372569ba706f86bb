//! Hostile inputs: every reader of numalab, the inputs it starts from, and what an input may cost.
//!
//! Problem: files come from strangers, and a reader that panics, or takes a minute for a page of text, is found by
//! them. Approach: [`READERS`] lists all readers as functions of bytes. Inputs are made from files of the catalog and
//! from samples, by changes at random ([`change`]), and libFuzzer finds more of them (`make fuzz`). Each is read within
//! a budget of CPU time and memory that grows with its length ([`Budget`]). Whatever broke a reader once stays in
//! `found/`, and is read in every test.

pub mod budget;
pub mod change;
mod files;
pub mod readers;
mod samples;
mod texts;

pub use budget::{Budget, Cost};
pub use readers::{Reader, READERS};
