//! Properties of the contention solver on random flows.

use crate::hw::curve::queue_ns;
use crate::hw::flows::all_to_all;
use crate::hw::machines;
use numalab_kernel::hw::contention::{
    Contention, Flow, Rate, CXL_KNEE, CXL_Q, DRAM_Q, LINE_BYTES, LINK_Q, NO_LLC, UTILISATION_CAP,
};
use numalab_model::machine::{Machine, MemoryKind};
use proptest::prelude::*;

fn machine(index: usize) -> Machine {
    [machines::milan, machines::westmere, machines::x5_8, machines::naples, machines::cxl][index]()
}

/// A flow; its node numbers are to be taken modulo those of the machine.
fn any_flow() -> impl Strategy<Value = Flow> {
    let threads = prop_oneof![Just(0.0), 0.01..4.0, 1.0..64.0];
    let lines = prop_oneof![Just(1.0), 1.0..64.0];
    let cap = prop_oneof![0.05..40.0, Just(f64::INFINITY)];
    (0u32..64, 0u32..64, threads, lines, cap, 0.0..20.0, 0.0..=1.0, any::<bool>()).prop_map(
        |(src_node, dst_node, threads, lines, cap_gbps, extra_ns, write, random)| Flow {
            src_node,
            dst_node,
            llc: NO_LLC,
            threads,
            kind_threads: 0.0,
            lines,
            cap_gbps,
            extra_ns,
            write,
            writebacks: 0.0,
            random,
        },
    )
}

/// Index of a machine, and flows on it.
fn any_case() -> impl Strategy<Value = (usize, Vec<Flow>)> {
    (0usize..5, prop::collection::vec(any_flow(), 1..40)).prop_map(|(index, mut flows)| {
        let m = machine(index);
        let with_cpus: Vec<usize> = m.cpu_nodes().collect();
        for f in &mut flows {
            f.src_node = with_cpus[f.src_node as usize % with_cpus.len()] as u32;
            f.dst_node %= m.node_count() as u32;
        }
        (index, flows)
    })
}

/// Own load that the requests of a flow do not meet, GB/s: the load of one thread if it is a chain.
fn unmet_gbps(f: &Flow, r: &Rate) -> f64 {
    (2.0 - f.lines).clamp(0.0, 1.0) * f.threads / f.threads.max(1.0) * r.gbps
}

/// Latency of a flow by the published queueing terms, at the utilisations that the solver reports.
fn modelled_latency(m: &Machine, c: &Contention, f: &Flow, r: &Rate) -> f64 {
    let (src, dst) = (f.src_node as usize, f.dst_node as usize);
    let node = &m.nodes[dst];
    let nearest = m.cpu_nodes().map(|n| m.latency_ns[n][dst]).fold(f64::INFINITY, f64::min);
    let weight = 1.0 / (1.0 - 0.25 * f.write) / if f.random { 0.6 } else { 1.0 };
    // Where the memory keeps a directory, a line that another socket writes is written twice.
    let directory = m.cache.memory_directory && m.nodes[src].socket != node.socket && node.kind == MemoryKind::Dram;
    let weight = weight * if directory { 1.0 + f.write } else { 1.0 };
    let met = |u: f64, knee: f64, own: f64| u.min(UTILISATION_CAP * knee) - own;
    let own = unmet_gbps(f, r) * weight / node.dram_sustained_gbps;
    let u = c.node_utilisation(dst);
    let mut ns = m.latency_ns[src][dst]
        + match node.kind {
            MemoryKind::Cxl => queue_ns(nearest, CXL_Q, met(u, CXL_KNEE, own), CXL_KNEE),
            _ => queue_ns(m.latency_ns[dst][dst], DRAM_Q, met(u, 1.0, own), 1.0),
        };
    let routes = &m.routes[src][dst];
    let share = |hop: (usize, bool)| routes.iter().filter(|r| r.hops.contains(&hop)).map(|r| r.share).sum::<f64>();
    for route in routes {
        for &(link, forward) in &route.hops {
            let hop_ns = m.links[link].hop_latency_ns;
            let queue = |way: bool, part: f64| {
                let own = unmet_gbps(f, r) * part * share((link, forward)) / m.links[link].sustained_gbps;
                queue_ns(hop_ns, LINK_Q, met(c.link_utilisation(link, way), 1.0, own), 1.0)
            };
            ns += route.share * ((1.0 - f.write) * queue(forward, 1.0 - f.write) + f.write * queue(!forward, f.write));
        }
    }
    ns
}

/// Whether the flow's path has a resource at its limit.
fn passes_saturated(m: &Machine, c: &Contention, f: &Flow) -> bool {
    // Flows without threads are limited from 0.999 of saturation on.
    let full = 0.9989 * UTILISATION_CAP;
    c.node_utilisation(f.dst_node as usize) >= full
        || m.routes[f.src_node as usize][f.dst_node as usize].iter().flat_map(|r| &r.hops).any(|&(l, forward)| {
            (f.write < 1.0 && c.link_utilisation(l, forward) >= full)
                || (f.write > 0.0 && c.link_utilisation(l, !forward) >= full)
        })
}

fn check_model(m: &Machine, c: &Contention, flows: &[Flow], rates: &[Rate]) {
    for n in 0..m.node_count() {
        assert!(c.node_utilisation(n) <= UTILISATION_CAP + 1e-5, "node {n}: {}", c.node_utilisation(n));
        assert!(c.node_gbps(n) <= UTILISATION_CAP * m.nodes[n].dram_sustained_gbps * (1.0 + 1e-5));
    }
    for l in 0..m.links.len() {
        for forward in [true, false] {
            assert!(c.link_utilisation(l, forward) <= UTILISATION_CAP + 1e-5, "link {l}");
        }
    }
    for (f, r) in flows.iter().zip(rates) {
        let ns = modelled_latency(m, c, f, r);
        let demand = f.cap_gbps.min(f.lines * LINE_BYTES / (ns + f.extra_ns));
        if passes_saturated(m, c, f) {
            assert!(r.gbps <= demand * 1.001, "{f:?} {r:?} demand {demand}");
        } else {
            assert!((r.gbps / demand - 1.0).abs() < 1e-3, "{f:?} {r:?} demand {demand}");
            assert!((r.latency_ns / ns - 1.0).abs() < 1e-3, "{f:?} {r:?} latency {ns}");
        }
    }
}

fn total(c: &Contention, m: &Machine) -> f64 {
    (0..m.node_count()).map(|n| c.node_gbps(n)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(300),
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20),
        ..ProptestConfig::default()
    })]

    #[test]
    fn rates_obey_the_model((index, flows) in any_case()) {
        let m = machine(index);
        let mut c = Contention::new(&m);
        c.solve(&flows, &[]);
        let rates = c.rates().to_vec();
        check_model(&m, &c, &flows, &rates);
    }

    /// The solution from another start is the same, and takes few sweeps.
    #[test]
    fn history_does_not_matter((index, flows) in any_case(), scale in 0.0..3.0) {
        let m = machine(index);
        let mut fresh = Contention::new(&m);
        fresh.solve(&flows, &[]);
        let mut warm = Contention::new(&m);
        let other: Vec<Flow> = flows.iter().rev().map(|f| Flow { threads: f.threads * scale, ..*f }).collect();
        warm.solve(&other, &[]);
        warm.solve(&flows, &[]);
        for (a, b) in fresh.rates().iter().zip(warm.rates()) {
            prop_assert!((a.gbps / b.gbps - 1.0).abs() < 0.02, "{a:?} {b:?}");
        }
        prop_assert!(fresh.sweeps() < 100 && warm.sweeps() < 100, "{} {}", fresh.sweeps(), warm.sweeps());
    }

    /// A small change of the input changes the traffic little. The latency of a thread with a negligible demand may
    /// change more where its node just saturates, because it is the first to wait.
    #[test]
    fn small_changes_stay_small((index, flows) in any_case(), which in 0usize..40, factor in 0.99..1.01) {
        let m = machine(index);
        let mut c = Contention::new(&m);
        let traffic = |c: &Contention, flows: &[Flow]| -> Vec<f64> {
            flows.iter().zip(c.rates()).map(|(f, r)| f.threads * r.gbps).collect()
        };
        c.solve(&flows, &[]);
        let before = traffic(&c, &flows);
        let mut changed = flows.clone();
        changed[which % flows.len()].threads *= factor;
        c.solve(&changed, &[]);
        let moved: f64 = before.iter().zip(traffic(&c, &changed)).map(|(a, b)| (a - b).abs()).sum();
        prop_assert!(moved <= 0.03 * before.iter().sum::<f64>() + 1e-9, "{moved} of {before:?}");
    }

    /// More read-only threads of one kind on two nodes never lower the total rate or a latency. With writes both may
    /// fall a little: a flow that is slowed at one memory leaves room on a link for another, and sharing by claims is
    /// fair, but not optimal.
    #[test]
    fn more_threads_never_lower_the_total(
        threads in prop::collection::vec(0.0..64.0f64, 4),
        which in 0usize..4,
        more in 0.0..64.0f64,
        lines in 1.0..64.0f64,
        write in prop_oneof![Just(0.0), 0.0..=1.0f64],
    ) {
        let m = machines::milan();
        let mut flows: Vec<Flow> = (0..4u32)
            .map(|i| Flow { lines, write, ..Flow::stream(&m, i / 2, i % 2, threads[i as usize]) })
            .collect();
        let mut c = Contention::new(&m);
        c.solve(&flows, &[]);
        let (sum, before) = (total(&c, &m), c.rates().to_vec());
        flows[which].threads += more;
        c.solve(&flows, &[]);
        let kept = if write == 0.0 { 1.0 - 1e-5 } else { 0.95 };
        prop_assert!(total(&c, &m) >= sum * kept, "{} after {sum}", total(&c, &m));
        for (a, b) in before.iter().zip(c.rates()).filter(|_| write == 0.0) {
            prop_assert!(b.latency_ns >= a.latency_ns * (1.0 - 1e-4), "{a:?} then {b:?}");
        }
    }
}

#[test]
fn settled_epochs_take_few_sweeps() {
    for (m, threads) in [(machines::milan(), 8.0), (machines::naples(), 4.0), (machines::spr_8s(), 6.0)] {
        let mut flows = all_to_all(&m, threads);
        let mut c = Contention::new(&m);
        c.solve(&flows, &[]);
        let first = c.sweeps();
        let mut worst = 0;
        for epoch in 0..50 {
            for (i, f) in flows.iter_mut().enumerate() {
                f.threads *= 1.0 + 0.01 * (f64::from((epoch * 7 + i as i32 * 13) % 21) / 10.0 - 1.0);
            }
            c.solve(&flows, &[]);
            worst = worst.max(c.sweeps());
        }
        assert!(first <= 40 && worst <= 20, "{}: {first} then up to {worst}", m.name);
    }
}
