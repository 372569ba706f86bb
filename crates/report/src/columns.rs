//! Derived columns: figures computed from counters, declared in `catalog/columns.toml`.
//!
//! Problem: a new figure must not need new code. Approach: one entry per column with an expression over counters and
//! the run's times; it is one of [`numalab_model::expr`] over plain numbers, evaluated run by run, so a derived figure has
//! samples like any other.
//! Invariant: a counter that a kernel does not have counts as 0; a division by zero gives no figure for that run.

use numalab_model::counters;
use numalab_model::expr::{shift, Expr};
use numalab_model::record::TIMES;
use numalab_model::spec::{Doc, SpecError, Spot, Table};
use numalab_stats::Better;

use crate::data::{Comparison, Metric, Workload};
use crate::html::reasons;

/// The columns that come with numalab.
const BUILT_IN: &str = include_str!("../../../catalog/columns.toml");

/// A derived column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, unique.
    pub name: String,
    /// Short title for headings.
    pub title: String,
    /// Unit, empty if none.
    pub unit: String,
    /// Direction.
    pub better: Better,
    /// One line.
    pub doc: String,
    /// How it is computed, as it is written.
    pub formula: String,
    /// The same, ready to use.
    pub expr: Expr,
}

/// The columns that come with numalab.
///
/// # Errors
/// A [`SpecError`] if the embedded file is wrong, which a test rules out.
pub fn built_in() -> Result<Vec<Column>, SpecError> {
    parse("columns.toml", BUILT_IN)
}

/// Reads columns from TOML text; `file` is used in messages.
///
/// # Errors
/// A [`SpecError`] with the place of the first mistake: syntax, an unknown key, a wrong direction, a bad expression, a
/// name that is neither a counter nor a time nor an earlier column, or a name that another metric has.
pub fn parse(file: &str, text: &str) -> Result<Vec<Column>, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let mut out: Vec<Column> = Vec::new();
    for table in root.tables("column")? {
        let column = read(table, &out)?;
        out.push(column);
    }
    root.finish()?;
    Ok(out)
}

/// The built-in columns with those of a file laid over them: one of a built-in name takes its place, others follow.
///
/// # Errors
/// As [`parse`]; a column in the place of a built-in one may use the columns before that place.
pub fn laid_over(file: &str, text: &str) -> Result<Vec<Column>, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let mut out = built_in()?;
    let own = out.len();
    let mut replaced: Vec<usize> = Vec::new();
    for table in root.tables("column")? {
        let name = table.str("name")?.value;
        match out.iter().position(|c| c.name == name).filter(|at| *at < own && !replaced.contains(at)) {
            Some(at) => {
                out[at] = read(table, &out[..at])?;
                replaced.push(at);
            }
            None => {
                let column = read(table, &out)?;
                out.push(column);
            }
        }
    }
    root.finish()?;
    Ok(out)
}

fn read(table: Table<'_>, before: &[Column]) -> Result<Column, SpecError> {
    let name = table.str("name")?;
    if before.iter().any(|c| c.name == name.value) || built_in_metric(&name.value) {
        let expected = "a name that no time, no counter, no reason and no other column has";
        return Err(name.error(format!("`{}` is taken", name.value), expected));
    }
    let title = table.opt_str("title")?.map_or_else(|| name.value.clone(), |t| t.value);
    let unit = table.opt_str("unit")?.map_or_else(String::new, |u| u.value);
    let better = table.str("better")?;
    let better = match better.value.as_str() {
        "higher" => Better::Higher,
        "lower" => Better::Lower,
        other => return Err(better.error(format!("`better` is `{other}`"), "higher or lower")),
    };
    let doc = table.str("doc")?.value;
    let text = table.opt_text("expr")?.ok_or_else(|| table.missing("expr", "an expression"))?;
    let expr = expression(&text, before)?;
    table.finish()?;
    Ok(Column { name: name.value, title, unit, better, doc, formula: text.value, expr })
}

/// The expression of a column; `before` are the columns whose names it may use.
fn expression(text: &Spot<String>, before: &[Column]) -> Result<Expr, SpecError> {
    let expr = Expr::parse(&text.value).and_then(|e| e.check_plain().map(|()| e)).map_err(|e| e.at(text))?;
    for (name, offset) in expr.names() {
        let known = TIMES.contains(&name) || counters::find(name).is_some() || before.iter().any(|c| c.name == name);
        if !known {
            let names = counters::all().map(|c| c.name).chain(TIMES).chain(before.iter().map(|c| c.name.as_str()));
            let expected = "a counter, a time or an earlier column";
            let e = shift(text, offset).error(format!("unknown name `{name}` in the expression"), expected);
            return Err(e.near(name, names));
        }
    }
    Ok(expr)
}

/// Whether reports have a metric of this name without any column: a time, a counter or a reason.
fn built_in_metric(name: &str) -> bool {
    TIMES.contains(&name) || counters::find(name).is_some() || reasons::meaning(name).is_some()
}

/// Computes the columns for every workload of a comparison, replacing what was derived before, and keeps their
/// definitions in it; a column of which nothing was counted is left out, and one that is called like a score of the
/// workload: names are unique in every form.
pub fn apply(c: &mut Comparison, columns: &[Column]) {
    c.columns = columns.to_vec();
    let kernels = c.kernels.len();
    for w in &mut c.workloads {
        w.derived.clear();
        for column in columns {
            if let Some(metric) = derive(w, column, kernels) {
                w.derived.push(metric);
            }
        }
    }
}

fn derive(w: &Workload, column: &Column, kernels: usize) -> Option<Metric> {
    let names = column.expr.names().into_iter().map(|(name, _)| name);
    let recorded = |n: &str| w.counter(n).is_some() || w.metric(n).is_some();
    // A time that was not recorded is not 0, and times alone do not make a figure of counters that nobody recorded.
    let (times, counted): (Vec<&str>, Vec<&str>) = names.partition(|n| TIMES.contains(n));
    let any_counted = counted.is_empty() || counted.iter().any(|n| recorded(n));
    let taken = w.metrics.iter().any(|m| m.name == column.name);
    if taken || !any_counted || !times.iter().all(|n| recorded(n)) {
        return None;
    }
    let samples = (0..kernels).map(|k| (0..runs(w, k)).filter_map(|run| value(w, column, k, run)).collect()).collect();
    Some(Metric::counted(&column.name, &column.unit, column.better, samples))
}

/// Number of runs of a kernel.
fn runs(w: &Workload, kernel: usize) -> usize {
    let metrics = w.metrics.iter().map(|m| m.of(kernel).len());
    metrics.chain(w.counters.iter().map(|c| c.of(kernel).len())).max().unwrap_or(0)
}

fn value(w: &Workload, column: &Column, kernel: usize, run: usize) -> Option<f64> {
    let lookup = |name: &str| {
        let samples = match w.counter(name) {
            Some(counter) => counter.of(kernel),
            None => w.metric(name).map_or(&[][..], |m| m.of(kernel)),
        };
        Some(samples.get(run).copied().unwrap_or(0.0))
    };
    column.expr.eval_plain(lookup).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Counter, Kernel};

    fn comparison(faults: &[f64], local: &[f64]) -> Comparison {
        let counter = |name: &str, s: &[f64]| Counter { name: name.into(), samples: vec![s.to_vec()] };
        let w = Workload {
            counters: vec![counter("numa_hint_faults", faults), counter("numa_hint_faults_local", local)],
            metrics: vec![Metric::new("elapsed", "s", false, vec![vec![2.0; faults.len()]])],
            ..Workload::default()
        };
        Comparison { kernels: vec![Kernel::named("x")], workloads: vec![w], ..Comparison::default() }
    }

    #[test]
    fn built_in_columns_are_valid_and_derive() {
        let columns = built_in().unwrap();
        assert!(columns.len() >= 5);
        assert!(columns.iter().all(|c| c.doc.ends_with('.')));
        let mut c = comparison(&[100.0, 200.0], &[25.0, 100.0]);
        apply(&mut c, &columns);
        let w = &c.workloads[0];
        assert_eq!(w.metric("numa_local_percent").unwrap().samples, [vec![25.0, 50.0]]);
        assert_eq!(w.metric("numa_hint_faults_per_s").unwrap().samples, [vec![50.0, 100.0]]);
    }

    #[test]
    fn no_figure_from_a_division_by_zero_and_none_from_nothing() {
        let columns = built_in().unwrap();
        let mut c = comparison(&[0.0, 10.0], &[0.0, 5.0]);
        apply(&mut c, &columns);
        assert_eq!(c.workloads[0].metric("numa_local_percent").unwrap().samples, [vec![50.0]]);
        assert!(c.workloads[0].metric("thp_fault_success_percent").is_none());
        assert!(c.workloads[0].metric("system_percent").is_none(), "user and system were not recorded");
    }

    #[test]
    fn a_score_keeps_its_name() {
        let mut columns = built_in().unwrap();
        columns.truncate(1);
        columns[0].name = "ops".into();
        let mut c = comparison(&[100.0], &[25.0]);
        c.workloads[0].metrics.push(Metric::new("ops", "ops/s", true, vec![vec![3.0]]));
        apply(&mut c, &columns);
        assert_eq!(c.workloads[0].derived, []);
    }

    #[test]
    fn columns_of_a_file_replace_and_add() {
        let column = |name: &str, expr: &str| {
            format!("[[column]]\nname = \"{name}\"\nexpr = \"{expr}\"\nbetter = \"lower\"\ndoc = \"x\"\n")
        };
        let text = column("numa_cost", "numa_hint_faults * 2") + &column("mine", "numa_cost + 1");
        let own = built_in().unwrap();
        let all = laid_over("c.toml", &text).unwrap();
        assert_eq!(all.len(), own.len() + 1);
        let at = own.iter().position(|c| c.name == "numa_cost").unwrap();
        assert_eq!((all[at].name.as_str(), all[at].formula.as_str()), ("numa_cost", "numa_hint_faults * 2"));
        let mut c = comparison(&[100.0], &[25.0]);
        apply(&mut c, &all);
        assert_eq!(c.workloads[0].metric("mine").unwrap().samples, [vec![201.0]]);
        assert_eq!(c.columns.len(), all.len(), "their definitions go with the figures");
        let refused = |text: String| laid_over("c.toml", &text).unwrap_err().what;
        assert!(refused(column("mine", "1").repeat(2)).contains("taken"));
        assert!(refused(column("numa_cost", "1").repeat(2)).contains("taken"));
        assert!(refused(column("numa_hint_faults", "1")).contains("taken"), "a counter");
        for name in ["elapsed", "user", "system", "blocked", "skip.pid_inactive"] {
            assert!(refused(column(name, "numa_hint_faults")).contains("taken"), "{name}");
        }
        assert!(refused(column("numa_cost", "numa_cost_with_copy")).contains("unknown name"), "it comes later");
    }

    #[test]
    fn mistakes_are_placed() {
        let column = |expr: &str, better: &str| {
            format!("[[column]]\nname = \"a\"\nexpr = \"{expr}\"\nbetter = \"{better}\"\ndoc = \"x\"\n")
        };
        let place = |text: &str| parse("c.toml", text).map(|_| ()).unwrap_err();
        let e = place(&column("1 + ", "lower"));
        assert_eq!((e.line, e.column), (3, 13), "{e}");
        let e = place(&column("numa_hint_fault / 2", "lower"));
        assert_eq!(e.nearest.as_deref(), Some("numa_hint_faults"), "{e}");
        let e = place(&column("elapsed + 4KiB", "lower"));
        assert_eq!((e.column, e.what.as_str()), (19, "`4KiB` is a size in bytes"), "{e}");
        let e = place(&column("elapsed * c.d", "lower"));
        assert_eq!((e.column, e.what.as_str()), (19, "unknown name `c.d` in the expression"), "{e}");
        assert_eq!(place(&column("1", "more")).line, 4);
        assert!(place("[[column]]\nname = \"a\"\n").what.contains("`column[0].better` is missing"));
        assert_eq!(place("[[columm]]\n").nearest.as_deref(), Some("column"));
        let twice = column("1", "lower").repeat(2);
        assert!(place(&twice).what.contains("taken"));
    }
}
