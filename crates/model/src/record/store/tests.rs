use super::*;
use crate::experiment::tests::{experiment, Memory};
use crate::experiment::{Cell, Experiment};
use crate::plan::{Backend, PlanInput, SourceFile};
use crate::record::{EffectiveTunable, Outcome, Scalar, Series, Status};
use std::fs;
use std::path::Path;

const BACKEND: Backend<'static> = Backend { name: "sim", version: "1" };

fn cells() -> Vec<Cell> {
    experiment().cells(&Memory::default(), BACKEND).unwrap()
}

/// An outcome that a backend might return; it depends on the plan alone.
fn outcome(input: &PlanInput) -> Outcome {
    let scalar = |name: &str, value| Scalar { name: name.into(), value, unit: "s".into(), higher_is_better: false };
    Outcome {
        status: Status::Completed,
        scalars: vec![scalar("elapsed_s", 60.0 + input.seed as f64 / 7.0), scalar("user_s", 1e-9)],
        counters: vec![("pgfault".into(), 9), ("numa_hit".into(), u64::MAX), ("a_last".into(), 0)],
        reasons: vec![("skip.pid_inactive".into(), 3)],
        series: vec![
            Series {
                name: "node_pages".into(),
                unit: "pages".into(),
                columns: vec!["main.0/node0".into(), "main.0/node1".into()],
                time_ns: vec![0, 1],
                values: vec![vec![0.0, 1.5], vec![2.0, 3.0]],
            },
            Series { name: "empty".into(), unit: "1".into(), ..Series::default() },
        ],
        tunables: vec![EffectiveTunable {
            name: "system.hz".into(),
            value: "100".into(),
            unit: "Hz".into(),
            kernel_name: "CONFIG_HZ".into(),
        }],
        warnings: vec!["short".into(), "short".into()],
        settled: None,
    }
}

fn store(dir: &Path) -> (Store, Vec<Cell>) {
    let cells = cells();
    (Store::create(dir, &experiment(), &cells).unwrap(), cells)
}

/// Name and contents of every file below a directory, in order.
fn tree(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                out.push((path.strip_prefix(dir).unwrap().display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    out.sort();
    out
}

#[test]
fn a_record_is_read_back_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let (store, cells) = store(dir.path());
    let input = &cells[0].input;
    assert_eq!(store.get(&input.id).unwrap(), None);
    let written = store.put(input, &outcome(input)).unwrap();
    let read = store.get(&input.id).unwrap().unwrap();
    assert_eq!(read, written);
    assert_eq!(read.manifest.plan, input.plan);
    let mut warnings = input.machine.warnings.clone();
    assert!(!warnings.is_empty(), "a machine by shorthand has assumptions");
    warnings.push("short".into());
    assert_eq!(read.outcome, Outcome { warnings, ..outcome(input) }, "each warning is kept once");
    assert_eq!(store.record(&store.file().runs[0]).unwrap(), Some(read));
    assert_eq!(store.record(&store.file().runs[1]).unwrap(), None);
    let text = fs::read_to_string(dir.path().join(input.id.short()).join("scalars.json")).unwrap();
    assert!(text.find("pgfault").unwrap() < text.find("a_last").unwrap(), "counters keep their order");
    for status in [Status::Timeout, Status::Failed("out of memory".into())] {
        let input = &cells[1].input;
        let place = dir.path().join(input.id.short());
        let _ = fs::remove_dir_all(&place);
        let record = store.put(input, &Outcome { status: status.clone(), ..outcome(input) }).unwrap();
        assert_eq!(record.outcome.status, status);
    }
}

#[test]
fn identical_runs_give_identical_bytes() {
    let write = || {
        let dir = tempfile::tempdir().unwrap();
        let (store, cells) = store(dir.path());
        for cell in &cells {
            store.put(&cell.input, &outcome(&cell.input)).unwrap();
        }
        tree(dir.path())
    };
    let (a, b) = (write(), write());
    assert_eq!(a.len(), 1 + 24 * 4);
    assert!(a == b, "two writings of the same runs differ");
}

#[test]
fn a_record_is_complete_or_absent() {
    let dir = tempfile::tempdir().unwrap();
    let (store, cells) = store(dir.path());
    let input = &cells[0].input;
    // An outcome that cannot be written leaves no files.
    let mut bad = outcome(input);
    bad.series[0].values[0][1] = f64::INFINITY;
    assert!(store.put(input, &bad).unwrap_err().to_string().contains("cannot be kept"));
    let mut bad = outcome(input);
    bad.series[1].name = "../escape".into();
    assert!(store.put(input, &bad).is_err());
    let mut bad = outcome(input);
    bad.scalars[0].value = f64::NAN;
    assert!(store.put(input, &bad).unwrap_err().to_string().contains("elapsed_s is NaN"));
    assert_eq!(tree(dir.path()).len(), 1, "only experiment.json");
    // A crash in the middle leaves a directory under another name, which the next opening removes.
    let partial = dir.path().join(format!(".partial-{}-4294967290", input.id));
    fs::create_dir(&partial).unwrap();
    fs::write(partial.join("scalars.json"), "{").unwrap();
    assert_eq!(store.get(&input.id).unwrap(), None);
    drop(store);
    let store = Store::create(dir.path(), &experiment(), &cells).unwrap();
    assert!(!partial.exists());
    assert!(store.put(input, &outcome(input)).is_ok());
    // A second writer of the same plan finds the first one's record and changes nothing.
    let before = tree(dir.path());
    assert!(store.put(input, &outcome(input)).is_ok());
    assert_eq!(tree(dir.path()), before);
}

#[test]
fn every_kind_of_damage_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let (store, cells) = store(dir.path());
    let input = &cells[0].input;
    store.put(input, &outcome(input)).unwrap();
    let place = dir.path().join(input.id.short());
    let change = |file: &str, from: &str, to: &str, part: &str| {
        let path = place.join(file);
        let good = fs::read_to_string(&path).unwrap();
        assert!(good.contains(from), "{file} has {from}");
        fs::write(&path, good.replace(from, to)).unwrap();
        let e = store.get(&input.id).unwrap_err().to_string();
        assert!(e.contains(part), "{file}: {e}");
        fs::write(&path, good).unwrap();
        assert!(store.get(&input.id).is_ok());
    };
    change("scalars.json", "61.4", "62.4", "differ from their digest");
    change("series/node_pages.csv", "1.5", "1.25", "differ from their digest");
    change("manifest.json", "\"seed\": 10", "\"seed\": 11", "does not have the id it is filed under");
    change("manifest.json", "\"completed\"", "\"complete\"", "`status` is \"complete\"");
    change("manifest.json", "\"plan\"", "\"plans\"", "unknown field `plans`");
    change("manifest.json", "\"format_version\": 1", "\"format_version\": 2", "format version 2; expected 1");
    change("manifest.json", "numalab record", "other record", "not written by numalab; expected a numalab record");
    for file in ["scalars.json", "series/node_pages.csv", "manifest.json"] {
        let good = fs::read(place.join(file)).unwrap();
        fs::remove_file(place.join(file)).unwrap();
        let e = store.get(&input.id).unwrap_err();
        assert!(matches!(e, RecordError::Damaged { .. }), "{e}");
        assert!(e.to_string().contains("(remove its directory to run the plan again)"), "{e}");
        fs::write(place.join(file), [0xff]).unwrap();
        // Only the manifest is read before its digest is known.
        let why = if file == "manifest.json" { "not UTF-8" } else { "differ from their digest" };
        let e = store.get(&input.id).unwrap_err().to_string();
        assert!(e.contains(why), "{file}: {e}");
        fs::write(place.join(file), good).unwrap();
    }
    let other = dir.path().join(cells[1].input.id.short());
    fs::rename(&place, &other).unwrap();
    assert!(store.get(&cells[1].input.id).unwrap_err().to_string().contains("has another name"));
    fs::create_dir(&place).unwrap();
    assert!(store.get(&input.id).unwrap_err().to_string().contains("not a record"));
}

#[test]
fn sources_are_part_of_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let (store, cells) = store(dir.path());
    let source = |place: &str| SourceFile { place: place.into(), bytes: b"name = \"a\"\n".as_slice().into() };
    let input = cells[0].input.clone().with_sources([source("kernels/a.toml"), source("workloads/a.toml")].into());
    store.put(&input, &outcome(&input)).unwrap();
    let sources = dir.path().join(input.id.short()).join("sources");
    let refused = |part: &str| {
        let e = store.get(&input.id).unwrap_err();
        assert!(matches!(e, RecordError::Damaged { .. }) && e.to_string().contains(part), "{e}");
    };
    fs::write(sources.join("kernels/a.toml"), "name = \"b\"\n").unwrap();
    refused("sources/kernels/a.toml: the contents differ from their digest");
    fs::remove_file(sources.join("kernels/a.toml")).unwrap();
    refused("sources/kernels/a.toml: no such file, which the manifest lists");
    fs::remove_dir_all(&sources).unwrap();
    refused("no such file, which the manifest lists");
    let twice = cells[1].input.clone().with_sources([source("kernels/a.toml"), source("kernels/a.toml")].into());
    let e = store.put(&twice, &outcome(&twice)).unwrap_err().to_string();
    assert!(e.contains("two files that were read are called kernels/a.toml"), "{e}");
}

#[test]
fn advice_on_damage_outside_of_records_removes_no_record() {
    let dir = tempfile::tempdir().unwrap();
    let advice = |file: &str| RecordError::damaged(&dir.path().join(file), "cut off").to_string();
    for (file, part) in [
        (
            "0123456789abcdef.events",
            "remove the file; `numalab run` with the same arguments and --trace writes it again",
        ),
        (
            "0123456789abcdef.decisions",
            "remove the file; `numalab run` with the same arguments and --explain writes it",
        ),
        ("experiment.json", "remove this file, not the records beside it"),
    ] {
        assert!(advice(file).contains(part) && !advice(file).contains("its directory"), "{}", advice(file));
    }
    assert!(advice("0123456789abcdef/scalars.json").contains("remove its directory"));
}

#[test]
fn foreign_directories_are_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let create = |path: &Path, e: &Experiment| Store::create(path, e, &cells()).map(|_| ());
    // Files of another program.
    let foreign = dir.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("thesis.tex"), "precious").unwrap();
    let e = create(&foreign, &experiment()).unwrap_err();
    assert!(matches!(e, RecordError::Foreign { .. }) && e.to_string().contains("it holds other files"), "{e}");
    assert_eq!(tree(&foreign), [("thesis.tex".to_string(), b"precious".to_vec())]);
    // A file, not a directory.
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    for path in [file.clone(), file.join("x/y")] {
        let e = create(&path, &experiment()).unwrap_err();
        assert!(matches!(e, RecordError::Io { .. }), "{e}");
        assert_eq!(e.to_string(), format!("{}: a file; expected a directory", file.display()));
    }
    // Another experiment, another format, another program's experiment.json.
    let ours = dir.path().join("ours");
    create(&ours, &experiment()).unwrap();
    let before = tree(&ours);
    let e = create(&ours, &Experiment { name: "y".into(), ..experiment() }).unwrap_err().to_string();
    assert!(e.contains("it holds the experiment `x`"), "{e}");
    assert_eq!(tree(&ours), before);
    for (text, part) in [
        ("{}", "not written by numalab"),
        ("{\"format\": \"numalab experiment\", \"format_version\": 9}", "format version 9; expected 1"),
        ("nonsense", "expected ident"),
    ] {
        fs::write(ours.join("experiment.json"), text).unwrap();
        let e = create(&ours, &experiment()).unwrap_err().to_string();
        assert!(e.contains(part), "{e}");
        assert_eq!(fs::read_to_string(ours.join("experiment.json")).unwrap(), text);
    }
    // Reading.
    assert!(Store::open(&foreign).unwrap_err().to_string().contains("not an experiment"));
    assert!(Store::open(&dir.path().join("absent")).unwrap_err().to_string().contains("no such directory"));
}

#[test]
fn a_list_that_contradicts_its_records_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (store, cells) = store(dir.path());
    store.put(&cells[0].input, &outcome(&cells[0].input)).unwrap();
    let good = store.file().runs[0].clone();
    assert!(store.record(&good).unwrap().is_some());
    for (member, part) in [
        (Member { machine: "other".into(), ..good.clone() }, "it lists machine other for record"),
        (Member { workload: "other".into(), ..good.clone() }, "it lists workload other for record"),
        (Member { kernel: "other".into(), ..good.clone() }, "it lists kernel other for record"),
        (Member { seed: 11, ..good.clone() }, "which has 10; expected an unchanged list of runs"),
        (Member { record: good.record.clone(), ..store.file().runs[3].clone() }, "for record"),
    ] {
        let e = store.record(&member).unwrap_err();
        assert!(matches!(e, RecordError::Damaged { .. }) && e.to_string().contains(part), "{e}");
    }
    let path = dir.path().join("experiment.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(&store.file().runs[1].record, &good.record)).unwrap();
    drop(store);
    for e in [Store::open(dir.path()).unwrap_err(), Store::create(dir.path(), &experiment(), &cells).unwrap_err()] {
        assert!(e.to_string().contains(&format!("experiment.json: it lists record {} twice", good.record)), "{e}");
    }
    // A run that is asked for again must not be listed a second time under another name.
    fs::write(&path, text.replacen(&format!("\"kernel\": \"{}\"", good.kernel), "\"kernel\": \"other\"", 1)).unwrap();
    let e = Store::create(dir.path(), &experiment(), &cells).unwrap_err().to_string();
    assert!(e.contains(&format!("for record {}, a run of something else", good.record)), "{e}");
}

#[test]
fn records_that_have_lost_their_list_get_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let (first, cells) = store(dir.path());
    for cell in &cells[..3] {
        first.put(&cell.input, &outcome(&cell.input)).unwrap();
    }
    let id = cells[0].input.id.short();
    for name in [format!("{id}.events"), format!("{id}.why.json"), "report.html".into()] {
        fs::write(dir.path().join(name), "x").unwrap();
    }
    let before = tree(dir.path());
    drop(first);
    fs::remove_file(dir.path().join("experiment.json")).unwrap();
    let e = Store::open(dir.path()).unwrap_err();
    assert!(matches!(e, RecordError::Damaged { .. }), "{e}");
    assert!(e.to_string().contains("it has records and no experiment.json; expected the list of its runs"), "{e}");
    let (second, _) = store(dir.path());
    assert!(tree(dir.path()) == before, "the list is the same, and nothing else is touched");
    assert!(second.get(&cells[2].input.id).unwrap().is_some());
    drop(second);
    // With a foreign file beside the records the directory may belong to another program.
    fs::remove_file(dir.path().join("experiment.json")).unwrap();
    fs::write(dir.path().join("thesis.tex"), "precious").unwrap();
    let e = Store::create(dir.path(), &experiment(), &cells).unwrap_err();
    assert!(matches!(e, RecordError::Foreign { .. }) && e.to_string().contains("such as thesis.tex"), "{e}");
    assert!(!dir.path().join("experiment.json").exists());
}

#[test]
fn a_list_of_runs_grows_by_kernels_and_replaces_what_is_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let of = |kernels: &[usize], iterations: u32, baseline: bool| {
        let mut e = Experiment { iterations, ..experiment() };
        e.kernels = kernels.iter().map(|&k| experiment().kernels[k].clone()).collect();
        e.baseline = e.baseline.filter(|_| baseline);
        let cells = e.cells(&Memory::default(), BACKEND).unwrap();
        Store::create(dir.path(), &e, &cells).unwrap().file().clone()
    };
    let first = of(&[0], 3, false);
    assert_eq!((first.runs.len(), first.baseline.as_str()), (12, "a"));
    let both = of(&[1], 1, false);
    assert_eq!((both.runs.len(), both.baseline.as_str()), (16, "a"), "adding a kernel keeps the baseline");
    let shorter = of(&[0], 1, false);
    assert_eq!(shorter.runs.len(), 8, "the runs of kernel a are those asked for last");
    assert_eq!(of(&[0, 1], 1, true).baseline, "b");
    let columns = |file: ExperimentFile| {
        let mut out = file.runs.into_iter().map(|r| r.kernel).collect::<Vec<_>>();
        out.dedup();
        out
    };
    assert_eq!(
        columns(of(&[0], 2, false)),
        columns(of(&[1, 0], 1, true)),
        "a kernel that has a column keeps its place"
    );
}

#[test]
fn runs_with_records_leave_the_list_when_what_replaces_them_has_records() {
    let dir = tempfile::tempdir().unwrap();
    let asked = |kernel: usize, seed: u64, iterations: u32| {
        let kernels = vec![experiment().kernels[kernel].clone()];
        let e = Experiment { kernels, seed, iterations, baseline: None, params: vec![], ..experiment() };
        let cells = e.cells(&Memory::default(), BACKEND).unwrap();
        (Store::create(dir.path(), &e, &cells).unwrap(), cells)
    };
    let seeds = || Store::open(dir.path()).unwrap().file().runs.iter().map(|r| r.seed).collect::<Vec<_>>();
    let (store, cells) = asked(0, 10, 2);
    let first = seeds();
    assert_eq!((first.len(), first.iter().all(|s| [10, 11].contains(s))), (cells.len(), true));
    drop(store);
    // No run has a record, so the list can be replaced.
    let (store, cells) = asked(0, 20, 2);
    assert!(!store.replaces() && seeds().iter().all(|s| [20, 21].contains(s)));
    store.put(&cells[0].input, &outcome(&cells[0].input)).unwrap();
    drop(store);
    // The group that has a record stays until the runs that replace it are settled; the other groups go.
    let (store, cells) = asked(0, 30, 1);
    assert!(store.replaces());
    let listed = seeds();
    assert_eq!(listed.iter().filter(|s| **s < 30).count(), 2, "{listed:?}");
    assert_eq!(listed.iter().filter(|s| **s == 30).count(), cells.len() - 1, "{listed:?}");
    drop(store);
    assert_eq!(seeds(), listed, "an interruption leaves the list as it is");
    // Runs of another kernel are listed at once.
    drop(asked(1, 30, 1));
    assert_eq!(seeds().len(), listed.len() + cells.len());
    let (store, cells) = asked(0, 30, 1);
    cells.iter().for_each(|c| drop(store.put(&c.input, &outcome(&c.input)).unwrap()));
    store.settle().unwrap();
    assert!(seeds().iter().all(|s| *s == 30));
    drop(store);
    // More seeds of the same runs replace nothing, so the missing ones are listed.
    let (store, cells) = asked(0, 30, 2);
    assert!(!store.replaces());
    assert_eq!(seeds().len(), cells.len() + cells.len() / 2);
}

#[test]
fn one_process_at_a_time_writes_into_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let (first, cells) = store(dir.path());
    let before = tree(dir.path());
    let e = Store::create(dir.path(), &experiment(), &cells[..1]).unwrap_err();
    assert!(matches!(e, RecordError::Busy { .. }), "{e}");
    assert!(e.to_string().ends_with("expected that one to have ended, or another directory"), "{e}");
    assert!(tree(dir.path()) == before, "the lock is no file, and the list is the first writer's");
    assert_eq!(Store::open(dir.path()).unwrap().file(), first.file(), "reading needs no lock");
    drop(first);
    assert!(Store::create(dir.path(), &experiment(), &cells[..1]).is_ok());
}

#[test]
fn a_list_that_names_other_directories_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = store(dir.path());
    let member = Member { record: "../../etc".into(), ..store.file().runs[0].clone() };
    assert!(store.record(&member).unwrap_err().to_string().contains("a record named \"../../etc\""));
}

#[test]
fn an_experiment_without_records_can_be_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e");
    let (empty, _) = store(&path);
    empty.abandon();
    drop(empty);
    assert!(!path.exists(), "{:?}", tree(&path));
    let (kept, cells) = store(&path);
    kept.put(&cells[0].input, &outcome(&cells[0].input)).unwrap();
    let before = tree(&path);
    kept.abandon();
    assert_eq!(tree(&path), before);
}

#[test]
fn names_of_a_list_are_checked_when_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    drop(store(dir.path()));
    let list = dir.path().join("experiment.json");
    let text = fs::read_to_string(&list).unwrap();
    let name = experiment().name;
    fs::write(&list, text.replacen(&format!("\"{name}\""), &format!("\"{name}\u{202e}\""), 1)).unwrap();
    let e = Store::open(dir.path()).unwrap_err().to_string();
    assert!(e.contains("a name with the character U+202E"), "{e}");
}

#[test]
fn figures_are_read_back_as_they_were_written() {
    // Read one unit in the last place off by a reader that does not round exactly.
    for figure in [37_966.199_033_685_92_f64, 1e23, 5e-324, 0.1 + 0.2] {
        let text = serde_json::to_string(&figure).unwrap();
        let read: f64 = serde_json::from_str(&text).unwrap();
        assert_eq!(read.to_bits(), figure.to_bits(), "{text}");
    }
}
