//! Which kernel wins, in words.
//!
//! Problem: a reader wants an answer before a table, and an honest one. "Cannot tell" is an answer; a difference
//! without a spread is not. Approach: a *measurement* is a score of a workload, or its elapsed time if it has no score.
//! Every measurement on every kernel gets one [`Call`] from Welch's test after Holm's correction over all rows of the
//! report ([`crate::assess`]). Sentences are made of that call and its figures, and of nothing else. Units: those of
//! the metrics, and percent. Invariant: a call of better or worse has at least two runs a side, all of the same work,
//! and none too short for balancing to act. [`decide`] makes one decision of all calls: what to take, by how much, how
//! sure, and at what cost. A prediction of several sizes and times has a verdict only where all of them agree
//! ([`Agreement`]).

mod agreed;
mod agreement;
#[cfg(test)]
mod agreement_tests;
mod answer;
mod call;
mod choice;
mod costs;
mod decision;
#[cfg(test)]
mod decision_tests;
mod failed;
mod finding;
mod form;
mod headline;
mod question;
mod sentence;
#[cfg(test)]
mod tests;

pub use agreement::{Agreement, Cell, Verdict, Way};
pub use call::Call;
pub use choice::{Choice, Decision, Standing, Sure, WorkloadDecision};
pub use costs::Cost;
pub use decision::decide;
pub use finding::{findings, measurements, Finding};
pub use form::as_json;
pub use headline::{headline, more_than_headline};
pub use question::{asked, question};
pub use sentence::growth;
