//! The workload language: expressions, files, the catalog, and everything that must be refused.

mod bad;
mod catalog;
mod expressions;
mod fuzz;
mod language;
mod machines;
mod sums;
