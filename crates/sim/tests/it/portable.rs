//! The simulator and what it is built on ask nothing of an operating system, so that they build for
//! `wasm32-unknown-unknown`.
//!
//! The test reads the sources of these crates without the model's feature `store`. It follows `mod` declarations from
//! `lib.rs` and leaves out modules and items that only `store` or the tests have. `make lint` builds the same.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// Crates below the simulator, and the simulator.
const CRATES: [&str; 4] = ["base", "model", "kernel", "sim"];

/// What needs an operating system.
const BANNED: [&str; 8] =
    ["std::fs", "std::process", "std::net", "std::thread", "std::env", "std::os", "SystemTime", "Instant"];

/// Attributes of items that a build without `store` does not have.
const ABSENT: [&str; 2] = ["#[cfg(feature = \"store\")]", "#[cfg(test)]"];

/// A source file without comments and absent items, and the modules that it declares.
struct Source {
    code: Vec<(usize, String)>,
    modules: Vec<String>,
}

impl Source {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let (mut code, mut modules) = (Vec::new(), Vec::new());
        let mut renamed: Option<String> = None;
        let mut absent = false;
        // Indentation of an absent item whose end is awaited.
        let mut inside: Option<usize> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let trimmed = line.trim();
            let indent = line.len() - line.trim_start().len();
            if let Some(outer) = inside {
                if indent == outer && trimmed.starts_with('}') {
                    inside = None;
                }
            } else if ABSENT.contains(&trimmed) {
                absent = true;
            } else if trimmed.starts_with("//") || trimmed.starts_with("#[cfg") {
            } else if let Some(file) = trimmed.strip_prefix("#[path = \"").and_then(|l| l.strip_suffix("\"]")) {
                renamed = Some(file.to_string());
            } else if absent {
                let ends_here = trimmed.ends_with(';') || trimmed.ends_with('}');
                let attribute = trimmed.starts_with("#[");
                inside = (!ends_here && !attribute).then_some(indent);
                absent = attribute;
                renamed = renamed.filter(|_| attribute);
            } else {
                let name = trimmed.strip_suffix(';').and_then(|l| l.rsplit_once("mod ")).map(|(_, name)| name);
                match (name, renamed.take()) {
                    (Some(_), Some(file)) => modules.push(file),
                    (Some(name), None) => modules.push(name.to_string()),
                    _ => code.push((number, line.to_string())),
                }
            }
        }
        Self { code, modules }
    }

    /// Files of the modules that the file at `path` declares.
    fn files(&self, path: &Path) -> Vec<PathBuf> {
        let folder = path.parent().unwrap();
        let stem = path.file_stem().unwrap().to_string_lossy();
        let below = if ["lib", "mod"].contains(&&*stem) { folder.to_path_buf() } else { folder.join(&*stem) };
        let file = |name: &String| match name.ends_with(".rs") {
            true => folder.join(name),
            false => {
                Some(below.join(format!("{name}.rs"))).filter(|p| p.exists()).unwrap_or(below.join(name).join("mod.rs"))
            }
        };
        self.modules.iter().map(file).collect()
    }
}

#[test]
fn sources_without_the_store_ask_nothing_of_an_operating_system() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let roots = CRATES.map(|name| crates.join(name).join("src/lib.rs"));
    let mut waiting: Vec<PathBuf> = roots.into_iter().filter(|p| p.exists()).collect();
    let (mut files, mut found) = (0, Vec::new());
    while let Some(path) = waiting.pop() {
        let source = Source::read(&path);
        for (number, line) in &source.code {
            if let Some(word) = BANNED.iter().find(|word| line.contains(**word)) {
                found.push(format!("{}:{number}: {word}", path.display()));
            }
        }
        waiting.extend(source.files(&path));
        files += 1;
    }
    assert!(files > 150, "only {files} files were followed");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn calls_to_an_operating_system_are_found_where_they_are() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/src/record/store/read.rs");
    let calls = |s: &Source| s.code.iter().filter(|(_, line)| line.contains("std::fs")).count();
    assert_eq!(calls(&Source::read(&store)), 1);
}
