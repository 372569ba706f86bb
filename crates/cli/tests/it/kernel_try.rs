//! `kernel try` with series, knobs and bisections, on sources that take a moment to build and a guest that is a script.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Ended, Lab};
use numalab_model::record::{Outcome, Scalar};
use numalab_worker::frame::{encode, Kind};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// What kernels are built with; without it there is nothing to test here.
fn can_build() -> bool {
    let tools = ["make", "gcc", "flex", "bison", "bc", "rsync", "patch", "xz", "tar", "git"];
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    tools.iter().all(|t| has(t)) && Path::new("/usr/include/libelf.h").exists()
}

/// Writes a source of Linux in which the kernel is the text of the file `number`. It builds if that is a number.
fn source(at: &Path, number: &str) {
    let make = "VERSION = 6\nPATCHLEVEL = 12\nallnoconfig:\n\tcp $(KCONFIG_ALLCONFIG) build/.config\n\
                vmlinux:\n\tgrep -q '^[0-9]*$$' number && cp number build/vmlinux\n";
    fs::create_dir_all(at.join("kernel/sched")).unwrap();
    for (name, text) in [("Makefile", make), ("Kbuild", ""), ("kernel/sched/fair.c", ""), ("number", number)] {
        fs::write(at.join(name), text).unwrap();
    }
}

/// A QEMU that boots kernels that are numbers: it reports what `guests/NUMBER` has, and without that the kernel panics.
fn qemu(lab: &Lab) {
    let text = format!(
        "#!/bin/sh\ncase $1 in --version) echo 'QEMU emulator version 7.2.22'; exit;; esac\n\
         for a; do case $a in file,id=report,path=*) r=${{a#*path=}};; file,id=console,path=*) c=${{a#*path=}};; esac\n\
         [ \"$p\" = -kernel ] && k=$a; p=$a; done\n\
         f={}/$(cat $k)\nif [ -e $f ]; then cat $f >>$r; else echo '[ 1.0] Kernel panic - not syncing: x' >>$c; fi\n",
        lab.path("guests").display()
    );
    lab.write("qemu", &text);
    fs::set_permissions(lab.path("qemu"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(lab.path("guests")).unwrap();
}

/// What the guest of a kernel reports.
fn guest(lab: &Lab, number: u32, pages_migrated: u64) {
    let outcome = Outcome {
        scalars: vec![Scalar { name: "elapsed_s".into(), value: 1.0, unit: "s".into(), higher_is_better: false }],
        counters: vec![("numa_pages_migrated".into(), pages_migrated)],
        ..Outcome::default()
    };
    let mut bytes = encode(Kind::Hello, b"6.12.0");
    bytes.extend(encode(Kind::Outcome, &serde_json::to_vec(&outcome).unwrap()));
    bytes.extend(encode(Kind::End, b""));
    fs::write(lab.path(&format!("guests/{number}")), bytes).unwrap();
}

fn run(lab: &Lab, args: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
    let guests = ["--machine", "2x1x1x1", "--workload", "first-touch", "--param", "memory=4MiB"];
    let host = ["--qemu", "./qemu", "--no-kvm"];
    command.args(["kernel", "try"]).args(args).args(guests).args(host).current_dir(lab.path(""));
    let done = command.env("COLUMNS", "200").env("NUMALAB_CACHE", lab.path("cache")).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: done.status.code().unwrap_or(-1), out: text(done.stdout), err: text(done.stderr) }
}

fn git(at: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args).current_dir(at);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{args:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_string()
}

/// A tree of eight commits. The kernel is the commit's number; the third does not build, and the sixth does not boot.
/// In the last one twice as many pages migrate.
fn history(lab: &Lab) -> Vec<String> {
    qemu(lab);
    let tree = lab.path("linux");
    source(&tree, "0");
    git(&tree, &["init", "-q"]);
    let mut out = Vec::new();
    for n in 1..=8u32 {
        fs::write(tree.join("number"), if n == 3 { "broken\n".into() } else { format!("{n}\n") }).unwrap();
        git(&tree, &["add", "."]);
        git(&tree, &["commit", "-q", "-m", &format!("step {n}")]);
        out.push(git(&tree, &["rev-parse", "HEAD"]));
        if n != 6 {
            guest(lab, n, if n < 8 { 1000 } else { 2000 });
        }
    }
    out
}

#[test]
fn the_first_bad_commit_is_found_and_nothing_is_written_into_the_tree() {
    let lab = Lab::new();
    if !can_build() {
        return;
    }
    let commits = history(&lab);
    let before = lab.tree("linux");
    let (good, bad) = (commits[0].as_str(), commits[7].as_str());
    let bound = "numa_pages_migrated > +50%";
    let ask = ["--tree", "linux", "--good", good, "--bad", bad, "--fail-if", bound, "--out", "d"];
    let ended = run(&lab, &ask);
    assert_eq!(ended.code, 0, "{ended:?}");
    let twelve = |n: usize| &commits[n - 1][..12];
    assert!(ended.out.starts_with(&format!("First bad commit: {} (\"step 8\"", twelve(8))), "{}", ended.out);
    assert!(ended.out.contains("numa_pages_migrated") && ended.out.contains("(+100.00%)"), "{}", ended.out);
    assert!(ended.err.contains("testing "), "{}", ended.err);
    // Commit 6 lies in the middle of those after 4, so it was looked at: it panics.
    let skipped = format!("{} is skipped: guest kernel panic", twelve(6));
    assert!(ended.err.contains(&skipped), "{}", ended.err);
    assert_eq!(lab.tree("linux"), before);
    assert!(fs::read_to_string(lab.path("d/bisect.log")).unwrap().contains(&format!("git bisect good {}", commits[3])));
    // The same question has its answer, without another build or guest.
    fs::remove_file(lab.path("qemu")).unwrap();
    let again = run(&lab, &ask);
    assert_eq!((again.code, &again.out), (0, &ended.out), "{again:?}");
}

#[test]
fn ends_that_do_not_differ_are_no_bisection() {
    let lab = Lab::new();
    if !can_build() {
        return;
    }
    let commits = history(&lab);
    let of = |good: usize, bad: usize, bound: &str, out: &str| {
        let (good, bad) = (commits[good - 1].as_str(), commits[bad - 1].as_str());
        run(&lab, &["--tree", "linux", "--good", good, "--bad", bad, "--fail-if", bound, "--out", out])
    };
    let same = of(1, 4, "numa_pages_migrated > +50%", "a");
    assert_eq!(same.code, 1, "{same:?}");
    assert!(same.err.contains("--bad") && same.err.contains("is good: every bound holds"), "{}", same.err);
    let broken = of(1, 3, "numa_pages_migrated > +50%", "b");
    assert!(broken.code == 1 && broken.err.contains("cannot be judged: "), "{broken:?}");
    assert!(broken.err.contains("the kernel does not build"), "{}", broken.err);
    let unknown = of(1, 8, "numa_pages_migratd > +50%", "c");
    assert!(unknown.code == 2 && unknown.err.contains("no metric `numa_pages_migratd`"), "{unknown:?}");
    let one = of(1, 1, "numa_pages_migrated > +50%", "e");
    assert!(one.code == 2 && one.err.contains("are one commit"), "{one:?}");
}

/// A series whose patch makes kernel 7 of kernel 1, with one knob.
fn series(lab: &Lab) {
    let toml = "base = \"6.12\"\npatches = [\"1.patch\"]\nconfig = [\"CONFIG_NUMALAB=y\"]\n[[knob]]\n\
                name = \"vma_filter\"\npath = \"/sys/kernel/debug/numalab/vma_filter\"\n\
                values = [\"stock\", \"v3\"]\ndefault = \"stock\"\nrole = \"vma_filter\"\n\
                words = { stock = \"v612\", v3 = \"rfc_v3\" }\n";
    lab.write("linux/series.toml", toml);
    lab.write("linux/1.patch", "--- a/number\n+++ b/number\n@@ -1 +1 @@\n-1\n+7\n");
    let kept = lab.path("cache/kernels/linux-source-6.12_6.12.1-1");
    source(&kept, "1\n");
}

#[test]
fn knobs_of_a_series_are_columns_and_stand_in_records() {
    let lab = Lab::new();
    if !can_build() {
        return;
    }
    qemu(&lab);
    series(&lab);
    guest(&lab, 7, 1000);
    let ended = run(
        &lab,
        &["--series", "linux", "--knob", "vma_filter=v3", "--knob", "vma_filter=stock", "--sim", "--out", "d"],
    );
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.err.matches("building linux-source").count(), 1, "one kernel: {}", ended.err);
    let (sim, guests) = ended.out.split_once("In guests").unwrap();
    assert!(sim.starts_with("In the simulator") && sim.contains("vma_filter=v3"), "{}", ended.out);
    assert!(guests.contains("base") && guests.contains("vma_filter=v3"), "{}", ended.out);
    let list: Vec<_> =
        json(&fs::read_to_string(lab.path("d/experiment.json")).unwrap())["runs"].as_array().unwrap().clone();
    let kernels: Vec<&str> = list.iter().map(|r| r["kernel"].as_str().unwrap()).collect();
    assert_eq!(kernels, ["base", "vma_filter=v3", "vma_filter=stock"]);
    let knob = |n: usize| {
        let record = list[n]["record"].as_str().unwrap();
        let plan = json(&fs::read_to_string(lab.path(&format!("d/{record}/manifest.json"))).unwrap());
        let tunables = plan["plan"]["kernel"]["tunables"].as_array().unwrap().clone();
        tunables.into_iter().find(|t| t["name"] == "knob.vma_filter").unwrap()["value"].as_str().unwrap().to_string()
    };
    assert_eq!([0, 1, 2].map(knob), ["the kernel's own", "v3", "stock"]);
    let sim = fs::read_to_string(lab.path("d-sim/experiment.json")).unwrap();
    assert!(sim.contains("vma_filter=v3"), "{sim}");
    // The figures of both sides, from the records alone.
    assert!(guests.contains("What each changed on both sides\nworkload"), "{guests}");
    let sides = lab.ok("kernel sides d --markdown page.md");
    assert!(sides.out.starts_with("first-touch on 2x1x1x1, 1 run each\nworkload"), "{}", sides.out);
    // Three columns, of which these guests tell one counter each.
    assert!(sides.out.contains(" of 3 counters ("), "{}", sides.out);
    let page = fs::read_to_string(lab.path("page.md")).unwrap();
    let row = "| first-touch | vma_filter=v3 | numa_pages_migrated | +0.0 % (not tested) |";
    assert!(page.contains("## first-touch on 2x1x1x1") && page.contains(row), "{page}");
    lab.ok("kernel sides d d --markdown page.md");
    lab.refused("kernel sides nope", &["nope: no such directory"]);
}

#[test]
fn a_wrong_knob_is_refused_before_anything_is_built() {
    let lab = Lab::new();
    qemu(&lab);
    series(&lab);
    let refused = |args: &[&str], parts: &[&str]| {
        let ended = run(&lab, args);
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(parts.iter().all(|p| ended.err.contains(p)), "{}", ended.err);
    };
    refused(&["--series", "linux", "--knob", "vma_filtr=v3"], &["--knob vma_filtr=v3: ", "did you mean `vma_filter`"]);
    refused(&["--series", "linux", "--knob", "vma_filter=v2"], &["no value `v2`", "expected one of stock, v3"]);
    refused(&["--series", "nope"], &["nope/series.toml: no such file"]);
    refused(&["--series", "linux", "--tree", "linux"], &["`--series <DIR>` together with `--tree <DIR>`"]);
    refused(&["--series", "linux", "--sim"], &["--knob"]);
    let line = "run --backend vm --machine 2x1x1x1 --workload first-touch --kernel a=series:linux,vma_filter=v2";
    lab.refused(line, &["--kernel a=series:linux,vma_filter=v2: ", "no value `v2`"]);
    assert!(!lab.path("cache/images").exists() && !lab.path("cache/kernels/linux-source-6.12_6.12.1-1/build").exists());
}

#[test]
fn a_kernel_that_panics_is_the_answer() {
    let lab = Lab::new();
    if !can_build() {
        return;
    }
    qemu(&lab);
    source(&lab.path("linux"), "9\n");
    let kept = lab.path("cache/kernels/linux-source-6.12_6.12.1-1");
    source(&kept, "1\n");
    guest(&lab, 1, 1000);
    let ended = run(&lab, &["--tree", "linux", "--out", "d"]);
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(ended.out.contains("No run of tree completed: guest kernel panic: "), "{}", ended.out);
    assert!(!ended.out.contains("nothing to compare") && !ended.out.contains("--iterations"), "{}", ended.out);
}
