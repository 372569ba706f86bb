//! Every argument that names a file or a folder, with a pipe in its place: nothing waits for one.

use clap::builder::ValueParser;
use clap::{Arg, Command};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Longest that a refusal may take.
const REFUSAL: Duration = Duration::from_secs(30);

/// Arguments that only name what is written. Their tests are those of `output_file`.
const WRITTEN: [&str; 13] = [
    "run out",
    "advise out",
    "fit out",
    "fit page",
    "report out",
    "trace out",
    "kernel try out",
    "reproduce out",
    "reproduce trust",
    "validate out",
    "validate markdown",
    "kernel sides markdown",
    "record out",
];
/// Arguments that are read elsewhere: by Python, as a program, as the root of the system, or by the balancer.
const ELSEWHERE: [&str; 12] = [
    "sweep file",
    "sweep out",
    "sweep cache",
    "tune out",
    "doctor qemu",
    "run qemu",
    "record qemu",
    "advise qemu",
    "validate qemu",
    "kernel try qemu",
    "advise root",
    "balance state",
];
/// Arguments that are read here, each with a command line in which `PIPE` is a pipe. An empty name is an argument that
/// may be a name as well as a file.
const READ: [(&str, &str); 34] = [
    ("machine import files", "machine import PIPE"),
    ("machine import sysfs", "machine import --sysfs PIPE"),
    ("machine import hwloc", "machine import --hwloc PIPE"),
    ("machine import numactl", "machine import --numactl PIPE"),
    ("report dir", "report PIPE"),
    ("report machine", "report EXPERIMENT --machine PIPE"),
    ("compare dir", "compare PIPE"),
    ("explain diff a", "explain diff PIPE PIPE"),
    ("explain diff b", "explain diff RECORD PIPE"),
    ("kernel try tree", "kernel try --tree PIPE --workload numa02"),
    ("kernel try series", "kernel try --series PIPE --workload numa02"),
    ("kernel sides dirs", "kernel sides PIPE"),
    ("kernel sides notes", "kernel sides RECORD --markdown OUT --notes PIPE"),
    ("", "kernel build series:PIPE"),
    ("validate notes", "validate --image vmlinux:PIPE --markdown OUT --notes PIPE"),
    ("", "--catalog PIPE list"),
    ("", "--catalog CATALOG list"),
    ("", "run PIPE"),
    ("", "run --machine PIPE --kernel off --workload numa02 --dry-run"),
    ("", "run --machine 2x1x1x1 --kernel PIPE --workload numa02 --dry-run"),
    ("", "run --machine 2x1x1x1 --kernel off --workload PIPE --dry-run"),
    ("", "show PIPE"),
    ("", "machine show PIPE"),
    ("", "kernel show PIPE"),
    ("", "kernel diff PIPE PIPE"),
    ("", "kernel build deb:PIPE"),
    ("", "kernel build bzImage:PIPE"),
    ("", "kernel build vmlinux:PIPE"),
    ("", "kernel build source:6.12+patch:PIPE"),
    ("", "kernel build tree:PIPE"),
    ("fit run", "fit PIPE"),
    ("repeat run", "repeat PIPE"),
    ("trace run", "trace PIPE --out OUT"),
    ("explain run", "explain PIPE --scans"),
];

/// Whether an argument names a file or a folder, by its type or by what the help calls its value.
fn names_file(arg: &Arg) -> bool {
    let path = ValueParser::path_buf().type_id();
    let called = |n: &clap::builder::Str| n.contains("FILE") || n.contains("DIR");
    arg.get_value_parser().type_id() == path
        || arg.get_action().takes_values() && arg.get_value_names().is_some_and(|n| n.iter().any(called))
}

fn collect(command: &Command, name: &str, out: &mut BTreeSet<String>) {
    // The catalog is an argument of every command.
    for arg in command.get_arguments().filter(|a| names_file(a) && a.get_id().as_str() != "catalog") {
        out.insert(format!("{name} {}", arg.get_id()).trim_start().to_string());
    }
    for verb in command.get_subcommands() {
        collect(verb, format!("{name} {}", verb.get_name()).trim_start(), out);
    }
}

#[test]
fn every_argument_that_names_a_file_is_known_here() {
    let mut found = BTreeSet::new();
    collect(&<crate::command::Command as clap::CommandFactory>::command(), "", &mut found);
    let read = READ.iter().map(|r| r.0).filter(|n| !n.is_empty());
    let known: BTreeSet<String> = read.chain(WRITTEN).chain(ELSEWHERE).map(str::to_string).collect();
    let missing: Vec<_> = found.difference(&known).collect();
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not in a table here: {missing:?}; no longer there: {gone:?}");
}

/// Carries out a command in a thread of its own; `None` if it waits.
fn call(line: &str) -> Option<(u8, String)> {
    let args: Vec<std::ffi::OsString> = ["numalab", "-q"].into_iter().chain(line.split(' ')).map(Into::into).collect();
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || {
        let (code, out, message) = crate::call(args);
        let _ = ended.send((code, out + &message));
    });
    end.recv_timeout(REFUSAL).ok()
}

#[test]
fn a_pipe_in_place_of_a_file_is_refused_by_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let shown = |path: &Path| path.display().to_string();
    std::fs::create_dir_all(at("catalog/workloads")).unwrap();
    for pipe in [at("p.toml"), at("catalog/workloads/p.toml")] {
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
    let experiment = shown(&at("d"));
    let quick = "--workload first-touch --param duration=20ms --param memory=16MiB";
    let (code, said) = call(&format!("run --machine 2x1x1x1 --kernel off {quick} --out {experiment}")).unwrap();
    assert_eq!(code, 0, "{said}");
    let mut records = std::fs::read_dir(&experiment).unwrap().map(|e| e.unwrap().path());
    let record = shown(&records.find(|p| p.is_dir()).unwrap());
    for (_, line) in READ {
        let line = line.replace("PIPE", &shown(&at("p.toml"))).replace("CATALOG", &shown(&at("catalog")));
        let line =
            line.replace("EXPERIMENT", &experiment).replace("RECORD", &record).replace("OUT", &shown(&at("out")));
        let Some((code, said)) = call(&line) else { panic!("{line}: it waits") };
        assert!([2, 3].contains(&code) && said.contains("p.toml"), "{line}: {code}: {said}");
    }
    assert!(!at("out").exists());
}
