//! The Python extension `numalab._native`: plans and runs in-process.
//!
//! Problem: a sweep of many short runs must not start a program for each, and figures must reach data frames without
//! text. Approach: the same catalog, names, messages and records as the command (`numalab_cli`). Runs release the
//! interpreter's lock. Figures leave as Arrow streams. Everything that people write against is Python
//! (`python/numalab`); the classes here are what it is built on.

// Every argument of a function of Python is passed by value.
#![allow(clippy::needless_pass_by_value)]

mod accesses;
mod catalog;
mod error;
mod figures;
mod kept;
mod outcome;
mod plan;
mod policy;
mod policy_views;
mod store;
mod table;

use numalab_report::trust::{self, FigureKind};
use pyo3::prelude::*;
use std::ffi::OsString;

/// Carries out a command line and returns its exit code, its text for standard output, and its message.
#[pyfunction]
fn call(py: Python<'_>, args: Vec<OsString>) -> (u8, String, String) {
    py.detach(|| numalab_cli::call(with_name(args)))
}

/// Carries out a command line as the program does, and returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| numalab_cli::main(with_name(args)))
}

/// How far the model's predicted changes of a figure are off: the kind of figure, the factor within which half of the
/// published cells lie, and that of four of five. `None` if no published table tells, infinity if it tells of no bound.
#[pyfunction]
#[pyo3(signature = (figure, unit=""))]
fn model_error(figure: &str, unit: &str) -> Option<(&'static str, f64, f64)> {
    let error = trust::built_in().of(FigureKind::of(figure, unit))?;
    Some((error.kind.word(), error.half, error.four_fifths))
}

fn with_name(args: Vec<OsString>) -> Vec<OsString> {
    std::iter::once("numalab".into()).chain(args).collect()
}

/// The extension module.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("SIMULATOR", numalab_sim::VERSION)?;
    m.add_class::<catalog::Catalog>()?;
    m.add_class::<catalog::Request>()?;
    m.add_class::<plan::Plan>()?;
    m.add_class::<plan::Clock>()?;
    m.add_class::<outcome::Outcome>()?;
    m.add_class::<table::Table>()?;
    m.add_class::<figures::Figures>()?;
    m.add_class::<store::Store>()?;
    m.add_class::<policy::Policy>()?;
    m.add_class::<policy_views::Vma>()?;
    m.add_class::<policy_views::Scan>()?;
    m.add_class::<policy_views::Page>()?;
    m.add_class::<policy_views::Sides>()?;
    m.add_class::<policy_views::Pass>()?;
    m.add_class::<policy_views::PageMove>()?;
    m.add_class::<policy_views::TaskMove>()?;
    m.add_function(wrap_pyfunction!(accesses::accesses, m)?)?;
    m.add_function(wrap_pyfunction!(call, m)?)?;
    m.add_function(wrap_pyfunction!(model_error, m)?)?;
    m.add_function(wrap_pyfunction!(main, m)?)
}
