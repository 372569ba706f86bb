//! Invalid kernel images and workers: mistakes of the user are reported first, and nothing is fetched or built for
//! them.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A directory with a package tool that knows one kernel and one source, and with no other program.
fn lab() -> Lab {
    let lab = Lab::new();
    let list = "#!/bin/sh\ncase $3 in *source*) echo linux-source-6.1;; *) echo linux-image-6.1.0-9-amd64;; esac\n";
    lab.write("bin/apt-cache", list);
    fs::set_permissions(lab.path("bin/apt-cache"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(lab.path("cache")).unwrap();
    lab
}

/// Runs the command with the programs of the directory alone. Returns its exit code and message.
fn run(lab: &Lab, line: &str, worker: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
    command.args(line.split_whitespace()).current_dir(lab.path(""));
    command.env("PATH", lab.path("bin")).env("NUMALAB_CACHE", lab.path("cache")).env("NUMALAB_WORKER", worker);
    let done = command.output().unwrap();
    let text = [done.stdout, done.stderr].concat();
    (done.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn invalid_images_are_refused_before_the_host_is_examined() {
    let lab = lab();
    let guest = "run --backend vm --machine 2x1x2x1 --workload numa02 --kernel";
    for (line, parts) in [
        ("kernel build source:6.1+patch:nope.patch", ["patch nope.patch: no such file", "disjoint-vma-budget"]),
        ("kernel build bzImage:nope", ["kernel build bzImage:nope: bzImage nope: no such file", "boot loaders start"]),
        ("kernel build debian-6.99", ["no kernel of the 6.99 series", "expected 6.1 "]),
        ("kernel build source:6.99", ["no source of the 6.99 series", "expected 6.1 "]),
        (&format!("{guest} debian-6.99"), ["--kernel debian-6.99: the package lists have no kernel", "expected 6.1 "]),
        (&format!("{guest} x=bzImage:nope"), ["no such file", "boot loaders start"]),
        (&format!("{guest} tree:nope"), ["nope: no such directory", "Kbuild"]),
        ("validate --image debian-6.99 --kernel 6.12", ["--image debian-6.99: ", "expected 6.1 "]),
    ] {
        let (code, message) = run(&lab, line, "");
        assert_eq!(code, 2, "{line}: {message}");
        assert!(parts.iter().all(|p| message.contains(p)), "{line}: {message}");
    }
    assert_eq!(fs::read_dir(lab.path("cache")).unwrap().count(), 0, "the cache is as it was");
}

#[test]
fn missing_build_tools_are_named_before_the_source_is_fetched() {
    let lab = lab();
    let (code, message) = run(&lab, "kernel build source:6.1", "");
    assert_eq!(code, 3, "{message}");
    assert!(message.contains("building a kernel needs make, gcc, flex"), "{message}");
    assert!(message.contains("apt-get install") && message.contains(" bison "), "{message}");
    assert!(!lab.path("cache/packages").exists(), "nothing is fetched");
}

#[test]
fn an_invalid_worker_is_named() {
    let lab = lab();
    let mut kernel = vec![0u8; 0x210];
    kernel[0x202..0x206].copy_from_slice(b"HdrS");
    fs::write(lab.path("k"), kernel).unwrap();
    lab.write("qemu", "#!/bin/sh\necho 'QEMU emulator version 7.2.22'\n");
    fs::set_permissions(lab.path("qemu"), fs::Permissions::from_mode(0o755)).unwrap();
    let guest = "run --backend vm --qemu ./qemu --machine 2x1x2x1 --workload numa02 --kernel bzImage:k --out d";
    for line in [guest, "doctor --qemu ./qemu"] {
        for (worker, what) in [("/nope", "no such file"), ("./qemu", "is not a static x86-64 ELF program")] {
            let (code, message) = run(&lab, line, worker);
            assert_eq!(code, 3, "{line}: {message}");
            assert!(message.contains(&format!("NUMALAB_WORKER={worker}: {what}")), "{line}: {message}");
        }
    }
}
