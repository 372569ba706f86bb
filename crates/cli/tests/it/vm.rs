//! Tests of the backend `vm`. Tests that need a guest are ignored by `cargo test`; `make vm` runs them.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A script that prints the version of QEMU on request, and otherwise runs `script`.
fn qemu(lab: &Lab, script: &str) -> String {
    let text = format!("#!/bin/sh\ncase $1 in --version) echo 'QEMU emulator version 7.2.22'; exit;; esac\n{script}\n");
    lab.write("qemu", &text);
    let path = lab.path("qemu");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn what_has_no_effect_on_a_backend_is_refused() {
    let lab = Lab::with_sweep();
    let line = "run --machine 2x1x2x1 --workload sweep.toml --kernel 6.3";
    lab.refused(&format!("{line} --timing modelled"), &["--timing: has no effect with --backend sim"]);
    lab.refused(&format!("{line} --guest-memory 2GiB --backend host"), &["--guest-memory: has no effect"]);
    lab.refused(&format!("{line} --check --backend vm"), &["--check: has no effect"]);
    lab.refused(&format!("{line} --backend vm --timing fast"), &["--timing <MODE>", "counters", "modelled"]);
    let image = "run --machine 2x1x2x1 --workload sweep.toml --kernel debian-6.12";
    lab.refused(image, &["`debian-6.12` is the image of a real kernel", "--backend vm"]);
    lab.refused("kernel build 6.12", &["kernel image `6.12`", "debian-6.12, deb:FILE"]);
    lab.refused("kernel build deb:/x --refresh", &["--refresh: has no effect on deb:/x", "debian-SERIES"]);
    lab.refused("kernel try --tree . --workload numa02 --base nonsense:1", &["kind of kernel image `nonsense`"]);
}

#[test]
fn a_host_without_qemu_is_told_what_to_do() {
    let lab = Lab::with_sweep();
    // A kernel that does not depend on the host's package lists.
    let mut kernel = vec![0u8; 0x210];
    kernel[0x202..0x206].copy_from_slice(b"HdrS");
    fs::write(lab.path("k"), kernel).unwrap();
    let ended =
        lab.run("run --backend vm --qemu /no/such/qemu --machine 2x1x2x1 --workload sweep.toml --kernel bzImage:k");
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("qemu-system-x86") && ended.err.contains("numalab doctor"), "{}", ended.err);
    let doctor = lab.run("doctor --qemu /no/such/qemu --json");
    assert_eq!((doctor.code, json(&doctor.out)["can_run"].as_bool()), (3, Some(false)));
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn wrong_experiments_are_refused_before_anything_is_fetched() {
    let lab = Lab::with_sweep();
    let line = "run --backend vm --machine 2x1x2x1 --workload sweep.toml";
    lab.refused(&format!("{line} --kernel 4.15"), &["kernel `4.15` is a model only", "an image"]);
    lab.refused(&format!("{line} --kernel debian-6.12 --set vma_filter=off"), &["`vma_filter` is compiled into"]);
    lab.refused(&format!("{line} --kernel debian-6.12 --param size=7XB"), &["unknown unit `XB`"]);
    lab.refused(&format!("{line} --kernel vmlinus:/x"), &["kind of kernel image `vmlinus`", "`vmlinux:`"]);
    let many = "run --backend vm --machine 300x1x1x1 --kernel off --workload sweep.toml";
    assert_eq!(lab.run(many).code, 2);
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn the_same_experiment_file_runs_on_both_backends() {
    let lab = Lab::with_sweep();
    lab.write(
        "e.toml",
        "name = \"e\"\ntitle = \"t\"\nmachines = [\"2x1x1x1\"]\nkernels = [\"off\", \"6.12\"]\n\
         workloads = [\"first-touch\"]\n[params]\nmemory = \"16MiB\"\nduration = \"6s\"\n",
    );
    let sim = json(&lab.ok("run e.toml --json").out);
    let vm = lab.ok("run e.toml --backend vm --json");
    assert!(vm.err.contains("boot ") && vm.err.contains("of the workload"), "{}", vm.err);
    let vm = json(&vm.out);
    assert_eq!((sim["directory"].as_str(), vm["directory"].as_str()), (Some("out/e"), Some("out/e-vm-counters")));
    let counter = |directory: &str, kernel: &str, name: &str| {
        let c = json(&lab.ok(&format!("compare {directory} --json")).out);
        let metrics = c["workloads"][0]["metrics"].as_array().unwrap().clone();
        let m = metrics.iter().find(|m| m["name"] == name).unwrap_or_else(|| panic!("{directory}: no {name}"));
        m["kernels"][kernel]["mean"].as_f64().unwrap()
    };
    // 4096 pages are on one node, and a thread of the other node sweeps half of them. Model and kernel migrate alike.
    for directory in ["out/e", "out/e-vm-counters"] {
        assert_eq!(counter(directory, "off", "numa_hint_faults"), 0.0, "{directory}");
        let moved = counter(directory, "6.12", "numa_pages_migrated");
        assert!((1000.0..3000.0).contains(&moved), "{directory}: {moved} pages moved");
    }
    let text = lab.ok("compare out/e-vm-counters --full").out;
    assert!(text.contains("vm-counters") && text.contains("times are not"), "{text}");
    for run in vm["runs"].as_array().unwrap() {
        let path = lab.path("out/e-vm-counters").join(run["record"].as_str().unwrap()).join("manifest.json");
        let manifest = json(&fs::read_to_string(path).unwrap());
        assert!(manifest["plan"]["kernel"]["image"].as_str().unwrap().contains("sha256:"), "{manifest}");
        assert_eq!(manifest["plan"]["kernel"]["roles"], serde_json::json!([]), "a real kernel has no roles");
        let tunables = manifest["tunables"].as_array().unwrap();
        let value = |name: &str| tunables.iter().find(|t| t["name"] == name).unwrap()["value"].clone();
        assert_eq!(value("guest.timing"), "counters");
        assert_eq!(value("system.numa_balancing"), if run["kernel"] == "off" { "0" } else { "1" });
    }
    assert_eq!(lab.ok("run e.toml --backend vm").err.matches("had a record").count(), 2);
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn ways_to_fail_have_their_own_exit_codes_and_are_tried_again() {
    let lab = Lab::with_sweep();
    let line = "run --backend vm --no-kvm --machine 1x1x1x1 --kernel debian-6.12 --workload first-touch \
                --param memory=4MiB --param duration=30s --json --out d";
    let killed = qemu(&lab, "kill -9 $$");
    let ended = lab.run(&format!("{line} --qemu {killed}"));
    assert_eq!(ended.code, 12, "{ended:?}");
    assert!(json(&ended.out)["runs"][0]["status"].as_str().unwrap().contains("failed"), "{}", ended.out);
    let failed = qemu(&lab, "echo no such machine >&2; exit 1");
    let ended = lab.run(&format!("{line} --qemu {failed}"));
    assert_eq!((ended.code, ended.err.matches("had a record").count()), (11, 0), "{ended:?}");
    assert!(ended.err.contains("no such machine"), "{}", ended.err);
    let panic = qemu(
        &lab,
        "for a; do case $a in file,id=console,path=*) c=${a#*path=};; esac; done\n\
         echo '[    1.0] Kernel panic - not syncing: x' >>$c",
    );
    assert_eq!(lab.run(&format!("{line} --qemu {panic}")).code, 4);
    let silent = qemu(&lab, "exec sleep 60");
    assert_eq!(lab.run(&format!("{line} --boot-budget 1 --qemu {silent}")).code, 7);
    // A real guest gets too little time at first, and then enough.
    assert_eq!(lab.run(&format!("{line} --run-budget 2")).code, 5);
    let ended = lab.run(&line.replace("=30s", "=0.1s"));
    assert_eq!(ended.code, 0, "{ended:?}");
}
