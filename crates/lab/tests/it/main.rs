//! All tests of this crate that use it from outside, one program: a module a subject.
#![allow(clippy::unwrap_used)]

mod fidelity;
mod guest;
mod support;
