//! Vectors of machines.md section 8.4, the table of load and latency, and theory.

use crate::hw::curve::queue_ns;
use crate::hw::machines;
use numalab_kernel::hw::contention::{
    Contention, Flow, PageCopy, Rate, CXL_KNEE, CXL_Q, DRAM_Q, NO_LLC, UTILISATION_CAP,
};
use numalab_model::machine::Machine;

fn solve(machine: &Machine, flows: &[Flow]) -> (Contention, Vec<Rate>) {
    let mut c = Contention::new(machine);
    c.solve(flows, &[]);
    let rates = c.rates().to_vec();
    (c, rates)
}

#[track_caller]
fn near(got: f64, want: f64, relative: f64) {
    assert!((got - want).abs() <= relative * want.abs(), "got {got}, want {want}");
}

/// Zeroing reads every line before it writes it.
fn zeroing(flow: Flow) -> Flow {
    Flow { write: 0.5, ..flow }
}

#[test]
fn table_6_1_load_latency_curve() {
    for (u, want) in [
        (0.25, 1.04),
        (0.5, 1.13),
        (0.6, 1.19),
        (0.7, 1.29),
        (0.8, 1.50),
        (0.85, 1.71),
        (0.9, 2.13),
        (0.95, 3.38),
        (0.96, 4.00),
    ] {
        let got = 1.0 + queue_ns(110.0, DRAM_Q, u, 1.0) / 110.0;
        assert!((got - want).abs() <= 0.0051, "u {u}: {got} {want}");
    }
    assert_eq!(queue_ns(110.0, DRAM_Q, 5.0, 1.0), queue_ns(110.0, DRAM_Q, UTILISATION_CAP, 1.0));
}

#[test]
fn vector_1_one_stream_on_milan() {
    let m = machines::milan();
    let (c, rates) = solve(&m, &[Flow::stream(&m, 0, 0, 1.0)]);
    near(rates[0].gbps, 31.0, 1e-9);
    near(rates[0].latency_ns, 113.0, 0.005);
    near(c.node_utilisation(0), 0.18, 0.01);
    near(c.node_gbps(0), 31.0, 1e-9);
    assert_eq!(c.node_gbps(1), 0.0);
}

#[test]
fn vector_2_milan_saturated() {
    let m = machines::milan();
    let (c, rates) = solve(&m, &[Flow::stream(&m, 0, 0, 64.0)]);
    near(rates[0].gbps, 2.57, 0.001);
    near(c.node_gbps(0), 164.6, 0.001);
    near(c.node_utilisation(0), 0.96, 1e-6);
}

#[test]
fn vector_3_one_stream_on_naples() {
    let m = machines::naples();
    let (c, rates) = solve(&m, &[Flow::stream(&m, 0, 0, 1.0)]);
    near(rates[0].gbps, 27.5, 1e-9);
    near(c.node_utilisation(0), 0.786, 0.001);
    near(rates[0].latency_ns, 140.0, 0.002);
    near(rates[0].latency_ns / 96.0, 1.46, 0.002);
}

#[test]
fn vector_4_eight_streams_on_naples() {
    let m = machines::naples();
    let (c, rates) = solve(&m, &[Flow::stream(&m, 3, 3, 8.0)]);
    near(rates[0].gbps, 4.2, 1e-6);
    near(c.node_gbps(3), 33.6, 1e-6);
}

#[test]
fn vector_5_westmere_reading_and_zeroing() {
    let m = machines::westmere();
    let (c, rates) = solve(&m, &[Flow::stream(&m, 0, 0, 12.0)]);
    near(c.node_gbps(0), 10.1, 0.003);
    near(rates[0].gbps, 0.84, 0.001);
    let (c, _) = solve(&m, &[zeroing(Flow::stream(&m, 0, 0, 12.0))]);
    near(c.node_gbps(0), 8.82, 1e-6);
    near(c.node_gbps(0) / 2.0, 4.41, 1e-6);
    near(c.node_gbps(0) / 2.0 * 1e9 / (1u64 << 30) as f64, 4.11, 0.001);
}

#[test]
fn vector_9_remote_streams_on_naples_end_at_the_link() {
    let m = machines::naples();
    let (c, rates) = solve(&m, &[Flow::stream(&m, 0, 4, 8.0)]);
    near(8.0 * rates[0].gbps, 15.4, 0.003);
    // The link between the two dies 0 follows the 12 links inside the sockets.
    near(c.link_utilisation(12, true), 0.96, 1e-6);
    assert_eq!(c.link_gbps(12, false), 0.0);
    assert!(c.node_utilisation(4) < 0.5);
}

#[test]
fn vector_13_load_latency_of_three_machines() {
    near(110.0 + queue_ns(110.0, DRAM_Q, 0.8, 1.0), 165.0, 1e-9);
    near(96.0 + queue_ns(96.0, DRAM_Q, 0.8, 1.0), 144.0, 1e-9);
    near(214.0 + queue_ns(214.0, CXL_Q, 0.8, CXL_KNEE), 1498.0, 1e-9);
    near(214.0 + queue_ns(214.0, CXL_Q, 0.48, CXL_KNEE), 294.0, 0.001);
    // The solver gives the same: threads with two lines in flight make u = 0.48 by construction.
    let m = machines::cxl();
    let threads = 0.48 * 24.0 / (2.0 * 64.0 / 294.25);
    let flow = Flow { random: false, lines: 2.0, ..Flow::chase(&m, 0, 2, threads) };
    let (c, rates) = solve(&m, &[flow]);
    near(c.node_utilisation(2), 0.48, 0.001);
    near(rates[0].latency_ns, 294.25, 0.001);
}

#[test]
fn cxl_queue_is_full_before_the_device_is() {
    let m = machines::cxl();
    // One thread could have 48 lines over 1498 ns = 2.05 GB/s, and ten demand 20.5 of 24. This is above the knee
    // (0.768) and below saturation, so the queue has its largest length and no limit applies.
    let (c, rates) = solve(&m, &[Flow::stream(&m, 0, 2, 10.0)]);
    near(rates[0].gbps, 48.0 * 64.0 / 1498.0, 1e-6);
    near(c.node_utilisation(2), 10.0 * 48.0 * 64.0 / 1498.0 / 24.0, 1e-6);
    let (c, _) = solve(&m, &[Flow::stream(&m, 0, 2, 40.0)]);
    near(c.node_gbps(2), 0.96 * 24.0, 1e-6);
    // From the other socket at most half of it can arrive.
    let (c, _) = solve(&m, &[Flow::stream(&m, 1, 2, 40.0)]);
    near(c.node_gbps(2), 0.96 * 12.0, 1e-6);
}

#[test]
fn hot_node_local_requesters_win() {
    // 256 threads of both sockets access the memory of node 0.
    let m = machines::milan();
    let flows = [Flow::stream(&m, 0, 0, 128.0), Flow::stream(&m, 1, 0, 128.0)];
    let (c, rates) = solve(&m, &flows);
    near(c.node_gbps(0), 0.96 * 171.5, 1e-6);
    // The shares are in proportion to 1/L0, 200 to 110. The link (0.96 * 85 = 81.6) does not limit 58.4.
    near(rates[0].gbps / rates[1].gbps, 200.0 / 110.0, 1e-6);
    near(128.0 * rates[1].gbps, 0.96 * 171.5 * 110.0 / 310.0, 1e-6);
    assert!(rates[1].latency_ns > rates[0].latency_ns);
}

#[test]
fn a_saturated_link_leaves_the_rest_to_local_threads() {
    let mut m = machines::milan();
    m.links[0].sustained_gbps = 40.0;
    let flows = [Flow::stream(&m, 0, 0, 128.0), Flow::stream(&m, 1, 0, 128.0)];
    let (c, rates) = solve(&m, &flows);
    near(128.0 * rates[1].gbps, 0.96 * 40.0, 1e-6);
    near(c.node_gbps(0), 0.96 * 171.5, 1e-6);
    near(128.0 * rates[0].gbps, 0.96 * (171.5 - 40.0), 1e-6);
}

#[test]
fn two_balanced_nodes_give_twice_one() {
    let m = machines::milan();
    let (one, _) = solve(&m, &[Flow::stream(&m, 0, 0, 32.0), Flow::stream(&m, 1, 0, 32.0)]);
    let (two, _) = solve(&m, &[Flow::stream(&m, 0, 0, 32.0), Flow::stream(&m, 1, 1, 32.0)]);
    near((two.node_gbps(0) + two.node_gbps(1)) / one.node_gbps(0), 2.0, 1e-6);
}

/// designs-2012.md section 0.2: vanilla leaves the memory on one node and zeroes 4.4-4.9 GiB/s, which is 1.1 to 1.2
/// nodes. Converged runs zero 13-16.4 GiB/s on four nodes, and half the threads reach as much.
#[test]
fn westmere_bandwidth_arithmetic_of_2012() {
    const GIB_PER_GB: f64 = 1e9 / (1u64 << 30) as f64;
    let m = machines::westmere();
    let zeroed = |flows: &[Flow]| {
        let (c, _) = solve(&m, flows);
        (0..4).map(|n| c.node_gbps(n)).sum::<f64>() / 2.0 * GIB_PER_GB
    };
    for threads in [6.0, 12.0] {
        let hot: Vec<Flow> = (0..4).map(|src| zeroing(Flow::stream(&m, src, 0, threads))).collect();
        near(zeroed(&hot), 4.11, 0.002);
        let converged: Vec<Flow> = (0..4).map(|n| zeroing(Flow::stream(&m, n, n, threads))).collect();
        let rate = zeroed(&converged);
        near(rate, 16.4, 0.01);
    }
    // A single thread must zero at least 0.68 GiB/s.
    assert!(zeroed(&[zeroing(Flow::stream(&m, 0, 0, 1.0))]) > 0.68);
    // At saturation the share of a remote thread is below that of a local one.
    let hot: Vec<Flow> = (0..4).map(|src| zeroing(Flow::stream(&m, src, 0, 12.0))).collect();
    let (_, rates) = solve(&m, &hot);
    near(rates[1].gbps / rates[0].gbps, 136.0 / 197.0, 1e-6);
}

#[test]
fn parallel_routes_share_the_traffic() {
    let m = machines::x5_8();
    // Sockets 0 and 3 have two common neighbours, 4 and 7; 0 and 2 only one, 1.
    let (c, rates) = solve(&m, &[Flow::stream(&m, 0, 3, 36.0)]);
    near(36.0 * rates[0].gbps, 2.0 * 0.96 * 15.0, 1e-6);
    near(c.node_gbps(3), 28.8, 1e-6);
    let (_, rates) = solve(&m, &[Flow::stream(&m, 0, 2, 36.0)]);
    near(36.0 * rates[0].gbps, 0.96 * 15.0, 1e-6);
}

#[test]
fn two_hop_traffic_loads_two_links() {
    let m = machines::x5_8();
    let (c, _) = solve(&m, &[Flow::stream(&m, 0, 2, 36.0), Flow::stream(&m, 1, 2, 36.0)]);
    let full: Vec<f64> =
        (0..12).flat_map(|l| [c.link_gbps(l, true), c.link_gbps(l, false)]).filter(|gbps| *gbps > 0.0).collect();
    // Link 1 -> 2 is full and carries both flows; 0 -> 1 carries only the two-hop flow.
    assert_eq!(full.len(), 2);
    near(full.iter().copied().fold(0.0, f64::max), 14.4, 1e-6);
    // The idle latencies are those of one hop (220 ns) and two hops (310 ns).
    near(c.rates()[1].gbps / c.rates()[0].gbps, 310.0 / 220.0, 1e-6);
}

#[test]
fn an_llc_port_caps_its_threads() {
    let mut m = machines::milan();
    m.cache.llc_port_gbps = Some(51.2);
    let on = |llc| Flow { llc, ..Flow::stream(&m, 0, 0, 8.0) };
    let (c, rates) = solve(&m, &[on(0), on(1)]);
    // machines.md section 7: 16 threads on two LLCs get at most 102 GB/s of the node's 171.
    near(c.node_gbps(0), 2.0 * 0.96 * 51.2, 1e-6);
    near(rates[0].gbps, rates[1].gbps, 1e-9);
    let free = Flow { llc: NO_LLC, ..on(0) };
    let (c, _) = solve(&m, &[free, free]);
    assert!(c.node_gbps(0) > 150.0);
}

#[test]
fn random_traffic_reaches_six_tenths() {
    let m = machines::naples();
    let (c, _) = solve(&m, &[Flow::random(&m, 0, 0, 64.0)]);
    near(c.node_gbps(0), 0.6 * 0.96 * 35.0, 1e-6);
    near(c.node_utilisation(0), 0.96, 1e-6);
}

#[test]
fn time_outside_memory_slows_a_chase() {
    let m = machines::naples();
    let chase = Flow { extra_ns: 9.0, ..Flow::chase(&m, 0, 0, 1.0) };
    let (_, rates) = solve(&m, &[chase]);
    near(rates[0].latency_ns, 96.0, 1e-9);
    near(64.0 / rates[0].gbps, rates[0].latency_ns + 9.0, 1e-9);
}

/// A single chain never waits for its own read, however slow the memory is and over however many nodes it goes.
#[test]
fn a_lone_chain_has_the_idle_latency() {
    for m in [machines::milan(), machines::naples(), machines::x5_8(), machines::westmere()] {
        for dst in 0..m.node_count() as u32 {
            for threads in [0.01, 0.7, 1.0] {
                let (_, rates) = solve(&m, &[Flow::chase(&m, 0, dst, threads)]);
                near(rates[0].latency_ns, m.latency_ns[0][dst as usize], 1e-9);
            }
        }
        // Half of its reads are local and half remote, but it makes one read at a time.
        let there = m.node_count() as u32 - 1;
        let half = |dst| Flow { kind_threads: 1.0, ..Flow::chase(&m, 0, dst, 0.5) };
        let (c, rates) = solve(&m, &[half(0), half(there)]);
        near(rates[0].latency_ns, m.latency_ns[0][0], 1e-9);
        near(rates[1].latency_ns, m.latency_ns[0][there as usize], 1e-9);
        assert!(c.latency_ns(0, 0) > m.latency_ns[0][0], "somebody else does find it there");
    }
    let mut m = machines::naples();
    m.nodes[0].dram_sustained_gbps = 2.0;
    let (c, rates) = solve(&m, &[Flow::chase(&m, 0, 0, 1.0)]);
    assert!(c.node_utilisation(0) > 0.5);
    near(rates[0].latency_ns, 96.0, 1e-9);
}

/// N chains meet (N-1)/N of their load. Their latency is between the idle one and the published curve, and approaches
/// the curve.
#[test]
fn chains_meet_each_other() {
    let m = machines::naples();
    let mut last = 0.0;
    for n in [1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 24.0, 28.0] {
        let (c, rates) = solve(&m, &[Flow::chase(&m, 0, 0, n)]);
        let u = c.node_utilisation(0);
        let want = 96.0 + queue_ns(96.0, DRAM_Q, u * (n - 1.0) / n, 1.0);
        near(rates[0].latency_ns, want, 1e-4);
        assert!(rates[0].latency_ns >= last && u <= UTILISATION_CAP, "{n} chains: monotone and within the bandwidth");
        last = rates[0].latency_ns;
        // Threads with as many lines in flight, for which the published curve counts the whole load.
        let (_, whole) = solve(&m, &[Flow { lines: 2.0, ..Flow::chase(&m, 0, 0, n / 2.0) }]);
        let gap = whole[0].latency_ns / rates[0].latency_ns - 1.0;
        assert!(gap > 0.0 && gap < 0.5 / n, "{n} chains: {gap}");
    }
    // Far beyond what the node delivers, the chains share its bandwidth.
    let (c, rates) = solve(&m, &[Flow::chase(&m, 0, 0, 500.0)]);
    near(c.node_utilisation(0), 0.96, 1e-6);
    near(rates[0].gbps, 0.96 * 0.6 * 35.0 / 500.0, 1e-6);
}

/// Other threads delay a chain by the published curve, and the more they load the memory the longer.
#[test]
fn a_chain_meets_the_others_whole() {
    let m = machines::milan();
    let mut last = 110.0;
    for threads in [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 16.0] {
        let (c, rates) = solve(&m, &[Flow::chase(&m, 0, 0, 1.0), Flow::stream(&m, 0, 0, threads)]);
        let others = threads * rates[1].gbps / 171.5;
        if c.node_utilisation(0) < 0.95 {
            near(rates[0].latency_ns, 110.0 + queue_ns(110.0, DRAM_Q, others, 1.0), 1e-4);
        }
        assert!(rates[0].latency_ns >= last * (1.0 - 1e-6), "{threads}: {} after {last}", rates[0].latency_ns);
        last = rates[0].latency_ns;
    }
    // Between one line in flight and two the rule changes into the published curve without a step.
    let line = |lines| solve(&m, &[Flow { lines, ..Flow::chase(&m, 0, 0, 40.0) }]).1[0].latency_ns;
    for lines in [1.0, 1.5, 2.0, 2.5] {
        near(line(lines + 1e-6), line(lines), 1e-5);
    }
}

#[test]
fn copies_are_background_load() {
    let m = machines::milan();
    let flows = [Flow::stream(&m, 1, 1, 2.0)];
    let mut c = Contention::new(&m);
    c.solve(&flows, &[]);
    let before = c.rates()[0];
    c.solve(&flows, &[PageCopy { from_node: 0, to_node: 1, gbps: 60.0, clears: false }]);
    let after = c.rates()[0];
    assert!(after.latency_ns > before.latency_ns);
    near(c.node_gbps(0), 60.0, 1e-9);
    near(c.node_utilisation(0), 60.0 / 171.5, 1e-9);
    // The copy is written at the destination, where a byte weighs 4/3, and read over the link by the CPU of the
    // destination.
    near(c.node_utilisation(1), (60.0 / 0.75 + 2.0 * after.gbps) / 171.5, 1e-6);
    near(c.link_gbps(0, false), 60.0, 1e-9);
    assert_eq!(c.link_gbps(0, true), 0.0);
    // Copies beyond the rate of the machine leave threads a fifth of it.
    c.solve(&[Flow::stream(&m, 1, 1, 64.0)], &[PageCopy { from_node: 1, to_node: 1, gbps: 1e4, clears: false }]);
    near(64.0 * c.rates()[0].gbps, 0.2 * 0.96 * 171.5, 1e-6);
    // Demotion: the expander has no CPU, so the CPU of the DRAM node reads and no link is crossed.
    let m = machines::cxl();
    let mut c = Contention::new(&m);
    c.solve(&[], &[PageCopy { from_node: 0, to_node: 2, gbps: 5.0, clears: false }]);
    near(c.node_gbps(2), 5.0, 1e-9);
    assert_eq!(c.link_gbps(0, true) + c.link_gbps(0, false), 0.0);
}

#[test]
fn pages_that_are_cleared_are_written_only() {
    let m = machines::milan();
    let mut c = Contention::new(&m);
    c.solve(&[], &[PageCopy { from_node: 1, to_node: 1, gbps: 30.0, clears: true }]);
    near(c.node_gbps(1), 30.0, 1e-9);
    near(c.node_utilisation(1), 30.0 / 0.75 / 171.5, 1e-9);
    // From the other socket the pages cross the link as lines written.
    c.solve(&[], &[PageCopy { from_node: 0, to_node: 1, gbps: 30.0, clears: true }]);
    near(c.node_gbps(1), 30.0, 1e-9);
    assert_eq!(c.node_gbps(0), 0.0);
    near(c.link_gbps(0, true) + c.link_gbps(0, false), 30.0, 1e-9);
}

#[test]
fn lines_that_random_writers_write_back_are_traffic() {
    let m = machines::milan();
    let reads = Flow::chase(&m, 0, 0, 64.0);
    let writes = Flow { write: 0.5, writebacks: 1.0, ..reads };
    let (c, rates) = solve(&m, &[reads]);
    near(c.node_gbps(0), 64.0 * rates[0].gbps, 1e-9);
    let (c, rates) = solve(&m, &[writes]);
    near(c.node_gbps(0), 2.0 * 64.0 * rates[0].gbps, 1e-9);
    // On the idle machine no thread waits for the write-backs.
    near(solve(&m, &[Flow { threads: 1e-6, ..writes }]).1[0].latency_ns, 110.0, 1e-3);
    // A full node delivers reads with their write-backs: half as many reads, and as many writes.
    let full = |flow: Flow| solve(&m, &[Flow { threads: 4000.0, ..flow }]).0;
    near(full(reads).node_gbps(0), 0.6 * 0.96 * 171.5, 1e-6);
    near(full(writes).node_gbps(0), 0.875 * 0.6 * 0.96 * 171.5, 1e-6);
}

#[test]
fn latency_of_a_pair_follows_its_resources() {
    let m = machines::milan();
    let (c, rates) = solve(&m, &[Flow::chase(&m, 0, 0, 1e-6), Flow::stream(&m, 1, 0, 3.0)]);
    near(c.latency_ns(0, 0), rates[0].latency_ns, 1e-6);
    near(c.latency_factor(0, 0), rates[0].latency_ns / 110.0, 1e-6);
    assert_eq!(c.latency_factor(1, 1), 1.0);
    assert!(c.latency_factor(1, 0) > 1.0);
    // At saturation a claim of one line gets this rate.
    let (c, rates) = solve(&m, &[Flow::stream(&m, 0, 0, 64.0)]);
    near(c.latency_ns(0, 0), 64.0 * 64.0 / rates[0].gbps, 1e-6);
}

#[test]
fn odd_inputs_stay_finite() {
    let m = machines::naples();
    let nothing = Flow { threads: 0.0, ..Flow::stream(&m, 0, 5, 0.0) };
    let negative = Flow { threads: -1.0, ..nothing };
    let endless = Flow { cap_gbps: f64::INFINITY, ..Flow::stream(&m, 1, 1, 1e6) };
    let (c, rates) = solve(&m, &[nothing, negative, endless]);
    assert!(rates.iter().all(|r| r.gbps.is_finite() && r.gbps > 0.0 && r.latency_ns.is_finite()));
    near(c.node_gbps(1), 33.6, 1e-6);
    assert_eq!(c.node_gbps(5), 0.0);
    let (c, rates) = solve(&m, &[]);
    assert!(rates.is_empty());
    assert_eq!(c.node_utilisation(0), 0.0);
}

/// With source snooping a line read sends 8 bytes to each other socket, and each of these answers to the socket of the
/// memory.
#[test]
fn snoops_load_the_links() {
    let mut m = machines::westmere();
    m.cache.source_snoop = true;
    let message = 8.0 / 64.0;
    let between = |c: &Contention, a: usize, b: usize| {
        let (link, forward) = m.routes[a][b][0].hops[0];
        // Traffic of requests from node a to node b, and traffic in the opposite direction.
        (c.link_gbps(link, !forward), c.link_gbps(link, forward))
    };
    let (c, _) = solve(&m, &[Flow::stream(&m, 0, 0, 1.0)]);
    for peer in 1..4 {
        let (out, back) = between(&c, 0, peer);
        near(out, message * c.node_gbps(0), 1e-9);
        near(back, message * c.node_gbps(0), 1e-9);
    }
    assert_eq!(between(&c, 1, 2), (0.0, 0.0), "answers go to the memory's socket");
    // From node 0 to the memory of node 1: the request, snoops to 2 and 3, their answers to 1, and the data.
    let (c, _) = solve(&m, &[Flow::stream(&m, 0, 1, 1.0)]);
    let gbps = c.node_gbps(1);
    near(between(&c, 0, 1).0, message * gbps, 1e-9);
    near(between(&c, 0, 1).1, gbps, 1e-9);
    near(between(&c, 0, 2).0, message * gbps, 1e-9);
    near(between(&c, 1, 3).1, message * gbps, 1e-9);
    assert_eq!(between(&c, 0, 3).1, 0.0);
    let idle = m.latency_ns[0][0];
    let far: Vec<Flow> = (0..4)
        .flat_map(|a| (0..4).map(move |b| (a, b)))
        .filter(|(a, b)| a != b)
        .map(|(a, b)| Flow::stream(&m, a, b, 4.0))
        .collect();
    let (c, _) = solve(&m, &far);
    assert!(c.latency_ns(0, 0) > idle + 2.0, "a local line waits for its snoops on loaded links");
}

/// With a directory in memory a line that another socket writes costs the memory one more write. Nobody waits for that
/// write, and lines that are read, or written by the memory's own socket, cost none.
#[test]
fn a_directory_in_memory_adds_writes_of_other_sockets() {
    let mut m = machines::westmere();
    m.cache.source_snoop = false;
    let few = |write: f64, src: u32| Flow { write, lines: 1.0, ..Flow::stream(&machines::westmere(), src, 0, 1.0) };
    let traffic = |m: &Machine, flow: Flow| {
        let (c, rates) = solve(m, &[flow]);
        (c.node_gbps(0), rates[0].gbps)
    };
    for (write, src) in [(0.0, 1), (0.5, 0), (0.5, 1), (1.0, 1)] {
        m.cache.memory_directory = false;
        let (plain, rate) = traffic(&m, few(write, src));
        m.cache.memory_directory = true;
        let (with, same) = traffic(&m, few(write, src));
        let more = if src == 0 { 0.0 } else { write };
        near(with, plain * (1.0 + more), 1e-3);
        near(same, rate, 1e-3);
    }
    // Where the memory is full, writers of another socket get less.
    let many = |m: &Machine| solve(m, &[Flow { write: 0.5, ..Flow::stream(m, 1, 0, 24.0) }]).1[0].gbps;
    m.links.iter_mut().for_each(|l| l.sustained_gbps = 1e3);
    let with = many(&m);
    m.cache.memory_directory = false;
    near(with, many(&m) / 1.5, 0.02);
}

/// The result of a flow without threads is computed apart from the flows with threads. It is the same to the last bit
/// as with a negligible thread, however the queues change.
#[test]
fn no_thread_and_hardly_one_get_the_same_rate() {
    for machine in [machines::naples(), machines::westmere(), machines::spr_8s()] {
        let n = machine.node_count() as u32;
        let (mut none, mut hardly) = (Contention::new(&machine), Contention::new(&machine));
        for round in 0..12u32 {
            let flows = |least: f64| -> Vec<Flow> {
                let busy =
                    |i: u32| if (i + round).is_multiple_of(3) { f64::from(i * 7 % 40 + round) * 0.4 } else { least };
                let stream = |i: u32| Flow::stream(&machine, i / n, i % n, busy(i));
                (0..2 * n * n).map(|i| Flow { write: 0.25, ..stream(i % (n * n)) }).collect()
            };
            none.solve(&flows(0.0), &[]);
            hardly.solve(&flows(1e-250), &[]);
            assert_eq!(none.rates(), hardly.rates(), "round {round}");
        }
    }
}

/// A solution that equals its start says so, and solving again gives the same.
#[test]
fn a_settled_solution_stays() {
    let machine = machines::naples();
    let mut c = Contention::new(&machine);
    let flows = [Flow::stream(&machine, 0, 1, 5.0), Flow::chase(&machine, 1, 0, 3.0)];
    c.solve(&flows, &[]);
    assert!(!c.is_settled());
    let rounds = (0..50).find(|_| {
        c.solve(&flows, &[]);
        c.is_settled()
    });
    assert!(rounds.is_some());
    let (rates, latency) = (c.rates().to_vec(), c.latency_ns(0, 1));
    c.solve(&flows, &[]);
    assert!(c.is_settled());
    assert_eq!((rates.as_slice(), latency), (c.rates(), c.latency_ns(0, 1)));
}
