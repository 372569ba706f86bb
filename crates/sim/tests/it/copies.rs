//! A page copy waits for the memory that it reads and writes (machines.md section 4).
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_kernel::hw::smt::STREAM_SHARE;

/// One thread makes a buffer on node 0, one on node 1 then uses it, so its pages move from 0 to 1.
const MOVED: &str = "[[barrier]]\nname = \"made\"\n\
    [[process]]\nname = \"moved\"\n\
    [[process.region]]\nname = \"buffer\"\nsize = \"64MiB\"\n\
    [[process.group]]\nname = \"maker\"\naffinity = { nodes = \"0\" }\n\
    [[process.group.phase]]\nsteps = [{ access = \"buffer\", write = 1 }, { barrier = \"made\" }]\n\
    [[process.group]]\nname = \"user\"\naffinity = { nodes = \"1\" }\n\
    [[process.group.phase]]\nsteps = [{ barrier = \"made\" }]\n\
    [[process.group.phase]]\ntime = \"8s\"\nsteps = [{ access = \"buffer\", write = 0.5 }]\n";

/// Meanwhile 28 threads fill the memory of node `value` with requests.
const NOISE: &str = "[[policy]]\nname = \"there\"\nmode = \"bind\"\nnodes = \"value\"\n\
    [[process]]\nname = \"noise\"\nthreads = 28\naffinity = { nodes = \"value\" }\n\
    [[process.region]]\nname = \"noise\"\nsize = \"768MiB\"\npolicy = \"there\"\n\
    [[process.phase]]\ntime = \"8s\"\nsteps = [{ access = \"noise\", slice = \"thread\", write = 0.5 }]\n";

/// Meanwhile `value` threads only compute on node 1, where whoever uses the buffer has one thread of a core.
const NEIGHBOUR: &str = "[[process]]\nname = \"neighbour\"\ncount = \"value\"\naffinity = { nodes = \"1\" }\n\
    [[process.phase]]\ntime = \"8s\"\nsteps = [{ compute = \"1ms\" }]\n";

/// What balancing adds to the system time of a program on a machine, in us for each page that moves. (Nothing else
/// differs between the two runs: the noise is bound, so it is not scanned, and all threads end at the same time.)
fn us_per_page(shape: &str, beside: &str, value: &str) -> f64 {
    let m = machine(shape);
    let program = format!("[params]\nvalue = {{ value = 0, about = \"see above\" }}\n{MOVED}{beside}");
    let w = inline(&program, &m, 1, &[("value", value)]);
    let (on, off) = (kernel("6.7"), kernel_set("6.7", &[("system.numa_balancing", "0")]));
    let (on, off) = (run(&m, &w, &on, 1), run(&m, &w, &off, 1));
    let moved = counter(&on, "numa_pages_migrated");
    assert!(moved > 10_000, "{moved} pages have moved");
    1e6 * (scalar(&on, "system_s") - scalar(&off, "system_s")) / moved as f64
}

#[test]
fn pages_leave_a_busy_node_slowly() {
    // The noise costs the same ticks and faults in both; a page is written to memory beside the thread that copies.
    let (from_busy, to_busy) = (us_per_page("2x1x32x1", NOISE, "0"), us_per_page("2x1x32x1", NOISE, "1"));
    assert!(from_busy > to_busy + 0.2, "{from_busy} us from a busy node, {to_busy} us to one");
}

#[test]
fn a_copy_beside_a_working_sibling_has_its_share_of_the_lines() {
    let shape = "2x1x1x2";
    let (alone, beside) = (us_per_page(shape, NEIGHBOUR, "0"), us_per_page(shape, NEIGHBOUR, "1"));
    // Only the copy takes longer, not what the kernel does around it (machines.md sections 4 and 7).
    let longer = machine(shape).costs.copy_4k_remote_ns / 1000.0 * (1.0 / STREAM_SHARE - 1.0);
    let found = beside - alone;
    assert!(
        (0.85 * longer..1.15 * longer).contains(&found),
        "{alone} us alone, {beside} beside: {found}, not {longer}"
    );
}
