//! Reasons in sentences, from the decision log of a run ([`numalab_model::record::why`]).
//!
//! Problem: "why was this mapping never scanned?" has an answer in the run, as counts by reason and a short history, and a
//! reader wants it as sentences. Approach: one file per subject ([`vma`], [`page`], [`task`], [`node`]), and [`diff`] for
//! where two runs parted; each gives text. Without a name a subject lists what there is.
//! Invariant: a sentence says only what was logged; what was not kept is said to be missing.

pub mod diff;
mod names;
pub mod node;
pub mod page;
pub mod task;
pub mod vma;
mod words;
