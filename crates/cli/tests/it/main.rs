//! All tests of this crate that use it from outside, one program: a module a subject.
#![allow(clippy::unwrap_used)]

mod ab;
mod accesses;
mod advise;
mod answer;
mod bad_input;
mod bad_requests;
mod catalog;
mod columns;
mod common;
mod compare;
mod completions_and_man;
mod cost;
mod counters;
mod docs;
mod domains;
mod fit;
mod helps;
mod hints;
mod host;
mod images;
mod kernel_try;
mod machines;
mod operators;
mod private_state;
mod programs;
mod python_verbs;
mod report;
mod reproduce;
mod run;
mod settled_runs;
mod signals;
mod sources;
mod surroundings;
mod trace;
mod vm;
