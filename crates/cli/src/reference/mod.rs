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

/// Text for a cell of a table or a line of Markdown: documents are links, and nothing of it is taken for a tag.
fn prose(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // What stands in backticks already is left alone.
    let parts = text.split('`').enumerate().map(|(i, part)| match i % 2 {
        0 => linked(&part.replace('<', "&lt;").replace('*', "\\*").replace('|', "\\|")),
        _ => format!("`{}`", part.replace('|', "\\|")),
    });
    parts.collect()
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
    assert_eq!(
        prose("a <B> | `c | <d>` (docs/reference/exit-codes.md)\n e"),
        "a &lt;B> \\| `c \\| <d>` ([exit codes](exit-codes.md)) e"
    );
}
