//! Embeds the catalog: writes a list of (folder, stem, text) for `src/catalog/mod.rs` to include.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders of the catalog whose TOML files are embedded.
const FOLDERS: [&str; 5] = ["machines", "kernels", "workloads", "experiments", "published"];

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    // A link to the folder at the top of the repository; in a package of cargo the folder itself.
    let root = own.join("catalog").canonicalize()?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut list = String::from("&[\n");
    for folder in FOLDERS {
        let dir = root.join(folder);
        println!("cargo::rerun-if-changed={}", dir.display());
        for path in toml_files(&dir)? {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let path = path.canonicalize()?;
            let _ = writeln!(list, "    ({folder:?}, {stem:?}, include_str!({:?})),", path.display().to_string());
        }
    }
    list.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("catalog_files.rs"), list)
}

/// TOML files of a folder in order of their names; none if there is no such folder.
fn toml_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
