//! Copies of `/sys`: masks in place of lists, NUL bytes, files that cannot be understood, pipes, and tarballs.

use super::world::{example, World};
use super::{machine, warns};
use numalab_model::machine::{import, Machine};
use std::io::Write;
use std::path::Path;

fn tree(w: &World) -> (tempfile::TempDir, Machine) {
    let dir = tempfile::tempdir().unwrap();
    w.write_sysfs(dir.path(), false);
    let m = machine(import::sysfs(dir.path(), "m"));
    (dir, m)
}

/// A tar archive of the files below `top`, with directories and links left out.
fn tar(w: &World, top: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, text) in w.sysfs_files(false) {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o444);
        header.set_cksum();
        builder.append_data(&mut header, format!("{top}devices/system/{path}"), text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn lists_may_end_with_nul_bytes_or_hold_line_breaks() {
    let (dir, plain) = tree(&example());
    let system = dir.path().join("sys/devices/system");
    std::fs::write(system.join("node/node0/cpulist"), "0-3,\n16-19\n\0").unwrap();
    std::fs::write(system.join("node/node1/cpulist"), "4-7 20-23\0").unwrap();
    std::fs::write(system.join("cpu/cpu0/topology/core_cpus_list"), "0,16\0\n").unwrap();
    std::fs::write(system.join("cpu/cpu0/topology/physical_package_id"), "0\0").unwrap();
    assert_eq!(machine(import::sysfs(dir.path(), "m")), plain);
}

#[test]
fn a_file_that_cannot_be_understood_is_named() {
    for (path, text, part) in [
        ("cpu/cpu0/cache/index3/shared_cpu_list", "0-", "cpu0/cache/index3/shared_cpu_list (`` is not an id)"),
        ("cpu/cpu0/cache/index3/size", "big", "cpu0/cache/index3/size (`big` is no size)"),
        ("cpu/cpu0/topology/core_cpus_list", "0,x", "topology/core_cpus_list (`x` is not an id)"),
        ("cpu/cpu0/topology/physical_package_id", "zero", "physical_package_id (`zero` is not a whole number)"),
        ("node/node0/meminfo", "Node 0 MemTotal: many kB", "node/node0/meminfo (no `MemTotal: N kB`)"),
    ] {
        let (dir, _) = tree(&example());
        std::fs::write(dir.path().join("sys/devices/system").join(path), text).unwrap();
        warns(&machine(import::sysfs(dir.path(), "m")), part);
    }
    // Without the CPUs of a node there is no machine.
    let (dir, _) = tree(&example());
    std::fs::write(dir.path().join("sys/devices/system/node/node0/cpulist"), "none").unwrap();
    let e = import::sysfs(dir.path(), "m").unwrap_err();
    assert!(e.file.ends_with("node0/cpulist") && e.what == "`none` are no CPUs", "{e}");
}

#[test]
fn only_regular_files_are_read() {
    let (dir, _) = tree(&example());
    let path = dir.path().join("sys/devices/system/node/node0/meminfo");
    std::fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    warns(&machine(import::sysfs(dir.path(), "m")), "node/node0/meminfo (not a regular file (a FIFO))");
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let e = import::path(&pipe, "m").unwrap_err();
    assert!(e.to_string().contains("not a regular file"), "{e}");
    let e = numalab_model::machine::from_toml("x", "")
        .and(numalab_model::machine::read_text(&pipe).map(|_| ()))
        .unwrap_err();
    assert!(!e.to_string().is_empty());
    let e = numalab_model::machine::read_text(&pipe).unwrap_err();
    assert!(e.to_string().contains("not a regular file"), "{e}");
    let e = import::path(Path::new("/dev/zero"), "m").unwrap_err();
    assert!(e.to_string().contains("not a regular file"), "{e}");
}

#[test]
fn a_tarball_is_read_like_its_folder() {
    let w = example();
    let (_dir, plain) = tree(&w);
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let bzip2 = |bytes: &[u8]| {
        let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    for top in ["sys/", "./sys/", "host-2026/sys/", "", "/sys/"].map(|t| t.trim_start_matches('/')) {
        let tar = tar(&w, top);
        for (form, bytes) in [("tar", tar.clone()), ("gzip", gzip(&tar)), ("bzip2", bzip2(&tar))] {
            assert_eq!(machine(import::bytes("m.tar", &bytes, "m")), plain, "{top} {form}");
        }
    }
    let tar = tar(&w, "sys/");
    for (bytes, part) in [
        (gzip(&tar)[..200].to_vec(), "damaged"),
        (gzip(b"hello"), "damaged"),
        (b"PK\x03\x04....".to_vec(), "of another kind: unpack it first"),
        (tar::Builder::new(Vec::new()).into_inner().unwrap(), "an archive without `devices/system/cpu`"),
    ] {
        let e = import::sysfs_archive("m.tar", &bytes, "m").unwrap_err();
        assert!(e.to_string().contains(part), "{part}: {e}");
    }
}

#[test]
fn a_bomb_is_refused() {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    (0..300).for_each(|_| out.write_all(&zeros).unwrap());
    let e = import::bytes("m.tgz", &out.finish().unwrap(), "m").unwrap_err();
    assert!(e.to_string().contains("more than 256 MiB unpacked"), "{e}");
}
