//! Signals during runs: a message says which records are kept, and an ignored signal stays ignored.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{interruptible, Lab, QUICK, SWEEP};
use std::io::Read;
use std::process::{Child, Command, Stdio};

/// Starts a command that carries out runs into `d`, and waits until the first run has its record. A command that has
/// ended meanwhile is left for the caller to wait for, so that signals can still be sent to it.
fn started(lab: &Lab, command: &mut Command) -> Child {
    let child = command.current_dir(lab.path(".")).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let is_record = |e: std::fs::DirEntry| e.path().join("manifest.json").is_file();
    let recorded = || std::fs::read_dir(lab.path("d")).is_ok_and(|dir| dir.flatten().any(is_record));
    while !recorded() {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        // Its last record may have been written since the condition was tested.
        assert!(!stat.contains(") Z ") || recorded(), "it ended without a record");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

/// The standard error of a command until it ends, and its exit code.
fn ended(mut child: Child) -> (String, Option<i32>) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (said, child.wait().unwrap().code())
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn an_interrupted_table_says_what_is_kept() {
    let lab = Lab::new();
    lab.write("catalog/workloads/sweep.toml", SWEEP);
    let table = "name = \"own\"\ntitle = \"t\"\nsource = \"s\"\nbaseline = \"a\"\n\
         [[columns]]\nname = \"a\"\nkernel = \"off\"\n[[columns]]\nname = \"b\"\nkernel = \"6.12\"\n\
         [[blocks]]\ngroup = \"g\"\nmachine = \"2x1x2x1\"\nworkload = \"sweep\"\niterations = 1000\n\
         params = { loops = 100000 }\n\
         rows = [{ id = \"hit\", metric = \"numa_hit\", unit = \"pages\", better = \"lower\", values = [3.0, 3.0] }]\n";
    lab.write("own.toml", table);
    let mut command = interruptible();
    let child = started(&lab, command.args("reproduce own.toml --catalog catalog --jobs 1 --out d".split(' ')));
    interrupt(&child);
    let (said, code) = ended(child);
    assert_eq!(code, Some(130), "{said}");
    let kept = said.lines().find_map(|l| l.strip_prefix("numalab: interrupted: "));
    let kept = kept.unwrap_or_else(|| panic!("{said}"));
    assert!(kept.ends_with(" of 2000 runs have their record in d; the same command resumes"), "{kept}");
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let lab = Lab::with_sweep();
    let line = format!("trap '' INT; exec \"$0\" {QUICK} --kernel off --iterations 40 --jobs 1 --out d");
    let mut command = Command::new("sh");
    let child = started(&lab, command.args(["-c", &line, env!("CARGO_BIN_EXE_numalab")]));
    interrupt(&child);
    let (said, code) = ended(child);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches(" seed ").count(), 40, "{said}");
}
