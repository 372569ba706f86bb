//! A page on its way to another node is still PROT_NONE for a moment: whoever else comes takes a hint fault too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use numalab_model::record::Outcome;

/// Eight threads on two nodes go over one buffer in step, pass after pass.
const IN_STEP: &str = "[params]\npasses = { value = 400, about = \"passes\" }\n\
    [[barrier]]\nname = \"go\"\n\
    [[process]]\nname = \"main\"\nthreads = \"cpus\"\n\
    [[process.region]]\nname = \"buffer\"\nsize = \"64MiB\"\n\
    [[process.phase]]\nwhen = \"thread == 0\"\naccess = \"buffer\"\nwrite = 1\n\
    [[process.phase]]\ncount = \"passes\"\nsteps = [{ barrier = \"go\" }, { access = \"buffer\", write = 1 }]\n";

fn groups(o: &Outcome) -> u64 {
    o.reasons.iter().find(|r| r.0 == "groups.created").map_or(0, |r| r.1)
}

#[test]
fn threads_in_step_find_into_a_group_although_stores_unset_the_last_cpupid() {
    let m = machine("2x1x4x1");
    let w = inline(IN_STEP, &m, 1, &[]);
    let mut k = kernel("6.7");
    assert!(k.numa.switches.second_hint_faults && k.numa.switches.migration_drops_write);
    let with = run(&m, &w, &k, 1);
    assert!(groups(&with) > 0);
    // Vector E4: without second faults every fault is private, and no group ever appears.
    k.numa.switches.second_hint_faults = false;
    let without = run(&m, &w, &k, 1);
    assert!(counter(&without, "numa_pages_migrated") > 0);
    assert_eq!(groups(&without), 0);
}

#[test]
fn second_faults_are_counted_beside_the_marks() {
    let m = machine("2x1x4x1");
    let w = inline(IN_STEP, &m, 1, &[]);
    let mut k = kernel("6.7");
    let faults = |o: &Outcome| counter(o, "numa_hint_faults") as i64 - counter(o, "numa_pte_updates") as i64;
    let with = run(&m, &w, &k, 1);
    k.numa.switches.second_hint_faults = false;
    let without = run(&m, &w, &k, 1);
    assert!(faults(&without) <= 0, "a mark is found once: {}", faults(&without));
    assert!(faults(&with) > faults(&without), "{} {}", faults(&with), faults(&without));
}
