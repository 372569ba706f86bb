//! Machines from what other tools say about them, on the command line, and hostile input.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Lab;
use std::io::Write;
use std::process::{Command, Stdio};

const NUMACTL: &str =
    "$ numactl -H\navailable: 3 nodes (0-2)\nnode 0 cpus: 0-1\nnode 0 size: 1000 MB\nnode 1 cpus: 2-3\n\
                       node 1 size: 1000 MB\nnode 2 cpus:\nnode 2 size: 2000 MB\nnode distances:\nnode   0   1   2\n  \
                       0:  10  32  50\n  1:  31  10  60\n  2: 255 255  10\n$ ";

const RUN: &str = "--kernel off,6.12 --workload sweep.toml --iterations 1";

#[test]
fn a_pasted_text_is_imported_shown_and_run() {
    let lab = Lab::with_sweep();
    lab.write("pasted.txt", NUMACTL);
    let toml = lab.ok("machine import pasted.txt --name mine").out;
    lab.write("mine.toml", &toml);
    let shown = lab.ok("machine show mine.toml").out;
    assert!(shown.contains("nothing tells what it is: taken for CXL") && shown.contains("--memory-kind"), "{shown}");
    let ended = lab.ok(&format!("run --machine mine.toml {RUN} --out d"));
    let said = ended.out + &ended.err;
    assert!(said.contains("--memory-kind"), "{said}");
    // The user's word ends the warning.
    let toml = lab.ok("machine import pasted.txt --name mine --memory-kind 2=hbm").out;
    assert!(toml.contains("kind = \"hbm\"") && !toml.contains("--memory-kind"), "{toml}");
    lab.refused(
        "machine import pasted.txt --memory-kind 2=hbn",
        &["2=hbm; kinds are dram, hbm, gpu, optane, cxl", "did you mean `hbm`"],
    );
    lab.refused("machine import pasted.txt --memory-kind 7=hbm", &["has no node 7", "0-2"]);
    lab.refused("machine import nothing.txt", &["nothing.txt: cannot be read"]);
    lab.write("other.txt", "hello");
    lab.refused("machine import other.txt", &["other.txt:1:1: no description of a machine", "`lscpu`"]);
}

/// A description where a machine file is asked for: the message names the command that makes one.
#[test]
fn a_pasted_text_in_place_of_a_machine_file_says_what_to_do() {
    let lab = Lab::with_sweep();
    lab.write("pasted.txt", NUMACTL);
    let hint =
        "./pasted.txt:1:1: the output of `numactl -H`, which is no machine file; expected a machine file: `numalab \
                machine import ./pasted.txt > mine.toml` writes it";
    lab.refused("machine show ./pasted.txt", &[hint]);
    lab.refused(&format!("run --machine ./pasted.txt {RUN} --out d"), &[hint]);
    assert!(!lab.path("d").exists());
}

#[test]
fn standard_input_and_folders_are_sources() {
    let lab = Lab::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_numalab"))
        .args(["machine", "import", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(NUMACTL.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success() && String::from_utf8(done.stdout).unwrap().contains("[[node]]"));
    lab.write("copy/sys/devices/system/cpu/online", "0-1\n");
    assert!(lab.ok("machine import copy").out.contains("cpus = \"0-1\""));
}

/// A device without an end fills no memory, and what is cut off is not taken for a description.
#[test]
fn standard_input_has_a_limit() {
    let lab = Lab::new();
    for file in ["-", "/dev/stdin"] {
        let ended = lab.shell(&format!("numalab machine import {file} < /dev/zero"));
        assert!(ended.code == 2 && ended.err.contains("more than 256 MiB"), "{ended:?}");
    }
}

/// A pipe in place of a file would keep the command waiting.
#[test]
fn a_pipe_in_place_of_a_file_is_refused() {
    let lab = Lab::with_sweep();
    assert!(Command::new("mkfifo").arg(lab.path("pipe.toml")).status().unwrap().success());
    for line in ["machine import pipe.toml", "machine import --hwloc pipe.toml", "machine show ./pipe.toml"] {
        lab.refused(line, &["pipe.toml: not a regular file"]);
    }
    lab.refused(&format!("run --machine ./pipe.toml {RUN} --out d"), &["not a regular file"]);
    assert!(!lab.path("d").exists());
}

#[test]
fn a_thread_has_stack_enough_whatever_the_environment_says() {
    let lab = Lab::with_sweep();
    for bytes in ["0", "1", "16384", "18446744073709551615", "x"] {
        let done = Command::new(env!("CARGO_BIN_EXE_numalab"))
            .args(format!("run --machine 2x1x2x1 {RUN} --out d{bytes}").split_whitespace())
            .env("RUST_MIN_STACK", bytes)
            .current_dir(lab.path("."))
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(0), "{bytes}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn names_and_figures_of_a_record_are_checked() {
    let lab = Lab::with_experiment();
    let list = std::fs::read_to_string(lab.path("d/experiment.json")).unwrap();
    for (name, part) in [
        ("x".repeat(70_000), "of 70000 bytes, more than 4096"),
        ("6.3\u{1b}[2J".into(), "U+001B"),
        ("6.3\u{202e}".into(), "U+202E"),
    ] {
        let name = serde_json::to_string(&name).unwrap();
        lab.write("d/experiment.json", &list.replace("\"6.3\"", &name));
        for line in ["compare d", "compare d --json", "report d --out x.html"] {
            let ended = lab.run(line);
            assert!(ended.code == 3 && ended.err.contains(part), "{line}: {ended:?}");
            assert!(!ended.err.contains('\u{1b}') && !ended.err.contains('\u{202e}'), "{ended:?}");
        }
    }
}

#[test]
fn a_workload_that_would_take_too_much_memory_is_refused() {
    let lab = Lab::with_sweep();
    lab.write(
        "many.toml",
        "name = \"many\"\ntitle = \"t\"\nabout = \"t\"\nsource = \"test\"\n[[process]]\nname = \"p\"\ncount = 4096\n[[process.region]]\nname = \"r\"\n\
         size = \"60GiB\"\n[[process.phase]]\nname = \"x\"\ncount = 1\naccess = \"r\"\npattern = \"fill\"\n",
    );
    lab.refused(
        "run --machine 2x1x2x1 --kernel 6.12 --workload many.toml --out d",
        &["many.toml:", "the processes map 131100GiB in all", "at most 128TiB"],
    );
    assert!(!lab.path("d").exists());
}

#[test]
fn scan_durations_are_printed() {
    let lab = Lab::with_sweep();
    lab.ok("run --machine 2x1x2x1 --kernel 6.3 --workload first-touch --param duration=6s --explain --out e");
    let out = lab.ok("explain e --scans").out;
    assert!(out.starts_with("all tasks: ") && out.contains("longest"), "{out}");
}

#[test]
fn what_disagrees_is_said_aloud_and_several_files_make_one_machine() {
    let lab = Lab::with_sweep();
    lab.write("n.txt", NUMACTL);
    let zones = "Node 0, zone Normal\n  managed 64000\nNode 1, zone Normal\n  managed 256000\n";
    lab.write("z.txt", zones);
    let ended = lab.ok("machine import n.txt z.txt --name mine");
    assert!(ended.err.contains("doubtful: node 0 has 1000 MiB by numactl -H, and 250 MiB"), "{}", ended.err);
    assert!(ended.out.contains("doubtful: node 0 has"), "{}", ended.out);
    lab.write("mine.toml", &ended.out);
    let ran = lab.ok(&format!("run --machine mine.toml {RUN} --out d"));
    assert!((ran.out + &ran.err).contains("doubtful: node 0 has"), "a run repeats it");
    lab.refused("machine import z.txt", &["z.txt:1:1", "names no CPUs", "beside the output of `numactl -H`"]);
    let quiet = lab.ok("machine import n.txt --name mine");
    assert!(!quiet.err.contains("doubtful"), "{}", quiet.err);
}
