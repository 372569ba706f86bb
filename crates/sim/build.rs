//! Names the simulator by what it is made of: a digest of its code and of that it is built on, so that records of two
//! builds that could differ are never taken for one another.

#[path = "digest.rs"]
mod digest;

use std::path::PathBuf;
use std::{env, io};

/// What decides a simulated figure: the name of each folder in the digest, and the variable that says where its crate
/// is. Machines, kernels and workloads are in every plan by their resolved values, so nothing that reads them is here.
const SOURCES: [(&str, &str); 4] = [
    ("base", "DEP_NUMALAB_BASE_ROOT"),
    ("nouns", "DEP_NUMALAB_NOUNS_ROOT"),
    ("kernel", "DEP_NUMALAB_KERNEL_ROOT"),
    ("sim", "CARGO_MANIFEST_DIR"),
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=digest.rs");
    let folders = SOURCES.map(|(name, root)| (name, PathBuf::from(env::var_os(root).unwrap_or_default()).join("src")));
    for (_, folder) in &folders {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    println!("cargo::rustc-env=NUMALAB_SIM_SOURCE={}", digest::of_folders(&folders)?);
    Ok(())
}
