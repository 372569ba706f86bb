//! `advise --by-region` on programs with one fault each, and on the same programs without it: what would help most
//! names the fault. They need `qemu-x86_64` and a C compiler, and say so where one is missing.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};
use std::process::Command;

/// What all programs have: eight threads, a start and an end, and numbers at random.
const COMMON: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
enum { THREADS = 8, BYTES = 64 << 20, LONGS = BYTES / 8 };
static unsigned long next(unsigned long *x) { *x ^= *x << 13; *x ^= *x >> 7; return *x ^= *x << 17; }
static void run(void *(*work)(void *))
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
}
"#;

/// Threads work on parts that the initial thread has touched, unless `own` is given: then each touches its own.
const PARTS: &str = r#"
static long *parts;
static int mended;
static void *work(void *x)
{
    long *own = parts + (long)x * (LONGS / THREADS);
    unsigned long r = 88172645463325252u + (unsigned long)x;
    if (mended) memset(own, 1, BYTES / THREADS);
    for (long k = 0; k < 400000; k++) own[next(&r) % (LONGS / THREADS)]++;
    return 0;
}
__attribute__((noinline)) static void make_parts(void) { parts = malloc(BYTES); }
int main(int count, char **words)
{
    make_parts();
    mended = count > 1 && !strcmp(words[1], "own");
    if (!mended) memset(parts, 1, BYTES);
    run(work);
    return 0;
}
"#;

/// All threads read all of a table, which is a variable, and write a little memory of their own.
const TABLE: &str = r#"
static long lookup_table[LONGS];
static void *work(void *x)
{
    unsigned long r = 88172645463325252u + (unsigned long)x, sum = 0;
    for (long k = 0; k < 400000; k++) sum += lookup_table[next(&r) % LONGS];
    return (void *)sum;
}
int main(void) { memset(lookup_table, 1, BYTES); run(work); return 0; }
"#;

/// All threads write all of a region, wherever its pages are.
const SHARED: &str = r#"
static long *shared;
static void *work(void *x)
{
    unsigned long r = 88172645463325252u + (unsigned long)x;
    for (long k = 0; k < 400000; k++) shared[next(&r) % LONGS]++;
    return 0;
}
int main(void) { shared = calloc(LONGS, 8); memset(shared, 1, BYTES); run(work); return 0; }
"#;

/// A size at which no part fits into caches.
const LARGE: &str = "--memory 1GiB --threads 8";

/// A directory with a program; `None` where it cannot be made or recorded.
fn lab(name: &str, text: &str) -> Option<Lab> {
    for program in ["cc", "qemu-x86_64"] {
        if Command::new(program).arg("--version").output().is_err() {
            eprintln!("skipped: no {program} here (crates/lab/setup.sh test installs it)");
            return None;
        }
    }
    let lab = Lab::new();
    lab.write(&format!("{name}.c"), &format!("{COMMON}{text}"));
    let built = lab.shell(&format!("cc -g -O1 -pthread -o {name} {name}.c"));
    assert_eq!(built.code, 0, "{built:?}");
    Some(lab)
}

/// The changes that gain, the largest gain first: word, region, where it comes from, gain in percent, the larger one of
/// those with and without balancing.
fn ranking(lab: &Lab, size: &str, command: &str) -> Vec<(String, String, String, f64)> {
    let line = format!("advise --machine 2x1x4x1 --kernel 6.12 {size} --by-region --json --out a -- {command}");
    let value = json(&lab.ok(&line).out);
    let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_string();
    let gains = value["by_region"].as_array().unwrap().iter();
    let gain = |g: &serde_json::Value| g["gain_percent"].as_f64().unwrap().max(g["gain_off_percent"].as_f64().unwrap());
    gains.map(|g| (text(&g["change"]), text(&g["region"]), text(&g["site"]), gain(g))).collect()
}

#[test]
fn memory_that_one_thread_touches_for_all_is_named_with_its_source() {
    let Some(lab) = lab("parts", PARTS) else { return };
    let faulty = ranking(&lab, LARGE, "./parts");
    println!("{faulty:#?}");
    let (change, _, site, gain) = &faulty[0];
    assert!(change.starts_with("first_touch") && *gain > 3.0, "{faulty:#?}");
    assert!(site.starts_with("make_parts (parts.c:"), "{site}");
    // Nothing is first touched by the initial thread any more, so no such change is simulated.
    let prologue = |command: &str| {
        lab.ok(&format!("record --accesses --out rec -- {command}"));
        lab.ok("fit rec").out.contains("[[process.prologue]]")
    };
    assert_eq!((prologue("./parts"), prologue("./parts own")), (true, false));
}

#[test]
fn a_table_that_all_threads_read_is_to_be_copied() {
    let Some(lab) = lab("table", TABLE) else { return };
    let faulty = ranking(&lab, "", "./table");
    println!("{faulty:#?}");
    let (change, region, site, gain) = &faulty[0];
    assert_eq!(
        (change.as_str(), region.as_str(), site.as_str()),
        ("copy_per_node", "lookup_table", "a variable of table")
    );
    assert!(*gain > 3.0, "{faulty:#?}");
}

#[test]
fn what_all_threads_write_is_not_to_be_copied() {
    let Some(lab) = lab("shared", SHARED) else { return };
    let faulty = ranking(&lab, "", "./shared");
    println!("{faulty:#?}");
    assert!(faulty.iter().all(|g| g.0 != "copy_per_node"), "{faulty:#?}");
    assert!(faulty.iter().any(|g| g.2.starts_with("main (shared.c:")), "{faulty:#?}");
}
