//! Reasons in sentences, from the decision log of a run ([`numalab_model::record::why`]).
//!
//! Problem: "why was this mapping never scanned?" has an answer in the run, as counts by reason and a short history. A
//! reader wants it as sentences. Approach: one file per subject ([`vma`], [`page`], [`task`], [`node`], [`scans`]), and
//! [`diff`] for the first decision in which two runs differ. Each gives text. Without a name a subject lists what there
//! is. Invariant: a sentence says only what was logged, and says what the log did not keep.

#[cfg(feature = "store")]
pub mod diff;
mod names;
pub mod node;
pub mod page;
pub mod scans;
pub mod task;
pub mod vma;
mod words;
