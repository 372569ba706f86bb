//! Accesses of a recorded histogram: where they go, what caches keep of them, and that they are repeatable.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::*;
use numalab_model::access::Histogram;
use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_model::workload::{parse, Workload};

/// Four threads on 256 MiB that the initial thread has written.
fn workload_of(steps: &str, histograms: &[Vec<u64>], m: &Machine) -> Workload {
    let text = format!(
        "name = \"w\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\nhistograms = \"h.arrow\"\n\
         [[score]]\nname = \"done\"\n\
         unit = \"lines\"\nbetter = \"higher\"\n[[process]]\nname = \"p\"\nthreads = 4\ninitial = \"joins\"\n\
         [[process.region]]\nname = \"m\"\nsize = \"256MiB\"\n[[process.prologue]]\naccess = \"m\"\nwrite = 1\n\
         [[process.phase]]\ncount = 20_000\nsteps = [{steps}]\n"
    );
    let all: Vec<Histogram> = histograms.iter().map(|h| Histogram::try_from(h.clone()).unwrap()).collect();
    parse("w.toml", &text).unwrap().with_histograms(all.into()).resolve(m, 1, &[]).unwrap()
}

const COUNTS: &str = "write = 0.25, cost = \"4ns\", counts = \"done\", unit_bytes = \"64B\"";

fn recorded(block: &str) -> String {
    format!("{{ access = \"m\", pattern = \"recorded\", visit = 0, block = \"{block}\", accesses = 20_000, {COUNTS} }}")
}

fn outcome(steps: &str, histogram: &[u64], seed: u64) -> Outcome {
    let m = machine("2x1x2x1");
    run(&m, &workload_of(steps, &[histogram.to_vec()], &m), &kernel("6.12"), seed)
}

/// Names of figures, each with how far they may be apart.
const FIGURES: [(&str, f64); 4] = [
    ("numa_pte_updates", 1.25),
    ("numa_hint_faults", 1.25),
    ("numa_hint_faults_local", 1.25),
    ("numa_pages_migrated", 1.25),
];

fn assert_alike(a: &Outcome, b: &Outcome) {
    for o in [a, b] {
        eprintln!("{} {:?}", scalar(o, "elapsed_s"), FIGURES.map(|f| counter(o, f.0)));
    }
    let (x, y) = (scalar(a, "elapsed_s"), scalar(b, "elapsed_s"));
    assert!((x / y - 1.0).abs() < 0.05, "elapsed {x} and {y}");
    for (name, most) in FIGURES {
        let (x, y) = (counter(a, name) as f64, counter(b, name) as f64);
        assert!(x.max(y) <= most * x.min(y), "{name}: {x} and {y}");
    }
}

#[test]
fn an_even_histogram_is_random() {
    let random = format!("{{ access = \"m\", pattern = \"random\", accesses = 20_000, {COUNTS} }}");
    assert_alike(&outcome(&recorded("64B"), &[5; 64], 1), &outcome(&random, &[1], 1));
}

#[test]
fn a_hot_part_is_as_two_steps() {
    let two = format!(
        "{{ access = \"m\", offset = 0, len = \"32MiB\", pattern = \"random\", accesses = 18_000, {COUNTS} }}, \
         {{ access = \"m\", offset = \"32MiB\", pattern = \"random\", accesses = 2_000, {COUNTS} }}"
    );
    let mut hot = vec![2; 64];
    hot[..8].fill(126);
    assert_alike(&outcome(&recorded("64B"), &hot, 1), &outcome(&two, &[1], 1));
}

/// Nobody goes to what the histogram leaves out, so nobody faults there.
#[test]
fn parts_without_visits_are_never_met() {
    for block in ["64B", "16KiB"] {
        let all = counter(&outcome(&recorded(block), &[1; 8], 1), "numa_hint_faults");
        let eighth = counter(&outcome(&recorded(block), &[0, 0, 0, 0, 0, 1, 0, 0], 1), "numa_hint_faults");
        assert!(eighth > 0 && eighth * 6 < all, "{block}: {eighth} of {all}");
    }
}

#[test]
fn blocks_of_an_even_histogram_are_blocks() {
    let blocks = format!("{{ access = \"m\", pattern = \"blocks\", block = \"16KiB\", accesses = 20_000, {COUNTS} }}");
    assert_alike(&outcome(&recorded("16KiB"), &[5; 64], 1), &outcome(&blocks, &[1], 1));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let hot = [9, 1, 1, 1, 5, 1, 1, 1];
    let (a, b, c) =
        (outcome(&recorded("64B"), &hot, 1), outcome(&recorded("64B"), &hot, 1), outcome(&recorded("64B"), &hot, 2));
    assert_eq!(a.counters, b.counters);
    assert_eq!(a.scalars, b.scalars);
    assert_ne!(a.scalars, c.scalars);
    assert_eq!(scalar(&a, "done"), 4.0 * 20_000.0 * 20_000.0);
}
