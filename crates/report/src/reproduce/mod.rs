//! Published beside simulated: the table of `numalab reproduce`, with its score.
//!
//! Problem: a reproduction is worth what it says about its misses. Approach: every published cell has a simulated one and
//! both have a ratio to their own baseline; cells that calibrated the model count for nothing, all others are predictions
//! and are scored, and every miss is listed with what is suspected behind it.
//!
//! Definitions. *Within X*: both ratios exist, are positive, and the larger over the smaller is at most X; or both are 0.
//! *Direction right*: both ratios are on the same side of 1; a published ratio of exactly 1 wants a simulated one within 1 %.
//! Where the baseline has none of something, the ratio of whoever has some is without limit, which is above 1.
//! Ratios themselves are given, not computed here: what a cell's baseline is belongs to the published table.

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
