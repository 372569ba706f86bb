//! Published tables: what others measured, cell by cell, and what numalab must run to predict it.
//!
//! Problem: a comparison with a published table is honest only if every cell is kept, the one free choice (the amount
//! of work) is named, and cells that predict nothing are marked rather than dropped.
//! Approach: a file names its columns with the catalog kernel of each, and blocks of rows with one value per column. A
//! block may have columns of its own, which may also differ in settings and workload parameters. A block that is
//! simulated names machine, workload, seeds and its calibration.
//! Invariants: every row has one finite value per column, and the baseline is a column. At most one metric of a block
//! is calibrated, and only in the baseline column.

mod blocks;
mod columns;
mod expect;
mod repeats;
mod rows;
mod table;
#[cfg(test)]
mod tests;

pub use blocks::{Block, BlockRun, Calibrate};
pub use columns::{Column, Columns};
pub use expect::Expect;
pub use repeats::{Repeat, RepeatedRow};
pub use rows::{Form, Row, Stat};
pub use table::{parse, Published};
