//! Read faults on shared memory map what is in the page cache around them (`do_fault_around`), and faults that a random
//! access takes ahead of the run have the same outcome as faults in order of time.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

/// Faults of a child that goes over 4 MiB of shared memory which its parent has filled.
fn faults(k: &numalab_sim::SimConfig, access: &str) -> u64 {
    let count = |access: &str| {
        let text = format!(
            "[[process]]\nname = \"parent\"\n[[process.region]]\nname = \"pool\"\nkind = \"shared\"\nsize = \"4MiB\"\n\
             [[process.prologue]]\naccess = \"pool\"\nwrite = 1\n\
             [[process.phase]]\nsteps = [{{ compute = \"1ms\" }}]\n\
             [[process]]\nname = \"child\"\nparent = \"parent\"\n[[process.phase]]\n{access}\n"
        );
        let m = machine("2x1x1x1");
        counter(&run(&m, &inline(&text, &m, 1, &[]), k, 1), "pgfault")
    };
    count(access) - count("steps = [{ compute = \"1us\" }]")
}

#[test]
fn a_read_fault_maps_sixteen_pages_and_a_store_one() {
    let k = kernel("6.12");
    assert_eq!(faults(&k, "access = \"pool\""), 64);
    assert_eq!(faults(&k, "access = \"pool\"\nwrite = 1"), 1024);
    let around = |bytes| faults(&kernel_set("6.12", &[("vm.fault_around_bytes", bytes)]), "access = \"pool\"");
    assert_eq!((around("4096"), around("2097152"), around("100000")), (1024, 2, 64), "rounded down to a power of two");
    assert_eq!(faults(&kernel("3.8"), "access = \"pool\""), 1024, "3.15 brought it");
}

/// Buffer pools of processes: marks, hint faults and migrations of shared pages, met at random.
#[test]
fn pages_that_random_accesses_meet_move_to_their_users() {
    let m = machine("2x1x2x1");
    let text = "[[policy]]\nname = \"kept\"\nmode = \"bind\"\nnodes = \"all\"\nnuma_balancing = true\n\
        [[process]]\nname = \"parent\"\naffinity = { nodes = 0 }\n\
        [[process.region]]\nname = \"pool\"\nkind = \"shared\"\nsize = \"32MiB\"\npolicy = \"kept\"\n\
        [[process.prologue]]\naccess = \"pool\"\nwrite = 1\n\
        [[process.phase]]\nsteps = [{ compute = \"1ms\" }]\n\
        [[process]]\nname = \"user\"\nparent = \"parent\"\naffinity = { nodes = 1 }\n\
        [[process.phase]]\ntime = \"12s\"\nsteps = [{ access = \"pool\", pattern = \"random\", accesses = 10000 }]\n";
    let o = run(&m, &inline(text, &m, 1, &[]), &kernel("6.12"), 1);
    let (faults, moved) = (counter(&o, "numa_hint_faults"), counter(&o, "numa_pages_migrated"));
    let pages = (32 << 20) / 4096;
    assert!(moved > pages * 9 / 10 && moved <= faults, "{moved} of {pages} pages moved in {faults} faults");
    let remote = faults - counter(&o, "numa_hint_faults_local");
    assert!(remote >= moved, "a page moves in a remote fault");
}
