//! Memory of a virtual machine: each fault on it begins with an exit to KVM, because marks and moves empty KVM's tables
//! too.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{counter, inline, kernel, machine, run};
use numalab_model::record::Outcome;

const PAGES: u64 = 4096;
const EXIT_NS: u64 = 3000;

/// A guest of one virtual CPU on node 1, whose memory starts on node 0. `kind` is that of its memory, `more` are
/// further keys.
fn guest(kernel_name: &str, kind: &str, more: &str) -> Outcome {
    let text = format!(
        "[[policy]]\nname = \"start\"\nmode = \"bind\"\nnodes = 0\nnuma_balancing = true\n\
         [[process]]\nname = \"guest\"\naffinity = {{ nodes = 1 }}\n\
         [[process.region]]\nname = \"memory\"\nkind = \"{kind}\"\nsize = \"16MiB\"\nadvice = \"nohuge\"\n{more}\n\
         [[process.prologue]]\naccess = \"memory\"\nwrite = 1\npolicy = \"start\"\n\
         [[process.phase]]\ntime = \"8s\"\nsteps = [{{ access = \"memory\", pattern = \"random\", accesses = 20000 }}]\n"
    );
    let m = machine("2x1x1x1");
    run(&m, &inline(&text, &m, 1, &[]), &kernel(kernel_name), 1)
}

fn exits(kind: &str) -> String {
    let ns = EXIT_NS;
    format!("second_level_fault = \"{ns}ns\"{}", if kind == "shared" { "\npolicy = \"start\"" } else { "" })
}

#[test]
fn first_touch_takes_one_exit_a_page() {
    let (plain, exits) = (guest("off", "anon", ""), guest("off", "anon", &exits("anon")));
    assert!(!plain.counters.iter().any(|c| c.0 == "kvm_pf_taken"), "ordinary memory has no such counter");
    assert_eq!(counter(&exits, "kvm_pf_taken"), PAGES);
    let system = |o: &Outcome| o.scalars.iter().find(|s| s.name == "system_s").unwrap().value;
    let (more, expected) = (system(&exits) - system(&plain), (PAGES * EXIT_NS) as f64 / 1e9);
    assert!((more / expected - 1.0).abs() < 0.05, "{more} s of system time for {expected} s of exits");
}

#[test]
fn each_mark_costs_an_exit_for_private_memory_and_memfd() {
    for kind in ["anon", "shared"] {
        let (off, on) = (guest("off", kind, &exits(kind)), guest("6.12", kind, &exits(kind)));
        let more = counter(&on, "kvm_pf_taken") - counter(&off, "kvm_pf_taken");
        let hint_faults = counter(&on, "numa_hint_faults");
        assert!(hint_faults > PAGES / 2, "{kind}: {hint_faults} hint faults");
        let stack = 64;
        assert!(
            more <= hint_faults && more + stack >= hint_faults,
            "{kind}: {more} exits for {hint_faults} hint faults"
        );
    }
}
