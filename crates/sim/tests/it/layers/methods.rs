//! Calls through methods: files that implement one type call each other in one direction too.
//!
//! A type whose methods stand in several files needs no import between them, so the imports do not show who needs whom.
//! Here a file needs another one if a method of a type calls a method of the same type that the other file defines:
//! `self.name(`, `Self::name(`, or `x.name(` where no other type of the crate has a method of that name.

use super::Graph;
use std::collections::{BTreeMap, BTreeSet};

/// A method with its type, its file and the text of its body.
struct Method<'t> {
    of: &'t str,
    name: &'t str,
    file: &'t str,
    body: &'t str,
}

/// The type of an `impl` line: `impl<'a> Trait for path::Type<'a>` is of `Type`.
pub fn type_of(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generics) => {
            let mut depth = 1;
            let end = generics.find(|c| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0
            })?;
            &generics[end + 1..]
        }
        None => rest,
    };
    let of = rest.split(" for ").last()?.trim();
    let path = of.split(['<', ' ', '{']).next()?;
    path.rsplit("::").next().filter(|name| !name.is_empty())
}

/// The name of the function that a line inside an `impl` defines.
fn defined(line: &str) -> Option<&str> {
    let (before, after) = line.strip_prefix("    ")?.split_once("fn ")?;
    let words = before
        .split_whitespace()
        .all(|w| w.starts_with("pub") || ["in", "const", "unsafe"].contains(&w) || w.ends_with(')'));
    words.then(|| after.split(['(', '<']).next())?
}

/// The methods of a file.
fn methods<'t>(file: &'t str, code: &'t str, out: &mut Vec<Method<'t>>) {
    let (mut of, mut open, mut at) = (None, None::<(&str, usize)>, 0);
    for line in code.split_inclusive('\n') {
        let text = line.trim_end();
        of = if text.starts_with("impl") { type_of(text) } else { of };
        if let (Some(of), Some(name)) = (of, defined(text)) {
            let _ =
                open.replace((name, at)).map(|(name, from)| out.push(Method { of, name, file, body: &code[from..at] }));
        }
        at += line.len();
        if text == "}" {
            if let (Some(of), Some((name, from))) = (of, open.take()) {
                out.push(Method { of, name, file, body: &code[from..at] });
            }
            of = None;
        }
    }
}

/// Names that a text calls, each with whether it is called on `self` or `Self`.
fn calls(body: &str) -> impl Iterator<Item = (&str, bool)> {
    let name = |c: char| c.is_alphanumeric() || c == '_';
    body.match_indices('(').filter_map(move |(at, _)| {
        let before = &body[..at];
        let called = &before[before.rfind(|c| !name(c)).map_or(0, |i| i + 1)..];
        let on = before[..before.len() - called.len()].trim_end();
        let own = on.ends_with("self.") || on.ends_with("Self::");
        (own || on.ends_with('.')).then_some((called, own))
    })
}

/// For each type with methods in several files, which file calls methods of which other.
pub fn calls_by_type(files: &BTreeMap<String, String>) -> BTreeMap<String, Graph> {
    let mut all = Vec::new();
    files.iter().for_each(|(file, code)| methods(file, code, &mut all));
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for m in &all {
        types.entry(m.name).or_default().insert(m.of);
    }
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    for m in &all {
        let graph = graphs.entry(m.of.into()).or_default();
        graph.entry(m.file.into()).or_default();
        for (called, own) in
            calls(m.body).filter(|(called, own)| *own || types.get(called).is_some_and(|t| t.len() == 1))
        {
            let by = all.iter().filter(|o| o.of == m.of && o.name == called);
            let elsewhere = by.map(|o| o.file).filter(|f| *f != m.file && (own || types[called].len() == 1));
            graph.entry(m.file.into()).or_default().extend(elsewhere.map(String::from));
        }
    }
    graphs.retain(|_, g| g.len() > 1);
    graphs
}

/// Files that lie on a circle of the graph.
pub fn on_circles(graph: &Graph) -> BTreeSet<String> {
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            for next in graph.get(at).into_iter().flatten().filter(|n| seen.insert(n.as_str())) {
                open.push(next);
            }
        }
        seen.contains(to)
    };
    graph.keys().filter(|f| reaches(f, f)).cloned().collect()
}
