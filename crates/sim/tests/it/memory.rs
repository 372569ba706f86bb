//! The memory that a run takes is what was predicted before it.
//!
//! Every run has a process of its own: this program starts itself again with a plan in its environment. The figure is
//! the peak of resident memory (`VmHWM`) above what the process held before. Where /proc does not tell it, the tests
//! say so.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_base::rng::Rng;
use numalab_sim::predict_memory;
use std::process::Command;

/// The plan of a child: machine, kernel, workload, then parameters (`name=value`), settings (`@name=value`) and memory
/// of each node (`%GiB`), and `+` for the machine's own threads.
const PLAN: &str = "NUMALAB_MEMORY_PLAN";

/// What a run takes besides its state: code that is read for the first time, buffers of the allocator.
const BASE_BYTES: u64 = 1 << 20;

/// A field of /proc/self/status, bytes.
fn status(key: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with(key))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

/// What a child does: predicts, runs, and prints both figures.
fn child(plan: &str) {
    let words: Vec<&str> = plan.split_whitespace().collect();
    let marked = |mark: char| words[3..].iter().filter_map(move |w| w.strip_prefix(mark));
    let pairs = |of: Vec<&'static str>| -> Vec<(&'static str, &'static str)> {
        of.into_iter().map(|w| w.split_once('=').unwrap()).collect()
    };
    let leak = |w: &str| -> &'static str { Box::leak(w.to_string().into_boxed_str()) };
    let mut m = machine(words[0]);
    if let Some(gib) = marked('%').next() {
        m.nodes.iter_mut().for_each(|n| n.memory_bytes = gib.parse::<u64>().unwrap() << 30);
    }
    let k = kernel_set(words[1], &pairs(marked('@').map(leak).collect()));
    let k = k.with_machine_background(words.contains(&"+"));
    let plain = words[3..].iter().filter(|w| !w.starts_with(['@', '%', '+']));
    let w = workload(words[2], &m, 1, &pairs(plain.map(|w| leak(w)).collect()));
    let predicted = predict_memory(&m, &w, &k);
    let before = status("VmRSS").unwrap();
    numalab_sim::run(&m, &w, &k, 1, false).unwrap();
    let took = status("VmHWM").unwrap() - before;
    println!("\nresult {took} {} {:?}", predicted.total(), predicted.parts());
}

/// Runs a plan in a process of its own: bytes that it took, bytes that were predicted, and a line about both.
fn measure(plan: &str) -> (u64, u64, String) {
    let me = std::env::current_exe().unwrap();
    let mut command = Command::new(me);
    command.args(["memory::runs_take_what_was_predicted", "--exact", "--nocapture"]).env(PLAN, plan);
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix("result "))
        .unwrap_or_else(|| panic!("{plan}: {text}{}", String::from_utf8_lossy(&out.stderr)));
    let mut words = line.splitn(3, ' ');
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    let (took, predicted) = (number(), number());
    let says = format!(
        "{plan}: took {} KiB, predicted {} KiB ({:+.0} %): {}",
        took >> 10,
        predicted >> 10,
        (predicted as f64 / took as f64 - 1.0) * 100.0,
        words.next().unwrap()
    );
    (took, predicted, says)
}

/// Plans whose memory is taken by different things.
const PLANS: [&str; 16] = [
    // Pages of 4 KiB.
    "2x4x8x1 6.12 numa02 memory=16GiB loops=1",
    "8x1x8x1 6.12 numa02 memory=16GiB loops=1",
    "2x2x4x1 6.3 numa01_THREAD_ALLOC loops=1",
    // Huge pages, and those that a kernel splits.
    "4x1x4x1 6.12 numa02 memory=512GiB loops=1 @system.thp=always %512",
    "2x2x4x1 3.8 numa02 memory=8GiB loops=20 @system.thp=always",
    // Machines.
    "8x2x4x1 6.12 coremark contexts=1 iterations=100 %1024",
    "64x4x16x1 6.12 coremark contexts=1 iterations=100 %1",
    "64x1x1x1 6.12 coremark contexts=1 iterations=100 %1",
    // Threads.
    "64x4x16x1 6.12 coremark contexts=1 iterations=100 %1 +",
    "2x4x8x1 6.12 coremark contexts=4096 iterations=100",
    "64x1x4x1 6.12 coremark contexts=2048 iterations=100 %4",
    // Shared memory of many processes, and pages that a fork shares.
    "2x4x8x1 6.12 buffer-pool connections=16 pool=8GiB pool_policy=2 duration=50ms own=32MiB",
    "2x2x4x1 6.1 cow-shared",
    "2x2x4x1 6.12 fork-heavy children=16 memory=2GiB passes=1 written=0.01 @system.thp=always %4",
    // Random accesses, and time series.
    "2x2x4x1 6.12 random-shared memory=4GiB duration=100ms",
    "32x1x1x1 6.12 chat",
];

/// A run takes what was predicted, within 10 %. Known miss: `fork-heavy` takes up to a fifth less, since not all of its
/// shared objects are resident.
#[test]
fn runs_take_what_was_predicted() {
    if let Ok(plan) = std::env::var(PLAN) {
        return child(&plan);
    }
    if status("VmHWM").is_none() {
        return eprintln!("not measured: /proc/self/status does not tell the peak of memory here");
    }
    let mut off = Vec::new();
    for plan in PLANS {
        let (took, predicted, says) = measure(plan);
        println!("{says}");
        let known_miss = plan.contains("fork-heavy") && took < predicted && predicted - took < took / 4;
        if took.abs_diff(predicted) > took / 10 + BASE_BYTES && !known_miss {
            off.push(says);
        }
    }
    assert!(off.is_empty(), "more than 10 % off:\n{}", off.join("\n"));
}

/// Machines, kernels, workloads and sizes drawn by lot.
#[test]
fn no_run_takes_more_than_predicted() {
    if status("VmHWM").is_none() {
        return eprintln!("not measured: /proc/self/status does not tell the peak of memory here");
    }
    let mut rng = Rng::new(40);
    let mut of = |list: &[&'static str]| list[rng.below(list.len() as u64) as usize];
    let mut off = Vec::new();
    for _ in 0..16 {
        let machine = of(&["2x1x4x1", "2x2x4x2", "4x1x4x1", "16x1x2x1"]);
        let kernel = of(&["off", "3.8", "4.15", "6.1", "6.12", "3.7-autonuma-v27"]);
        let thp = of(&["@system.thp=always", "@system.thp=never"]);
        let workload = of(&[
            "numa01_THREAD_ALLOC loops=2",
            "numa02 memory=1GiB loops=3",
            "numa02 memory=6GiB loops=1",
            "random-shared memory=2GiB duration=300ms",
            "buffer-pool connections=6 pool=2GiB duration=100ms",
            "coremark contexts=300 iterations=1000",
            "hot-cold",
            "first-touch",
            "chat",
            "producer-consumer",
        ]);
        let plan = format!("{machine} {kernel} {workload} {thp}");
        let (took, predicted, says) = measure(&plan);
        println!("{says}");
        if took > predicted + predicted / 10 + BASE_BYTES {
            off.push(says);
        }
    }
    assert!(off.is_empty(), "more than 10 % over the prediction:\n{}", off.join("\n"));
}
