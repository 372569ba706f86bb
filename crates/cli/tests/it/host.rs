//! Tests of the backend `host`. A script takes the place of the worker, so that no setting of the machine that runs the
//! tests is changed.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{Ended, Lab};
use numalab_model::record::Outcome;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A directory with this machine as `mine.toml`, and a worker that appends its job to `jobs` and measures nothing.
fn lab() -> Lab {
    let lab = Lab::new();
    let machine = lab.ok("machine import --host").out;
    lab.write("mine.toml", &machine);
    lab.write("sweep.toml", common::SWEEP);
    let outcome = serde_json::to_string(&Outcome::default()).unwrap();
    lab.write("worker", &format!("#!/bin/sh\ncat \"$2\" >> jobs\necho '{outcome}'\n"));
    std::fs::set_permissions(lab.path("worker"), std::fs::Permissions::from_mode(0o755)).unwrap();
    lab
}

/// Runs the workload on this machine with these kernels.
fn run(lab: &Lab, kernels: &str) -> Ended {
    run_on(lab, &["--machine", "mine.toml"], kernels)
}

/// Runs the workload on this machine with these kernels, with options that may name the machine.
fn run_on(lab: &Lab, machine: &[&str], kernels: &str) -> Ended {
    let args = ["run", "--backend", "host", "--workload", "sweep.toml", "--kernel", kernels];
    let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
    let command = command.args(args).args(machine).args(["--out", "d", "--json"]).current_dir(lab.path("."));
    let done = command.env("NUMALAB_WORKER", lab.path("worker")).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: done.status.code().unwrap(), out: text(done.stdout), err: text(done.stderr) }
}

/// Series of the running kernel.
fn series() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    release.trim().split(['.', '-']).take(2).collect::<Vec<_>>().join(".")
}

#[test]
fn the_running_kernel_has_a_name_and_a_file_of_its_series_is_one_too() {
    let (lab, own) = (lab(), series());
    let file = format!("{own}.toml");
    let text = format!("name = {own:?}\nextends = \"6.7\"\ntitle = \"t\"\n[tunables]\nscan.scan_size_mb = 512\nsystem.numa_balancing = 1\n");
    lab.write(&file, &text);
    let ended = run(&lab, &format!("host,off,{file}"));
    assert_eq!(ended.code, 0, "{ended:?}");
    for kernel in ["host", "off", own.as_str()] {
        assert!(ended.out.contains(&format!("\"kernel\": {kernel:?}")), "{kernel}: {}", ended.out);
    }
    let jobs = std::fs::read_to_string(lab.path("jobs")).unwrap().replace(' ', "");
    let knob =
        |value: &str| jobs.matches(&format!("\"kernel_name\":\"kernel.numa_balancing\",\"value\":{value:?}")).count();
    assert_eq!((knob("1"), knob("0")), (2, 1), "balancing is off in one column: {jobs}");
    let refused = run(&lab, "6.4-rc2+rfc-v3");
    assert!(
        refused.code == 2
            && refused.err.contains("expected `host` (the running kernel), `off`, a kernel of the series")
    );
    let elsewhere = lab.run("run --machine 2x1x1x1 --workload sweep.toml --kernel host");
    let hint = "`host` is the kernel that this machine runs; expected a kernel of the catalog";
    assert!(elsewhere.err.contains(hint) && elsewhere.err.contains("--backend host"), "only there: {}", elsewhere.err);
}

#[test]
fn a_run_on_this_machine_has_no_logs() {
    let lab = lab();
    let ended = run(&lab, "host,off");
    assert_eq!(ended.code, 0, "{ended:?}");
    let summary: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let record = |i: usize| format!("d/{}", summary["runs"][i]["record"].as_str().unwrap());
    let what = format!("{}: a run of backend `host`, which has no logs; expected a simulated run", record(0));
    let pair = format!("explain diff {} {}", record(0), record(1));
    for line in [format!("explain {} --vma", record(0)), format!("trace {} --out t", record(0)), pair] {
        let refused = lab.run(&line);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{line}: {refused:?}");
        assert!(refused.err.contains(&what), "{line}: {}", refused.err);
    }
}

#[test]
fn host_is_a_machine_everywhere() {
    let lab = Lab::new();
    let imported = lab.ok("machine import --host").out;
    lab.write("here.toml", &imported);
    let of_file = lab.ok("machine show here.toml --json").out;
    assert_eq!(lab.ok("machine show host --json").out, of_file);
    lab.ok(
        "run --machine host --kernel 6.12 --workload first-touch --param memory=16MiB --param duration=200ms --out d",
    );
    // The record has the machine's file, so that it can be run again elsewhere.
    assert_eq!(lab.ok("repeat d --kernel 6.12").err, "");
    lab.refused(
        "run --machine hots --kernel 6.12 --workload first-touch",
        &["no machine `hots`", "did you mean `host`"],
    );
    lab.refused("run --kernel 6.12 --workload first-touch", &["`--machine <M,…>` is missing", "or `host`"]);

    let lab = self::lab();
    let unnamed = run_on(&lab, &[], "host");
    let summary: serde_json::Value = serde_json::from_str(&unnamed.out).unwrap();
    assert_eq!((unnamed.code, summary["runs"][0]["machine"].as_str()), (0, Some("host")), "{unnamed:?}");
}
