//! Definitions of the words, counters, rows, figures and settings of the page.
//!
//! Problem: half of the questions about a NUMA report are about the meaning of a figure. Approach: the definitions
//! stand at the foot of the page, and a word that has one is a link to it. That works without a script; with it the
//! definition is also a tooltip. Counters come from [`numalab_model::counters`], derived figures from their
//! declaration, and settings from the caller. `Ops` rows are explained by the counters that change them, found by
//! changing each counter.

use numalab_model::counters::{self, CounterDoc};

use super::input::{Input, Setting};
use super::markup::{slug, Html};
use crate::reasons;
use crate::tables::vmstat::{Deltas, CORRECTED, ROWS};
use crate::tables::Table;

/// Words that are neither counters nor settings.
const WORDS: &[(&str, &str)] = &[
    ("elapsed", "Wall time of a run from its start to its end, in seconds."),
    ("user", "CPU time that the workload's threads spent outside the kernel, all threads together, in seconds."),
    (
        "system",
        "CPU time that was spent in the kernel on behalf of the workload: faults, scanning, migration, all \
        threads together, in seconds.",
    ),
    (
        "blocked",
        "Time that threads could not run because they waited for a page under migration, all threads \
        together, in seconds. No CPU is busy meanwhile.",
    ),
    (
        "local-fault share",
        "Share of NUMA hinting faults whose page was already on the node of the faulting CPU: 100 % \
        means that every sampled access was local. It says nothing about accesses that took no fault.",
    ),
    (
        "clear",
        "A difference is called clear if Welch's t test gives p below 0.05 after Holm's correction for all rows \
        of the report, and the change does not print as 0.00 %.",
    ),
    (
        "star",
        "The mark of mmtests for a significant difference; its rule is named under the tables. It is not \
        corrected for the number of rows; a change of 0.00 % never has it.",
    ),
    (
        "distance",
        "What the firmware tells the kernel (SLIT): 10 is local, larger is farther. A convention, not a measurement.",
    ),
    ("latency", "Time from a load by an idle CPU of the row's node to data from memory of the column's node, in ns."),
    ("LLC", "Last-level cache: the cache that a group of CPUs shares before memory is asked."),
];

/// Statistics of the comparison tables.
const STATISTICS: &[(&str, &str)] = &[
    ("Min", "The smallest of the runs."),
    ("Max", "The largest of the runs."),
    ("Amean", "Arithmetic mean of the runs; carries the star."),
    ("Hmean", "Harmonic mean of the runs, the mean for rates; carries the star."),
    ("Stddev", "Standard deviation of the runs; less is better in every table."),
    ("HStddev", "Standard deviation around the harmonic mean; less is better in every table."),
    ("CoeffVar", "Standard deviation in percent of the mean; less is better in every table."),
    ("HCoeffVar", "Standard deviation in percent of the harmonic mean; less is better in every table."),
    ("1st-qrtle", "The run at a quarter of the order from best to worst."),
    ("2nd-qrtle", "The run in the middle of the order from best to worst."),
    ("3rd-qrtle", "The run at three quarters of the order from best to worst."),
    ("Ops", "A single value per kernel."),
    ("MB/sec", "A single value per kernel."),
    ("Duration", "Seconds of all runs of the kernel together."),
    ("Ops/run", "Ops of one run on average, because kernels have different numbers of completed runs."),
    ("Duration/run", "Seconds of one run on average, because kernels have different numbers of completed runs."),
    (
        "Reason/run",
        "Skips and refusals in one run on average, because kernels have different numbers of completed runs.",
    ),
    ("SubAmean", "Mean of sub-selections of the runs."),
    ("SubHmean", "Harmonic mean of sub-selections of the runs."),
];

/// A definition.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    /// Unit and releases; for a setting its kernel name.
    about: String,
    meaning: String,
    not_counted: String,
}

impl Entry {
    fn new(name: &str, about: &str, meaning: impl Into<String>) -> Self {
        Self { name: name.into(), about: about.into(), meaning: meaning.into(), not_counted: String::new() }
    }
}

/// Definitions in groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glossary {
    groups: Vec<(String, Vec<Entry>)>,
}

impl Glossary {
    /// Definitions for a page; `tables` are the tables it shows.
    pub fn new(input: &Input<'_>, tables: &[Table]) -> Self {
        let fixed = |list: &[(&str, &str)]| list.iter().map(|(n, m)| Entry::new(n, "", *m)).collect::<Vec<_>>();
        let mut out = Self::default();
        out.add("Words", fixed(WORDS));
        let mut statistics = fixed(STATISTICS);
        statistics.extend(tables.iter().flat_map(|t| &t.rows).filter_map(|r| ranked(&r.stat)));
        out.add("Statistics", statistics);
        for kind in kinds() {
            out.add(
                &format!("Counters: {kind}"),
                counters::all().filter(|c| c.kind.name() == kind).map(counter).collect(),
            );
        }
        out.add("Rows of the Ops table", ops(tables));
        let derived = &input.comparison.columns;
        out.add("Derived figures", derived.iter().map(|c| Entry::new(&c.name, &c.unit, c.doc.clone())).collect());
        out.add("Reasons", reasons::REASONS.iter().map(|(n, m)| Entry::new(n, "", *m)).collect());
        let settings = input.settings.iter().flatten().filter(|s| !s.doc.is_empty());
        let meaning = |s: &Setting| match s.meaning.as_str() {
            "" => s.doc.clone(),
            says => format!("{} {}: {says}", s.doc, s.value),
        };
        out.add("Settings", settings.map(|s| Entry::new(&s.name, &s.kernel_name, meaning(s))).collect());
        out
    }

    /// Adds a group with the definitions of names that have none yet.
    fn add(&mut self, group: &str, entries: Vec<Entry>) {
        let mut new: Vec<Entry> = Vec::new();
        for e in entries {
            if !self.has(&e.name) && new.iter().all(|n| n.name != e.name) {
                new.push(e);
            }
        }
        if !new.is_empty() {
            self.groups.push((group.into(), new));
        }
    }

    /// Whether a name has a definition.
    pub fn has(&self, name: &str) -> bool {
        self.groups.iter().any(|g| g.1.iter().any(|e| e.name == name))
    }

    /// Writes a name, as a link to its definition if it has one.
    pub fn term(&self, h: &mut Html, name: &str) {
        self.term_as(h, name, name);
    }

    /// Writes `shown`, as a link to the definition of `name` if there is one.
    pub fn term_as(&self, h: &mut Html, name: &str, shown: &str) {
        if self.has(name) {
            let id = format!("#def-{}", slug(name));
            h.element("a", &[("class", "term"), ("href", &id)], shown);
        } else {
            h.text(shown);
        }
    }

    /// The list of definitions at the foot of the page.
    pub fn render(&self) -> Html {
        let mut h = Html::new();
        for (group, entries) in &self.groups {
            h.raw("<details class=\"defs\"><summary>").text(group).raw(" <span class=\"count\">");
            h.show(entries.len()).raw("</span></summary><dl>");
            for e in entries {
                h.open("div", &[("id", &format!("def-{}", slug(&e.name)))]);
                h.raw("<dt>").element("code", &[], &e.name);
                if !e.about.is_empty() {
                    h.element("span", &[("class", "about")], &e.about);
                }
                h.raw("</dt>").element("dd", &[], &e.meaning);
                if !e.not_counted.is_empty() {
                    h.raw("<dd class=\"not\"><b>Does not count:</b> ").text(&e.not_counted).raw("</dd>");
                }
                h.raw("</div>");
            }
            h.raw("</dl></details>");
        }
        h
    }
}

fn kinds() -> Vec<&'static str> {
    let mut out: Vec<&str> = counters::all().map(|c| c.kind.name()).collect();
    out.dedup();
    out
}

fn counter(c: &CounterDoc) -> Entry {
    let until = c.until.map(|u| format!(", gone after {u}")).unwrap_or_default();
    let about = format!("{}, since {}{until}", c.unit.name(), c.since);
    Entry { not_counted: c.not_counted.into(), ..Entry::new(c.name, &about, c.meaning) }
}

/// Definition of a statistic with a percentage in its name.
fn ranked(stat: &str) -> Option<Entry> {
    let (kind, percent) = stat.split_once(['-', '.'])?;
    let percent: u32 = percent.parse().ok()?;
    let meaning = match kind {
        "BAmean" => format!("Arithmetic mean of the best {percent} percent of the runs."),
        "BHmean" => format!("Harmonic mean of the best {percent} percent of the runs."),
        "Max" | "Pctile" => format!("The run at {percent} percent of the order from best to worst."),
        _ => return None,
    };
    Some(Entry::new(stat, "", meaning))
}

/// Definitions of the vmstat rows that are shown, by the counters that change them.
fn ops(tables: &[Table]) -> Vec<Entry> {
    let shown = |name: &str| tables.iter().flat_map(|t| &t.rows).any(|r| r.operation == name);
    let base = Deltas::new(counters::all().map(|c| (c.name, 4.0)), 1.0);
    let changed: Vec<(&str, Deltas)> = counters::all()
        .map(|c| {
            (c.name, Deltas::new(counters::all().map(|d| (d.name, if d.name == c.name { 9.0 } else { 4.0 })), 1.0))
        })
        .collect();
    let mut out = Vec::new();
    for (name, row) in ROWS.iter().chain(&CORRECTED).filter(|r| shown(r.0)) {
        let from: Vec<&str> = changed.iter().filter(|(_, d)| row(d) != row(&base)).map(|m| m.0).collect();
        let meaning = match from.as_slice() {
            [] => continue,
            [one] => {
                let meaning = counters::find(one).map_or("", |c| c.meaning);
                format!("From {one}: {meaning}")
            }
            more => format!("Computed from {}.", more.join(", ")),
        };
        out.push(Entry::new(name, "all runs together", meaning));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Comparison;
    use crate::tables::{Cell, Row};

    fn row(stat: &str, operation: &str) -> Row {
        Row { stat: stat.into(), operation: operation.into(), cells: vec![Cell::default()] }
    }

    #[test]
    fn counters_statistics_and_rows_are_defined_once() {
        let c = Comparison { columns: crate::columns::built_in().unwrap(), ..Comparison::default() };
        let input = Input::new("x", &c);
        let rows = vec![row("BAmean-95", "elapsed"), row("Ops", "NUMA hint faults"), row("Ops", "AutoNUMA cost")];
        let g = Glossary::new(&input, &[Table { rows, ..Table::default() }]);
        for name in ["numa_pte_updates", "BAmean-95", "Amean", "numa_local_percent", "skip.pid_inactive", "blocked"] {
            assert!(g.has(name), "{name}");
        }
        assert!(!g.has("NUMA pages migrated"), "not shown");
        let text = g.render().into_string();
        assert!(text.contains("From numa_hint_faults: Hinting faults that found"));
        assert!(text.contains("Computed from numa_pte_updates, numa_hint_faults, numa_pages_migrated."), "{text}");
        let ids: Vec<&str> = text.split("id=\"").skip(1).filter_map(|t| t.split('"').next()).collect();
        let mut once = ids.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ids.len());
    }

    #[test]
    fn a_term_links_to_its_definition() {
        let c = Comparison::default();
        let g = Glossary::new(&Input::new("x", &c), &[]);
        let mut h = Html::new();
        g.term(&mut h, "numa_hint_faults");
        g.term(&mut h, "<unknown>");
        let want = "<a class=\"term\" href=\"#def-numa_hint_faults\">numa_hint_faults</a>&lt;unknown&gt;";
        assert_eq!(h.into_string(), want);
    }
}
