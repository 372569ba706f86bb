//! What every verb needs: the catalog in force.

use crate::failure::Failure;
use numalab_kernel::registry;
use numalab_model::catalog::Catalog;
use numalab_model::kernel::Vocabulary;
use numalab_model::spec::{Doc, SpecError, Spot};
use numalab_report::columns::{self, Column};
use std::path::Path;

/// The catalog and the vocabulary of kernels.
pub struct Context {
    /// Built-in files with those of `--catalog` laid over them.
    pub catalog: Catalog,
    /// Roles and tunables.
    pub vocabulary: Vocabulary,
    /// Derived figures of reports.
    pub columns: Vec<Column>,
}

impl Context {
    /// The built-in catalog, with `folder` laid over it.
    ///
    /// # Errors
    /// The folder is no catalog, or its report columns are wrong.
    pub fn new(folder: Option<&Path>) -> Result<Self, Failure> {
        let mut catalog = Catalog::embedded();
        if let Some(folder) = folder {
            catalog.overlay(folder)?;
        }
        let columns = match catalog.columns() {
            Some((label, text)) => {
                let columns = columns::with_own(label, text)?;
                refuse_commas(label, text)?;
                columns
            }
            None => columns::built_in()?,
        };
        Ok(Self { catalog, vocabulary: registry::vocabulary(), columns })
    }
}

/// Refuses a column whose name no option could select, as their lists are divided at commas.
fn refuse_commas(label: &str, text: &str) -> Result<(), SpecError> {
    let doc = Doc::parse(label, text)?;
    for column in doc.root().tables("column")? {
        let name = column.str("name")?;
        if name.value.contains(',') {
            let expected = "a name without one, as `--metric` takes names with commas between them";
            return Err(name.error(format!("`{}` has a comma in it", name.value), expected));
        }
    }
    Ok(())
}

/// A name given on the command line.
pub fn named(option: &str, name: &str) -> Spot<String> {
    Spot { value: name.to_string(), file: format!("{option} {name}"), line: 0, column: 0 }
}
