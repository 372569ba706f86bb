//! Memory tiering from the outside: what `hot-cold` promotes from an expander, and what it gains by that.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;

const PAGE: u64 = 4096;
const HOT: u64 = (64 << 20) / PAGE;
const COLD: u64 = (1 << 30) / PAGE;

/// `hot-cold` on two sockets of 4 GiB with an expander each.
fn hot_cold(kernel_name: &str, taken: &str) -> Outcome {
    let mut m = machine("cxl-2s");
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 4 << 30);
    let params = [("hot", "64MiB"), ("cold", "1GiB"), ("taken", taken), ("duration", "10s"), ("cold_share", "0.00006")];
    run(&m, &workload("hot-cold", &m, 1, &params), &kernel(kernel_name), 1)
}

fn accesses(o: &Outcome) -> f64 {
    scalar(o, "accesses")
}

/// `should_numa_migrate_memory`, 6.1: a node with less than 1 GiB above its watermark takes hot pages only.
#[test]
fn a_nearly_full_node_takes_the_hot_pages() {
    let o = hot_cold("6.12-tiering", "3584MiB");
    let promoted = counter(&o, "pgpromote_success");
    assert!(promoted >= HOT * 9 / 10, "{promoted} of {HOT} hot pages");
    assert!(promoted <= HOT + COLD / 2, "{promoted} of {HOT} hot and {COLD} cold pages");
    let denied = o.reasons.iter().find(|r| r.0 == "denied.not_hot").unwrap().1;
    assert!(denied > COLD / 4, "{denied}");
}

#[test]
fn an_empty_node_takes_whatever_is_touched() {
    let o = hot_cold("6.12-tiering", "0B");
    let promoted = counter(&o, "pgpromote_success");
    assert!(promoted > (HOT + COLD) * 8 / 10, "{promoted} of {HOT} hot and {COLD} cold pages");
}

/// The order of the experiment `tiering`: memory stays on the expander, comes after two faults, or after one.
#[test]
fn promotion_finds_the_hot_pages_sooner_than_balancing() {
    let [off, plain, tiering] = ["off", "6.12", "6.12-tiering"].map(|k| accesses(&hot_cold(k, "3584MiB")));
    assert!(tiering > plain && plain > off, "{off} {plain} {tiering}");
    assert_eq!(counter(&hot_cold("off", "3584MiB"), "numa_pages_migrated"), 0);
}
