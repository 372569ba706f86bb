//! The same experiment gives the same bytes whatever is around it, and after any interruption
//! (docs/explanation/guarantees.md).
#![allow(clippy::unwrap_used)]

use crate::common::{Lab, QUICK};
use std::process::{Command, Stdio};
use std::time::Duration;

/// An experiment of four runs of some hundredths of a second.
const RUN: &str = "--kernel off,6.3 --iterations 2 --param loops=2000 -q --out d";

/// A folder where the experiment has run undisturbed, and all files that it has written.
fn undisturbed() -> Vec<(String, Vec<u8>)> {
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} {RUN}"));
    lab.tree("d")
}

#[test]
fn jobs_locale_time_zone_folder_mask_and_allocator_change_no_byte() {
    let want = undisturbed();
    for around in [
        "numalab {} --jobs 1",
        "numalab {} --jobs 3",
        "LC_ALL=tr_TR.UTF-8 LANG=de_DE.UTF-8 numalab {}",
        "TZ=Pacific/Chatham numalab {}",
        "umask 077; numalab {}",
        "MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1 numalab {}",
        "env -i numalab {}",
        "ulimit -s 1024; numalab {}",
        "mkdir -p 'a b/ä'; cp sweep.toml 'a b/ä'; cd 'a b/ä'; numalab {}; mv d ../..",
    ] {
        let lab = Lab::with_sweep();
        let done = lab.shell(&around.replace("{}", &format!("{QUICK} {RUN}")));
        assert_eq!(done.code, 0, "{around}: {done:?}");
        assert!(lab.tree("d") == want, "{around} changes a result");
    }
}

/// SIGKILL at any moment: what is there is read, and the next call adds the rest.
#[test]
fn killed_at_any_moment_an_experiment_ends_with_the_bytes_of_an_undisturbed_one() {
    let want = undisturbed();
    let mut kills = 0;
    for step_ms in [3_u64, 7, 19] {
        let lab = Lab::with_sweep();
        for delay_ms in (1..60).map(|n| n * step_ms) {
            let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
            command.args(QUICK.split(' ')).args(RUN.split(' ')).current_dir(lab.path(""));
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(delay_ms));
            if let Some(ended) = child.try_wait().unwrap() {
                assert!(ended.success(), "after {kills} kills: {ended:?}");
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        }
        lab.ok(&format!("{QUICK} {RUN}"));
        assert!(lab.tree("d") == want, "kills each {step_ms} ms change a result");
        assert_eq!(lab.run("compare d").code, 0);
    }
    println!("{kills} kills");
    assert!(kills > 3, "the runs are too short to be killed");
}

/// Two commands at once on one directory: one waits or gives way, and neither disturbs the other.
#[test]
fn two_at_once_on_one_directory_leave_the_bytes_of_one() {
    let want = undisturbed();
    let lab = Lab::with_sweep();
    let line = format!("numalab {QUICK} {RUN} >a 2>&1 & numalab {QUICK} {RUN} >b 2>&1; c=$?; wait $!; echo $? $c");
    let done = lab.shell(&line);
    let codes: Vec<i32> = done.out.split_whitespace().map(|c| c.parse().unwrap()).collect();
    assert!(codes.contains(&0) && codes.iter().all(|c| [0, 2, 3].contains(c)), "{done:?}");
    lab.ok(&format!("{QUICK} {RUN}"));
    assert!(lab.tree("d") == want);
}

/// A full disk at any write: one message and code 3; with room again, the rest is added. Where nothing can be mounted,
/// it says so.
#[test]
fn a_disk_that_fills_up_at_any_write_loses_no_finished_run() {
    let want = undisturbed();
    let lab = Lab::with_sweep();
    std::fs::create_dir(lab.path("disk")).unwrap();
    let mounted = lab.shell("mount -t tmpfs -o size=16k numalab-full disk && cp sweep.toml disk");
    if mounted.code != 0 {
        println!("not tried: no file system can be mounted here");
        return;
    }
    let mut full = 0;
    for kib in (16..2_000).step_by(36) {
        let done = lab.shell(&format!("mount -o remount,size={kib}k disk && cd disk && numalab {QUICK} {RUN}"));
        if done.code == 0 {
            break;
        }
        assert_eq!(
            (done.code, done.err.lines().filter(|l| l.starts_with("numalab: ")).count() > 0),
            (3, true),
            "{done:?}"
        );
        full += 1;
    }
    let same = lab.tree("disk/d") == want;
    lab.shell("umount disk");
    println!("full {full} times");
    assert!(full > 5, "the disk was full {full} times only");
    assert!(same, "a full disk changes a result");
}
