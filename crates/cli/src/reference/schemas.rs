//! `docs/reference/schemas.md` and `docs/reference/schemas/*.json`: what `--json` prints, from what commands do print.
//!
//! Problem: the JSON is the contract with scripts, and most of it is composed key by key, so no type declares it.
//! Approach: every form is printed by real commands, in this process. [`Shape::of`] reads the shape of a value, and
//! [`Shape::join`] that of several samples. A key that one sample lacks is optional; a key that goes missing, gets
//! another type or is new makes the page stale, so no contract changes unseen.

use super::{fresh, page};
use crate::command;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

const HEAD: &str = "\
What `--json` prints, key by key. Each form has a JSON Schema (draft 2020-12) for programs that check what they read. The
schemas are written from what the commands print, and a test compares them anew. What the keys mean:
[JSON output](json.md).

* A key of this page is not renamed or removed without a new version of numalab. New keys may be added.
* `[]` is an entry of a list, and `{}` an entry of an object whose keys are names.
* A key with `?` is absent in some outputs.

Files have schemas, too: of an [experiment](schemas/experiment-file.schema.json), a
[kernel](schemas/kernel-file.schema.json), a [workload](schemas/workload-file.schema.json) and a
[machine](schemas/machine-file.schema.json). With `#:schema PATH` as the first line of a file, an editor that knows Taplo
completes its keys and marks wrong ones.
";

/// What a JSON value looks like.
#[derive(Clone, Debug, Default, PartialEq)]
struct Shape {
    /// Types of scalars: `string`, `integer`, `number`, `boolean`, `null`.
    scalars: Vec<&'static str>,
    /// Entries of a list, if it can be one; `None` inside if only empty ones were seen.
    list: Option<Option<Box<Shape>>>,
    /// Keys of an object, if it can be one, each with whether every sample has it.
    object: Option<BTreeMap<String, (Shape, bool)>>,
    /// Value of an object whose keys are names.
    map: Option<Box<Shape>>,
}

impl Shape {
    /// The shape of `value`. `maps` are the places of objects whose keys are names, and `at` is the place of this
    /// value.
    fn of(value: &Value, at: &str, maps: &[&str]) -> Self {
        let mut out = Self::default();
        match value {
            Value::Null => out.scalars.push("null"),
            Value::Bool(_) => out.scalars.push("boolean"),
            Value::String(_) => out.scalars.push("string"),
            Value::Number(n) => out.scalars.push(if n.is_f64() { "number" } else { "integer" }),
            Value::Array(list) => {
                let inner = list.iter().map(|v| Self::of(v, &format!("{at}[]"), maps)).reduce(Self::join);
                out.list = Some(inner.map(Box::new));
            }
            Value::Object(keys) if maps.contains(&at) => {
                let inner = keys.values().map(|v| Self::of(v, &format!("{at}{{}}"), maps)).reduce(Self::join);
                out.map = Some(Box::new(inner.unwrap_or_default()));
            }
            Value::Object(keys) => {
                let under = |k: &str| if at.is_empty() { k.to_string() } else { format!("{at}.{k}") };
                out.object =
                    Some(keys.iter().map(|(k, v)| (k.clone(), (Self::of(v, &under(k), maps), true))).collect());
            }
        }
        out
    }

    /// The shape of two samples of the same place.
    fn join(mut self, other: Self) -> Self {
        self.scalars.extend(other.scalars);
        self.scalars.sort_unstable();
        self.scalars.dedup();
        if self.scalars.contains(&"number") {
            self.scalars.retain(|s| *s != "integer");
        }
        self.list = match (self.list, other.list) {
            (Some(a), Some(b)) => Some(both(a, b)),
            (a, b) => a.or(b),
        };
        self.map = both(self.map, other.map);
        self.object = match (self.object, other.object) {
            (Some(a), Some(b)) => Some(keys(a, b)),
            (a, b) => a.or(b),
        };
        self
    }

    /// The JSON Schema.
    fn schema(&self) -> Value {
        let mut types: Vec<Value> = self.scalars.iter().map(|s| json!(s)).collect();
        let mut out = Map::new();
        if let Some(inner) = &self.list {
            types.push(json!("array"));
            if let Some(inner) = inner {
                out.insert("items".into(), inner.schema());
            }
        }
        if let Some(keys) = &self.object {
            types.push(json!("object"));
            let properties: Map<_, _> = keys.iter().map(|(k, (s, _))| (k.clone(), s.schema())).collect();
            let required: Vec<_> = keys.iter().filter(|(_, (_, always))| *always).map(|(k, _)| k).collect();
            out.insert("properties".into(), Value::Object(properties));
            out.insert("required".into(), json!(required));
        }
        if let Some(inner) = &self.map {
            types.push(json!("object"));
            out.insert("additionalProperties".into(), inner.schema());
        }
        match types.len() {
            0 => {}
            1 => drop(out.insert("type".into(), types.remove(0))),
            _ => drop(out.insert("type".into(), Value::Array(types))),
        }
        Value::Object(out)
    }

    /// The type in words.
    fn words(&self) -> String {
        let mut words: Vec<&str> = self.scalars.clone();
        if self.list.is_some() {
            words.insert(0, "list");
        }
        if self.object.is_some() || self.map.is_some() {
            words.insert(0, "object");
        }
        words.join(" or ")
    }

    /// Adds a row for this place and for all below it.
    fn rows(&self, at: &str, optional: bool, out: &mut String) {
        if !at.is_empty() {
            out.push_str(&format!("| `{at}{}` | {} |\n", if optional { "?" } else { "" }, self.words()));
        }
        for (key, (shape, always)) in self.object.iter().flatten() {
            shape.rows(&if at.is_empty() { key.clone() } else { format!("{at}.{key}") }, !always, out);
        }
        // Lists and maps of scalars are one row; others have a row for each key of an entry.
        if let Some(inner) = &self.map {
            inner.rows(&format!("{at}{{}}"), false, out);
        }
        if let Some(Some(inner)) = &self.list {
            inner.rows(&format!("{at}[]"), false, out);
        }
    }
}

fn both(a: Option<Box<Shape>>, b: Option<Box<Shape>>) -> Option<Box<Shape>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Box::new(a.join(*b))),
        (a, b) => a.or(b),
    }
}

fn keys(
    mut a: BTreeMap<String, (Shape, bool)>,
    mut b: BTreeMap<String, (Shape, bool)>,
) -> BTreeMap<String, (Shape, bool)> {
    let mut out = BTreeMap::new();
    for (key, (shape, always)) in std::mem::take(&mut a) {
        let joined = match b.remove(&key) {
            Some((other, also)) => (shape.join(other), always && also),
            None => (shape, false),
        };
        out.insert(key, joined);
    }
    out.extend(b.into_iter().map(|(key, (shape, _))| (key, (shape, false))));
    out
}

/// A form of output.
struct Form {
    /// Name of the schema's file.
    name: &'static str,
    /// The command that prints it.
    title: &'static str,
    /// Places of objects whose keys are names.
    maps: &'static [&'static str],
    /// Commands that print samples; `DIR` is a directory of its own. `stored FILE` has samples in a list beside this
    /// file, of a command that cannot run in this process; `python/tests/test_docs.py` runs that command and holds it
    /// against the schema.
    samples: &'static [&'static str],
}

const FORMS: &[Form] = &[
    Form { name: "advise-measurement", title: "advise --json, measured", maps: &[], samples: &["stored advise-measurement.json"] },
    Form {
        name: "advise-prediction",
        title: "advise --like --json",
        maps: &[],
        samples: &["advise --machine 2x1x2x1 --like hpc --memory 256MiB --threads 2 --out DIR/advise --json"],
    },
    Form {
        name: "advise-nothing",
        title: "advise --json, with one memory node",
        maps: &[],
        samples: &["advise --machine 1x1x2x1 --like hpc --json"],
    },
    Form {
        name: "run",
        title: "run --json",
        maps: &[],
        samples: &[
            "run --machine 2x1x2x1 --kernel off,6.12 --workload first-touch --param duration=1s --iterations 2 --out DIR/a --trace --explain --json",
            "run DIR/short.toml --out DIR/short --json",
        ],
    },
    Form {
        name: "compare",
        title: "compare DIR --json",
        maps: &["workloads[].runs", "workloads[].metrics[].kernels"],
        samples: &["compare DIR/a --json", "compare DIR/short --json"],
    },
    Form { name: "repeat", title: "repeat RUN --json", maps: &[], samples: &["repeat DIR/a --kernel 6.12 --seed 1 --json"] },
    Form { name: "report", title: "report DIR --json", maps: &[], samples: &["report DIR/a --json"] },
    Form {
        name: "trace",
        title: "trace RUN --json",
        maps: &[],
        samples: &["trace DIR/a --kernel 6.12 --seed 1 --out DIR/t.pftrace --json"],
    },
    Form {
        name: "reproduce",
        title: "reproduce TABLE --json",
        maps: &[],
        samples: &["reproduce DIR/own.toml --out DIR/r --json"],
    },
    Form {
        name: "explain-ladder",
        title: "explain ladder --json",
        maps: &[],
        samples: &["explain ladder --machine haswell-2s --json", "explain ladder --machine haswell-2s --policy ladder_sorted --json"],
    },
    Form {
        name: "counters",
        title: "counters --json",
        maps: &[],
        samples: &["counters --json", "counters numa --json", "counters pid_inactive --json"],
    },
    Form { name: "list", title: "list KIND --json", maps: &[], samples: &["list kernels --json", "list tunables --json", "list published --json"] },
    Form { name: "show-machine", title: "show machines NAME --json", maps: &[], samples: &["show machines haswell-2s --json", "show machines cxl-2s --json"] },
    Form { name: "show-kernel", title: "show kernels NAME --json", maps: &[], samples: &["show kernels 6.12 --json", "show kernels off --json", "show kernels 3.8 --json"] },
    Form { name: "show-workload", title: "show workloads NAME --json", maps: &[], samples: &["show workloads first-touch --json", "show workloads numa01 --json"] },
    Form { name: "show-experiment", title: "show experiments NAME --json", maps: &[], samples: &["show experiments first-steps --json", "show experiments vma-filters --json", "show experiments ablations-2012 --json"] },
    Form { name: "show-published", title: "show published NAME --json", maps: &[], samples: &["show published disjoint-vma-2023 --json", "show published imb-numa-nr-2021 --json"] },
    Form { name: "show-role", title: "show roles NAME --json", maps: &[], samples: &["show roles scan --json"] },
    Form { name: "show-tunable", title: "show tunables NAME --json", maps: &[], samples: &["show tunables system.hz --json", "show tunables scan.scan_size_mb --json"] },
    Form { name: "kernel-diff", title: "kernel diff A B --json", maps: &[], samples: &["kernel diff 6.6 6.12 --json"] },
    Form {
        name: "machine-domains",
        title: "machine show MACHINE --domains --json",
        maps: &["domains[].imb_numa_nr"],
        samples: &["machine show milan-2s-nps1 --domains --json", "machine show haswell-2s --domains --kernel 4.15 --json"],
    },
    Form { name: "doctor", title: "doctor --json", maps: &[], samples: &["doctor --json"] },
];

/// Runs a command in this process and returns the JSON that it prints, or the samples that are stored.
fn samples(line: &str, dir: &Path) -> Vec<Value> {
    let Some(file) = line.strip_prefix("stored ") else { return vec![printed(line, dir)] };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/reference").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Runs a command in this process and returns the JSON that it prints.
fn printed(line: &str, dir: &Path) -> Value {
    let words = line.split(' ').map(|w| w.replace("DIR", dir.to_str().unwrap()));
    let args = std::iter::once("numalab".to_string()).chain(words).map(OsString::from);
    let done = command::parse(args).and_then(command::run).unwrap_or_else(|e| panic!("{line}: {}", e.message));
    serde_json::from_str(&done.text).unwrap_or_else(|e| panic!("{line}: {e}: {}", done.text))
}

/// Files that some samples need: a table of one's own, and an experiment whose only run reaches its limit of time.
fn write_files(dir: &Path) {
    let column = |name: &str, kernel: &str| format!("[[columns]]\nname = \"{name}\"\nkernel = \"{kernel}\"\n");
    let table = format!(
        "name = \"own\"\ntitle = \"t\"\nsource = \"s\"\nbaseline = \"a\"\n{}{}[[blocks]]\ngroup = \"g\"\nmachine = \"2x1x2x1\"\n\
         workload = \"first-touch\"\nparams = {{ duration = \"1s\" }}\n[[blocks.rows]]\nid = \"user\"\nmetric = \"user_s\"\n\
         unit = \"s\"\nbetter = \"lower\"\nvalues = [3.0, 3.0]\n[[blocks.rows]]\nid = \"system\"\nmetric = \"system_s\"\n\
         unit = \"s\"\nbetter = \"lower\"\nderived = \"w\"\nvalues = [3.0, 3.0]\n[[repeats]]\nname = \"again\"\nsource = \"s\"\n\
         columns = [\"a\", \"b\"]\nrows = [{{ group = \"g\", id = \"user\", values = [3.0, 3.1] }}]\n",
        column("a", "off"),
        column("b", "6.12"),
    );
    let workload =
        "name = \"long\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\nlimit = \"1s\"\n[[process]]\nname = \"main\"\n\
                    [[process.phase]]\ncompute = \"2s\"\n";
    let experiment = format!(
        "name = \"short\"\ntitle = \"t\"\nmachines = [\"2x1x1x1\"]\nkernels = [\"off\", \"6.12\"]\nworkloads = [\"{}\"]\n",
        dir.join("long.toml").display()
    );
    for (name, text) in [("own.toml", table), ("long.toml", workload.into()), ("short.toml", experiment)] {
        std::fs::write(dir.join(name), text).unwrap();
    }
}

#[test]
fn the_schemas_are_fresh() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    let mut rest = String::new();
    for form in FORMS {
        let all = form.samples.iter().flat_map(|line| samples(line, dir.path()));
        let shapes = all.map(|sample| Shape::of(&sample, "", form.maps));
        let shape = shapes.reduce(Shape::join).unwrap();
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("numalab {}", form.title),
        });
        schema.as_object_mut().unwrap().extend(shape.schema().as_object().unwrap().clone());
        fresh(&format!("schemas/{}.schema.json", form.name), &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
        let mut rows = String::new();
        shape.rows("", false, &mut rows);
        rest.push_str(&format!(
            "\n## {}\n\n[Schema](schemas/{}.schema.json)\n\n| key | type |\n|---|---|\n{rows}",
            form.title, form.name
        ));
    }
    fresh("schemas.md", &page("JSON schemas", HEAD, &rest));
}

#[test]
fn samples_are_joined() {
    let of = |v: Value| Shape::of(&v, "", &["m"]);
    let shape =
        of(json!({"a": 1, "m": {"x": 1}, "l": []})).join(of(json!({"a": 0.5, "b": null, "m": {"y": 2}, "l": ["z"]})));
    let mut rows = String::new();
    shape.rows("", false, &mut rows);
    assert_eq!(
        rows,
        "| `a` | number |\n| `b?` | null |\n| `l` | list |\n| `l[]` | string |\n| `m` | object |\n| `m{}` | integer |\n"
    );
    assert_eq!(shape.schema()["required"], json!(["a", "l", "m"]));
}
