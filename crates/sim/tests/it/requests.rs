//! Latencies of requests: percentiles of what a request took from its first step to its last.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

const LATE: &str = "[[score]]\nname = \"late\"\nunit = \"us\"\nbetter = \"lower\"\nlatency = true\n";

/// A thread on CPU 0 whose every request computes for 100 us, `requests` times, beside `other`.
fn requests(requests: u32, other: &str) -> String {
    format!(
        "{LATE}[[process]]\nname = \"p\"\naffinity = {{ cpus = 0 }}\n\
         [[process.phase]]\ncount = {requests}\nrequest = \"late\"\ncompute = \"100us\"\n{other}"
    )
}

fn outcome(text: &str) -> numalab_nouns::record::Outcome {
    let m = machine("2x1x4x1");
    run(&m, &inline(text, &m, 1, &[]), &kernel("6.12"), 1)
}

#[test]
fn a_request_takes_what_its_steps_take() {
    let o = outcome(&requests(1000, ""));
    let (p50, p99) = (scalar(&o, "late_p50"), scalar(&o, "late_p99"));
    // A lone core runs faster than the sustained clock, and a bucket is at most 1.6 % too high.
    assert!((50.0..102.0).contains(&p50), "{p50}");
    assert!(p99 >= p50 && p99 < 1.1 * p50, "{p50} {p99}");
    assert!(o.scalars.iter().all(|s| s.name != "late"));
    let s = o.scalars.iter().find(|s| s.name == "late_p99").unwrap();
    assert_eq!((s.unit.as_str(), s.higher_is_better), ("us", false));
    let counted = o.series.iter().find(|s| s.name == "score").unwrap();
    assert_eq!(counted.values[0].last(), Some(&1000.0));
}

/// A thread that wakes on the same CPU every millisecond takes it away in the middle of a request.
#[test]
fn a_request_waits_while_its_thread_is_preempted() {
    let o = outcome(&requests(
        1000,
        "[[process]]\nname = \"q\"\naffinity = { cpus = 0 }\n\
         [[process.phase]]\ncount = 100\nsteps = [{ sleep = \"1ms\" }, { compute = \"60us\" }]\n",
    ));
    let (p50, p99) = (scalar(&o, "late_p50"), scalar(&o, "late_p99"));
    assert!(p99 > p50 * 1.4, "{p50} {p99}");
}

/// A client asks a server, which computes for 200 us: the request lasts at least as long, and so does its half.
#[test]
fn a_request_lasts_until_its_answer() {
    let o = outcome(&format!(
        "{LATE}[[channel]]\nname = \"ask\"\n[[channel]]\nname = \"answer\"\n\
         [[process]]\nname = \"client\"\n[[process.phase]]\ncount = 200\n\
         steps = [{{ request = \"late\", steps = [{{ signal = \"ask\" }}, {{ wait = \"answer\" }}] }}, \
         {{ sleep = \"1ms\" }}]\n\
         [[process]]\nname = \"server\"\n[[process.phase]]\ncount = 200\n\
         steps = [{{ wait = \"ask\" }}, {{ compute = \"200us\" }}, {{ signal = \"answer\" }}]\n"
    ));
    let (p50, p99) = (scalar(&o, "late_p50"), scalar(&o, "late_p99"));
    assert!((100.0..300.0).contains(&p50) && p99 >= p50, "{p50} {p99}");
}

#[test]
fn percentiles_of_few_requests_are_left_out_with_a_warning() {
    let o = outcome(&requests(99, ""));
    assert!(o.scalars.iter().all(|s| !s.name.starts_with("late")));
    assert!(o.warnings.iter().any(|w| w.contains("`late`: 99 requests ended, and percentiles take 100")));
}
