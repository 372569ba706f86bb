//! Pages of `docs/reference` that are written from the code. Each test compares a page with what the code says now.
//!
//! `NUMALAB_DOCS=write cargo test -p numalab-cli reference` writes them (`make reference` writes all pages).

#![allow(clippy::unwrap_used)]

mod commands;
mod exit_codes;
mod roles;
mod schemas;
mod tunables;

use std::path::Path;

/// Second line of every generated page.
const DO_NOT_EDIT: &str = "<!-- Written from the code by `make reference`; do not edit. -->";

/// Compares `docs/reference/NAME` with what it should be, or writes it if the environment has `NUMALAB_DOCS=write`.
fn fresh(name: &str, want: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("NUMALAB_DOCS").is_some_and(|v| v == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, want).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == want, "docs/reference/{name} is stale: `make reference` writes it from the code");
}

/// A generated page: its title, its head, and what follows.
fn page(title: &str, head: &str, rest: &str) -> String {
    format!("# {title}\n\n{DO_NOT_EDIT}\n\n{head}{rest}")
}

/// Text for a cell of a table or a line of Markdown: documents are links, options are code, and nothing is taken for a
/// tag.
fn prose(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // What stands in backticks already is left alone.
    let parts = text.split('`').enumerate().map(|(i, part)| match i % 2 {
        0 => {
            let safe = part.replace('<', "&lt;").replace('*', "\\*").replace('|', "\\|");
            linked(&safe).split(' ').map(option_as_code).collect::<Vec<_>>().join(" ")
        }
        _ => format!("`{}`", part.replace('|', "\\|")),
    });
    parts.collect()
}

/// A word, in backticks if it is an option such as `--out`, so that no line breaks inside it.
fn option_as_code(word: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    match word.find("--") {
        Some(at) if word[..at].chars().all(|c| c == '(') => {
            let end = word[at..].find(|c| !is_part(c)).map_or(word.len(), |n| at + n);
            format!("{}`{}`{}", &word[..at], &word[at..end], &word[end..])
        }
        _ => word.to_string(),
    }
}

/// Names of pages (`docs/reference/json.md`) as links.
fn linked(text: &str) -> String {
    const PLACE: &str = "docs/reference/";
    let mut parts = text.split(PLACE);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.split_once(".md") {
            Some((name, rest)) => out.push_str(&format!("[{}]({name}.md){rest}", name.replace('-', " "))),
            None => out.push_str(&format!("{PLACE}{part}")),
        }
    }
    out
}

#[test]
fn text_of_the_code_becomes_markdown() {
    let text = "a <B> | `c --d | <d>` (see --out) (docs/reference/exit-codes.md)\n -e";
    assert_eq!(prose(text), "a &lt;B> \\| `c --d \\| <d>` (see `--out`) ([exit codes](exit-codes.md)) -e");
}
