//! Names and titles of what the catalog holds, and of roles and tunables.

use crate::context::{named, Context};
use crate::failure::Failure;
use crate::sources;
use numalab_model::catalog::{File, Heading, Kind as Folder};
use numalab_model::{experiment, kernel, published};
use serde::Serialize;

/// Kinds of entries that can be listed and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Machines of the catalog
    #[value(alias = "machine")]
    Machines,
    /// Kernels of the catalog
    #[value(alias = "kernel")]
    Kernels,
    /// Workloads of the catalog
    #[value(alias = "workload")]
    Workloads,
    /// Experiments of the catalog
    #[value(alias = "experiment")]
    Experiments,
    /// Published tables, which `reproduce` runs
    Published,
    /// Roles of a kernel, and their implementations
    #[value(alias = "role")]
    Roles,
    /// Tunables of a kernel, which `--set` overrides
    #[value(alias = "tunable")]
    Tunables,
}

/// A line of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Title, in one line.
    pub title: String,
    /// Other words for it, by which suggestions find it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// The name of a kind on the command line.
pub fn word(kind: Kind) -> String {
    clap::ValueEnum::to_possible_value(&kind).map(|v| v.get_name().to_string()).unwrap_or_default()
}

/// Names and titles of a kind, in the order of the catalog.
///
/// # Errors
/// An invalid file of the catalog.
pub fn entries(context: &Context, kind: Kind) -> Result<Vec<Entry>, Failure> {
    let folder = match kind {
        Kind::Machines => Folder::Machine,
        Kind::Kernels => Folder::Kernel,
        Kind::Workloads => Folder::Workload,
        Kind::Experiments => Folder::Experiment,
        Kind::Published => Folder::Published,
        Kind::Roles => {
            let roles = context.vocabulary.roles.iter();
            return Ok(roles
                .map(|r| Entry { name: r.name.into(), title: r.doc.into(), aliases: Vec::new() })
                .collect());
        }
        Kind::Tunables => {
            let tunables = context.vocabulary.tunables.iter();
            return Ok(tunables
                .map(|t| Entry { name: t.name.clone(), title: t.doc.into(), aliases: Vec::new() })
                .collect());
        }
    };
    let names = context.catalog.names(folder);
    let entry = |name: &str| {
        let file = context.catalog.get(folder, name);
        let aliases = match file.and_then(File::heading_as_built) {
            // The row of a release stands before a file.
            Some(heading) if folder != Folder::Kernel || context.catalog.release(name).is_none() => {
                return Ok(Entry { name: name.into(), title: full_title(&heading, folder), aliases: heading.aliases });
            }
            _ => file.map(File::aliases).unwrap_or_default(),
        };
        Ok(Entry { name: name.into(), title: title(context, folder, name)?, aliases })
    };
    names.map(entry).collect()
}

/// The title of a file with its other name.
fn full_title(heading: &Heading, folder: Folder) -> String {
    let word = if folder == Folder::Kernel { "alias of" } else { "alias" };
    let alias = heading.alias.iter().map(|a| format!(" ({word} {a})"));
    std::iter::once(heading.title.clone()).chain(alias).collect()
}

/// The title of a file of the catalog.
///
/// # Errors
/// No such file, or an invalid one.
pub fn title(context: &Context, folder: Folder, name: &str) -> Result<String, Failure> {
    let spot = named(folder.folder(), name);
    if let (Folder::Kernel, Some(row)) = (folder, context.catalog.release(name)) {
        return Ok(row.spec.title.clone());
    }
    let file = context.catalog.find(folder, &spot)?;
    Ok(match folder {
        Folder::Machine => sources::machine(context, &spot)?.title,
        Folder::Kernel => {
            let spec = kernel::parse(&file.label, &file.text)?;
            let alias = spec.alias_of.map(|a| format!(" (alias of {})", a.value)).unwrap_or_default();
            format!("{}{alias}", spec.title)
        }
        Folder::Workload => sources::workload(context, &spot)?.title().to_string(),
        Folder::Experiment => experiment::parse(&file.label, &file.text)?.1.title,
        Folder::Published => {
            let published = published::parse(&file.label, &file.text)?;
            file.check_name(&published.name)?;
            let alias = published.alias.map(|a| format!(" (alias {a})")).unwrap_or_default();
            format!("{}{alias}", published.title)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_model::spec::parsed_texts;

    /// Kinds with files, each with its folder.
    const KINDS: [(Kind, Folder); 5] = [
        (Kind::Machines, Folder::Machine),
        (Kind::Kernels, Folder::Kernel),
        (Kind::Workloads, Folder::Workload),
        (Kind::Experiments, Folder::Experiment),
        (Kind::Published, Folder::Published),
    ];

    /// A list looks at every file once, and only at what stands above its first table: no machine is built for its
    /// title.
    #[test]
    fn a_list_reads_the_heading_of_each_file_once() {
        let context = Context::new(None).unwrap();
        let (mut files, mut bytes) = (0, 0);
        let before = parsed_texts();
        for (kind, folder) in KINDS {
            for e in entries(&context, kind).unwrap() {
                assert!(!e.title.is_empty(), "{}", e.name);
                if let Some(file) = context.catalog.get(folder, &e.name) {
                    (files, bytes) = (files + 1, bytes + file.text.len() as u64);
                }
            }
        }
        let after = parsed_texts();
        assert_eq!(after.0 - before.0, files, "one look at each file");
        assert!((after.1 - before.1) * 2 < bytes, "{} of {bytes} bytes are read", after.1 - before.1);
    }

    #[test]
    fn titles_are_those_of_the_whole_files() {
        let context = Context::new(None).unwrap();
        for (kind, folder) in KINDS {
            for e in entries(&context, kind).unwrap() {
                assert_eq!(e.title, title(&context, folder, &e.name).unwrap(), "{}", e.name);
            }
        }
    }
}
