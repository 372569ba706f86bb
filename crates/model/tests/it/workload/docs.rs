//! `docs/reference/workloads.md` agrees with the code: its examples run, and it names every part of the language.

use crate::workload::machines::{build, SHAPES};
use crate::workload::sums::check_invariants;
use numalab_model::access::PATTERNS;
use numalab_model::workload::{parse, VARIABLES};

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/workloads.md"))
        .expect("the page")
}

#[test]
fn complete_examples_parse_and_resolve_everywhere() {
    let page = page();
    let examples: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|part| part.split("```").next())
        .filter(|text| text.starts_with("name ="))
        .collect();
    assert_eq!(examples.len(), 2);
    for text in examples {
        let spec = parse("example.toml", text).unwrap_or_else(|e| panic!("{e}"));
        for shape in &SHAPES {
            let w = spec
                .resolve(&build(shape), 1, &[])
                .unwrap_or_else(|e| panic!("{} on {}: {e}", spec.name(), shape.name));
            check_invariants(&w);
            assert_eq!(w.warnings, [""; 0], "{} on {}", spec.name(), shape.name);
        }
    }
}

#[test]
fn every_variable_is_described() {
    let page = page();
    for v in VARIABLES {
        assert!(page.contains(&format!("`{}`", v.name)), "{}", v.name);
        assert!(!v.about.is_empty());
    }
}

#[test]
fn every_pattern_is_described_with_its_keys() {
    let page = page();
    for pattern in PATTERNS {
        assert!(page.contains(&format!("`\"{}\"`", pattern.word())), "{}", pattern.word());
        let keys = pattern.keys().iter().map(|k| format!("`{}`", k.name()));
        let missing: Vec<String> = keys.filter(|k| !page.contains(k)).collect();
        assert!(missing.is_empty(), "keys of {}: {missing:?}", pattern.word());
    }
}
