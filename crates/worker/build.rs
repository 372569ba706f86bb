//! Tells the crate that embeds the worker where its sources are: in this repository, or where cargo put the package.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=root={}", std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
}
