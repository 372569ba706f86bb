//! Where the records of a validation go, checked before guests run for an hour.

use crate::failure::Failure;
use numalab_model::record::{RecordError, Store};
use std::fs;
use std::path::Path;

/// First parts of the names of folders below that of an image.
const OURS: [&str; 2] = ["thp-", "calibration"];

/// Checks that a folder is new, empty, or one of earlier validations: it holds folders of images alone.
///
/// # Errors
/// It has other contents, or it cannot be read.
pub fn check_folder(out: &Path) -> Result<(), Failure> {
    let Ok(entries) = fs::read_dir(out) else {
        // One that is not there is made; of a file, the check of the places below says so.
        return Ok(());
    };
    let mut foreign: Vec<String> = Vec::new();
    for entry in entries.flatten() {
        let inside: Option<Vec<String>> = fs::read_dir(entry.path())
            .ok()
            .map(|all| all.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect());
        let ours = inside.is_some_and(|all| all.iter().all(|n| OURS.iter().any(|start| n.starts_with(start))));
        if !ours {
            foreign.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    match foreign.iter().min() {
        None => Ok(()),
        Some(name) => {
            let what = format!("it holds other files, such as {name}");
            let expected = "a new or empty directory, or one of `numalab validate`".to_string();
            Err(RecordError::Foreign { path: out.into(), what, expected }.into())
        }
    }
}

/// Checks the folders of one image: that each can take the runs of its experiment.
///
/// # Errors
/// One of them has other contents or another experiment.
pub fn check_places<'a>(image: &Path, places: impl Iterator<Item = (String, &'a str)>) -> Result<(), Failure> {
    for (place, experiment) in places {
        Store::check_place(&image.join(place), experiment)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_validations_are_taken() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("out");
        assert!(check_folder(&out).is_ok());
        fs::create_dir_all(out.join("debian-6.12/thp-never/kernel")).unwrap();
        fs::create_dir_all(out.join("debian-6.1/calibration")).unwrap();
        assert!(check_folder(&out).is_ok());
        let place =
            |name: &str| check_places(&out.join("debian-6.12"), std::iter::once((name.to_string(), "validate")));
        assert!(place("thp-never/kernel").is_ok());
        fs::write(out.join("debian-6.12/thp-never/kernel/thesis.tex"), "").unwrap();
        assert!(place("thp-never/kernel").unwrap_err().message.contains("such as thesis.tex"));
        fs::write(out.join("notes"), "").unwrap();
        let e = check_folder(&out).unwrap_err();
        assert!(e.message.contains("such as notes") && e.message.contains("numalab validate"), "{}", e.message);
    }
}
