//! A record keeps the files that its run was made from, and can be repeated from them alone.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;
use std::path::Path;

const REST: &str = "--workload first-touch --param duration=0.1s --param memory=16MiB --jobs 1";

/// Text of a file of the built-in catalog.
fn catalog(place: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog").join(place)).unwrap()
}

/// Path of the only record in a directory.
fn record(lab: &Lab, dir: &str) -> String {
    let places = std::fs::read_dir(lab.path(dir)).unwrap().map(|e| e.unwrap().path());
    let records: Vec<_> = places.filter(|p| p.join("manifest.json").is_file()).collect();
    assert_eq!(records.len(), 1, "{records:?}");
    format!("{dir}/{}", records[0].file_name().unwrap().to_str().unwrap())
}

/// Text of a file that a record keeps.
fn kept(lab: &Lab, record: &str, place: &str) -> String {
    std::fs::read_to_string(lab.path(&format!("{record}/sources/{place}"))).unwrap_or_else(|e| panic!("{place}: {e}"))
}

#[test]
fn an_edited_copy_of_a_catalog_kernel_keeps_its_name() {
    let lab = Lab::new();
    let own = format!("{}# mine\n", catalog("kernels/4.15+cow-skip.toml"));
    lab.write("4.15+cow-skip.toml", &own);
    lab.ok(&format!("run --machine 2x1x2x1 --kernel ./4.15+cow-skip.toml {REST} --out d"));
    let record = record(&lab, "d");
    assert_eq!(kept(&lab, &record, "kernels/4.15+cow-skip.toml"), own);
    assert_eq!(kept(&lab, &record, "releases.toml"), catalog("releases.toml"));
    lab.ok("compare d");
    lab.ok(&format!("repeat {record}"));
}

#[test]
fn a_kernel_that_extends_a_path_is_repeated_without_it() {
    let lab = Lab::new();
    // A file with a release's name hides its row.
    let base = "name = \"6.12\"\ntitle = \"t\"\nextends = \"6.11\"\n[roles]\nvma_filter = \"off\"\n";
    lab.write("base/6.12.toml", base);
    lab.write("kx.toml", "name = \"kx\"\ntitle = \"t\"\nextends = \"./base/6.12.toml\"\n");
    lab.ok(&format!("run --machine 2x1x2x1 --kernel kx.toml {REST} --out d"));
    let record = record(&lab, "d");
    assert_eq!(kept(&lab, &record, "kernels/6.12.toml"), base);
    std::fs::remove_file(lab.path("base/6.12.toml")).unwrap();
    std::fs::remove_file(lab.path("kx.toml")).unwrap();
    lab.ok(&format!("repeat {record}"));
}

#[test]
fn a_cost_class_of_ones_own_runs_and_is_kept() {
    let lab = Lab::new();
    let class = catalog("machines/classes/modern.toml");
    lab.write("ov/machines/classes/mine.toml", &class);
    let machine = catalog("machines/haswell-2s.toml").replace("name = \"haswell-2s\"", "name = \"h2\"");
    let line = machine.lines().find(|l| l.starts_with("class = ")).unwrap();
    lab.write("ov/machines/h2.toml", &machine.replace(line, "class = \"mine\""));
    lab.ok(&format!("--catalog ov run --machine h2 --kernel 6.12 {REST} --out own"));
    let own = record(&lab, "own");
    assert_eq!(kept(&lab, &own, "machines/classes/mine.toml"), class);
    lab.ok(&format!("repeat {own}"));
    // A class that replaces a built-in one.
    let dearer = class.replace("hint_fault_ns = 1500", "hint_fault_ns = 150000");
    assert_ne!(dearer, class);
    lab.write("two/machines/classes/modern.toml", &dearer);
    lab.ok(&format!("--catalog two run --machine 2x1x2x1 --kernel 6.12 {REST} --out over"));
    let over = record(&lab, "over");
    assert_eq!(kept(&lab, &over, "machines/classes/modern.toml"), dearer);
    lab.ok(&format!("repeat {over}"));
}

#[test]
fn a_machine_that_extends_its_own_name_is_refused() {
    let lab = Lab::new();
    lab.write("mine.toml", "name = \"haswell-2s\"\ntitle = \"mine\"\nextends = \"haswell-2s\"\n");
    let parts = ["mine.toml:3:11: `extends` names haswell-2s", "expected a `name` of its own"];
    lab.refused("machine show ./mine.toml", &parts);
    lab.refused(&format!("run --machine ./mine.toml --kernel 6.12 {REST} --out d"), &parts);
    assert!(!lab.path("d").exists());
}

/// Reading a pipe or a device could go on for ever.
#[cfg(unix)]
#[test]
fn a_device_in_a_record_is_damage() {
    let lab = Lab::new();
    lab.ok(&format!("run --machine 2x1x2x1 --kernel 6.12 {REST} --out d"));
    let manifest = lab.path(&format!("{}/manifest.json", record(&lab, "d")));
    std::fs::remove_file(&manifest).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &manifest).unwrap();
    let ended = lab.run("compare d");
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("manifest.json: not a regular file (a device)"), "{}", ended.err);
}

/// A record that is a link would be read from, and its plan be looked up, elsewhere.
#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_record_is_refused() {
    let lab = Lab::new();
    let run = format!("run --machine 2x1x2x1 --kernel 6.12 {REST} --out d");
    lab.ok(&run);
    let own = record(&lab, "d");
    std::fs::rename(lab.path(&own), lab.path("away")).unwrap();
    std::os::unix::fs::symlink(lab.path("away"), lab.path(&own)).unwrap();
    let before = lab.tree("away");
    for line in ["compare d", "report d", &run] {
        let ended = lab.run(line);
        assert!([2, 3].contains(&ended.code), "{line}: {ended:?}");
        assert!(ended.err.contains(&format!("{own}: a symbolic link; expected the folder of a record")), "{ended:?}");
    }
    assert!(lab.tree("away") == before);
    std::fs::remove_file(lab.path(&own)).unwrap();
    lab.ok(&run);
}

/// A log is a new file that takes the place of a link.
#[cfg(unix)]
#[test]
fn a_log_is_not_written_through_a_link() {
    let lab = Lab::new();
    let run = format!("run --machine 2x1x2x1 --kernel 6.12 {REST} --out d");
    lab.ok(&run);
    lab.write("victim", "precious");
    let own = record(&lab, "d");
    for ending in ["events", "decisions", "why.json"] {
        std::os::unix::fs::symlink(lab.path("victim"), lab.path(&format!("{own}.{ending}"))).unwrap();
    }
    lab.ok(&format!("{run} --trace --explain"));
    assert_eq!(std::fs::read_to_string(lab.path("victim")).unwrap(), "precious");
    assert!(!std::fs::symlink_metadata(lab.path(&format!("{own}.events"))).unwrap().is_symlink());
}

#[test]
fn a_machine_file_without_a_run_is_noted() {
    let lab = Lab::new();
    lab.ok(&format!("run --machine 2x1x2x1 --kernel 6.12 {REST} --out d"));
    let ended = lab.ok("report d --machine haswell-2s --out x.html");
    assert!(ended.err.contains("no run here is of machine haswell-2s"), "{}", ended.err);
}
