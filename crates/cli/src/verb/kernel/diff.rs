//! `numalab kernel diff`: what two kernels do differently, in words.
//!
//! A difference that releases between the two made is told with the release, the sentence and the commit of the table
//! of releases. Any other one is told by what the role or tunable decides, and what its two values mean.

use crate::context::{named, Context};
use crate::failure::{Done, Failure};
use crate::service::show;
use crate::sources;
use numalab_model::kernel::{Change, Kernel, Release, COMMIT_NOT_KNOWN};
use serde::Serialize;
use std::fmt::Write as _;

/// Width of a line of prose.
const WIDTH: usize = 100;

/// A role or tunable in which two kernels differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Difference {
    name: String,
    a: String,
    b: String,
}

/// Differences that one change of a release made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Step {
    /// The release that changed it; empty for a kernel that is no release.
    release: String,
    commit: String,
    /// What changed, in words.
    text: String,
    differences: Vec<Difference>,
}

/// Prints what two kernels do differently.
///
/// # Errors
/// An unknown or invalid kernel.
pub fn run(context: &Context, a: &str, b: &str, as_json: bool) -> Result<Done, Failure> {
    // Resolved separately, since one call refuses the same name twice.
    let left = sources::kernels(context, &[named("kernel diff", a)], &[])?.remove(0);
    let right = sources::kernels(context, &[named("kernel diff", b)], &[])?.remove(0);
    let differences = differences(&left, &right);
    let steps = steps(context, &left, &right, &differences)?;
    if as_json {
        let body = serde_json::json!({"a": left.name, "b": right.name, "differences": differences, "steps": steps});
        return Done::json(&body);
    }
    if differences.is_empty() {
        return Ok(Done::text(format!("{} and {} behave the same\n", left.name, right.name)));
    }
    let rows: Vec<_> = differences.iter().map(|d| (d.name.clone(), format!("{} -> {}", d.a, d.b))).collect();
    let mut out = format!("{} -> {}\n{}\n", left.name, right.name, show::aligned(&rows));
    steps.iter().for_each(|step| tell(&mut out, step));
    Ok(Done::text(out))
}

/// Roles and tunables in which two kernels differ, in the order of the vocabulary.
fn differences(a: &Kernel, b: &Kernel) -> Vec<Difference> {
    let roles = a.roles.iter().zip(&b.roles).map(|(x, y)| (&x.role, &x.implementation, &y.implementation));
    let tunables = a.tunables.iter().zip(&b.tunables).map(|(x, y)| (&x.name, &x.value, &y.value));
    let differ = roles.chain(tunables).filter(|(_, x, y)| x != y);
    differ.map(|(name, x, y)| Difference { name: name.clone(), a: x.clone(), b: y.clone() }).collect()
}

/// Rows of the table of releases that are part of one kernel's chain and not of the other's, oldest first. `true` if
/// they lead from `a` to `b`, `false` if from `b` to `a`.
fn rows_between<'a>(rows: &'a [Release], a: &Kernel, b: &Kernel) -> (Vec<&'a Release>, bool) {
    let in_chain = |k: &Kernel, r: &Release| k.chain.contains(&r.spec.name.value);
    let only = |x: &Kernel, y: &Kernel| rows.iter().filter(|r| in_chain(x, r) && !in_chain(y, r)).collect::<Vec<_>>();
    let forward = only(b, a);
    if forward.is_empty() {
        (only(a, b), false)
    } else {
        (forward, true)
    }
}

/// The differences, grouped by the changes that made them, oldest first; the rest at the end, one by one.
fn steps(context: &Context, a: &Kernel, b: &Kernel, all: &[Difference]) -> Result<Vec<Step>, Failure> {
    let releases = context.catalog.releases()?;
    let (rows, forward) = rows_between(releases.rows(), a, b);
    let mut left: Vec<&Difference> = all.iter().collect();
    let mut out: Vec<Step> = Vec::new();
    // The last change of a switch made its present value.
    for row in rows.iter().rev() {
        for change in row.changes.iter().rev() {
            let sets = |d: &&Difference| change.settings.iter().any(|s| s.name.value == d.name);
            let (own, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(sets);
            left = rest;
            if !own.is_empty() {
                out.push(step(row, change, own, forward));
            }
        }
    }
    out.reverse();
    // What is true of one release's kernel alone, as its stable tree has it.
    for row in releases.rows().iter().filter(|r| [a, b].iter().any(|k| k.chain[0] == r.spec.name.value)) {
        for change in &row.only_here {
            let sets = |d: &&Difference| change.settings.iter().any(|s| s.name.value == d.name);
            let (own, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(sets);
            left = rest;
            if !own.is_empty() {
                let alone = step(row, change, own, true);
                out.push(Step {
                    text: format!("This kernel alone, as its stable tree has it: {}", alone.text),
                    ..alone
                });
            }
        }
    }
    out.extend(left.into_iter().map(|d| Step {
        release: String::new(),
        commit: String::new(),
        text: meaning(context, d),
        differences: vec![d.clone()],
    }));
    Ok(out)
}

fn step(row: &Release, change: &Change, own: Vec<&Difference>, forward: bool) -> Step {
    let commit = if change.commit == COMMIT_NOT_KNOWN { String::new() } else { change.commit.clone() };
    let text = if forward { change.doc.clone() } else { format!("Not yet: {}", change.doc) };
    Step { release: row.spec.name.value.clone(), commit, text, differences: own.into_iter().cloned().collect() }
}

/// What a role or tunable decides, and what its two values mean.
fn meaning(context: &Context, d: &Difference) -> String {
    let roles = &context.vocabulary.roles;
    if let Some(role) = roles.iter().find(|r| r.name == d.name) {
        let of = |word: &str| role.implementations.iter().find(|i| i.name == word).map_or("", |i| i.doc);
        return format!("{} {}: {} {}: {}", role.doc, d.a, of(&d.a), d.b, of(&d.b));
    }
    context.vocabulary.tunable(&d.name).map_or_else(String::new, |t| t.doc.to_string())
}

fn tell(out: &mut String, step: &Step) {
    let commit = if step.commit.is_empty() { String::new() } else { format!(" ({})", step.commit) };
    let head = if step.release.is_empty() { "differs".to_string() } else { step.release.clone() };
    let mut line = format!("  {head:<8}");
    for word in format!("{}{commit}", step.text).split_whitespace() {
        if line.chars().count() + word.chars().count() + 1 > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line = " ".repeat(10);
        }
        let _ = write!(line, "{word} ");
    }
    let _ = writeln!(out, "{}", line.trim_end());
    for d in &step.differences {
        let _ = writeln!(out, "            {}: {} -> {}", d.name, d.a, d.b);
    }
}
