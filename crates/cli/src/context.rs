//! The catalog and the vocabulary that every verb works with.

use crate::failure::Failure;
use numalab_kernel::registry;
use numalab_model::catalog::Catalog;
use numalab_model::kernel::Vocabulary;
use numalab_model::machine::import::{self, Wish};
use numalab_model::spec::{Doc, SpecError, Spot};
use numalab_report::columns::{self, Column};
use std::path::Path;
use std::sync::OnceLock;

/// The catalog, the vocabulary of kernels, and the columns of reports.
pub struct Context {
    /// The built-in catalog, with the folder of `--catalog` laid over it.
    pub catalog: Catalog,
    /// Roles and tunables of kernels.
    pub vocabulary: Vocabulary,
    /// Derived columns of reports.
    pub columns: Vec<Column>,
    /// Text of this host's machine file, once something asked for it.
    host: OnceLock<String>,
}

/// Name of this host as a machine.
pub const HOST: &str = "host";

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
        Ok(Self { catalog, vocabulary: registry::vocabulary(), columns, host: OnceLock::new() })
    }

    /// File name and text of a machine by name or path, or of a cost class as `classes/NAME`. [`HOST`] is read from
    /// this host, unless the catalog has a machine of that name, as the files of a record may. `None` if there is none.
    pub fn machine_text(&self, name: &str) -> Option<(String, String)> {
        let of_host = || (name == HOST).then(|| self.host.get().map(|text| (HOST.to_string(), text.clone()))).flatten();
        self.catalog.machine_text(name).or_else(of_host)
    }

    /// Reads this host, if `name` is its name and it is not read yet.
    ///
    /// # Errors
    /// This host cannot be read.
    pub fn read_host(&self, name: &str) -> Result<(), SpecError> {
        if name == HOST && self.host.get().is_none() && self.catalog.machine_text(name).is_none() {
            let text = import::sysfs(Path::new("/"), Wish { name: HOST, kinds: &[] })?;
            self.host.get_or_init(|| text);
        }
        Ok(())
    }
}

/// Refuses a column with a comma in its name: options divide their lists at commas, so none could select it.
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

/// A name that an option gave on the command line.
pub fn named(option: &str, name: &str) -> Spot<String> {
    Spot { value: name.to_string(), file: format!("{option} {name}"), line: 0, column: 0 }
}
