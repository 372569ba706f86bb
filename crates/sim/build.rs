//! Names the simulator by what it is made of: a digest of its sources and of those it is built on, so that
//! records of two builds that could differ are never taken for one another.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What decides a simulated figure, relative to this crate. Machines, kernels and workloads are in every plan by
/// their resolved values; cost classes that come with the program are read where machines are.
const SOURCES: [&str; 5] = ["../base/src", "../model/src", "../kernel/src", "src", "../../catalog/machines/classes"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut hash = Sha256::new();
    for folder in SOURCES {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
        let mut files = Vec::new();
        collect(&root.join(folder), Path::new(folder), &mut files)?;
        files.sort();
        for name in files {
            let text = fs::read_to_string(root.join(&name))?;
            // Line ends are those of the checkout, and a file ends where its length says.
            let text = text.replace("\r\n", "\n");
            hash.update(name.to_string_lossy().replace('\\', "/").as_bytes());
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
    }
    let digest = hash.finalize();
    let short: String = digest.iter().take(6).map(|b| format!("{b:02x}")).collect();
    println!("cargo:rustc-env=NUMALAB_SIM_SOURCE={short}");
    Ok(())
}

/// Adds every file below `dir`, named relative to this crate.
fn collect(dir: &Path, name: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = name.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}
