//! The answer for each kernel: its one finding, or how many findings it has of each kind.

use super::call::Call;
use super::finding::Finding;
use super::sentence::growth;
use crate::data::{Comparison, Runs};

/// Most clear differences that the sentence of a kernel names.
const MAX_NAMED: usize = 3;

/// One sentence per kernel, with the call that sums it up if there is one. The sentence of a single finding is that
/// finding.
pub fn headline(c: &Comparison, findings: &[Finding]) -> Vec<(Option<Call>, String)> {
    let base = c.baseline_name();
    if c.nothing_ran() {
        return vec![(None, "Nothing was run yet.".into())];
    }
    if c.kernels.len() < 2 {
        return vec![(None, format!("Only {base} was run: there is nothing to compare it with."))];
    }
    if findings.is_empty() {
        let runs: Vec<Runs> = c.workloads.iter().flat_map(|w| &w.runs).copied().collect();
        let none = !runs.is_empty() && runs.iter().all(|r| r.completed() == 0);
        let what =
            if none { "No run completed: there is nothing to compare." } else { "There are no figures to compare." };
        return vec![(None, what.into())];
    }
    let one = |kernel| match findings.iter().filter(|f| f.kernel == kernel).collect::<Vec<_>>().as_slice() {
        [only] => (Some(only.call), only.text.clone()),
        // If no finding can be told for one and the same reason, the reason says more than their number.
        [first, more @ ..] if first.call == Call::CannotTell && more.iter().all(|f| f.text == first.text) => {
            (Some(first.call), first.text.clone())
        }
        _ => summary(c, findings, kernel),
    };
    c.others().map(one).collect()
}

/// Whether the headline does not name every finding, as some kernel has more than one.
pub fn more_than_headline(c: &Comparison, findings: &[Finding]) -> bool {
    c.others().any(|kernel| findings.iter().filter(|f| f.kernel == kernel).count() > 1)
}

/// The sentence of a kernel with several findings: "b wins over a: of 3 measurements clearly better in 2 (copy of
/// stream 20.0 % higher, …), cannot tell in 1."
fn summary(c: &Comparison, findings: &[Finding], kernel: usize) -> (Option<Call>, String) {
    let of = |call: Call| -> Vec<&Finding> {
        let mut list: Vec<&Finding> = findings.iter().filter(|f| f.kernel == kernel && f.call == call).collect();
        // The largest change comes first; equal ones stay in print order.
        let size = |f: &Finding| f.change_percent.map_or(0.0, f64::abs);
        list.sort_by(|a, b| size(b).total_cmp(&size(a)));
        list
    };
    let calls = [Call::Better, Call::Worse, Call::Even, Call::CannotTell];
    let lists = calls.map(of);
    let counts = [0, 1, 2, 3].map(|i: usize| lists[i].len());
    let (overall, verb) = match counts {
        [0, 0, 0, _] => (Some(Call::CannotTell), "cannot be told from"),
        [0, 0, ..] => (Some(Call::Even), "does not clearly differ from"),
        [_, 0, ..] => (Some(Call::Better), "wins over"),
        [0, ..] => (Some(Call::Worse), "loses to"),
        _ => (None, "wins some and loses some against"),
    };
    let words = ["clearly better in", "clearly worse in", "no clear difference in", "cannot tell in"];
    let mut parts = Vec::new();
    for (i, list) in lists.iter().enumerate().filter(|(_, l)| !l.is_empty()) {
        // Only clear differences are given with their size.
        let sizes = if i < 2 { sizes(c, list) } else { String::new() };
        parts.push(format!("{} {}{sizes}", words[i], list.len()));
    }
    let all: usize = counts.iter().sum();
    let what = if all == 1 { "measurement" } else { "measurements" };
    let name = &c.kernels[kernel].name;
    (overall, format!("{name} {verb} {}: of {all} {what} {}.", c.baseline_name(), parts.join(", ")))
}

/// The largest changes, in parentheses.
fn sizes(c: &Comparison, list: &[&Finding]) -> String {
    let one = |f: &&Finding| {
        let workload = c.workloads.get(f.workload).map_or("", |w| w.name.as_str());
        f.change_percent.map(|x| format!("{workload} {} {}", f.metric, growth(x)))
    };
    let named: Vec<String> = list.iter().take(MAX_NAMED).filter_map(one).collect();
    let more = if list.len() > MAX_NAMED { ", …" } else { "" };
    if named.is_empty() {
        String::new()
    } else {
        format!(" ({}{more})", named.join(", "))
    }
}
