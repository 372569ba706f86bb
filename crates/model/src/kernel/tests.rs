use super::*;
use crate::spec::{SpecError, Spot};
use std::sync::Arc;

struct Files(Vec<(&'static str, &'static str)>);

impl Lookup for Files {
    fn kernel_spec(&self, name: &str) -> Result<Option<KernelSpec>, SpecError> {
        self.0.iter().find(|f| f.0 == name).map(|f| parse(&format!("{name}.toml"), f.1)).transpose()
    }
    fn kernel_names(&self) -> Vec<String> {
        self.0.iter().map(|f| f.0.to_string()).collect()
    }
}

fn vocabulary() -> Vocabulary {
    let tunable = |name: &str, default: &str| TunableInfo {
        name: name.into(),
        kernel_name: "model",
        unit: "ms",
        default: default.into(),
        legal: "0 to 100".into(),
        read_when: Vec::new(),
        unread: name == "system.hz",
        doc: "A number.",
    };
    let when = |subject, word: &'static [&'static str]| ReadWhen { subject, needs: Needs::OneOf(word) };
    let scans = when("scan", &["v414"]);
    let scan_size = TunableInfo { read_when: vec![scans], ..tunable("numa.scan_size_mb", "50") };
    let window = TunableInfo { read_when: vec![scans, when("vma_filter", &["v64"])], ..tunable("numa.window_ms", "4") };
    let role = |name, doc, words: [&'static str; 2]| {
        let implementations = words.map(|name| Implementation { name, releases: "", doc: "" }).to_vec();
        RoleInfo { name, doc, implementations }
    };
    Vocabulary {
        roles: vec![role("scan", "Pace.", ["none", "v414"]), role("vma_filter", "Which.", ["off", "v64"])],
        tunables: vec![scan_size, window, tunable("system.hz", "25")],
        check: |_, text| match text.parse::<u8>() {
            Ok(n) if n <= 100 => Ok(n.to_string()),
            _ => Err("a whole number from 0 to 100".into()),
        },
    }
}

const BASE: &str = "name = \"6.1\"\ntitle = \"Linux 6.1\"\n[roles]\nscan = \"v414\"\nvma_filter = \"off\"\n";
const NEXT: &str = "name = \"6.4\"\nextends = \"6.1\"\ntitle = \"Linux 6.4\"\n[roles]\n\
    vma_filter = \"v64\"\n[tunables]\nnuma.scan_size_mb = 60\n\"numa.window_ms\" = 5\n";

fn files() -> Files {
    Files(vec![
        ("6.1", BASE),
        ("6.4", NEXT),
        ("6.12", "name = \"6.12\"\ntitle = \"t\"\nalias_of = \"6.4\"\n"),
        ("off", "name = \"off\"\ntitle = \"t\"\nextends = \"6.4\"\n[roles]\nscan = \"none\"\n"),
    ])
}

fn spots(names: &[&str]) -> Vec<Spot<String>> {
    let spot = |n: &&str| Spot { value: n.to_string(), file: "--kernel".into(), line: 0, column: 0 };
    names.iter().map(spot).collect()
}

fn run(files: &Files, names: &[&str], sets: &[&str]) -> Result<Vec<Kernel>, SpecError> {
    let sets: Vec<Setting> = sets.iter().map(|s| Setting::from_argument("--set", s)).collect::<Result<_, _>>()?;
    resolve(&spots(names), files, &vocabulary(), &sets)
}

#[test]
fn chain_applies_from_the_root_and_names_origins() {
    let k = &run(&files(), &["6.4"], &[]).unwrap()[0];
    assert_eq!(k.chain, ["6.4", "6.1"]);
    assert_eq!(k.implementation("vma_filter"), Some("v64"));
    assert_eq!(k.roles[0].origin, "6.1");
    assert_eq!(k.roles[1].origin, "6.4");
    let of = |n: &str| k.tunables.iter().find(|t| t.name == n).map(|t| (t.value.as_str(), t.origin.as_str()));
    assert_eq!(of("numa.scan_size_mb"), Some(("60", "6.4")));
    assert_eq!(of("numa.window_ms"), Some(("5", "6.4")));
    assert_eq!(of("system.hz"), Some(("25", "default")));
}

#[test]
fn alias_runs_as_its_target_and_says_so() {
    let k = &run(&files(), &["6.12"], &[]).unwrap()[0];
    assert_eq!((k.name.as_str(), k.alias_of.as_deref()), ("6.12", Some("6.4")));
    assert_eq!(k.implementation("vma_filter"), Some("v64"));
    assert!(k.warnings[0].contains("6.12 is an alias: it runs as 6.4"), "{:?}", k.warnings);
    let text = "name = \"x\"\ntitle = \"t\"\nalias_of = \"6.4\"\nextends = \"6.1\"\n";
    assert_eq!(parse("x.toml", text).unwrap_err().line, 3);
}

#[test]
fn an_alias_below_another_kernel_is_noted_too() {
    let mut f = files();
    f.0.push(("mine", "name = \"mine\"\ntitle = \"t\"\nextends = \"6.12\"\n[roles]\nvma_filter = \"off\"\n"));
    let k = &run(&f, &["mine"], &[]).unwrap()[0];
    assert_eq!(k.alias_of, None);
    assert_eq!(k.warnings.len(), 1);
    assert_eq!(k.implementation("vma_filter"), Some("off"));
}

#[test]
fn a_chain_that_a_users_name_closes_is_refused_at_that_name() {
    struct Hidden(Files);
    impl Lookup for Hidden {
        fn kernel_spec(&self, name: &str) -> Result<Option<KernelSpec>, SpecError> {
            self.0.kernel_spec(name)
        }
        fn kernel_names(&self) -> Vec<String> {
            self.0.kernel_names()
        }
        fn built_in(&self, name: &str) -> Option<String> {
            Some(if name == "6.7" { "catalog/kernels/6.7.toml".into() } else { format!("{name}.toml") })
        }
    }
    let files = Hidden(Files(vec![
        ("6.7", "name = \"6.7\"\ntitle = \"mine\"\nextends = \"6.12\"\n"),
        ("6.12", "name = \"6.12\"\ntitle = \"t\"\nextends = \"6.7\"\n"),
    ]));
    for (top, chain) in [("6.7", "6.7 -> 6.12 -> 6.7"), ("6.12", "6.12 -> 6.7 -> 6.12")] {
        let e = resolve(&spots(&[top]), &files, &vocabulary(), &[]).unwrap_err().to_string();
        let want = format!("6.7.toml:1:8: the chain {chain} closes on itself: its name hides the catalog kernel 6.7");
        assert!(e.starts_with(&want), "{e}");
    }
}

#[test]
fn cycles_unknown_names_and_duplicates_are_refused() {
    let cycle = Files(vec![
        ("a", "name = \"a\"\ntitle = \"t\"\nextends = \"b\"\n"),
        ("b", "name = \"b\"\ntitle = \"t\"\nextends = \"a\"\n"),
    ]);
    let e = run(&cycle, &["a"], &[]).unwrap_err().to_string();
    assert!(e.starts_with("b.toml:3:11: the chain a -> b -> a closes on itself"), "{e}");
    let e = run(&files(), &["6.44"], &[]).unwrap_err().to_string();
    assert!(e.contains("unknown kernel `6.44`") && e.contains("did you mean `6.12`"), "{e}");
    let e = run(&files(), &["6.1", "6.1"], &[]).unwrap_err().to_string();
    assert!(e.contains("named twice"), "{e}");
    let text = "name = \"x\"\ntitle = \"t\"\n[tunables]\nnuma.scan_size_mb = 1\n\"numa.scan_size_mb\" = 2\n";
    let e = parse("x.toml", text).unwrap_err();
    assert_eq!((e.line, e.what.contains("set twice")), (5, true), "{e}");
}

#[test]
fn wrong_roles_implementations_and_values_name_the_nearest() {
    let check = |text: &'static str, start: &str, near: &str| {
        let e = run(&Files(vec![("6.1", BASE), ("x", text)]), &["x"], &[]).unwrap_err().to_string();
        assert!(e.starts_with(start) && e.contains(near), "{e}");
    };
    check(
        "name = \"x\"\ntitle = \"t\"\nextends = \"6.1\"\n[roles]\nvma_filtr = \"v64\"\n",
        "x.toml:5:1: unknown role `vma_filtr`",
        "did you mean `vma_filter`?",
    );
    check(
        "name = \"x\"\ntitle = \"t\"\nextends = \"6.1\"\n[roles]\nvma_filter = \"v63\"\n",
        "x.toml:5:1: role `vma_filter` has no implementation `v63`; expected one of off, v64",
        "did you mean `v64`?",
    );
    check(
        "name = \"x\"\ntitle = \"t\"\nextends = \"6.1\"\n[tunables]\nnuma.scan_siz_mb = 1\n",
        "x.toml:5:6: unknown tunable `numa.scan_siz_mb`",
        "did you mean `numa.scan_size_mb`?",
    );
    check(
        "name = \"x\"\ntitle = \"t\"\nextends = \"6.1\"\n[tunables]\nnuma.scan_size_mb = 101\n",
        "x.toml:5:6: `numa.scan_size_mb` is 101",
        "expected a whole number from 0 to 100",
    );
    check(
        "name = \"x\"\ntitle = \"t\"\nextends = \"6.1\"\n[tunables]\nnuma.window_ms = 1\n",
        "x.toml:5:6: `numa.window_ms` has no effect here",
        "`vma_filter` to be v64 (it is off)",
    );
    check(
        "name = \"x\"\ntitle = \"t\"\n[roles]\nscan = \"none\"\n",
        "x.toml:1:8: kernel `x` has no role `vma_filter`",
        "one of off, v64",
    );
    check(
        "name = \"x\"\ntitle = \"t\"\ntunable = 3\n",
        "x.toml:3:1: unknown key `tunable`",
        "did you mean `tunables`?",
    );
}

#[test]
fn overrides_rename_and_ineffective_ones_are_refused_or_withdrawn() {
    let ks = run(&files(), &["6.1", "6.4"], &["numa.window_ms=9", "vma_filter=v64"]).unwrap();
    assert_eq!(ks[0].name, "6.1[vma_filter=v64,numa.window_ms=9]");
    assert_eq!(ks[1].name, "6.4[numa.window_ms=9]");
    assert_eq!(ks[1].tunables[1].origin, "--set");

    let e = run(&files(), &["6.1"], &["numa.window_ms=9"]).unwrap_err().to_string();
    assert!(e.contains("no effect here") && e.contains("`vma_filter` to be v64"), "{e}");

    let ks = run(&files(), &["off", "6.4"], &["numa.scan_size_mb=9"]).unwrap();
    assert_eq!((ks[0].name.as_str(), ks[0].tunable("numa.scan_size_mb")), ("off", Some("60")));
    assert!(ks[0].warnings[0].contains("`numa.scan_size_mb` is left out for kernel off"));
    assert_eq!(ks[1].name, "6.4[numa.scan_size_mb=9]");

    for (set, part) in [
        ("numa.scan_size_mb", "no name and value"),
        ("numa.scan_size_mb=", "no value for `numa.scan_size_mb`"),
        ("=5", "no name for `5`"),
        ("numa.scan_size=9", "did you mean `numa.scan_size_mb`?"),
        ("system.window_ms=9", "did you mean `numa.window_ms`?"),
        ("scann=none", "did you mean `scan`?"),
        ("scan=nne", "did you mean `none`?"),
    ] {
        let e = run(&files(), &["6.4"], &[set]).unwrap_err().to_string();
        assert!(e.starts_with(&format!("--set {set}: ")) && e.contains(part), "{e}");
    }
    let e = run(&files(), &["6.4"], &["system.hz=1", "system.hz=2"]).unwrap_err().to_string();
    assert!(e.contains("set twice"), "{e}");
}

#[test]
fn an_override_that_no_backend_models_is_kept_and_noted() {
    let k = &run(&files(), &["6.4"], &["system.hz=10"]).unwrap()[0];
    assert_eq!(k.tunable("system.hz"), Some("10"));
    assert_eq!(k.warnings, ["`system.hz` was set, but no backend models it yet"]);
}

#[test]
fn an_override_equal_to_the_kernels_own_value_changes_nothing() {
    let plain = run(&files(), &["6.4"], &[]).unwrap();
    assert_eq!(run(&files(), &["6.4"], &["numa.scan_size_mb=60"]).unwrap(), plain);
}

/// What `system.numa_balancing` is on a machine, and where that comes from, with `tunables` in the kernel's file.
fn balancing(machine: &str, tunables: &'static str, sets: &[&str]) -> (String, String, String) {
    let mut vocabulary = vocabulary();
    let like = &vocabulary.tunables[0];
    vocabulary.tunables.push(TunableInfo { name: "system.numa_balancing".into(), default: "1".into(), ..like.clone() });
    let files = Files(vec![("6.1", BASE), ("mine", tunables)]);
    let sets: Vec<_> = sets.iter().map(|s| Setting::from_argument("--set", s).unwrap()).collect();
    let kernel = resolve(&spots(&["mine"]), &files, &vocabulary, &sets).unwrap().remove(0);
    let kernel = Arc::new(kernel).booted_on(&crate::machine::from_shorthand(machine).unwrap());
    let t = kernel.tunables.iter().find(|t| t.name == "system.numa_balancing").unwrap().clone();
    (t.value, t.origin, kernel.name.clone())
}

#[test]
fn numa_balancing_is_off_on_one_node_unless_it_was_set() {
    const PLAIN: &str = "name = \"mine\"\ntitle = \"t\"\nextends = \"6.1\"\n";
    const ON: &str = "name = \"mine\"\ntitle = \"t\"\nextends = \"6.1\"\n[tunables]\nsystem.numa_balancing = 1\n";
    let expect = |got: (String, String, String), value: &str, origin: &str, name: &str| {
        assert_eq!((got.0.as_str(), got.1.as_str(), got.2.as_str()), (value, origin, name));
    };
    expect(balancing("2x1x1x1", PLAIN, &[]), "1", "default", "mine");
    expect(balancing("1x1x4x1", PLAIN, &[]), "0", "machine", "mine");
    expect(balancing("1x1x4x1", ON, &[]), "1", "mine", "mine");
    let set = "mine[system.numa_balancing=1]";
    expect(balancing("1x1x4x1", PLAIN, &["system.numa_balancing=1"]), "1", "--set", set);
    expect(balancing("1x1x4x1", PLAIN, &["system.numa_balancing=0"]), "0", "--set", &set.replace("=1", "=0"));
}

#[test]
fn an_image_is_checked_where_it_is_written() {
    let with = |image: &str| parse("k.toml", &format!("name = \"k\"\ntitle = \"T\"\nimage = \"{image}\"\n"));
    for good in ["same", "debian-6.12", "source:6.12+patch:a.patch", "tree:/linux"] {
        assert_eq!(with(good).unwrap().image.as_deref(), Some(good));
    }
    let e = with("ubuntu").unwrap_err();
    assert!(e.to_string().starts_with("k.toml:3:"), "{e}");
    assert!(e.to_string().contains("`ubuntu` is no image"), "{e}");
    assert!(with("sourec:6.12").unwrap_err().to_string().contains("source:"));
}
