//! Pages on their way to the LRU cannot be isolated (folio_isolate_lru), which quiet machines show.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;

/// Remote hint faults, and how many of them moved their page.
fn remote(o: &numalab_model::record::Outcome) -> (u64, u64) {
    let faults = counter(o, "numa_hint_faults") - counter(o, "numa_hint_faults_local");
    (faults, counter(o, "numa_pages_migrated"))
}

#[test]
fn the_last_pages_that_a_cpu_got_cannot_move() {
    let m = machine("4x1x2x1");
    // As the guests of `numalab validate`.
    let w = workload("first-touch", &m, 1, &[("memory", "64MiB"), ("duration", "6s")]);
    let mut k = kernel("6.12").with_harness(numalab_sim::Harness::Worker);
    // Whoever comes to a page that is about to move faults without moving it; that is another matter.
    k.numa.switches.second_hint_faults = false;
    let (faults, moved) = remote(&run(&m, &w, &k, 1));
    assert!(faults > 1000 && moved == faults, "other tasks fill the batches: {moved} of {faults} move");
    k.numa.switches.migration_lru_batch = true;
    let (faults, moved) = remote(&run(&m, &w, &k, 1));
    let batches = u64::from(k.mm.vm.lru_batch) * m.cpu_count() as u64;
    assert!(moved < faults && faults - moved <= batches, "{moved} of {faults} move");
}
