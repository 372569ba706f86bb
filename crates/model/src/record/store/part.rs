//! How a path relates to the records around it, for commands that write other files.

use super::folder::holds_records;
use super::names::{goes_with_records, is_partial, is_short_id, EXPERIMENT, MANIFEST, PAGE};
use std::path::Path;

/// How a path relates to an experiment or a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The path is in no experiment's directory.
    Elsewhere,
    /// The path lies beside an experiment's records, under a name that the records do not use.
    Beside,
    /// The path is the list of runs, a file of a record, or the log of one. Only a command that runs plans may write
    /// it.
    Records,
}

/// How the file at `place`, which need not exist, relates to records. `place` is absolute and without links.
pub fn part_of(place: &Path) -> Part {
    let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else { return Part::Elsewhere };
    let name = name.to_string_lossy();
    if folder.ancestors().any(is_records_own) {
        return Part::Records;
    }
    if !folder.join(EXPERIMENT).exists() && !holds_records(folder) {
        return Part::Elsewhere;
    }
    let written_by_runs = name == EXPERIMENT || is_partial(&name) || goes_with_records(&name) && name != PAGE;
    if written_by_runs {
        Part::Records
    } else {
        Part::Beside
    }
}

/// Whether a folder is a record: it has the name of one, and has a manifest or lies beside a list of runs.
fn is_records_own(folder: &Path) -> bool {
    let named = folder.file_name().is_some_and(|n| is_short_id(&n.to_string_lossy()));
    let listed = || folder.parent().is_some_and(|p| p.join(EXPERIMENT).exists());
    named && (folder.join(MANIFEST).exists() || listed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn records_and_what_lies_beside_them_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let (id, half) = ("0123456789abcdef", "fedcba9876543210");
        for folder in [format!("e/{id}/series"), format!("e/{half}"), format!("alone/{id}"), "e/plots".into()] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for file in
            ["e/experiment.json".to_string(), format!("e/{id}/manifest.json"), format!("alone/{id}/manifest.json")]
        {
            fs::write(dir.path().join(file), "{}").unwrap();
        }
        let part = |file: &str| part_of(&dir.path().join(file));
        for file in ["e/experiment.json", "e/.partial-x-1", "e/calibration", "alone/experiment.json"] {
            assert_eq!(part(file), Part::Records, "{file}");
        }
        for file in ["manifest.json", "new.html", "series/new.csv", "absent/x"] {
            assert_eq!(part(&format!("e/{id}/{file}")), Part::Records, "{file}");
            assert_eq!(part(&format!("e/{half}/{file}")), Part::Records, "{file}");
            assert_eq!(part(&format!("alone/{id}/{file}")), Part::Records, "{file}");
        }
        for ending in ["events", "decisions", "why.json"] {
            assert_eq!(part(&format!("e/{id}.{ending}")), Part::Records, "{ending}");
        }
        for file in ["e/report.html", "e/new.pftrace", "alone/x.html", "e/notes.md"] {
            assert_eq!(part(file), Part::Beside, "{file}");
        }
        for file in ["experiment.json", "manifest.json", "e/plots/x.html", "0123456789abcdef.events"] {
            assert_eq!(part(file), Part::Elsewhere, "{file}");
        }
    }
}
