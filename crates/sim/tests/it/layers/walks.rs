//! The walks of ARCHITECTURE.md ("..., file by file") against the sources: every file is there, every name stands in
//! it, and each step is called by one before it.
//!
//! A step is called by an earlier one if a file there imports it: by its module, by something that it defines and
//! another module hands on, or by a type of which it has methods that are called.

use super::methods::type_of;
use super::{paths_from, sources, without_tests, word_at};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A file that a walk names.
struct Named {
    /// Crate (`sim`), and the module in it (`engine::dispatch`); empty for `lib.rs`.
    at: (String, String),
    code: String,
    /// What it imports: crate, and path in it.
    imports: BTreeSet<(String, String)>,
}

/// A step: its line, and the files that it names.
struct Step<'t> {
    line: &'t str,
    files: Vec<&'t str>,
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text in backticks of a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The walks by title.
fn walks(text: &str) -> Vec<(&str, Vec<Step<'_>>)> {
    let parts = text.split("\n### ").filter_map(|part| {
        let (title, body) = part.split_once('\n')?;
        let lines = body.split("\n#").next()?.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit()));
        let step = |line| Step { line, files: quoted(line).filter(|q| q.ends_with(".rs")).collect() };
        title.ends_with("file by file").then(|| (title, lines.map(step).collect()))
    });
    parts.collect()
}

/// Modules of every crate, to know the children of a `mod.rs` and of a `lib.rs`.
type Modules = BTreeMap<String, BTreeSet<String>>;

fn modules() -> Modules {
    let crates = super::CRATES.map(|(name, _)| {
        let mut files = BTreeMap::new();
        sources(&root().join(format!("crates/{name}/src")), "", &mut files);
        // A folder whose `mod.rs` defines nothing is a module, too.
        let folders = files.keys().filter_map(|f| Some(f.rsplit_once("::")?.0.to_string())).collect::<Vec<_>>();
        (name.to_string(), files.into_keys().chain(folders).collect())
    });
    crates.into()
}

/// Reads a file as a walk names it: from the root, or from the sources of the simulator.
fn read(name: &str, modules: &Modules) -> Result<Named, String> {
    let place = [name.to_string(), format!("crates/sim/src/{name}")].into_iter().find(|p| root().join(p).is_file());
    let place = place.ok_or_else(|| format!("{name}: there is no such file"))?;
    let inner =
        place.strip_prefix("crates/").and_then(|p| p.split_once("/src/")).ok_or(format!("{name}: no source"))?;
    let module = inner.1.trim_end_matches(".rs").replace('/', "::");
    let is_root = module == "lib";
    let module = if is_root { String::new() } else { module.trim_end_matches("::mod").to_string() };
    let text = std::fs::read_to_string(root().join(&place)).map_err(|e| format!("{name}: {e}"))?;
    let code =
        without_tests(&text).lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let parts: Vec<&str> = module.split("::").collect();
    let above = |n: usize| parts[..parts.len().saturating_sub(n)].iter().map(|p| format!("{p}::")).collect::<String>();
    let below = if is_root { String::new() } else { format!("{module}::") };
    let mut imports = BTreeSet::new();
    let mut add = |of: &str, word: &str, prefix: &str| {
        imports.extend(paths_from(word, prefix, &code).into_iter().map(|p| (of.to_string(), p)));
    };
    for (word, prefix) in [("crate::", String::new()), ("super::super::", above(2)), ("super::", above(1))] {
        add(inner.0, word, &prefix);
    }
    let children: BTreeSet<&str> =
        modules[inner.0].iter().filter_map(|m| m.strip_prefix(&below)?.split("::").next()).collect();
    for child in children {
        add(inner.0, &format!("{child}::"), &format!("{below}{child}::"));
    }
    for other in modules.keys() {
        add(other, &format!("numalab_{other}::"), "");
    }
    // A module that is imported stands before names of its own: `use crate::verb;` and `verb::run::Args`.
    for (of, path) in imports.clone() {
        let path = path.trim_end_matches("::self");
        if modules[&of].contains(path) {
            let leaf = path.rsplit("::").next().unwrap_or(path);
            let inner = paths_from(&format!("{leaf}::"), &format!("{path}::"), &code);
            imports.extend(inner.into_iter().map(|p| (of.clone(), p)));
        }
    }
    Ok(Named { at: (inner.0.into(), module), code, imports })
}

/// Whether a source defines a name.
fn defines(code: &str, name: &str) -> bool {
    ["fn", "struct", "enum", "trait", "const", "type"].iter().any(|kind| {
        let found = format!("{kind} {name}");
        let ends = |at: usize| !code[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        code.match_indices(&found).any(|(at, _)| ends(at))
    })
}

/// Whether `from` calls a method that `to` has of the type `name`.
fn calls_method(from: &Named, to: &Named, name: &str) -> bool {
    let methods = to.code.split("fn ").skip(1).filter_map(|f| f.split(['(', '<']).next());
    let of_type = to.code.lines().any(|l| l.starts_with("impl") && type_of(l) == Some(name));
    of_type
        && methods.into_iter().any(|m| from.code.contains(&format!(".{m}(")) || from.code.contains(&format!("::{m}(")))
}

/// Whether `from` calls `to`.
fn calls(from: &Named, to: &Named) -> bool {
    let module = to.at.1.as_str();
    let inside = |outer: &str, inner: &str| {
        outer.is_empty() || inner == outer || inner.strip_prefix(outer).is_some_and(|r| r.starts_with("::"))
    };
    from.imports.iter().filter(|(of, _)| *of == to.at.0).any(|(_, path)| {
        let (parent, leaf) = path.rsplit_once("::").unwrap_or(("", path));
        let by_module = !module.is_empty() && inside(module, path);
        by_module || (inside(parent, module) && defines(&to.code, leaf)) || calls_method(from, to, leaf)
    })
}

/// What is wrong with a walk.
fn faults(steps: &[Step<'_>], modules: &Modules) -> Vec<String> {
    let (mut before, mut faults) = (Vec::<Named>::new(), Vec::new());
    for Step { line, files } in steps {
        for (n, file) in files.iter().enumerate() {
            match read(file, modules) {
                Err(e) => faults.push(e),
                // A step may name beside its own file one that carries out a trait of it, and imports it.
                Ok(named) => {
                    let known = before.iter().any(|b| b.at == named.at);
                    let comes_in = before.iter().any(|b| calls(b, &named) || (n > 0 && calls(&named, b)));
                    if !known && !comes_in && !before.is_empty() {
                        faults.push(format!("{file}: no file of an earlier step imports it"));
                    }
                    before.push(named);
                }
            }
        }
        let is_name =
            |q: &&str| q.starts_with(|c: char| c.is_ascii_lowercase()) && word_at(q, 0) == *q && !q.contains("::");
        // A name is defined, imported or called there.
        let stands = |name: &str| {
            let imported = |b: &Named| b.imports.iter().any(|i| i.1.ends_with(&format!("::{name}")));
            before.iter().any(|b| defines(&b.code, name) || imported(b) || b.code.contains(&format!(".{name}(")))
        };
        faults.extend(
            quoted(line).filter(is_name).filter(|q| !stands(q)).map(|q| format!("`{q}`: in no file up to {files:?}")),
        );
    }
    faults
}

#[test]
fn walks_follow_the_imports() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let walks = walks(&text);
    let titles: Vec<&str> = walks.iter().map(|w| w.0).collect();
    assert_eq!(walks.len(), 4, "{titles:?}");
    let modules = modules();
    for (title, steps) in &walks {
        assert!((8..=12).contains(&steps.len()), "{title}: {} steps", steps.len());
        assert!(steps.iter().filter(|s| s.files.is_empty()).count() <= 2, "{title}: steps without a file");
        assert_eq!(faults(steps, &modules), Vec::<String>::new(), "{title}");
    }
}

#[test]
fn a_walk_that_goes_astray_is_found() {
    let modules = modules();
    let faults_of = |body: &str| {
        let text = format!("\n### A walk, file by file\n\n{body}\n");
        faults(&walks(&text)[0].1, &modules)
    };
    let good = "1. `engine/dispatch.rs`: `slice`\n2. `engine/step.rs`: `step`\n3. `access/walks.rs`: `walk`\n";
    assert_eq!(faults_of(good), Vec::<String>::new());
    let up = faults_of("1. `mm/move_page.rs`: `move_page`\n2. `engine/dispatch.rs`: `slice`\n");
    assert!(up[0].contains("no file of an earlier step"), "{up:?}");
    let gone = faults_of("1. `engine/dispatch.rs`: `slice`\n2. `mm/no_such.rs`: x\n");
    assert!(gone[0].contains("no such file"), "{gone:?}");
    let renamed = faults_of("1. `engine/dispatch.rs`: `no_such_function`\n");
    assert!(renamed[0].contains("`no_such_function`"), "{renamed:?}");
}
