//! Pages on their way to the LRU cannot be isolated (folio_isolate_lru), which quiet machines show.
#![allow(clippy::unwrap_used)]

use crate::common;
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
    k.numa.switches.migration_lru_batch = false;
    let (faults, moved) = remote(&run(&m, &w, &k, 1));
    assert!(faults > 1000 && moved == faults, "other tasks fill the batches: {moved} of {faults} move");
    k.numa.switches.migration_lru_batch = true;
    let (faults, moved) = remote(&run(&m, &w, &k, 1));
    let batches = u64::from(k.mm.vm.lru_batch) * m.cpu_count() as u64;
    assert!(moved < faults && faults - moved <= batches, "{moved} of {faults} move");
}

/// Pages moved while a thread on node 0 reads two pages that lie on node 1, and one on node 1 all that the other has
/// filled.
fn moved(k: &SimConfig) -> u64 {
    let text = "[[barrier]]\nname = \"filled\"\n\
        [[process]]\nname = \"main\"\nthreads = 2\naffinity = { nodes = \"thread\" }\n\
        [[process.region]]\nname = \"many\"\nsize = \"4120KiB\"\n\
        [[process.region]]\nname = \"few\"\nsize = \"8KiB\"\n\
        [[process.phase]]\nwhen = \"thread == 0\"\naccess = \"many\"\nwrite = 1\n\
        [[process.phase]]\nwhen = \"thread == 1\"\naccess = \"few\"\nwrite = 1\n\
        [[process.phase]]\nbarrier = \"filled\"\n\
        [[process.phase]]\nwhen = \"thread == 0\"\ntime = \"10s\"\nsteps = [{ access = \"few\" }, { compute = \"1ms\" }]\n\
        [[process.phase]]\nwhen = \"thread == 1\"\ntime = \"10s\"\nsteps = [{ access = \"many\" }, { compute = \"1ms\" }]\n";
    let m = machine("2x1x1x1");
    counter(&run(&m, &inline(text, &m, 1, &[]), k, 1), "numa_pages_migrated")
}

#[test]
fn from_5_18_to_6_6_a_move_sends_what_its_cpu_has_gathered_to_the_lru() {
    let drains = |name: &str| kernel(name).numa.switches.migration_drains_lru;
    let got = ["4.15", "5.16", "5.18", "6.1", "6.4-rc2", "6.7", "6.12"].map(drains);
    assert_eq!(got, [false, false, true, true, true, false, false]);
    let mut k = kernel_set("6.1", &[("system.thp", "never")]);
    k.numa.switches.migration_lru_batch = true;
    let all = moved(&k);
    k.numa.switches.migration_drains_lru = false;
    let some = moved(&k);
    // The last pages of the thread on node 0 stay in its batch, which two moves do not fill.
    let batch = u64::from(k.mm.vm.lru_batch);
    assert!(all >= 1030 + 2 && some < all && some > all - batch, "{some} and {all} pages");
}
