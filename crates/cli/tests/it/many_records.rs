//! Experiments of very many runs: what `compare` and `report` keep of a record, and the index beside the records.
//!
//! Records are made from those of two real runs: other seeds, and other figures. `NUMALAB_RECORDS=100000` makes so
//! many instead, and prints what was measured.
#![allow(clippy::unwrap_used)]

use crate::common::Lab;
use numalab_model::plan::{hex, PlanId};
use numalab_model::record::{ExperimentFile, FileEntry, Store};
use serde_json::{json, Value};
use sha2::{Digest, Sha256};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Name of the index.
const INDEX: &str = "index.jsonl";

/// An experiment `d` of so many records on two kernels.
fn lab(records: usize) -> Lab {
    let lab = Lab::with_sweep();
    lab.ok("run --machine 2x1x1x1 --kernel off,6.3 --workload sweep.toml --param loops=1 --iterations 1 --out one -q");
    std::fs::create_dir(lab.path("d")).unwrap();
    let store = Store::open(&lab.path("one")).unwrap();
    let members = &store.file().runs;
    let mut runs = Vec::new();
    for member in members {
        let record = store.record(member).unwrap().unwrap();
        let mut figures: Value =
            serde_json::from_slice(&std::fs::read(record.path.join("scalars.json")).unwrap()).unwrap();
        let mut manifest = record.manifest;
        // A simulated run keeps 100 KB of settings and sources, which a disk of this machine has no room for.
        manifest.tunables = Vec::new();
        manifest.series.truncate(1);
        let series = manifest.series[0].file.clone();
        let listed: Vec<_> = manifest.files.iter().filter(|f| f.name == series).cloned().collect();
        Arc::make_mut(&mut manifest.plan.kernel).tunables.truncate(3);
        for iteration in 0..records / members.len() {
            let seed = 1 + iteration as u64;
            figures["scalars"][0]["value"] = json!(1.0 + (seed % 97) as f64 / 1000.0);
            figures["counters"]["pgfault"] = json!(1000 + seed % 89);
            let text = serde_json::to_string(&figures).unwrap();
            manifest.plan.seed = seed;
            let id = PlanId::of(&manifest.plan).unwrap();
            manifest.id = id.full().into();
            let sha256 = hex(&Sha256::digest(&text));
            manifest.files = listed.clone();
            manifest.files.push(FileEntry { name: "scalars.json".into(), bytes: text.len() as u64, sha256 });
            let dir = lab.path("d").join(id.short());
            std::fs::create_dir_all(dir.join(&series).parent().unwrap()).unwrap();
            std::fs::copy(record.path.join(&series), dir.join(&series)).unwrap();
            std::fs::write(dir.join("scalars.json"), text).unwrap();
            std::fs::write(dir.join("manifest.json"), serde_json::to_string(&manifest).unwrap()).unwrap();
            let mut run = member.clone();
            (run.iteration, run.seed, run.record) = (iteration as u32, seed, id.short().into());
            runs.push(run);
        }
    }
    let file = ExperimentFile { runs, ..store.file().clone() };
    lab.write("d/experiment.json", &serde_json::to_string(&file).unwrap());
    // Records that changed a moment ago are not entered into an index.
    std::thread::sleep(Duration::from_millis(1100));
    lab
}

/// Runs `numalab` and expects success: what it printed, its peak of memory in KiB, and its CPU time.
#[allow(clippy::zombie_processes)] // `wait4` below is the wait, which tells what the child used.
fn measured(lab: &Lab, line: &str) -> (String, u64, Duration) {
    let out = lab.path("stdout");
    let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
    command.args(line.split_whitespace()).current_dir(lab.path(""));
    let begin = Instant::now();
    let child = command.stdout(std::fs::File::create(&out).unwrap()).stderr(Stdio::inherit()).spawn().unwrap();
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    let mut peak = 0;
    loop {
        // SAFETY: both places are this function's own, and the child is waited for nowhere else.
        let waited = unsafe { libc::wait4(child.id() as i32, &mut status, libc::WNOHANG, usage.as_mut_ptr()) };
        if waited != 0 {
            assert_eq!((waited, status), (child.id() as i32, 0), "{line}");
            break;
        }
        // The peak that the call above reports begins with that of the process which started the command.
        peak = peak_kib(child.id()).unwrap_or(peak);
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: the call succeeded, so it filled the structure, which is plain data.
    let usage = unsafe { usage.assume_init() };
    let cpu = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    let cpu = cpu(usage.ru_utime) + cpu(usage.ru_stime);
    println!("{line}: {peak} KiB, {cpu:.2?} of CPU time, {:.2?}", begin.elapsed());
    (std::fs::read_to_string(out).unwrap(), peak, cpu)
}

/// Most memory that a process had so far, KiB.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// How many records the tests make: thousands, or as many as are asked for.
fn count() -> usize {
    std::env::var("NUMALAB_RECORDS").ok().and_then(|n| n.parse().ok()).unwrap_or(4000)
}

/// A record more is two kilobytes more, and the cost of many is that of few, times their number.
#[test]
fn memory_of_a_comparison_grows_by_two_kilobytes_a_record() {
    let all = count();
    let (few, many) = (lab(all / 4), lab(all));
    for line in ["compare d", "compare d", "report d", "compare d --full", "compare d --json"] {
        let ((_, few_kib, few_cpu), (_, many_kib, many_cpu)) = (measured(&few, line), measured(&many, line));
        let each = (many_kib - few_kib.min(many_kib)) * 1024 / (all - all / 4) as u64;
        assert!(each <= 2048, "{line}: {each} bytes a record");
        assert!(many_cpu < few_cpu * 7, "{line}: four times the records took {few_cpu:?}, then {many_cpu:?}");
    }
    assert!(few.path("d").join(INDEX).exists());
}

/// An index changes no byte of an answer, whatever happens to it or to the records.
#[test]
fn an_index_is_used_only_as_long_as_it_is_that_of_the_records() {
    let lab = lab(1200);
    let index = lab.path("d").join(INDEX);
    let figures = || lab.ok("compare d --style csv").out;
    let first = figures();
    let whole = std::fs::read(&index).unwrap();
    assert_eq!(figures(), first);
    assert_eq!(std::fs::read(&index).unwrap(), whole, "nothing was added");
    for damage in damages(&whole) {
        std::fs::write(&index, damage).unwrap();
        assert_eq!(figures(), first);
        assert!(std::fs::read(&index).unwrap().starts_with(&whole[..40]), "it is made anew");
    }
    // A figure that changes is found, whether the index knows the record or not.
    let record = records(&lab.path("d")).remove(7);
    let scalars = record.join("scalars.json");
    let text = std::fs::read_to_string(&scalars).unwrap();
    std::fs::write(&scalars, text.replacen("1.0", "9.0", 1)).unwrap();
    let ended = lab.run("compare d --style csv");
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("the contents differ from their digest"), "{ended:?}");
    std::fs::write(&scalars, text).unwrap();
    assert_eq!(figures(), first);
    // So is a series that changes, though a comparison needs none: its length stays, and so does the time that it
    // shows.
    let series = std::fs::read_dir(record.join("series")).unwrap().next().unwrap().unwrap().path();
    let (text, time) = (std::fs::read(&series).unwrap(), std::fs::metadata(&series).unwrap().modified().unwrap());
    let mut other = text.clone();
    *other.last_mut().unwrap() ^= 1;
    let file = std::fs::File::create(&series).unwrap();
    (&file).write_all(&other).unwrap();
    file.set_modified(time).unwrap();
    let ended = lab.run("compare d --style csv");
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("the contents differ from their digest"), "{ended:?}");
    std::fs::write(&series, text).unwrap();
    assert_eq!(figures(), first);
    // A record that goes is missing, and one that comes back counts.
    std::fs::rename(&record, lab.path("away")).unwrap();
    let gone = lab.run("compare d --style csv");
    assert_eq!(gone.code, 1, "{gone:?}");
    assert!(gone.err.contains("1 of 1200 runs have no record yet"), "{gone:?}");
    std::fs::rename(lab.path("away"), &record).unwrap();
    assert_eq!(figures(), first);
}

/// The index is what a comparison reads: a figure that is changed in it, with a new digest, is what is shown.
#[test]
fn a_comparison_of_indexed_records_does_not_read_them() {
    let lab = lab(1200);
    let first = lab.ok("compare d --style csv").out;
    let index = lab.path("d").join(INDEX);
    let text = std::fs::read_to_string(&index).unwrap();
    assert_eq!(text.lines().filter(|l| l.starts_with("[\"")).count(), 1200);
    let body = &text[..text.trim_end().rfind('\n').unwrap() + 1];
    let other = body.replace(",[1.002,", ",[1.003,");
    assert_ne!(other, body);
    std::fs::write(&index, format!("{other}sha256 {}\n", hex(&Sha256::digest(&other)))).unwrap();
    assert_ne!(lab.ok("compare d --style csv").out, first);
}

/// Ways in which an index may be wrong.
fn damages(whole: &[u8]) -> Vec<Vec<u8>> {
    let mut changed = whole.to_vec();
    let at = whole.len() / 2;
    changed[at] = changed[at].wrapping_add(1);
    let other = String::from_utf8(whole.to_vec()).unwrap().replace("\"format_version\":1", "\"format_version\":2");
    vec![Vec::new(), b"\n".to_vec(), whole[..at].to_vec(), changed, other.into_bytes(), vec![0xff; 100]]
}

/// The folders of records, by name.
fn records(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    all.sort();
    all
}

/// A small experiment has no index, and a directory that cannot be written to has none either.
#[test]
fn small_and_protected_experiments_have_no_index() {
    let small = Lab::with_experiment();
    small.ok("compare d");
    assert!(!small.path("d").join(INDEX).exists());
    let many = lab(1000);
    // A folder of that name: root may write everywhere, but not this.
    std::fs::create_dir(many.path("d").join(INDEX)).unwrap();
    let (a, b) = (many.ok("compare d --style csv").out, many.ok("compare d --style csv").out);
    assert_eq!(a, b);
}
