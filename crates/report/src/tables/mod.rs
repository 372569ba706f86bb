//! Tables before layout: rows of cells with a value, a percentage and a star.
//!
//! Problem: text, Markdown and HTML reports must show the same cells. Approach: [`build`] makes comparison tables from
//! metrics, and [`monitor`] makes the tables of durations, counters and reasons. The forms only lay the cells out.
//! Percentages come from unrounded values.

pub mod build;
pub mod monitor;
mod table;
pub mod vmstat;

pub use build::{comparison_tables, TableOptions};
pub use table::{Cell, Row, Table};
