//! The name of a build covers what decides figures, and nothing else.
#![allow(clippy::unwrap_used)]

#[path = "../../digest.rs"]
mod build_digest;

use std::fs;
use std::path::Path;

const SOURCE: &str = r#"//! A module.

/// Pages of a scan.
pub const PAGES: u64 = 65_536; // a quarter of a gigabyte

#[cfg(test)]
mod tests;

/// Whether a page is marked.
#[inline]
pub fn is_marked(page: u64) -> bool {
    // Every second one.
    page % 2 == 0 && page < PAGES
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
fn helper() -> u64 {
    7
}

#[cfg(test)]
mod inner {
    #[test]
    fn marked() {
        assert!(super::is_marked(2));
    }
}
"#;

/// The digest of a folder with `scan.rs` of this text and, beside it, `scan/tests.rs` of the other.
fn digest_of(source: &str, tests: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("scan")).unwrap();
    write("lib.rs", "mod scan;\n");
    write("scan.rs", source);
    write("scan/tests.rs", tests);
    build_digest::of_folders(&[("x", folder.path().to_path_buf())]).unwrap()
}

#[test]
fn comments_and_tests_do_not_change_it() {
    let before = digest_of(SOURCE, "");
    for (from, to) in [
        ("Every second one", "Each second page"),
        ("// a quarter of a gigabyte", ""),
        ("/// Pages of a scan.\n", ""),
        ("//! A module.", "//! Another module."),
        ("page % 2 == 0 && page", "page % 2 == 0\n        && page"),
        ("is_marked(2)", "is_marked(4)"),
        ("    7\n", "    8\n"),
    ] {
        assert!(SOURCE.contains(from), "{from}");
        assert_eq!(digest_of(&SOURCE.replace(from, to), ""), before, "{from}");
    }
    assert_eq!(digest_of(SOURCE, "const SEVEN: u32 = 7;"), before);
}

#[test]
fn code_changes_it() {
    let before = digest_of(SOURCE, "");
    for (from, to) in [
        ("65_536", "65_537"),
        ("PAGES: u64", "PAGES: u32"),
        ("page % 2", "page % 3"),
        ("&& page", "& page"),
        ("#[inline]\n", ""),
        ("#[cfg(test)]\nmod inner", "mod inner"),
        ("#[cfg(test)]\nmod tests", "mod tests"),
    ] {
        assert!(SOURCE.contains(from), "{from}");
        assert_ne!(digest_of(&SOURCE.replace(from, to), ""), before, "{from}");
    }
}

/// Names of the functions of a text.
fn functions(text: &str) -> Vec<String> {
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    text.split("fn ").skip(1).map(name).filter(|n| !n.is_empty()).collect()
}

/// A source of this build: only comments and tests are left out.
#[test]
fn the_code_of_the_simulator_is_in_it() {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mm/shrink_pages.rs")).unwrap();
    let (code, _) = build_digest::code_of(&source).unwrap();
    let (own, tests) = source.split_once("#[cfg(test)]").unwrap();
    let own: Vec<&str> = own.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
    assert_eq!(functions(&code), functions(&own.join("\n")));
    assert!(functions(&code).len() > 5 && !functions(tests).is_empty());
    assert!(source.contains("//") && !code.contains("//"), "comments are left out");
}
