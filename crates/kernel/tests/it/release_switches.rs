//! What each release of Linux is: every switch in which its kernel differs from the row before, with the commit.
//!
//! `make reference` writes `release_switches.txt` anew after a change of `catalog/releases.toml` that is meant. The
//! commit says why history changed.
#![allow(clippy::unwrap_used)]

use numalab_kernel::registry::vocabulary;
use numalab_model::catalog::built_in_kernel;
use numalab_model::catalog::Catalog;
use numalab_model::kernel::{Kernel, Release, Version};
use std::fmt::Write as _;

/// Every role and tunable of a kernel.
fn values(kernel: &Kernel) -> Vec<(&str, &str)> {
    let roles = kernel.roles.iter().map(|r| (r.role.as_str(), r.implementation.as_str()));
    roles.chain(kernel.tunables.iter().map(|t| (t.name.as_str(), t.value.as_str()))).collect()
}

/// The commit that a row names for a switch. A switch that only returns from the row before has none.
fn commit<'a>(row: &'a Release, name: &str) -> &'a str {
    let change = row.changes.iter().chain(&row.only_here).find(|c| c.settings.iter().any(|s| s.name.value == name));
    match change.map(|c| c.commit.as_str()) {
        Some("") => "at the start",
        Some(commit) => commit,
        None => "as before the row above",
    }
}

#[test]
fn each_release_has_its_switches_and_their_commits() {
    let catalog = Catalog::embedded();
    let mut text = String::new();
    let mut before: Option<Kernel> = None;
    for row in catalog.releases().unwrap().rows() {
        let kernel = built_in_kernel(&row.spec.name.value, &vocabulary()).unwrap();
        writeln!(text, "{}", kernel.name).unwrap();
        let old = before.as_ref().map(values);
        for (i, (name, value)) in values(&kernel).into_iter().enumerate() {
            let was = old.as_ref().map(|o| o[i].1);
            let own = row.only_here.iter().any(|c| c.settings.iter().any(|s| s.name.value == name));
            let set = before.is_none() && commit(row, name) == "at the start";
            if set || was.is_some_and(|w| w != value) {
                let only = if own { ", this row only" } else { "" };
                writeln!(text, "  {name} = {value}  ({}{only})", commit(row, name)).unwrap();
            }
        }
        before = Some(kernel);
    }
    let path = format!("{}/tests/release_switches.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("NUMALAB_GOLDEN").is_some_and(|v| v == "write") {
        return std::fs::write(&path, text).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == want, "releases differ from {path} (meant to? NUMALAB_GOLDEN=write):\n{text}");
}

#[test]
fn no_row_is_known_to_be_wrong() {
    let catalog = Catalog::embedded();
    for row in catalog.releases().unwrap().rows() {
        assert!(row.changes.iter().chain(&row.only_here).all(|c| !c.doc.contains("WRONG")), "{}", row.spec.name.value);
    }
}

#[test]
fn no_release_is_left_out() {
    let catalog = Catalog::embedded();
    let rows = catalog.releases().unwrap().rows();
    let has = |name: &str| rows.iter().any(|r| r.spec.name.value == name);
    let series = [(3, 7..=19), (4, 0..=20), (5, 0..=19), (6, 0..=19), (7, 0..=2)];
    for (major, minors) in series {
        for minor in minors {
            assert!(has(&format!("{major}.{minor}")), "{major}.{minor}");
        }
    }
    assert!(rows.windows(2).all(|w| Version::of(&w[0].spec.name.value) < Version::of(&w[1].spec.name.value)));
}
