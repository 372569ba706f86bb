//! A score of one part of a program: `counts` says what counts, `timed` which seconds.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

/// A thread that reads memory a hundred times for the score `rate`, after and before `others`.
fn text(others: &str) -> String {
    format!(
        r#"
[[score]]
name = "rate"
unit = "MB/s"
better = "higher"
per_second = true
[[process]]
name = "p"
initial = "works"
affinity = {{ nodes = 0 }}
[[process.region]]
name = "r"
size = "1MiB"
[[process.phase]]
access = "r"
write = 1
{others}
[[process.phase]]
timed = "rate"
count = 100
access = "r"
counts = "rate"
unit_bytes = "1MB"
cost = "20ns"
{others}
"#
    )
}

#[test]
fn only_the_timed_part_counts() {
    let m = machine("2x1x4x1");
    let go = |others: &str| run(&m, &inline(&text(others), &m, 1, &[]), &kernel("6.12"), 1);
    let (alone, among) = (go(""), go("[[process.phase]]\ncount = 500\naccess = \"r\"\ncost = \"90ns\"\n"));
    let of = |name| (scalar(&alone, name), scalar(&among, name));
    let (alone_s, among_s) = of("elapsed_s");
    assert!(among_s > 20.0 * alone_s, "{alone_s} {among_s}");
    let (alone, among) = of("rate");
    assert!((among / alone - 1.0).abs() < 0.05, "{alone} {among}");
}
