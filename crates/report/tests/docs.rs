//! Documents that are written from tables must be what the tables say.
#![allow(clippy::unwrap_used)]

use numalab_report::counters;

#[test]
fn the_counters_page_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/counters.md");
    let want = counters::markdown();
    if std::env::var_os("NUMALAB_DOCS").is_some_and(|v| v == "write") {
        std::fs::write(path, &want).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == want, "docs/counters.md is stale: NUMALAB_DOCS=write cargo test -p numalab-report --test docs");
    for c in counters::all() {
        assert_eq!(found.matches(&format!("**`{}`**", c.name)).count(), 1, "{}", c.name);
    }
}
