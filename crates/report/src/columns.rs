//! Declarations of derived columns: figures computed from counters, declared in `catalog/columns.toml`.
//!
//! Problem: a new figure must not need new code. Approach: one entry per column, with an expression
//! ([`numalab_model::expr`]) over counters and the times of a run. [`crate::derive`] computes them.
//! Invariant: every name in an expression is a counter, a time, an earlier column or [`BASE_PAGE_KIB`].

use numalab_model::counters;
use numalab_model::expr::{shift, Expr};
use numalab_model::record::TIMES;
use numalab_model::spec::{Doc, SpecError, Spot, Table};
use numalab_stats::Better;

use crate::reasons;

/// In an expression, the KiB of a base page of the kernel: `system.base_page_kb`, 4 for real kernels.
pub const BASE_PAGE_KIB: &str = "base_page_kib";

/// Text of `catalog/columns.toml`.
const BUILT_IN: &str = include_str!("../columns.toml");

/// The declaration of a derived column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name; no other metric has it.
    pub name: String,
    /// Short title for headings.
    pub title: String,
    /// Unit, empty if none.
    pub unit: String,
    /// Whether more or less of it is better.
    pub better: Better,
    /// What it tells, in one line.
    pub doc: String,
    /// The expression as it is written.
    pub formula: String,
    /// The parsed expression.
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
/// A [`SpecError`] with the place of the first mistake: syntax, an unknown key, a wrong direction, a bad expression, an
/// unknown name in it, or a column whose name is taken.
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

/// The built-in columns with those of a user's file. A column with a built-in name takes the place of that one; others
/// follow.
///
/// # Errors
/// The errors of [`parse`]. A column in the place of a built-in one may use the columns before that place.
pub fn with_own(file: &str, text: &str) -> Result<Vec<Column>, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let mut out = built_in()?;
    let built_in_count = out.len();
    let mut replaced: Vec<usize> = Vec::new();
    for table in root.tables("column")? {
        let name = table.str("name")?.value;
        match out.iter().position(|c| c.name == name).filter(|at| *at < built_in_count && !replaced.contains(at)) {
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

/// Parses the expression of a column; `before` are the columns whose names it may use.
fn expression(text: &Spot<String>, before: &[Column]) -> Result<Expr, SpecError> {
    let expr = Expr::parse(&text.value).and_then(|e| e.check_plain().map(|()| e)).map_err(|e| e.at(text))?;
    for (name, offset) in expr.names() {
        let given = name == BASE_PAGE_KIB || TIMES.contains(&name) || counters::find(name).is_some();
        let known = given || before.iter().any(|c| c.name == name);
        if !known {
            let names = counters::all().map(|c| c.name).chain(TIMES).chain(before.iter().map(|c| c.name.as_str()));
            let expected = "a counter, a time, an earlier column or base_page_kib";
            let e = shift(text, offset).error(format!("unknown name `{name}` in the expression"), expected);
            return Err(e.near(name, names));
        }
    }
    Ok(expr)
}

/// Whether reports have a metric of this name without any column, because it is a time, a counter or a reason.
fn built_in_metric(name: &str) -> bool {
    TIMES.contains(&name) || counters::find(name).is_some() || reasons::meaning(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_file_replace_and_add() {
        let column = |name: &str, expr: &str| {
            format!("[[column]]\nname = \"{name}\"\nexpr = \"{expr}\"\nbetter = \"lower\"\ndoc = \"x\"\n")
        };
        let text = column("numa_cost", "numa_hint_faults * 2") + &column("mine", "numa_cost + 1");
        let own = built_in().unwrap();
        let all = with_own("c.toml", &text).unwrap();
        assert_eq!(all.len(), own.len() + 1);
        let at = own.iter().position(|c| c.name == "numa_cost").unwrap();
        assert_eq!((all[at].name.as_str(), all[at].formula.as_str()), ("numa_cost", "numa_hint_faults * 2"));
        let refused = |text: String| with_own("c.toml", &text).unwrap_err().what;
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
