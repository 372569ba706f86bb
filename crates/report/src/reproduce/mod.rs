//! Published figures beside simulated ones: the table of `numalab reproduce`, with its score.
//!
//! Problem: the misses of a reproduction matter most. Approach: every published cell has a simulated one, and both have
//! a ratio to their own baseline. Cells that calibrated the model are not scored; all others are predictions and are
//! scored. Every miss is listed with its suspected cause.
//!
//! Definitions:
//! * *Within X*: both ratios are positive and the larger over the smaller is at most X, or both are 0.
//! * *Direction right*: both ratios are on the same side of 1. If the published ratio is exactly 1, the simulated one
//!   is within 1 % of it. If the baseline is 0, the ratio of a larger figure is infinite, which is above 1.
//!
//! Ratios are given by the caller, since the published table decides which cell is the baseline of another.

mod cell;
mod json;
mod repeats;
mod score;
#[cfg(test)]
mod tests;
mod text;

pub use cell::{Cell, Role};
pub use json::json;
pub use repeats::{repeats, Repeat};
pub use score::{gains, score, score_line, Score};
pub use text::text;
