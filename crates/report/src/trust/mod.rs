//! How far the simulator's own predictions are off, by kind of figure.
//!
//! Problem: seeds of a simulated run differ by parts per million, so a test over seeds calls a change of 1 % clear
//! where the model itself is off by more. Approach: every predicted cell of every published table says by which factor
//! a predicted change missed the published one. The median of these factors, for each [`FigureKind`], is the model's
//! *error*. `numalab reproduce --all --trust FILE` writes them as data (`catalog/trust.toml`), and verdicts on
//! simulated columns use them. Units: factors, at least 1. Invariant: an error is only used for columns that are
//! simulated.

mod error;
mod figure_kind;

pub use error::{built_in, errors_of, of_comparison, parse, to_toml, ModelError, Trust};
pub use figure_kind::FigureKind;
