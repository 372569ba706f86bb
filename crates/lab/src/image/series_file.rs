//! `series.toml` of a folder, and the texts that it names.

use super::limits::{PATCH_BYTES_MAX, TEXT_BYTES_MAX};
use crate::cache;
use numalab_model::files::input;
use numalab_model::kernel::series::{self, Series, SERIES_FILE};
use numalab_model::spec::SpecError;
use std::path::{Path, PathBuf};

/// A series with the texts that it names.
pub struct Contents {
    /// What `series.toml` says.
    pub series: Series,
    /// Name and text of every patch, in order.
    pub patches: Vec<(String, Vec<u8>)>,
    /// Place in the tree and text of every file.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Reads `series.toml` of a folder.
///
/// # Errors
/// It is not there, or wrong.
pub fn listed(folder: &Path) -> Result<Series, SpecError> {
    let path = folder.join(SERIES_FILE);
    let label = path.display().to_string();
    let text = input::text(&path, TEXT_BYTES_MAX).map_err(|e| {
        SpecError::plain(&label, e.kind.to_string(), format!("the folder of a series, with {SERIES_FILE} and patches"))
    })?;
    series::parse(&label, &text)
}

/// Reads a series with its patches and files.
///
/// # Errors
/// See [`listed`]; or a patch or file that cannot be read.
pub fn read(folder: &Path) -> Result<Contents, SpecError> {
    let series = listed(folder)?;
    let mut patches = Vec::new();
    for name in &series.patches {
        let read = input::bytes(&folder.join(&name.value), PATCH_BYTES_MAX);
        let text = read.map_err(|e| name.error(format!("patch {e}"), "a file of the folder, for `patch -p1`"))?;
        patches.push((name.value.clone(), text));
    }
    let mut files = Vec::new();
    for (from, to) in &series.files {
        let read = input::bytes(&folder.join(&from.value), PATCH_BYTES_MAX);
        let text = read.map_err(|e| from.error(format!("file {e}"), "a file of the folder"))?;
        files.push((to.value.clone(), text));
    }
    Ok(Contents { series, patches, files })
}

impl Contents {
    /// A checksum of all that decides the kernel, beside the version of the packaged source.
    pub fn key(&self) -> String {
        let mut all = self.series.base.value.clone().into_bytes();
        let mut add = |kind: &str, name: &str, text: &[u8]| {
            all.extend(format!("\0{kind}\0{name}\0{}\0", cache::sha256(text)).into_bytes());
        };
        // A patch is known by its text and its place in the order, not by the name of its file.
        self.patches.iter().for_each(|(_, text)| add("patch", "", text));
        self.files.iter().for_each(|(to, text)| add("file", to, text));
        self.series.config.iter().for_each(|line| add("config", "", line.value.as_bytes()));
        cache::sha256(&all)
    }
}

/// The knobs of an image: those of a series, or of the `series.toml` at the top of a source tree.
///
/// # Errors
/// The file is wrong; of a series, it is not there.
pub fn knobs_of(folder: &Path, is_series: bool) -> Result<Option<Series>, SpecError> {
    let path: PathBuf = folder.join(SERIES_FILE);
    if !is_series && !path.is_file() {
        return Ok(None);
    }
    listed(folder).map(Some)
}
