//! Documents that are written from tables are up to date.
#![allow(clippy::unwrap_used)]

use numalab_model::counters;
use numalab_model::published::{self, Form};
use numalab_report::dictionary;

#[test]
fn the_counters_page_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/counters.md");
    let want = dictionary::markdown();
    if std::env::var_os("NUMALAB_DOCS").is_some_and(|v| v == "write") {
        std::fs::write(path, &want).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == want,
        "docs/reference/counters.md is stale: NUMALAB_DOCS=write cargo test -p numalab-report --test it docs::"
    );
    for c in counters::all() {
        assert_eq!(found.matches(&format!("**`{}`**", c.name)).count(), 1, "{}", c.name);
    }
}

#[test]
fn published_rows_have_the_units_of_the_counters() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/published");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let table = published::parse(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap()).unwrap();
        for row in table.blocks.iter().flat_map(|b| &b.rows).filter(|r| r.form == Form::Value) {
            let Some(counter) = counters::find(&row.metric) else { continue };
            seen += 1;
            // The kernels of 2012 count a huge entry as 1.
            let entries = (row.metric.as_str(), row.unit.as_str()) == ("numa_pte_updates", "entries");
            assert!(entries || row.unit == counter.unit.name(), "{} {}: {}", path.display(), row.id, row.unit);
        }
    }
    assert!(seen > 20, "{seen}");
}
