//! The counters dictionary: what every counter means, since when it exists, what it does *not* count.
//!
//! Problem: the same name means different things to different readers ("pages migrated" by whom?), and half of the
//! questions about a NUMA report are about its counters. Approach: one table, the source of `numalab counters`, of
//! tooltips and of the units and directions in reports. A new counter is one entry here and the place where it
//! increments. Units: see [`Unit`]. Source: kernel-numa-balancing.md §15.2, thp-and-allocation.md §1.3 and
//! mmtests-report.md §2.2; releases that were not checked there are marked [`Since::About`].

mod allocation;
mod huge;
mod numa;
mod reclaim;

use std::fmt;

use numalab_stats::Better;

/// What one unit of a counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 4 KiB pages.
    Pages,
    /// Huge pages of 2 MiB.
    HugePages,
    /// Page faults.
    Faults,
    /// Allocations, whatever their size.
    Allocations,
    /// Occurrences.
    Events,
    /// Kibibytes.
    KiB,
    /// Reclaimable objects.
    Objects,
}

impl Unit {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Pages => "pages",
            Unit::HugePages => "huge pages",
            Unit::Faults => "faults",
            Unit::Allocations => "allocations",
            Unit::Events => "events",
            Unit::KiB => "KiB",
            Unit::Objects => "objects",
        }
    }
}

/// Which part of the kernel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Scanning and hinting faults.
    NumaBalancing,
    /// Promotion between memory tiers.
    Tiering,
    /// Migration of pages, for whatever reason.
    Migration,
    /// Which node an allocation got.
    AllocationPolicy,
    /// Page faults.
    Faults,
    /// Page allocator.
    Allocator,
    /// Transparent huge pages.
    HugePages,
    /// Memory compaction.
    Compaction,
    /// Page reclaim.
    Reclaim,
    /// Swap and block transfers.
    Transfer,
    /// Translation caches.
    Tlb,
    /// Caches of data, which numalab models and no kernel counts.
    Caches,
}

impl Kind {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NumaBalancing => "NUMA balancing",
            Kind::Tiering => "memory tiering",
            Kind::Migration => "page migration",
            Kind::AllocationPolicy => "allocation policy",
            Kind::Faults => "faults",
            Kind::Allocator => "page allocator",
            Kind::HugePages => "huge pages",
            Kind::Compaction => "compaction",
            Kind::Reclaim => "reclaim",
            Kind::Transfer => "swap and block I/O",
            Kind::Tlb => "TLB shoot-downs",
            Kind::Caches => "caches",
        }
    }
}

/// First release that has a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// This one.
    In(&'static str),
    /// This one or a neighbour; not checked in source.
    About(&'static str),
    /// Older than every kernel that numalab models.
    Always,
    /// Never in a released kernel; reports have a row for it all the same.
    Never,
    /// No kernel counts it, numalab does.
    Model,
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Since::In(release) => f.write_str(release),
            Since::About(release) => write!(f, "about {release}"),
            Since::Always => f.write_str("before 3.0"),
            Since::Never => f.write_str("never released"),
            Since::Model => f.write_str("numalab, in no kernel"),
        }
    }
}

/// One counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterDoc {
    /// Name, as `/proc/vmstat` has it if a kernel counts it there.
    pub name: &'static str,
    /// What one unit is.
    pub unit: Unit,
    /// Which part of the kernel counts.
    pub kind: Kind,
    /// Direction that reports assume. Less is better of what costs (scans, faults, moves, failures). What grows with good and
    /// with bad causes alike is neutral; no count is better for being larger: shares of counts are (`catalog/columns.toml`).
    pub better: Better,
    /// First release.
    pub since: Since,
    /// Last release before it was removed or renamed, if it was.
    pub until: Option<&'static str>,
    /// What it counts.
    pub meaning: &'static str,
    /// What a reader might think it counts, and it does not.
    pub not_counted: &'static str,
}

/// Every counter, by kind.
pub fn all() -> impl Iterator<Item = &'static CounterDoc> {
    numa::COUNTERS.iter().chain(allocation::COUNTERS).chain(huge::COUNTERS).chain(reclaim::COUNTERS)
}

/// A counter by its kernel name.
pub fn find(name: &str) -> Option<&'static CounterDoc> {
    all().find(|c| c.name == name)
}

/// The dictionary as text, one paragraph per counter, grouped by kind; `pattern` keeps names that contain it.
pub fn text(pattern: &str) -> String {
    let mut out = String::new();
    let mut kind = None;
    for c in all().filter(|c| c.name.contains(pattern)) {
        if kind != Some(c.kind) {
            let gap = if kind.is_some() { "\n" } else { "" };
            out.push_str(&format!("{gap}{}\n", c.kind.name()));
            kind = Some(c.kind);
        }
        out.push_str(&format!("  {} [{}]\n", c.name, c.terms()));
        out.push_str(&format!("      {}\n", c.meaning));
        if !c.not_counted.is_empty() {
            out.push_str(&format!("      Does not count: {}\n", c.not_counted));
        }
    }
    out
}

/// The dictionary as Markdown: `docs/counters.md`, which a test keeps fresh.
pub fn markdown() -> String {
    let mut out = String::from(MARKDOWN_HEAD);
    let mut kind = None;
    for c in all() {
        if kind != Some(c.kind) {
            out.push_str(&format!("\n## {}\n", capital(c.kind.name())));
            kind = Some(c.kind);
        }
        out.push_str(&format!("\n**`{}`** ({}): {}", c.name, c.terms(), c.meaning));
        if !c.not_counted.is_empty() {
            out.push_str(&format!(" *Does not count:* {}", c.not_counted));
        }
        out.push('\n');
    }
    out.push_str("\n## Derived figures\n\nComputed run by run from counters and times (`catalog/columns.toml`).\n");
    for c in crate::columns::built_in().unwrap_or_default() {
        let unit = if c.unit.is_empty() { "a number" } else { &c.unit };
        out.push_str(&format!("\n**`{}`** ({unit}): {} `{}`\n", c.name, c.doc, c.formula));
    }
    out.push_str(
        "\n## Reasons\n\nSkips, refusals and moves that the simulator counts; the kernel shows them as trace \
        points or not at all.\n",
    );
    for (name, meaning) in crate::html::reasons::REASONS {
        out.push_str(&format!("\n**`{name}`**: {meaning}\n"));
    }
    out
}

/// Beginning of [`markdown`].
const MARKDOWN_HEAD: &str = "# Counters\n\nWhat every counter means, since which kernel, and what it does not count. \
    Written from the same table as `numalab counters` and the tooltips of the page; to change it, change \
    `crates/report/src/counters/` and run `NUMALAB_DOCS=write cargo test -p numalab-report --test docs`.\n\n\
    Reports take less of a counter for better, as it is work; of a *neutral* one neither more nor less is, since it grows with good and \
    with bad causes alike: shares (derived figures, at the end) have the direction.\n";

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// Short form for the tables of the dictionary.
pub(crate) const fn entry(
    name: &'static str,
    unit: Unit,
    kind: Kind,
    since: Since,
    meaning: &'static str,
    not_counted: &'static str,
) -> CounterDoc {
    CounterDoc { name, unit, kind, better: Better::Lower, since, until: None, meaning, not_counted }
}

impl CounterDoc {
    /// The same counter, where neither more nor less is better.
    pub(crate) const fn neutral(mut self) -> Self {
        self.better = Better::Neutral;
        self
    }
    /// Unit, direction if it has none, first release and last one, as both forms print them.
    fn terms(&self) -> String {
        let neutral = if self.better == Better::Neutral { ", neutral" } else { "" };
        let until = self.until.map(|u| format!(", gone after {u}")).unwrap_or_default();
        format!("{}{neutral}, since {}{until}", self.unit.name(), self.since)
    }
    /// The same counter, gone after a release.
    pub(crate) const fn until(mut self, release: &'static str) -> Self {
        self.until = Some(release);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::vmstat::{Deltas, ROWS};

    #[test]
    fn names_are_unique_and_documented_and_kinds_are_together() {
        let list: Vec<_> = all().collect();
        for (i, c) in list.iter().enumerate() {
            assert!(list[..i].iter().all(|d| d.name != c.name), "{} twice", c.name);
            assert!(c.meaning.ends_with('.') && c.meaning.len() > 20, "{}", c.name);
            assert!(c.not_counted.is_empty() || c.not_counted.ends_with('.'), "{}", c.name);
        }
        let mut kinds: Vec<Kind> = list.iter().map(|c| c.kind).collect();
        kinds.dedup();
        let mut once = kinds.clone();
        once.sort();
        once.dedup();
        assert_eq!(kinds.len(), once.len(), "{kinds:?}");
    }

    #[test]
    fn every_ops_row_is_fed_by_known_counters() {
        // Growth of one counter at a time: a row must move for at least one counter of the dictionary.
        for (name, row) in ROWS {
            let still = |c: &&CounterDoc| {
                let base: Vec<(&str, f64)> = all().map(|d| (d.name, 4.0)).collect();
                let mut more = base.clone();
                more.push((c.name, 9.0));
                row(&Deltas::new(base, 1.0)) == row(&Deltas::new(more, 1.0))
            };
            assert!(!all().all(|c| still(&c)), "{name}");
        }
    }

    #[test]
    fn counters_of_the_references_are_known() {
        let named = "numa_pte_updates numa_huge_pte_updates numa_hint_faults numa_hint_faults_local numa_pages_migrated \
            pgmigrate_success pgmigrate_fail thp_migration_success thp_migration_fail thp_migration_split pgreuse \
            pgpromote_candidate pgpromote_success numa_hit numa_miss numa_local numa_other numa_foreign numa_interleave \
            thp_fault_alloc thp_fault_fallback thp_collapse_alloc thp_collapse_alloc_failed thp_split_page thp_split_pmd \
            compact_stall compact_fail compact_success compact_migrate_scanned compact_free_scanned compact_isolated \
            zone_reclaim_success zone_reclaim_failed pgscan_kswapd pgscan_direct pgsteal_kswapd pgsteal_direct pswpin pswpout \
            allocstall pgactivate pgdeactivate pgrefill workingset_refault_anon";
        for name in named.split_whitespace() {
            assert!(find(name).is_some(), "{name}");
        }
        assert!(find("numa_hint_fault").is_none());
    }

    #[test]
    fn counts_of_activity_are_neutral_and_shares_have_the_direction() {
        let better = |name: &str| find(name).map(|c| c.better);
        for name in ["numa_hit", "numa_local", "numa_interleave", "numa_hint_faults_local", "pgpromote_success"] {
            assert_eq!(better(name), Some(Better::Neutral), "{name}");
        }
        for name in ["numa_miss", "numa_other", "numa_hint_faults", "numa_pte_updates", "pgmigrate_fail"] {
            assert_eq!(better(name), Some(Better::Lower), "{name}");
        }
        assert!(all().all(|c| c.better != Better::Higher), "more of a count is never better by itself");
        let columns = crate::columns::built_in().unwrap();
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
