//! Names of the files and folders that this program writes into an experiment's directory.

/// The list of runs; a directory with it is an experiment's.
pub const EXPERIMENT: &str = "experiment.json";
/// What comparisons need of the records, in one file that is made anew when it does not fit them.
pub const INDEX: &str = "index.jsonl";
/// The page that `numalab report` writes into a directory unless another place is given.
pub const PAGE: &str = "report.html";
/// Beginning of the name of a record under construction.
pub const PARTIAL: &str = crate::files::output::PARTIAL;
/// Folder of the runs of a search for an amount of work.
const CALIBRATION: &str = "calibration";

/// The manifest of a record; it is written last.
pub const MANIFEST: &str = "manifest.json";
/// The figures of a record.
pub const SCALARS: &str = "scalars.json";
/// Folder of the files that a record's plan was read from; it has the shape of a catalog.
pub const SOURCES: &str = "sources";

/// Endings of the logs that lie beside a record, after the record's name and a dot.
const LOG_ENDINGS: [&str; 3] = ["events", "decisions", "why.json"];

/// Whether a name is that of a record: the first 16 hexadecimal digits of an id.
pub fn is_short_id(name: &str) -> bool {
    name.len() == 16 && name.chars().all(|c| c.is_ascii_hexdigit())
}

/// Whether `name` belongs to the records of a directory: a record, one of its logs, the page, the index,
/// or the runs of a search.
pub fn goes_with_records(name: &str) -> bool {
    let (record, ending) = name.split_once('.').unwrap_or((name, ""));
    let of_record = is_short_id(record) && (ending.is_empty() || LOG_ENDINGS.contains(&ending));
    of_record || [PAGE, INDEX, CALIBRATION].contains(&name)
}

/// Whether `name` is that of a record or list under construction.
pub fn is_partial(name: &str) -> bool {
    name.starts_with(PARTIAL)
}
