//! All tests of this crate that use it from outside, one program: a module a subject.
#![allow(clippy::unwrap_used)]

mod docs;
mod explain;
mod forms;
mod html;
mod mmtests_text;
mod support;
