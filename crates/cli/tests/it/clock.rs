//! The time of day jumps by years, forwards and back, while commands run (docs/explanation/guarantees.md).
//!
//! A library that is loaded before libc answers for the clock. A command that is linked statically would not ask it;
//! the tests then say that nothing was tried.
#![allow(clippy::unwrap_used)]

use crate::common::{json, Ended, Lab, QUICK};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each look at the time of day is ten years later or earlier than the truth, or true. The first one leaves a file.
const JUMPS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long jump(void) {
    static int looks;
    int look = __sync_fetch_and_add(&looks, 1);
    const char *seen = getenv("CLOCK_SEEN");
    if (look == 0 && seen)
        close(open(seen, O_CREAT | O_WRONLY, 0600));
    return look % 3 == 0 ? 315360000L : look % 3 == 1 ? -315360000L : 0;
}
int clock_gettime(clockid_t clock, struct timespec *t) {
    int failed = syscall(SYS_clock_gettime, clock, t);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        t->tv_sec += jump();
    return failed;
}
int gettimeofday(struct timeval *t, void *zone) {
    (void)zone;
    struct timespec now;
    int failed = clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return failed;
}
time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t)
        *t = now.tv_sec;
    return now.tv_sec;
}
"#;

/// Something that no clock says: ten years are 315,360,000 s.
const YEARS_S: f64 = 1e8;

/// Commands whose time of day jumps.
pub struct Clock {
    library: PathBuf,
    seen: PathBuf,
}

impl Clock {
    /// A clock for the commands of `lab`; `None` without a compiler of C.
    pub fn of(lab: &Lab) -> Option<Self> {
        lab.write("clock/jumps.c", JUMPS);
        let library = lab.path("clock/jumps.so");
        let cc =
            Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(lab.path("clock/jumps.c")).status();
        let made = cc.is_ok_and(|c| c.success()) && is_dynamic(Path::new(env!("CARGO_BIN_EXE_numalab")));
        if !made {
            println!("not tried: no compiler of C, or a command that loads no library");
        }
        made.then(|| Self { library, seen: lab.path("clock/seen") })
    }
    /// Runs `numalab` in `lab`, while the time of day jumps.
    pub fn run(&self, lab: &Lab, line: &str) -> Ended {
        let set = format!("CLOCK_SEEN='{}' LD_PRELOAD='{}'", self.seen.display(), self.library.display());
        lab.shell(&format!("{set} numalab {line}"))
    }
    /// Whether a command has looked at the time of day since the last call.
    pub fn was_seen(&self) -> bool {
        std::fs::remove_file(&self.seen).is_ok()
    }
}

/// Whether a program loads libraries: it names its loader.
fn is_dynamic(program: &Path) -> bool {
    let bytes = std::fs::read(program).unwrap();
    bytes[..bytes.len().min(4096)].windows(10).any(|w| w == b"/ld-linux-" || w == b"/lib64/ld-")
}

/// An experiment does not look at the time of day at all; interrupted and resumed, it has the bytes of any other.
#[test]
fn a_clock_that_jumps_changes_no_byte_of_an_experiment() {
    const RUN: &str = "--kernel off,6.3 --iterations 2 --param loops=2000 -q --out d";
    let calm = Lab::with_sweep();
    calm.ok(&format!("{QUICK} {RUN}"));
    let lab = Lab::with_sweep();
    let Some(clock) = Clock::of(&lab) else { return };
    assert_eq!(clock.run(&lab, &format!("{QUICK} {}", RUN.replace("iterations 2", "iterations 1"))).code, 0);
    assert_eq!(clock.run(&lab, &format!("{QUICK} {RUN}")).code, 0);
    assert!(lab.tree("d") == calm.tree("d"), "the time of day changes a result");
    assert!(!clock.was_seen(), "a result looks at the time of day");
    let compare = "compare d --style csv";
    assert_eq!(clock.run(&lab, compare).out, calm.ok(compare).out);
    let advise = "advise --machine 2x1x2x1 --like postgres --quick --json";
    let (a, b) = (clock.run(&lab, advise), calm.run(advise));
    assert_eq!((a.code, a.out), (b.code, b.out));
}

/// Recordings have dates of the clock, and durations that are true. All of them stay, in the order in which they came.
#[test]
fn recordings_survive_a_clock_that_jumps() {
    let lab = Lab::new();
    let Some(clock) = Clock::of(&lab) else { return };
    for take in 1..=3 {
        let done = clock.run(&lab, "record --every 50ms --json --as a -- sleep 0.3");
        assert_eq!(done.code, 0, "{done:?}");
        let said = json(&done.out);
        assert!(clock.was_seen(), "the library was not asked");
        let elapsed = said["figures"]["elapsed_s"].as_f64().unwrap();
        assert!((0.3..YEARS_S).contains(&elapsed) && said["samples"].as_u64() >= Some(2), "{said}");
        let list = json(&std::fs::read_to_string(lab.path("out/record/experiment.json")).unwrap());
        let seeds: Vec<u64> = list["runs"].as_array().unwrap().iter().map(|r| r["seed"].as_u64().unwrap()).collect();
        assert_eq!(seeds, (1..=take).collect::<Vec<_>>());
        let record = lab.path(said["record"].as_str().unwrap());
        for entry in std::fs::read_dir(record.join("series")).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let times: Vec<f64> = text.lines().filter_map(|l| l.split(',').next()?.parse().ok()).collect();
            assert!(times.windows(2).all(|w| w[0] <= w[1]), "{text}");
        }
    }
    assert_eq!(clock.run(&lab, "compare out/record --json").code, 0);
}

/// The daemon ends as without jumps, and so does its undoing. What there is to balance depends on the machine.
#[test]
fn the_state_of_balance_survives_a_clock_that_jumps() {
    let lab = Lab::new();
    let Some(clock) = Clock::of(&lab) else { return };
    let calm = lab.run("balance --all --dry-run --for 1s --state calm.json");
    let jumps = clock.run(&lab, "balance --all --dry-run --for 1s --state jumps.json");
    assert_eq!(jumps.code, calm.code, "{jumps:?} {calm:?}");
    assert_eq!(
        clock.run(&lab, "balance --undo --state jumps.json").code,
        lab.run("balance --undo --state calm.json").code
    );
    assert_eq!(lab.path("jumps.json").exists(), lab.path("calm.json").exists());
    assert!(!clock.was_seen(), "the daemon looks at the time of day");
}

/// Whoever reads the time of day is listed here with what it decides: nothing that a result or a duration depends on.
#[test]
fn the_time_of_day_is_read_in_few_places() {
    let listed = [
        ("accesses/src/recorder.rs", "the date of a recording"),
        ("cli/src/service/sampled_accesses.rs", "the date of a recording"),
        ("cli/src/verb/record.rs", "the date of a recording"),
        ("lab/src/image/source.rs", "tests"),
        ("lab/src/image/store.rs", "how old a built image is, which can be built again"),
        ("model/src/record/store/index.rs", "whether a record may be entered into the index"),
    ];
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut folders, mut found) = (vec![crates.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&crates).unwrap().display().to_string();
            if path.is_dir() {
                folders.extend((!name.contains("target")).then_some(path));
            } else if name.contains("/src/") && name.ends_with(".rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                // A path that is only set to a time, and tests, name it too.
                found.extend(text.contains("SystemTime").then_some(name));
            }
        }
    }
    found.sort();
    assert_eq!(found, listed.map(|l| l.0), "read by others, or by fewer: {listed:?}");
}
