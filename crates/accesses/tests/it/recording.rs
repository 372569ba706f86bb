//! What is counted, and that a record is kept whatever way its program ends.

use crate::support::bench;
use numalab_accesses::format::Full;
use numalab_accesses::record::Ending;
use numalab_accesses::recorder::{record, Look, RecordError, Settings};
use std::collections::BTreeMap;

/// Four threads read their quarters of 64 MiB three times; the initial thread writes all of it before.
const SWEEP: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static long n = 8 << 20, *a;
static void *reads(void *x)
{
    long i = (long)x, sum = 0;
    for (int p = 0; p < 3; p++)
        for (long k = i * n / 4; k < (i + 1) * n / 4; k++)
            sum += a[k];
    return (void *)sum;
}
int main(void)
{
    pthread_t t[4];
    a = malloc(n * 8);
    memset(a, 1, n * 8);
    for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, reads, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    return 0;
}
"#;

#[test]
fn every_line_of_a_threaded_sweep_is_counted() {
    let Some(bench) = bench() else { return };
    let program = bench.program("sweep", SWEEP);
    let (recorded, record) = bench.record(&[&program], &Settings::default());
    assert_eq!(recorded.manifest.ending, Ending::Exit(0));
    assert_eq!((record.images.len(), record.images[0].threads.len()), (1, 5));
    let image = &record.images[0];
    assert_eq!(image.name(), "sweep");
    #[derive(Default, Debug)]
    struct Sum {
        lines: u64,
        writes: u64,
        far: u64,
        forward: u64,
        first: u64,
        foreign: u64,
    }
    let mut of = BTreeMap::<u16, Sum>::new();
    for c in &image.cells {
        let sum = of.entry(c.thread).or_default();
        sum.lines += u64::from(c.lines);
        sum.writes += u64::from(c.writes);
        sum.far += u64::from(c.far_reads) + u64::from(c.far_writes);
        sum.forward += u64::from(c.forward);
        sum.first += u64::from(c.first);
        sum.foreign += u64::from(c.foreign);
    }
    let lines = 3 * (64 << 20) / 4 / 64;
    for thread in 1..=4u16 {
        let sum = &of[&thread];
        assert!((lines..lines + 200).contains(&sum.far), "{lines} lines reach memory: {sum:?}");
        assert!(sum.lines < lines + 500 && sum.writes < 200, "{sum:?}");
        assert!(sum.forward > lines * 999 / 1000, "in order: {sum:?}");
        assert!(sum.first < 20, "the initial thread touched the memory first: {sum:?}");
    }
    assert!(of[&0].first >= 64 << 8 && of[&0].writes >= 64 << 14, "{:?}", of[&0]);
    // The last 32 MiB that the initial thread wrote are known to be its own.
    assert!(of[&4].foreign > 200_000 && of[&1].foreign < 1000, "{of:?}");
    // The workers begin when the memory is written, and run beside each other.
    let born = |t: u16| image.threads[&t];
    assert!(born(1).begin_clock >= born(0).insns / 2 && born(1).creator == 0);
    assert!(born(4).begin_clock < born(1).end_clock, "{:?}", image.threads);
    assert!(born(0).end_clock >= born(1).end_clock, "the initial thread waits for the others");
}

/// A long run is recorded in stretches, and lines between them are those of the stretch before.
#[test]
fn a_long_run_is_recorded_in_stretches() {
    let Some(bench) = bench() else { return };
    let program = bench.program("sweep", &SWEEP.replace("p < 3", "p < 40"));
    let settings = Settings { stretch_insns: 4 << 20, ..Settings::default() };
    let (_, record) = bench.record(&[&program], &settings);
    let image = &record.images[0];
    let (all, seen) = (image.insns(), image.seen_insns());
    // 40 passes with four instructions for 8 bytes.
    assert!((1_342_000_000..1_400_000_000).contains(&all), "all instructions are counted: {all}");
    assert!(seen * 3 < all && seen > 40_000_000, "{seen} of {all}");
    let lines = 40 * (64 << 20) / 4 / 64;
    for thread in 1..=4u16 {
        let own = || image.cells.iter().filter(|c| c.thread == thread);
        let counted: u64 = own().map(|c| u64::from(c.lines)).sum();
        assert!((lines * 9 / 10..lines * 11 / 10).contains(&counted), "thread {thread}: {counted} of {lines}");
        assert!(own().map(|c| u64::from(c.first)).sum::<u64>() < 20, "the initial thread touched the memory first");
    }
    let first: u64 = image.cells.iter().filter(|c| c.thread == 0).map(|c| u64::from(c.first)).sum();
    assert!(first >= 64 << 8, "{first}");
}

/// A process forks while three other threads go over small arrays. One of them often begins a change from sparing to
/// recording just then, and where the fork does not wait for it, some 5 of 80 children are never recorded.
const FORKS: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static long n = 1 << 12;
static volatile int done;
static void *reads(void *x)
{
    long *a = x, sum = 0;
    while (!done)
        for (long k = 0; k < n; k++)
            sum += a[k];
    return (void *)sum;
}
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, reads, calloc(n, 8));
    for (int f = 0; f < 80; f++) {
        usleep(25000);
        if (!fork()) {
            for (volatile int k = 0; k < 30000; k++) ;
            _exit(0);
        }
        wait(0);
    }
    done = 1;
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    return 0;
}
"#;

#[test]
fn the_child_of_a_process_whose_threads_run_is_recorded() {
    let Some(bench) = bench() else { return };
    let program = bench.program("forks", FORKS);
    let settings = Settings { stretch_insns: 1000, slice_insns: 1000, ..Settings::default() };
    let (recorded, record) = bench.record(&[&program], &settings);
    assert_eq!((recorded.manifest.ending, record.images.len()), (Ending::Exit(0), 81));
    assert!(record.images[0].seen_insns() < record.images[0].insns(), "the parent is spared at times");
    let unseen: Vec<u64> = record.images.iter().filter(|i| i.seen_insns() == 0).map(|i| i.number).collect();
    assert!(unseen.is_empty(), "children of which nothing was recorded: {unseen:?}");
}

/// Four arrays of 256 KiB in 2 MiB, which have the same place in the core's filter line by line.
const ARRAYS: &str = r#"
#include <stdint.h>
#include <stdlib.h>
int main(void)
{
    enum { WORDS = 1 << 15 };
    volatile long *a = aligned_alloc(1 << 21, 1 << 21), *b = a + WORDS, *c = b + WORDS, *d = c + WORDS;
    for (int pass = 0; pass < 8; pass++)
        for (int i = 0; i < WORDS; i++)
            d[i] = a[i] + b[i] * c[i];
    return 0;
}
"#;

#[test]
fn arrays_that_take_each_others_place_are_swept_all_the_same() {
    let Some(bench) = bench() else { return };
    let program = bench.program("arrays", ARRAYS);
    let (_, record) = bench.record(&[&program], &Settings { stretch_insns: 0, ..Settings::default() });
    let (mut lines, mut forward, mut writes) = (0, 0, 0);
    let image = &record.images[0];
    let most = image.cells.iter().max_by_key(|c| c.lines).unwrap().chunk;
    for c in image.cells.iter().filter(|c| c.chunk == most) {
        (lines, forward, writes) = (lines + c.lines, forward + c.forward, writes + c.writes);
    }
    let right = 8 * 4 * (1 << 18) / 64;
    assert!((right..right * 101 / 100).contains(&lines), "{lines} lines for {right}");
    assert!(forward > right * 98 / 100, "each goes on in order: {forward} of {lines}");
    assert!((right / 4..right / 4 * 101 / 100).contains(&writes), "{writes} of {lines} are written");
}

#[test]
fn a_repeated_string_instruction_counts_once() {
    let Some(bench) = bench() else { return };
    let text = "#include <stdlib.h>\nint main(void) { char *p = malloc(16 << 20); long n = 16 << 20; char *q = p; \
                __asm__ volatile(\"rep stosb\" : \"+D\"(q), \"+c\"(n) : \"a\"(1) : \"memory\"); return 0; }";
    let program = bench.program("stos", text);
    let (_, record) = bench.record(&[&program], &Settings::default());
    let image = &record.images[0];
    assert!(image.lines() >= (16 << 20) / 64, "{}", image.lines());
    assert!(image.insns() < 1_000_000, "the start of a program, and one instruction: {}", image.insns());
}

#[test]
fn a_program_that_crashes_keeps_its_record() {
    let Some(bench) = bench() else { return };
    let text = "#include <stdlib.h>\n#include <string.h>\nint main(void) { char *p = malloc(32 << 20); \
                memset(p, 1, 32 << 20); *(volatile int *)0 = 1; return p[5]; }";
    let program = bench.program("crash", text);
    let (recorded, record) = bench.record(&[&program], &Settings::default());
    assert_eq!(recorded.manifest.ending, Ending::Signal(libc_segv()));
    let said = recorded.remarks.join("\n");
    assert!(said.contains("SIGSEGV (signal 11)") && said.contains("kept") && said.contains("guest"), "{said}");
    assert!(record.images[0].was_killed() && record.images[0].lines() > 500_000, "{}", record.images[0].lines());
}

fn libc_segv() -> i32 {
    11
}

#[test]
fn programs_that_a_program_starts_are_recorded() {
    let Some(bench) = bench() else { return };
    let script = bench.path("s.sh");
    std::fs::write(&script, "#!/bin/sh\n/bin/true\nexit 5\n").unwrap();
    let chmod = std::process::Command::new("chmod").arg("+x").arg(&script).status().unwrap();
    assert!(chmod.success());
    let script = script.display().to_string();
    let (recorded, record) = bench.record(&["sh", "-c", &format!("{script}; exit $?")], &Settings::default());
    assert_eq!(recorded.manifest.ending, Ending::Exit(5));
    let names: Vec<&str> = record.images.iter().map(|i| i.name()).collect();
    assert!(names.contains(&"true"), "a script's child: {names:?}");
    assert!(record.images.iter().all(|i| i.insns() > 0), "{names:?}");
    assert!(recorded.remarks.is_empty(), "{:?}", recorded.remarks);
}

#[test]
fn a_program_that_forks_without_end_fills_no_disk() {
    let Some(bench) = bench() else { return };
    let text = "#include <unistd.h>\n#include <sys/wait.h>\nint main(void) { for (int i = 0; i < 60; i++) \
                { if (!fork()) _exit(0); wait(0); } return 0; }";
    let program = bench.program("forks", text);
    let settings = Settings { most_images: 8, ..Settings::default() };
    let (recorded, record) = bench.record(&[&program], &settings);
    assert_eq!((record.images.len(), record.control.images, record.control.unrecorded_images), (8, 61, 53));
    assert!(recorded.remarks.iter().any(|r| r.contains("53 of 61 program images")), "{:?}", recorded.remarks);
    assert!(record.control.used_bytes <= 8 * (512 << 10), "{}", record.control.used_bytes);
}

#[test]
fn a_long_run_stays_within_its_room() {
    let Some(bench) = bench() else { return };
    let program = bench.program("sweep", SWEEP);
    let settings = Settings { limit_bytes: 1 << 20, slice_insns: 2000, ..Settings::default() };
    let (recorded, record) = bench.record(&[&program], &settings);
    let size: u64 = std::fs::read_dir(bench.path("rec"))
        .unwrap()
        .map(|e| e.unwrap())
        .filter(|e| e.path().extension().is_some_and(|x| x == "units"))
        .map(|e| e.metadata().unwrap().len())
        .sum();
    assert!(size <= 1 << 20, "{size} bytes");
    let image = &record.images[0];
    let kept = image.lines() + image.head.lost_lines;
    assert!(kept > 4_190_000, "what is not in the record is known to be lost: {kept}");
    // Slices become longer as room is used, so that little is lost.
    assert!(image.head.lost_lines < kept / 2, "{} of {kept}", image.head.lost_lines);
    let full = record.control.full == Full::Limit;
    assert_eq!(recorded.remarks.iter().any(|r| r.contains("largest size")), full, "{:?}", recorded.remarks);
}

#[test]
fn who_stops_a_recording_keeps_it() {
    let Some(bench) = bench() else { return };
    let program = bench.program("spin", "int main(void) { for (volatile long i = 0;; i++) ; }");
    let mut looks = 0;
    let recorded = record(&bench.path("rec"), &[program], &Settings::default(), &mut |_| {
        looks += 1;
        if looks < 20 {
            Look::GoOn
        } else {
            Look::Stop
        }
    });
    let recorded = recorded.unwrap();
    assert_eq!(recorded.manifest.ending, Ending::Interrupted);
}

#[test]
fn what_cannot_be_recorded_is_refused_before_anything_is_written() {
    let Some(bench) = bench() else { return };
    std::fs::write(bench.path("text"), "no program").unwrap();
    assert!(std::process::Command::new("chmod").arg("+x").arg(bench.path("text")).status().unwrap().success());
    let text = bench.path("text").display().to_string();
    let settings = Settings::default();
    let refused = bench.try_record(&[&text], &settings).unwrap_err();
    assert!(matches!(refused, RecordError::Foreign { .. }), "{refused}");
    assert!(refused.to_string().contains("neither a program nor a script; expected"), "{refused}");
    let refused = bench.try_record(&["/no/such/program"], &settings).unwrap_err();
    assert!(matches!(refused, RecordError::NoProgram(_)), "{refused}");
    assert!(!bench.path("rec").exists());
    std::fs::create_dir(bench.path("rec")).unwrap();
    std::fs::write(bench.path("rec/mine"), "x").unwrap();
    let refused = bench.try_record(&["true"], &settings).unwrap_err().to_string();
    assert!(refused.contains("holds other files; expected a new directory"), "{refused}");
}
