//! Tells the simulator's build where the sources of this crate are: in this repository, or where cargo put the package.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=root={}", std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
}
