//! Caches that cohere: what a line costs that another core has written, by where that core is.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::machine::Machine;

/// Two threads or more on the CPUs that `cpu` says, and what each of them does with the region in a round.
fn text(cpu: &str, threads: usize, size: &str, access: &str) -> String {
    format!(
        r#"
[params]
rounds = 8
[[process]]
name = "p"
threads = {threads}
affinity = {{ cpus = "{cpu}" }}
[[process.region]]
name = "r"
size = "{size}"
[[process.prologue]]
access = "r"
write = 1
[[process.phase]]
count = "rounds"
access = "r"
{access}
"#
    )
}

/// Time of a round in the long run, ns.
fn round_ns(m: &Machine, text: &str, rounds: u64) -> f64 {
    let elapsed = |n: u64| {
        let w = inline(text, m, 1, &[("rounds", &n.to_string())]);
        scalar(&run(m, &w, &kernel("off"), 1), "elapsed_s")
    };
    (elapsed(3 * rounds) - elapsed(rounds)) / (2 * rounds) as f64 * 1e9
}

/// CPUs of a Milan: beside CPU 0 in its LLC, in the next LLC, and in the other socket.
const PLACES: [&str; 3] = ["thread", "8 * thread", "64 * thread"];

/// Two threads that change one line in turn wait for it each time: half the random accesses of two equal writers find
/// that the other was there last.
#[test]
fn a_line_that_two_write_goes_back_and_forth() {
    let m = machine("milan-2s-nps1");
    let n = 100_000;
    let access = format!("pattern = \"chase\"\naccesses = {n}\nwrite = 1");
    let alone = round_ns(&m, &text("0", 1, "4KiB", &access), 100) / f64::from(n);
    for (cpu, between) in PLACES.iter().zip([0, 1, 8].map(|llc| m.core_to_core_ns(0, llc))) {
        let each = round_ns(&m, &text(cpu, 2, "4KiB", &access), 100) / f64::from(n);
        let expected = (alone + between) / 2.0;
        assert!((each / expected - 1.0).abs() < 0.05, "{cpu}: {each} ns, {expected} expected");
    }
}

/// Stores of two threads to one region that fits into their caches take longer the farther they are apart.
#[test]
fn two_writers_are_slower_the_farther_they_are_apart() {
    let m = machine("milan-2s-nps1");
    let alone = round_ns(&m, &text("0", 1, "1MiB", "write = 1"), 2000);
    let rounds = PLACES.map(|cpu| round_ns(&m, &text(cpu, 2, "1MiB", "write = 1"), 2000));
    assert!(rounds[1] > 1.5 * rounds[0] && rounds[2] > 1.5 * rounds[1], "{rounds:?} ns a round, {alone} alone");
}

/// Lines that go between sockets take their part of the link: a stream of far memory gets less of it while two threads
/// on both sides write one region, and all of it while they are side by side.
#[test]
fn lines_between_sockets_share_the_link_with_streams() {
    let mut m = machine("milan-2s-nps1");
    m.links.iter_mut().for_each(|l| l.sustained_gbps = 5.0);
    let read = |apart: &str| {
        let text = format!(
            r#"
[[policy]]
name = "near"
mode = "bind"
nodes = 0
[[score]]
name = "read"
unit = "MB"
better = "higher"
[[process]]
name = "stream"
affinity = {{ cpus = "80" }}
[[process.region]]
name = "far"
size = "1GiB"
policy = "near"
[[process.prologue]]
access = "far"
write = 1
[[process.phase]]
time = "500ms"
access = "far"
counts = "read"
unit_bytes = "1MB"
[[process]]
name = "writers"
threads = 2
affinity = {{ cpus = "{apart}" }}
[[process.region]]
name = "r"
size = "1MiB"
[[process.phase]]
time = "2s"
access = "r"
write = 1
"#
        );
        scalar(&run(&m, &inline(&text, &m, 1, &[]), &kernel("off"), 1), "read")
    };
    let (beside, apart) = (read("thread"), read("64 * thread"));
    assert!(apart < 0.9 * beside, "{apart} MB read beside writers on both sockets, {beside} beside writers on one");
}

/// What nobody writes is in every cache: readers are as fast together as alone, wherever they run.
#[test]
fn readers_do_not_meet() {
    let m = machine("milan-2s-nps1");
    let alone = round_ns(&m, &text("8 * thread", 1, "1MiB", ""), 2000);
    let together = round_ns(&m, &text("8 * thread", 16, "1MiB", ""), 2000);
    assert!((together / alone - 1.0).abs() < 0.1, "{together} ns, {alone} alone");
}

/// Threads that write slices of their own meet where slices share lines: always in slices of 16 bytes, never in slices
/// of whole lines.
#[test]
fn slices_smaller_than_a_line_share_it() {
    let m = machine("milan-2s-nps1");
    let access = "slice = \"thread\"\npattern = \"chase\"\naccesses = 100_000\nwrite = 1";
    let each = |size: &str| round_ns(&m, &text("8 * thread", 4, size, access), 100) / 1e5;
    let (apart, shared) = (each("256B"), each("64B"));
    assert!(shared > 4.0 * apart, "{shared} ns in one line, {apart} in lines of their own");
}

/// Who hands a buffer over and gets it back fetches every line of it, and so does the other: `lines_random` at a time,
/// each from where the other runs.
#[test]
fn a_buffer_handed_over_costs_what_its_way_takes() {
    let m = machine("milan-2s-nps1");
    let access = |by: u32| {
        format!("{{ access = \"r\", len = \"if(thread == {by}, 256KiB, 64B)\", write = \"{}\" }}", {
            if by == 0 {
                "if(thread == 0, 1, 0)"
            } else {
                "0"
            }
        })
    };
    let steps = format!("steps = [{}, {{ barrier = \"turn\" }}, {}, {{ barrier = \"turn\" }}]", access(0), access(1));
    let rounds = PLACES.map(|cpu| {
        let text = text(cpu, 2, "256KiB", "").replace("access = \"r\"\n\n", &steps);
        round_ns(&m, &format!("[[barrier]]\nname = \"turn\"\nspin = true\n{text}"), 1000)
    });
    let way = |llc| m.core_to_core_ns(0, llc);
    let expected = 2.0 * 4096.0 * (way(8) - way(1)) / m.stream.lines_random;
    let farther = rounds[2] - rounds[1];
    assert!((farther / expected - 1.0).abs() < 0.15, "{rounds:?} ns a round, {expected} ns more expected for the last");
}

/// One writer and readers: readers fetch each line once after every time that it was written.
#[test]
fn readers_fetch_what_is_written_and_no_more() {
    let m = machine("milan-2s-nps1");
    let text = |write: &str| {
        format!(
            r#"
[params]
rounds = 8
[[process]]
name = "p"
threads = 4
affinity = {{ cpus = "8 * thread" }}
[[process.region]]
name = "r"
size = "64KiB"
[[process.prologue]]
access = "r"
write = 1
[[process.phase]]
count = "rounds"
steps = [{{ access = "r", pattern = "chase", accesses = 100_000, write = "{write}" }}]
"#
        )
    };
    let run_ns = |write: &str| round_ns(&m, &text(write), 100) / 1e5;
    let (never, seldom, often) = (run_ns("0"), run_ns("if(thread == 0, 0.01, 0)"), run_ns("if(thread == 0, 1, 0)"));
    assert!(seldom < 1.5 * never && often > 3.0 * never, "{never} ns, {seldom} with few stores, {often} with many");
}
