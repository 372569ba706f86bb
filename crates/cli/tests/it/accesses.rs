//! `record --accesses`, `fit` of such a record, and `advise --machine M -- COMMAND`. They need `qemu-x86_64` and a C
//! compiler, and say so where one is missing.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};
use std::process::Command;

/// A directory with the program `sweep`: four threads read their quarters of 64 MiB that the initial thread has
/// written.
fn lab() -> Option<Lab> {
    for program in ["cc", "qemu-x86_64"] {
        if Command::new(program).arg("--version").output().is_err() {
            eprintln!("skipped: no {program} here (crates/lab/setup.sh test installs it)");
            return None;
        }
    }
    let lab = Lab::new();
    lab.write(
        "sweep.c",
        "#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\nstatic long n = 8 << 20, *a;\n\
         static void *r(void *x) { long i = (long)x, s = 0; for (int p = 0; p < 3; p++) for (long k = i * n / 4; \
         k < (i + 1) * n / 4; k++) s += a[k]; return (void *)s; }\n\
         int main(int c, char **v) { pthread_t t[4]; a = malloc(n * 8); for (long k = 0; k < n; k++) a[k] = k; \
         for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, r, (void *)i); for (int i = 0; i < 4; i++) \
         pthread_join(t[i], 0); if (c > 1) *(volatile int *)0 = 1; return 0; }\n",
    );
    let built = lab.shell("cc -O1 -pthread -o sweep sweep.c");
    assert_eq!(built.code, 0, "{built:?}");
    Some(lab)
}

#[test]
fn a_program_is_recorded_fitted_and_simulated_elsewhere() {
    let Some(lab) = lab() else { return };
    let ended = lab.ok("record --accesses --out rec -- ./sweep");
    assert!(
        ended.out.contains("recorded sweep under qemu-x86_64") && ended.out.contains("numalab fit rec"),
        "{ended:?}"
    );
    let printed = lab.ok("fit rec").out;
    for part in [
        "threads_each = { value = 4",
        "slice = \"thread\"",
        "count = \"repeat * 3\"",
        "initial = \"joins\"",
        "Assumed:",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(printed.lines().count() < 60 && !printed.contains("no longer than"), "a page: {printed}");
    let shorter = lab.ok("fit rec --lines 40").out;
    assert!(shorter.contains("no longer than 40 lines") || shorter.contains("more than 40 lines"), "{shorter}");
    lab.refused("fit rec --lines 3", &["--lines", "3", "40"]);
    let ended = lab.ok("fit rec --out mine.toml");
    assert!(ended.out.contains("1 × sweep: 4 threads, memory") && ended.out.contains("measured:"), "{ended:?}");
    lab.ok("run --machine 2x1x2x1 --kernel off,6.12 --workload mine.toml --param repeat=20 --out tried");
    assert!(lab.path("tried/report.html").exists());
    let refused = lab.run("fit rec --out x.toml --page x.html");
    assert!(refused.code == 2 && refused.err.contains("has no times"), "{refused:?}");
}

/// Three processes work at random in 8 MiB that all share, and each in 2 MiB of its own. Their parent has mapped it
/// before they were forked; with a name, each maps that file by itself.
fn pool(lab: &Lab) {
    lab.write(
        "pool.c",
        "#include <fcntl.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
         enum { N = 8 << 20, OWN = 2 << 20 };\n\
         static long *map(char *name) { int f = name ? open(name, O_RDWR | O_CREAT, 0600) : -1; \
         if (name && ftruncate(f, N)) exit(2); \
         return mmap(0, N, 3, MAP_SHARED | (name ? 0 : MAP_ANONYMOUS), f, 0); }\n\
         int main(int c, char **v) { long *all = c > 1 ? 0 : map(0); for (int i = 0; i < 3; i++) if (!fork()) { \
         if (!all) all = map(v[1]); long *own = mmap(0, OWN, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); \
         unsigned long x = i + 1; for (int k = 0; k < 300000; k++) { \
         x = x * 6364136223846793005ul + 1442695040888963407ul; \
         all[(x >> 33) % (N / 8)]++; own[(x >> 40) % (OWN / 8)]++; } _exit(0); } \
         while (wait(0) > 0) {} return 0; }\n",
    );
    let built = lab.shell("cc -O1 -o pool pool.c");
    assert_eq!(built.code, 0, "{built:?}");
}

#[test]
fn memory_that_processes_share_is_one_region() {
    let Some(lab) = lab() else { return };
    pool(&lab);
    for (command, name) in [("./pool", "shared_memory"), ("./pool file", "shared_file")] {
        lab.ok(&format!("record --accesses --out rec -- {command}"));
        let printed = lab.ok("fit rec").out;
        for part in [
            "about = \"Memory that 3 processes share, touched\"".into(),
            format!("name = \"{name}\"\nkind = \"shared\"\nsize = \"{name}\""),
            "count = 3\nparent = \"sharing\"\nfork = \"after\"".into(),
            format!("{{ access = \"{name}\", pattern = \"random\""),
            format!("{name}: 3 processes share it"),
        ] {
            assert!(printed.contains(&part), "{part}: {printed}");
        }
        // 8 MiB once, and 2 MiB of each: 3,584 pages, and some of every process.
        lab.ok("fit rec --out mine.toml");
        lab.ok("run --machine 2x1x2x1 --kernel 6.12 --workload mine.toml --out tried");
        let shown = lab.ok("compare tried --full").out;
        let pages = shown.lines().find(|l| l.contains("Ops NUMA alloc hit")).unwrap();
        let pages: f64 = pages.split_whitespace().last().unwrap().parse().unwrap();
        assert!((3_400.0..4_200.0).contains(&pages), "{shown}");
    }
}

/// A program that uses a sixteenth of its memory nine times out of ten, in no order.
fn hot(lab: &Lab) {
    lab.write(
        "hot.c",
        "#include <stdlib.h>\nint main(void) { unsigned long n = 8 << 20, x = 1, s = 0; long *a = malloc(n * 8); \
         for (unsigned long k = 0; k < n; k += 512) a[k] = k; for (long i = 0; i < 2000000; i++) { \
         x = x * 6364136223846793005ul + 1442695040888963407ul; unsigned long r = x >> 33; \
         s += a[(x >> 60) < 15 ? r % (n / 16) : r % n]; } return s == 1; }\n",
    );
    let built = lab.shell("cc -O1 -o hot hot.c");
    assert_eq!(built.code, 0, "{built:?}");
}

#[test]
fn an_exact_fit_keeps_a_histogram_beside_the_workload() {
    let Some(lab) = lab() else { return };
    hot(&lab);
    lab.ok("record --accesses --out rec -- ./hot");
    let ended = lab.ok("fit rec --exact --out mine.toml");
    assert!(ended.out.contains("histograms: mine.arrow, "), "{ended:?}");
    let text = std::fs::read_to_string(lab.path("mine.toml")).unwrap();
    assert!(
        text.contains("histograms = \"mine.arrow\"") && text.contains("pattern = \"recorded\", visit = "),
        "{text}"
    );
    assert!(std::fs::metadata(lab.path("mine.arrow")).unwrap().len() < 100_000);
    let shown = lab.ok("show workloads ./mine.toml").out;
    assert!(shown.contains("histograms of mine.arrow") && shown.contains("the hottest tenth has 9"), "{shown}");
    // From any directory, and the record of the run keeps the file.
    std::fs::create_dir(lab.path("sub")).unwrap();
    std::fs::rename(lab.path("mine.toml"), lab.path("sub/mine.toml")).unwrap();
    let run = "run --machine 2x1x2x1 --kernel 6.12 --workload sub/mine.toml --out tried";
    lab.refused(run, &["sub/mine.arrow", "copy both, or fit again"]);
    std::fs::rename(lab.path("mine.arrow"), lab.path("sub/mine.arrow")).unwrap();
    lab.ok(run);
    let kept = lab.shell("find tried -name mine.arrow");
    assert!(kept.out.contains("sources/workloads/mine.arrow"), "{kept:?}");
    // Other histograms are another plan.
    let whole = std::fs::read(lab.path("sub/mine.arrow")).unwrap();
    std::fs::write(lab.path("sub/mine.arrow"), &whole[..whole.len() - 4]).unwrap();
    lab.refused(run, &["sub/mine.arrow", "no Arrow file, or it is cut off", "fit the record again"]);
    lab.refused("fit rec --exact", &["--out"]);
    let short = "--workload first-touch --param duration=0.1s --param memory=16MiB";
    lab.ok(&format!("run --machine 2x1x2x1 --kernel off {short} --out simulated"));
    lab.refused("fit simulated --lines 100", &["--lines: ", "no record of accesses"]);
    lab.refused("fit rec --exact --out -", &["--exact", "a file beside"]);
}

#[test]
fn a_crash_is_named_and_its_record_can_be_fitted() {
    let Some(lab) = lab() else { return };
    let ended = lab.run("record --accesses --json --out rec -- ./sweep crash");
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("SIGSEGV (signal 11)") && ended.err.contains("the record so far is kept"), "{ended:?}");
    assert_eq!(json(&ended.out)["ending"]["signal"], 11);
    assert!(lab.ok("fit rec").out.contains("threads_each = { value = 4"));
}

#[test]
fn advice_for_another_machine_says_what_was_measured() {
    let Some(lab) = lab() else { return };
    let line = "advise --machine 2x1x4x1 --kernel 6.12 --memory 1GiB --threads 8 --out a -- ./sweep";
    let ended = lab.ok(line);
    for part in
        ["sweep on 2x1x4x1 under 6.12: 1 GiB, 8 threads", "Measured", "Assumed", "there are 8 threads in place of 4"]
    {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    let value = json(&lab.ok(&line.replace("advise", "advise --json")).out);
    assert_eq!((value["recorded"].as_bool(), value["threads"].as_u64()), (Some(true), Some(8)));
    assert!(value["measured"].as_array().is_some_and(|m| m.len() >= 2), "{value}");
    assert!(lab.path("a/sweep.toml").exists() && lab.path("a/runs/report.html").exists());
}

/// Machines without memory samples, such as virtual ones, say so and name the way that needs none.
#[test]
fn samples_of_the_processor_are_taken_or_refused() {
    let lab = Lab::new();
    let ended = lab.run("record --accesses --sampler perf --out rec -- sh -c :");
    if ended.code == 0 {
        assert!(ended.out.contains("memory samples ("), "{ended:?}");
        return;
    }
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(
        ended.err.contains("--sampler perf: ") && ended.err.contains("--sampler qemu, which needs none"),
        "{ended:?}"
    );
    assert!(!lab.path("rec").exists(), "nothing ran");
    lab.refused("record --sampler perf -- true", &["--accesses"]);
}

#[test]
fn mistakes_are_named_before_anything_runs() {
    let lab = Lab::new();
    lab.refused("record --accesses --most 1KiB -- true", &["--most: is 1 KiB", "at least 1 MiB"]);
    lab.refused("record --accesses --pid 1", &["--accesses", "--pid"]);
    lab.refused("record --most 4MiB -- true", &["--accesses"]);
    lab.refused("advise --memory 1GiB -- true", &["`--memory` beside a command", "--machine"]);
    lab.refused("advise --machine 2x1x4x1 --horizon 5m -- true", &["--horizon"]);
}

#[test]
fn options_of_a_guest_that_records_need_one() {
    let lab = Lab::new();
    for option in ["--with cat", "--env A=b", "--guest-cpus 2", "--guest-memory 1GiB", "--qemu q", "--boot-budget 1s"] {
        let name = option.split(' ').next().unwrap();
        for line in ["record --accesses", "advise --machine 2x1x4x1"] {
            lab.refused(&format!("{line} {option} -- true"), &[name, "has no effect", "--in guest"]);
        }
        lab.refused(&format!("record {option} -- true"), &[name, "--accesses"]);
        lab.refused(&format!("advise {option} -- true"), &[name, "--machine"]);
    }
    lab.refused("record --accesses --kernel debian-6.12 -- true", &["--kernel", "--in guest"]);
    lab.refused("record --in guest -- true", &["--in guest", "--accesses"]);
    lab.refused("record --kernel debian-6.12 -- true", &["--kernel", "--accesses"]);
    lab.refused("advise --machine 2x1x4x1 --guest-kernel debian-6.12 -- true", &["--guest-kernel", "--in guest"]);
    lab.refused("advise --guest-kernel debian-6.12 -- true", &["--guest-kernel", "--machine"]);
    lab.refused("advise --in guest -- true", &["--in guest", "--machine"]);
    lab.refused("advise --machine 2x1x4x1 --like redis --in guest", &["--in guest", "a command that is recorded"]);
    lab.refused("advise --machine 2x1x4x1 --in guest -- no-such-program", &["no-such-program: no such program"]);
    lab.refused("advise --machine 2x1x4x1 --in guest --guest-cpus 0 -- true", &["--guest-cpus", "a whole number"]);
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn advice_on_a_program_that_is_recorded_in_a_guest() {
    let Some(lab) = lab() else { return };
    let guest = "--in guest --guest-cpus 2 --guest-memory 1GiB";
    let size = "--memory 1GiB --threads 8";
    let line = format!("advise --machine 2x1x4x1 --kernel 6.12 {size} {guest} --json --out a -- ./sweep");
    let value = json(&lab.ok(&line).out);
    let measured = value["measured"].to_string();
    assert!(measured.contains(", in a guest of debian-6.12") && measured.contains("exited with 0"), "{value}");
    assert_eq!(value["threads"], 8, "{value}");
    assert!(lab.path("a/sweep.toml").exists() && lab.path("a/runs/report.html").exists());
}

#[test]
fn a_region_that_the_initial_thread_touches_first_is_found() {
    let Some(lab) = lab() else { return };
    let line = "advise --machine 2x1x4x1 --kernel 6.12 --memory 1GiB --threads 8 --by-region --json --out a -- ./sweep";
    let value = json(&lab.ok(line).out);
    let gains = value["by_region"].as_array().unwrap();
    let words: Vec<&str> = gains.iter().map(|g| g["change"].as_str().unwrap()).collect();
    assert!(words.contains(&"first_touch") && words.contains(&"interleave"), "{value}");
    assert!(gains.iter().all(|g| g["region"] == "memory" && g["gain_percent"].is_f64()), "{value}");
    lab.refused("advise --by-region -- true", &["--by-region", "--machine"]);
}
