//! Tables before layout: rows of cells with a value, a percentage and a star.
//!
//! Problem: text, markdown and comma-separated reports must show the same cells.
//! Approach: [`build`] makes comparison tables from metrics, [`monitor`] the Duration and vmstat tables; the renderers
//! only place them. Percentages come from unrounded values.

pub mod build;
pub mod monitor;
mod table;
pub mod vmstat;

pub use build::{comparison_tables, TableOptions};
pub use table::{Cell, Row, Table};
