//! `numalab counters`: the meaning of every counter, the release that introduced it, and what it does not count.

use crate::context::Context;
use crate::failure::{Done, Failure};
use crate::terminal;
use numalab_model::counters::{self, CounterDoc, Word, OTHERS};
use numalab_model::record::TIMES;
use numalab_model::spec::SpecError;
use numalab_report::collect::metric_name;
use numalab_report::columns::Column;
use numalab_report::dictionary;
use numalab_report::reasons::REASONS;
use numalab_stats::Better;
use serde_json::{json, Value};

/// Arguments of `counters`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name, or part of the name, of counters, derived columns or reasons, also as numastat, perf or the kernel test
    /// robot print it [default: all counters]
    name: Option<String>,
    /// Print as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Prints the dictionary of counters, or the entries whose names contain the argument.
///
/// # Errors
/// No entry matches.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let asked_for = args.name.as_deref().unwrap_or("");
    let printed = counters::printed(asked_for).filter(|p| is_known(p.name));
    let pattern = printed.map_or(asked_for, |p| p.name);
    let found: Vec<&CounterDoc> = counters::all().filter(|c| c.name.contains(pattern)).collect();
    // Without a name only counters are listed, so derived columns and reasons need one.
    let asked = |name: &str| !pattern.is_empty() && name.contains(pattern);
    let derived: Vec<_> = context.columns.iter().filter(|c| asked(&c.name)).collect();
    let reasons: Vec<_> = REASONS.iter().filter(|r| asked(r.0)).collect();
    // Names that nothing here compares are explained if they are meant: as a whole, or where nothing else is found.
    let compared = !(found.is_empty() && derived.is_empty() && reasons.is_empty());
    let whole = OTHERS.iter().any(|o| o.0 == pattern);
    let other = |o: &&(&str, Word, &str)| o.0 == pattern || (!compared && !whole && asked(o.0));
    let others: Vec<_> = OTHERS.iter().filter(other).collect();
    if !compared && others.is_empty() {
        if TIMES.contains(&metric_name(pattern)) {
            let what = format!("`{pattern}` is a time that every run measures, no counter");
            let expected = "a counter (`numalab counters` lists them); `numalab compare` has the times";
            return Err(SpecError::plain("counters", what, expected).into());
        }
        let columns = context.columns.iter().map(|c| c.name.as_str());
        let others = OTHERS.iter().map(|o| o.0);
        let names = counters::all().map(|c| c.name).chain(REASONS.iter().map(|r| r.0)).chain(columns).chain(others);
        let e = SpecError::plain(
            "counters",
            format!("no counter `{pattern}`"),
            "a counter (`numalab counters` lists them)",
        );
        let near = counters::printed(asked_for).map_or(pattern, |p| p.name);
        return Err(e.near(near, names).into());
    }
    if args.json {
        let mut list: Vec<Value> = found.into_iter().map(counter).collect();
        list.extend(derived.iter().map(|c| {
            json!({"name": c.name, "kind": "derived figure", "unit": c.unit, "better": c.better.name(), "meaning": c.doc,
                "formula": c.formula})
        }));
        list.extend(reasons.iter().map(|r| json!({"name": r.0, "kind": "reason", "unit": "events", "meaning": r.1})));
        list.extend(others.iter().map(|o| json!({"name": o.0, "kind": o.1.name(), "unit": "", "meaning": o.2})));
        return Done::json(&list);
    }
    let mut text = printed.map_or_else(String::new, |p| format!("{} prints {} as {asked_for}.\n\n", p.tool, p.name));
    text.push_str(&dictionary::text(if compared { pattern } else { "\n" }));
    for (title, lines) in [
        ("derived figures", derived.iter().map(|c| (c.name.clone(), unit(c), meaning(c))).collect::<Vec<_>>()),
        ("reasons", reasons.iter().map(|r| (r.0.to_string(), "events".to_string(), r.1.to_string())).collect()),
        (
            "names that numalab does not compare",
            others.iter().map(|o| (o.0.to_string(), o.1.name().to_string(), o.2.to_string())).collect(),
        ),
    ] {
        if lines.is_empty() {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{title}\n"));
        for (name, unit, meaning) in lines {
            text.push_str(&format!("  {name} [{unit}]\n      {meaning}\n"));
        }
    }
    Ok(Done::text(terminal::wrapped(&text, terminal::width())))
}

/// Whether a name is one of the kernel or of perf that can be explained.
fn is_known(name: &str) -> bool {
    counters::find(name).is_some() || OTHERS.iter().any(|o| o.0 == name)
}

/// Unit and direction of a column: `%, higher is better`.
fn unit(c: &Column) -> String {
    let better = match c.better {
        Better::Neutral => "neutral".to_string(),
        other => format!("{} is better", other.name()),
    };
    [c.unit.clone(), better].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Description and formula of a column.
fn meaning(c: &Column) -> String {
    format!("{}\n      = {}", c.doc, c.formula)
}

/// A counter as JSON.
fn counter(c: &CounterDoc) -> Value {
    json!({
        "name": c.name, "kind": c.kind.name(), "unit": c.unit.name(), "better": dictionary::better(c).name(),
        "since": c.since.to_string(), "until": c.until, "meaning": c.meaning, "not_counted": c.not_counted,
    })
}
