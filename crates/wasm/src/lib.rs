//! The simulator for a web page: the catalog, plans, runs in steps with a picture of each instant, and answers.
//!
//! Problem: watching a run teaches more than its table, and a page needs no installation. Approach: the crates that
//! decide figures are pure, so they are compiled to WebAssembly as they are. A page passes requests as JSON and gets
//! JSON back ([`exports`]); one instance of the module holds one run.
//!
//! * [`asked`]: what a page asks for, as the command's `run` takes it.
//! * [`sources`]: the names of a request, resolved with the catalog.
//! * [`session`]: one run, in steps.
//! * [`shown`]: a machine, a look at a run and its outcome as JSON.
//! * [`offer`]: what the catalog offers.
//! * [`answer`]: the answer of several outcomes, in the words of the command.
//!
//! Units: ns of model time, bytes. Invariant: the outcome of a plan has the same bytes as that of the native build.

pub mod answer;
pub mod asked;
pub mod exports;
pub mod offer;
pub mod session;
pub mod shown;
mod sources;
