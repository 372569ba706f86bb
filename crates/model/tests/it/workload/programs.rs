//! Programs that are known by their sources do what those say (docs/reference/programs.md).

use crate::workload::catalog::{accesses, resolved};
use crate::workload::sums::{bytes_written, each};
use numalab_model::workload::{Bound, Op, PolicyMode, Workload};

const MIB: u64 = 1 << 20;

/// Where the loops of a thread begin and how they go on: (offset, length) of each access to the shared memory.
fn walks(w: &Workload, thread: usize) -> Vec<(u64, u64)> {
    accesses(&w.processes[0].threads[thread].ops)
        .iter()
        .filter(|a| a.span.region == 0)
        .map(|a| (a.span.offset_bytes, a.span.len_bytes))
        .collect()
}

/// tools/perf/bench/numa.c, `do_work`: a loop begins at thread / threads + loop / loops of the memory; it goes forwards
/// if thread + loop is odd, else backwards.
#[test]
fn perf_bench_numa_walks_to_and_fro_from_moving_places() {
    let set = [("instances", "1"), ("threads_each", "4"), ("shared", "64MiB"), ("loops", "2")];
    let w = resolved("perf-numa-mem", "naples-2s", 0, &set);
    // The initial thread, which fills the memory, is the first; it only joins.
    let one = walks(&w, 2);
    assert_eq!(one[..2], [(16 * MIB, 48 * MIB), (0, 16 * MIB)], "thread 1, loop 0: forwards from a quarter");
    let back: Vec<u64> = one[2..].iter().map(|(offset, _)| *offset / MIB).collect();
    let want = [42, 36, 30, 24, 18, 12, 6, 0, 62, 60, 58, 56, 54, 52, 50, 48];
    assert_eq!(back, want, "thread 1, loop 1: backwards from a quarter and a half");
    assert_eq!(walks(&w, 1)[0], (56 * MIB, 8 * MIB), "thread 0, loop 0: backwards from the end");
    for thread in 1..=4 {
        let bytes: u64 = walks(&w, thread).iter().map(|(_, len)| len).sum();
        assert_eq!(bytes, 2 * 64 * MIB, "each loop passes over all of it");
    }
}

/// The threads of all processes begin together (`serialize_startup`).
#[test]
fn perf_bench_numa_begins_when_all_are_there() {
    let set = [("instances", "8"), ("threads_each", "4")];
    let w = resolved("perf-numa-mem", "naples-2s", 0, &set);
    assert_eq!(w.barrier_widths, [32]);
}

#[test]
fn hackbench_sends_each_message_of_a_sender_to_every_receiver_of_its_group() {
    let w = resolved("hackbench", "naples-2s", 0, &[("groups", "2"), ("loops", "10")]);
    let of = |name: &str| w.processes.iter().filter(|p| p.name.starts_with(name)).count();
    assert_eq!((of("receiver"), of("sender")), (40, 40));
    let mut sent = vec![0u128; w.channels as usize];
    for p in w.processes.iter().filter(|p| p.name.starts_with("sender")) {
        each(&p.threads[0].ops, &mut |op, times| {
            if let Op::Signal { channel } = op {
                sent[*channel as usize] += times;
            }
        });
    }
    let receivers: Vec<u128> = sent.into_iter().filter(|n| *n > 0).collect();
    assert_eq!(receivers, [10 * 20; 40], "20 senders with 10 messages for each of 40 receivers");
}

#[test]
fn ranks_meet_their_neighbours_and_nobody_else() {
    let w = resolved("mpi-neighbours", "naples-2s", 0, &[("ranks", "6")]);
    assert_eq!(w.barrier_widths, [2; 5]);
}

/// autonuma-benchmark, numa02.c: with HARD_BIND threads and slices share a node, with INVERSE_BIND they are crosswise.
#[test]
fn bound_forms_of_numa02_place_threads_and_memory() {
    for (name, crosswise) in [("numa02_HARD_BIND", false), ("numa02_INVERSE_BIND", true)] {
        let w = resolved(name, "e7-4807-4s", 0, &[]);
        assert_eq!(bytes_written(&w), 801 << 30, "{name}");
        let places: Vec<Vec<u32>> = w.processes[0].threads[1..]
            .iter()
            .map(|t| {
                let mut nodes = Vec::new();
                each(&t.ops, &mut |op, _| {
                    if let Op::SetPolicy(policy) = op {
                        nodes.extend(policy.nodes.iter().filter(|_| policy.mode == PolicyMode::Bind));
                    }
                });
                nodes
            })
            .collect();
        assert_eq!(places[0], if crosswise { [0, 3] } else { [0, 0] }, "{name}: slice, then thread");
        assert_eq!(places[47], if crosswise { [3, 0] } else { [3, 3] }, "{name}");
    }
}

/// Each JVM collects when its own young generation is full, so JVMs do not stop together.
#[test]
fn jvms_begin_their_cycles_one_after_the_other() {
    let w = resolved("specjbb-multi", "e7-4807-4s", 0, &[("warehouses", "2"), ("measure", "5s"), ("expected", "1")]);
    let first_cycle = |jvm: usize| {
        let warehouse = w.processes[1 + jvm].threads.last().expect("warehouses");
        let mut times = Vec::new();
        each(&warehouse.ops, &mut |op, _| {
            if let Op::LoopStart(Bound::Time { ns }) = op {
                times.push(*ns);
            }
        });
        times[0]
    };
    // The first is in its first whole cycle at once; the others wait a part of one.
    assert_eq!([0, 1, 2, 3].map(first_cycle), [1_000_000_000, 250_000_000, 500_000_000, 750_000_000]);
}
