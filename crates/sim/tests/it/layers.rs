//! The sources import in one direction: no circle between files, and none between folders.
//!
//! A `mod.rs` or `lib.rs` that defines nothing is a table of contents: it names its children, and is left out. One that
//! defines something is a file like any other.
#![allow(clippy::unwrap_used)]

mod methods;
mod walks;

use methods::{calls_by_type, on_circles};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Sources below `dir` by module path (`mm::page_alloc`), without their tests and comments.
fn sources(dir: &Path, module: &str, out: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let below = |name: &str| if module.is_empty() { name.to_string() } else { format!("{module}::{name}") };
        if entry.file_type().unwrap().is_dir() && name == "tests" {
            continue;
        } else if entry.file_type().unwrap().is_dir() {
            sources(&entry.path(), &below(&name), out);
        } else if let Some(stem) = name.strip_suffix(".rs").filter(|s| !["lib", "tests"].contains(s)) {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let code = without_tests(&text);
            let lines: Vec<&str> = code.lines().map(|l| l.split("//").next().unwrap()).collect();
            if stem != "mod" {
                out.insert(below(stem), lines.join("\n"));
            } else if lines.iter().any(|l| defines(l)) {
                out.insert(module.to_string(), lines.join("\n"));
            }
        }
    }
}

/// A source up to its tests.
fn without_tests(text: &str) -> &str {
    let begins = |(at, mark): &(usize, &str)| {
        let next = text[at + mark.len()..].lines().next().unwrap_or_default();
        next.strip_prefix("pub(crate) ").or_else(|| next.strip_prefix("pub(super) ")).unwrap_or(next) == "mod tests {"
    };
    let end = text.match_indices("#[cfg(test)]\n").find(begins).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// Whether a line at the left margin defines something of its own.
fn defines(line: &str) -> bool {
    let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    ["fn ", "struct ", "enum ", "trait ", "impl", "const ", "static ", "type "]
        .iter()
        .any(|word| line.starts_with(word))
}

/// Paths of a use tree, `a::{b, c::d}` written out.
fn leaves(prefix: &str, tree: &str, out: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, list)) = tree.split_once('{') else {
        out.push(format!("{prefix}{}", tree.split_whitespace().next().unwrap_or("")));
        return;
    };
    let (mut depth, mut from) = (0, 0);
    let list = &list[..list.rfind('}').unwrap_or(list.len())];
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !list[from..at].trim().is_empty() {
                    leaves(&format!("{prefix}{head}"), &list[from..at], out);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// Paths that a source names behind `word` (`crate::`), in use trees and in full, with `prefix` in place of that word.
fn paths_from(word: &str, prefix: &str, code: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (at, _) in code.match_indices(word) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + word.len()..];
        let in_use =
            code[..at].rsplit(';').next().is_some_and(|s| s.trim_start().starts_with("use ") || s.contains("\nuse "));
        let end = if in_use { rest.find(';') } else { rest.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c))) };
        leaves(prefix, &rest[..end.unwrap_or(rest.len())], &mut out);
    }
    out
}

/// Paths inside the crate that a source names, from the root of the crate. `children` are the modules of a `mod.rs`,
/// which it names without a root.
fn paths(module: &str, code: &str, children: &BTreeSet<&str>) -> Vec<String> {
    let parts: Vec<&str> = module.split("::").collect();
    let above = |n: usize| parts[..parts.len().saturating_sub(n)].iter().map(|p| format!("{p}::")).collect::<String>();
    let roots = [("crate::", String::new()), ("super::super::", above(2)), ("super::", above(1))];
    let roots = roots.into_iter().map(|(word, prefix)| (word.to_string(), prefix));
    let down = children.iter().map(|child| (format!("{child}::"), format!("{module}::{child}::")));
    roots.chain(down).flat_map(|(word, prefix)| paths_from(&word, &prefix, code)).collect()
}

/// Which file imports which.
fn imports(files: &BTreeMap<String, String>) -> Graph {
    let mut graph = Graph::new();
    for (module, code) in files {
        let to = graph.entry(module.clone()).or_default();
        let below = format!("{module}::");
        let children = files.keys().filter_map(|f| f.strip_prefix(&below)?.split("::").next()).collect();
        for path in paths(module, code, &children) {
            let mut path = path.as_str();
            while !files.contains_key(path) {
                let Some((shorter, _)) = path.rsplit_once("::") else { break };
                path = shorter;
            }
            if files.contains_key(path) && path != module {
                to.insert(path.to_string());
            }
        }
    }
    graph
}

/// A circle of the graph, if it has one.
fn circle(graph: &Graph) -> Option<Vec<String>> {
    fn visit(at: &str, graph: &Graph, path: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
        if let Some(from) = path.iter().position(|p| p == at) {
            return Some(path[from..].to_vec());
        }
        if done.contains(at) {
            return None;
        }
        path.push(at.to_string());
        let found = graph.get(at).into_iter().flatten().find_map(|to| visit(to, graph, path, done));
        path.pop();
        done.insert(at.to_string());
        found
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|at| visit(at, graph, &mut Vec::new(), &mut done))
}

/// The same graph between top folders (or files beside them).
fn folders(graph: &Graph) -> Graph {
    let top = |m: &str| m.split("::").next().unwrap().to_string();
    let mut out = Graph::new();
    for (from, to) in graph {
        out.entry(top(from)).or_default().extend(to.iter().map(|t| top(t)).filter(|t| *t != top(from)));
    }
    out
}

/// The sources of a crate that has at least `least` files.
fn crate_sources(name: &str, least: usize) -> BTreeMap<String, String> {
    let source = format!("../{name}/src");
    let mut files = BTreeMap::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&source), "", &mut files);
    assert!(files.len() >= least, "{source}: {} files", files.len());
    files
}

/// All crates, with a number of files and imports that each has at least.
const CRATES: [(&str, usize); 16] = [
    ("base", 10),
    ("nouns", 25),
    ("job", 1),
    ("model", 100),
    ("kernel", 150),
    ("sim", 90),
    ("stats", 5),
    ("report", 50),
    ("worker", 20),
    ("lab", 25),
    ("accesses", 8),
    ("host", 50),
    ("cli", 40),
    ("py", 8),
    ("wasm", 7),
    ("hostile", 5),
];

#[test]
fn the_kernel_the_simulator_and_the_worker_see_nouns_alone() {
    let cases: [(&str, &[&str]); 5] = [
        ("nouns", &["base", "serde"]),
        ("kernel", &["base", "nouns", "thiserror"]),
        ("sim", &["base", "kernel", "nouns"]),
        ("job", &["nouns", "serde", "serde_json", "thiserror"]),
        ("worker", &["job", "libc", "nouns", "serde_json", "thiserror"]),
    ];
    for (name, expected) in cases {
        assert_eq!(needs(name), expected.iter().map(|n| n.to_string()).collect(), "crates/{name}/Cargo.toml");
    }
}

/// The crates of numalab that a crate needs to be built, and those of which it knows formats of files.
fn needs(name: &str) -> BTreeSet<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{name}/Cargo.toml"));
    let text = std::fs::read_to_string(manifest).unwrap();
    let (_, from) = text.split_once("\n[dependencies]\n").unwrap();
    let lines = from.split("\n[").next().unwrap().lines();
    let names = lines.filter_map(|l| l.split(['.', ' ', '=']).next()).filter(|n| !n.is_empty());
    names.map(|n| n.trim_start_matches("numalab-").to_string()).collect()
}

#[test]
fn every_crate_imports_in_one_direction() {
    for (name, least) in CRATES {
        let graph = imports(&crate_sources(name, least));
        let read = graph.values().map(BTreeSet::len).sum::<usize>();
        assert!(read >= least, "{name}: hardly any import was read ({read})");
        assert_eq!(on_circles(&graph), BTreeSet::new(), "{name}: files import each other");
        assert_eq!(on_circles(&folders(&graph)), BTreeSet::new(), "{name}: folders import each other");
    }
}

/// The verb that a path of the command names: `run` of `verb::run::Args`.
fn verb_of(path: &str) -> Option<&str> {
    path.strip_prefix("verb::")?.split("::").next()
}

#[test]
fn a_verb_imports_no_other_verb() {
    let files = crate_sources("cli", 40);
    let all: Vec<(&str, String)> = files
        .iter()
        .flat_map(|(from, code)| paths(from, code, &BTreeSet::new()).into_iter().map(move |to| (from.as_str(), to)))
        .collect();
    let verbs = |of: Option<&str>| of.map(str::to_string);
    // A file below `verb` that is no command is a service, and stands in the wrong room.
    let modules: BTreeSet<String> = files.keys().filter_map(|module| verbs(verb_of(module))).collect();
    let commands: BTreeSet<String> = files["command"]
        .match_indices("verb::")
        .filter_map(|(at, _)| verbs(verb_of(word_at(&files["command"], at))))
        .collect();
    assert!(commands.len() > 20, "hardly any verb was read from the command line: {commands:?}");
    assert_eq!(modules, commands, "crates/cli/src/verb has one module for each command");
    let wrong: Vec<String> = all
        .iter()
        .filter(|(from, to)| verb_of(to).is_some() && *from != "command" && verb_of(from) != verb_of(to))
        .map(|(from, to)| format!("{from} -> {to}"))
        .collect();
    assert!(wrong.is_empty(), "what several commands do belongs to crates/cli/src/service: {wrong:#?}");
    let up: Vec<_> =
        all.iter().filter(|(from, to)| from.starts_with("service::") && to.starts_with("command")).collect();
    assert!(up.is_empty(), "a service knows no command line: {up:#?}");
}

/// The path that begins at a place of a source.
fn word_at(code: &str, at: usize) -> &str {
    let rest = &code[at..];
    &rest[..rest.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).unwrap_or(rest.len())]
}

#[test]
fn every_crate_of_the_workspace_is_looked_at() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let all: BTreeSet<String> = std::fs::read_dir(crates)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("Cargo.toml").exists())
        .collect();
    assert_eq!(all, CRATES.iter().map(|c| c.0.to_string()).collect());
}

#[test]
fn a_circle_is_found() {
    let files: BTreeMap<String, String> = [
        ("a::x", "use crate::b::{y::{f, G}, z};\nfn h() {}"),
        ("b::y", "fn f() { super::z::g(); }"),
        ("b::z", "fn g() { crate::a::x::h(); }"),
    ]
    .map(|(m, t)| (m.to_string(), t.to_string()))
    .into();
    let graph = imports(&files);
    let parent: BTreeMap<String, String> =
        [("a", "use b::f;\nfn h() {}"), ("a::b", "fn f() { super::h(); }")].map(|(m, t)| (m.into(), t.into())).into();
    assert_eq!(on_circles(&imports(&parent)).len(), 2, "a `mod.rs` names its children without a root");
    assert_eq!(graph["a::x"].iter().collect::<Vec<_>>(), ["b::y", "b::z"]);
    assert_eq!(circle(&graph).map(|c| c.len()), Some(3));
    assert_eq!(circle(&folders(&graph)).map(|c| c.len()), Some(2));
    let mut one_way = graph;
    one_way.insert("b::z".into(), BTreeSet::new());
    assert_eq!(circle(&one_way), None);
}

#[test]
fn methods_of_one_type_call_each_other_in_one_direction() {
    let mut found = Vec::new();
    let mut types = 0;
    for (name, least) in CRATES {
        for (of, graph) in calls_by_type(&crate_sources(name, least)) {
            types += 1;
            let files = on_circles(&graph);
            if !files.is_empty() {
                found.push((name.to_string(), of, files));
            }
        }
    }
    assert!(types > 10, "hardly any type has methods in several files ({types})");
    assert!(found.is_empty(), "circles of calls through methods: {found:?}");
}

#[test]
fn a_circle_of_calls_is_found_behind_impl_blocks() {
    let files: BTreeMap<String, String> = [
        ("a", "impl<'a> T<'a> {\n    pub fn f(&mut self) {\n        self.g();\n    }\n    fn len(&self) {}\n}\n"),
        ("b", "impl Walk for x::T<'_> {\n    fn g(&self) {\n        Self::h(1);\n    }\n}\n"),
        ("c", "impl T<'_> {\n    const fn h(n: u8) {\n        other.f();\n        other.len();\n    }\n}\n"),
        ("d", "impl U {\n    fn len(&self) {}\n}\n"),
    ]
    .map(|(m, t)| (m.to_string(), t.to_string()))
    .into();
    let graphs = calls_by_type(&files);
    assert_eq!(graphs.keys().collect::<Vec<_>>(), ["T"], "U stands in one file");
    let to = |file: &str| graphs["T"][file].iter().cloned().collect::<Vec<_>>();
    assert_eq!([to("a"), to("b"), to("c")], [["b"], ["c"], ["a"]], "`other.f()` can only be a `T`");
    assert_eq!(on_circles(&graphs["T"]).len(), 3);
    let mut one_way = files;
    one_way.insert("c".into(), "impl T<'_> {\n    fn h(n: u8) {\n        other.len();\n    }\n}\n".into());
    assert!(on_circles(&calls_by_type(&one_way)["T"]).is_empty(), "`other.len()` may be a `U`");
}

/// The last name of a module, without tests and folders.
fn file_names(name: &str) -> BTreeSet<String> {
    fn below(dir: &Path, out: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("tests") {
                below(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.insert(path.file_stem().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut out = BTreeSet::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"), &mut out);
    out
}

/// The kernel's file decides and the simulator's carries out, so a name says which of the two is meant.
#[test]
fn a_file_name_stands_in_the_kernel_or_in_the_simulator() {
    let (kernel, sim) = (file_names("kernel"), file_names("sim"));
    assert!(kernel.len() > 100 && sim.len() > 100);
    let both: Vec<&String> =
        kernel.intersection(&sim).filter(|n| !["lib", "mod", "tests"].contains(&n.as_str())).collect();
    assert!(both.is_empty(), "files of kernel and sim with one name: {both:?}");
}
