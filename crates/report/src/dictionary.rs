//! The dictionary of counters ([`numalab_model::counters`]) as text and as Markdown, and the direction that reports
//! assume.

use numalab_model::counters::{self, CounterDoc};
use numalab_stats::Better;

use crate::{columns, reasons};

/// Direction of a counter: less is better, or neither more nor less.
pub fn better(counter: &CounterDoc) -> Better {
    if counter.neutral {
        Better::Neutral
    } else {
        Better::Lower
    }
}

/// The dictionary as text, one paragraph per counter, grouped by kind; `pattern` keeps names that contain it.
pub fn text(pattern: &str) -> String {
    let mut out = String::new();
    let mut kind = None;
    for c in counters::all().filter(|c| c.name.contains(pattern)) {
        if kind != Some(c.kind) {
            let gap = if kind.is_some() { "\n" } else { "" };
            out.push_str(&format!("{gap}{}\n", c.kind.name()));
            kind = Some(c.kind);
        }
        out.push_str(&format!("  {} [{}]\n", c.name, terms(c)));
        out.push_str(&format!("      {}\n", c.meaning));
        if !c.not_counted.is_empty() {
            out.push_str(&format!("      Does not count: {}\n", c.not_counted));
        }
    }
    out
}

/// The dictionary as Markdown: `docs/reference/counters.md`, which a test keeps fresh.
pub fn markdown() -> String {
    let mut out = String::from(MARKDOWN_HEAD);
    let mut kind = None;
    for c in counters::all() {
        if kind != Some(c.kind) {
            out.push_str(&format!("\n## {}\n", capital(c.kind.name())));
            kind = Some(c.kind);
        }
        out.push_str(&format!("\n**`{}`** ({}): {}", c.name, terms(c), c.meaning));
        if !c.not_counted.is_empty() {
            out.push_str(&format!(" *Does not count:* {}", c.not_counted));
        }
        out.push('\n');
    }
    out.push_str("\n## Derived figures\n\nComputed run by run from counters and times (`catalog/columns.toml`).\n");
    for c in columns::built_in().unwrap_or_default() {
        let unit = if c.unit.is_empty() { "a number" } else { &c.unit };
        out.push_str(&format!("\n**`{}`** ({unit}): {} `{}`\n", c.name, c.doc, c.formula));
    }
    out.push_str(
        "\n## Reasons\n\nSkips, refusals and moves that the simulator counts; the kernel shows them as trace \
        points or not at all.\n",
    );
    for (name, meaning) in reasons::REASONS {
        out.push_str(&format!("\n**`{name}`**: {meaning}\n"));
    }
    out
}

/// Beginning of [`markdown`].
const MARKDOWN_HEAD: &str = "# Counters\n\nWhat every counter means, since which kernel, and what it does not count. \
    Written from the same table as `numalab counters` and the tooltips of the page; to change it, change \
    `crates/model/src/counters/` and run `make reference`.\n\n\
    In reports less of a counter is better, as it counts work. Of a *neutral* counter neither more nor less is better, since good and \
    bad causes alike make it grow; shares of counts (derived figures, at the end) have a direction.\n";

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// Unit, `neutral` if more is neither better nor worse, first release, and last release if there is one.
fn terms(c: &CounterDoc) -> String {
    let neutral = if c.neutral { ", neutral" } else { "" };
    let until = c.until.map(|u| format!(", gone after {u}")).unwrap_or_default();
    format!("{}{neutral}, since {}{until}", c.unit.name(), c.since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::vmstat::{Deltas, ROWS};

    #[test]
    fn every_ops_row_is_fed_by_known_counters() {
        // One counter grows at a time: every row must change for at least one counter of the dictionary.
        for (name, row) in ROWS {
            let unmoved = |c: &&CounterDoc| {
                let base: Vec<(&str, f64)> = counters::all().map(|d| (d.name, 4.0)).collect();
                let mut more = base.clone();
                more.push((c.name, 9.0));
                row(&Deltas::new(base, 1.0)) == row(&Deltas::new(more, 1.0))
            };
            assert!(!counters::all().all(|c| unmoved(&c)), "{name}");
        }
    }

    #[test]
    fn counts_of_activity_are_neutral_and_shares_have_the_direction() {
        let better = |name: &str| counters::find(name).map(super::better);
        for name in ["numa_hit", "numa_local", "numa_interleave", "numa_hint_faults_local", "pgpromote_success"] {
            assert_eq!(better(name), Some(Better::Neutral), "{name}");
        }
        for name in ["numa_miss", "numa_other", "numa_hint_faults", "numa_pte_updates", "pgmigrate_fail"] {
            assert_eq!(better(name), Some(Better::Lower), "{name}");
        }
        let columns = columns::built_in().unwrap();
        let share = |name: &str| columns.iter().find(|c| c.name == name).map(|c| c.better);
        assert_eq!(["numa_local_percent", "alloc_local_percent"].map(share), [Some(Better::Higher); 2]);
        assert!(text("numa_hit").contains("numa_hit [allocations, neutral, since before 3.0]"));
    }

    #[test]
    fn text_is_grouped_and_filtered() {
        let got = text("hint_faults");
        assert!(got.starts_with("NUMA balancing\n  numa_hint_faults [faults, since 3.8]\n"), "{got}");
        assert_eq!(got.matches("numa_hint_faults").count(), 2, "the name and its local form: {got}");
        assert_eq!(text("no such counter"), "");
    }
}
