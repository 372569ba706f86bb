//! The examples of the documentation run, and the documentation names every key of the files.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;
use std::path::Path;

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name)).unwrap()
}

/// Writes every TOML example that has a name to a file of that name. Returns the names in order.
fn examples(lab: &Lab, text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for block in text.split("```toml\n").skip(1) {
        let block = block.split("```").next().unwrap();
        if let Some(name) = block.strip_prefix("name = \"").and_then(|rest| rest.split('"').next()) {
            lab.write(&format!("{name}.toml"), block);
            names.push(name.to_string());
        }
    }
    names
}

/// The keys that a parser knows, taken from its message about an unknown key.
fn keys(message: &str) -> Vec<String> {
    let list = message.split("expected one of ").nth(1).unwrap().split([';', '\n']).next().unwrap();
    list.split(", ").map(str::to_string).collect()
}

fn documented(text: &str, keys: &[String]) {
    assert!(keys.len() > 7, "{keys:?}");
    for key in keys {
        let forms = [format!("| `{key}` |"), format!("| `[{key}]` |"), format!("| `[[{key}]]` |")];
        assert!(forms.iter().any(|form| text.contains(form)), "{key}");
    }
}

#[test]
fn the_experiment_of_the_documentation_runs_and_every_key_is_there() {
    let (lab, text) = (Lab::new(), read("experiments.md"));
    assert_eq!(examples(&lab, &text), ["windows"]);
    let ended = lab.ok("run windows.toml --iterations 1");
    assert!(ended.out.contains("6.12[scan.scan_size_mb=512]") && ended.out.contains("out/windows/report.html"));
    lab.write("bad.toml", "name = \"bad\"\ntitle = \"t\"\nmachines = [\"2x1x1x1\"]\nkernels = [\"off\"]\nworkloads = [\"numa02\"]\nx = 1\n");
    documented(&text, &keys(&lab.run("run bad.toml").err));
    lab.write("other.toml", &std::fs::read_to_string(lab.path("windows.toml")).unwrap());
    assert!(lab.run("run other.toml").err.contains("`name` is \"windows\"; expected \"other\""));
}

#[test]
fn the_kernels_of_the_documentation_run_and_every_key_is_there() {
    let (lab, text) = (Lab::new(), read("kernels.md"));
    assert_eq!(examples(&lab, &text), ["eager", "lts-2024"]);
    let diff = lab.ok("kernel diff 6.12 eager.toml").out;
    assert!(diff.contains("vma_filter") && diff.contains("scan.scan_delay_ms"), "{diff}");
    lab.ok("run --machine 2x1x2x1 --kernel 6.12,eager.toml --workload first-touch --param duration=1s");
    lab.ok("show kernels lts-2024.toml");
    lab.write("bad.toml", "name = \"bad\"\ntitle = \"t\"\nx = 1\n");
    documented(&text, &keys(&lab.run("show kernels bad.toml").err));
}

#[test]
fn a_machine_or_workload_given_by_path_may_be_called_otherwise_than_its_file() {
    let lab = Lab::new();
    lab.write("a.toml", common::SWEEP);
    lab.write("b.toml", "name = \"small\"\ntitle = \"t\"\nextends = \"tr-1950x\"\n");
    let ended = lab.ok("run --machine b.toml --kernel off --workload a.toml --out d --json");
    assert!(
        ended.out.contains("\"workload\": \"sweep\"") && ended.out.contains("\"machine\": \"small\""),
        "{}",
        ended.out
    );
}

#[test]
fn a_published_table_of_ones_own_runs_and_every_key_is_there() {
    let (lab, text) = (Lab::new(), read("published.md"));
    let table = |file: &str, column: &str, block: &str, row: &str| {
        format!(
            "name = \"own\"\ntitle = \"t\"\nsource = \"s\"\nbaseline = \"a\"\n{file}\
             [[columns]]\nname = \"a\"\nkernel = \"off\"\n{column}[[columns]]\nname = \"b\"\nkernel = \"6.12\"\n\
             [[blocks]]\ngroup = \"g\"\nmachine = \"2x1x2x1\"\nworkload = \"first-touch\"\nparams = {{ duration = \"1s\" }}\n{block}\
             [[blocks.rows]]\nid = \"user\"\nmetric = \"user_s\"\nunit = \"s\"\nbetter = \"lower\"\nvalues = [3.0, 3.0]\n{row}"
        )
    };
    lab.write("own.toml", &table("", "", "", ""));
    assert!(lab.ok("reproduce own.toml").out.contains("Predicted 1: direction right"));
    let x = "x = 1\n";
    for bad in [table(x, "", "", ""), table("", x, "", ""), table("", "", x, ""), table("", "", "", x)] {
        lab.write("own.toml", &bad);
        let message = lab.run("reproduce own.toml").err;
        for key in keys(&message) {
            let named = [format!("`{key}`"), format!("`[[{key}]]`"), format!("`{key} =")];
            assert!(named.iter().any(|n| text.contains(n)), "{key}: {message}");
        }
    }
}

/// The oldest compiler that README and manifest name can build every dependency that the lock file pins.
#[test]
fn locked_dependencies_build_with_the_named_compiler() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cargo = std::process::Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    let out = cargo
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(&root)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let version = |text: &str| text.split('.').map(|n| n.parse().unwrap()).chain([0, 0]).take(3).collect::<Vec<u32>>();
    let packages = metadata["packages"].as_array().unwrap();
    let of = |p: &serde_json::Value| p["rust_version"].as_str().map(str::to_string);
    let named = packages.iter().find(|p| p["name"] == "numalab-cli").and_then(of).unwrap();
    for p in packages {
        let needs = of(p).unwrap_or_default();
        assert!(
            needs.is_empty() || version(&needs) <= version(&named),
            "{} needs Rust {needs}, not {named}",
            p["name"]
        );
    }
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.contains(&format!("needs Rust {named} or newer")), "README names another compiler than {named}");
}

/// The named compiler is the one that builds and tests are made with: what is older is proved by nothing. Outside
/// continuous integration a newer one may run the tests.
#[test]
fn the_named_compiler_is_the_one_that_builds_are_made_with() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let out = std::process::Command::new(compiler).arg("--version").current_dir(&root).output().unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    let of = |text: &str| text.split('.').map(|n| n.parse().unwrap()).take(2).collect::<Vec<u32>>();
    let (runs, named) = (of(said.split_whitespace().nth(1).unwrap()), of(env!("CARGO_PKG_RUST_VERSION")));
    assert!(runs >= named, "{said} is older than rust-version in Cargo.toml");
    if std::env::var_os("CI").is_some() {
        assert_eq!(runs, named, "rust-version in Cargo.toml names another compiler than {said}");
    }
}
