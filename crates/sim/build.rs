//! Names the simulator by what it is made of: a digest of its sources and of those it is built on, so that
//! records of two builds that could differ are never taken for one another.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What decides a simulated figure: the name of each folder in the digest, the variable that says where its crate is, and
/// its place there. Machines, kernels and workloads are in every plan by their resolved values; cost classes that come with
/// the program are read where machines are.
const SOURCES: [(&str, &str, &str); 5] = [
    ("../base/src", "DEP_NUMALAB_BASE_ROOT", "src"),
    ("../model/src", "DEP_NUMALAB_MODEL_ROOT", "src"),
    ("../kernel/src", "DEP_NUMALAB_KERNEL_ROOT", "src"),
    ("src", "CARGO_MANIFEST_DIR", "src"),
    ("../../catalog/machines/classes", "DEP_NUMALAB_MODEL_ROOT", "catalog/machines/classes"),
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut hash = Sha256::new();
    for (name, root, place) in SOURCES {
        let folder = PathBuf::from(env::var_os(root).unwrap_or_default()).join(place);
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, Path::new(name), &mut files)?;
        files.sort();
        for (name, file) in files {
            let text = fs::read_to_string(file)?;
            // Line ends are those of the checkout, and a file ends where its length says.
            let text = text.replace("\r\n", "\n");
            hash.update(name.to_string_lossy().replace('\\', "/").as_bytes());
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
    }
    let digest = hash.finalize();
    let short: String = digest.iter().take(6).map(|b| format!("{b:02x}")).collect();
    println!("cargo::rustc-env=NUMALAB_SIM_SOURCE={short}");
    Ok(())
}

/// Adds every file below `dir`: its name in the digest, and its path.
fn collect(dir: &Path, name: &Path, files: &mut Vec<(PathBuf, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = name.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
