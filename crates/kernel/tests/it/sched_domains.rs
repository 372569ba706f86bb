//! Domains, groups and `imb_numa_nr`: vectors 1–17 of kernel-scheduler.md §9.
#![allow(clippy::unwrap_used)]

use numalab_kernel::sched::config::SchedConfig;
use numalab_kernel::sched::domains::{Domains, Flags, Level, NumaTopology};
use numalab_kernel::sched::imbalance::Rule;
use numalab_kernel::sched::rules::Form;
use numalab_kernel::sched::shapes::{table, Shape};

const PLACE: Flags = Flags(Flags::FORK.0 | Flags::EXEC.0 | Flags::WAKE_AFFINE.0);

fn config(rule: &'static str) -> SchedConfig {
    SchedConfig { imbalance: Rule::parse(rule).unwrap(), ..SchedConfig::default() }
}

fn with_rule(shape: &Shape, rule: &'static str) -> Domains {
    Domains::build(&shape.machine("m"), &config(rule)).unwrap()
}

fn build(shape: &Shape) -> Domains {
    with_rule(shape, "imb_6_0")
}

fn numa_thresholds(d: &Domains, cpu: u32) -> Vec<u32> {
    d.tower(cpu).iter().filter(|d| d.flags.has(Flags::NUMA)).map(|d| d.imb_numa_nr).collect()
}

/// `imb_numa_nr` of the NUMA domains of CPU 0, for V3, K518 and K60.
fn thresholds(shape: &Shape) -> [Vec<u32>; 3] {
    ["imb_v3", "imb_5_18", "imb_6_0"].map(|rule| numa_thresholds(&with_rule(shape, rule), 0))
}

fn weights(d: &Domains, cpu: u32) -> Vec<u32> {
    d.tower(cpu).iter().map(|d| d.weight).collect()
}

fn group_counts(d: &Domains, cpu: u32) -> Vec<usize> {
    d.tower(cpu).iter().map(|d| d.groups.len()).collect()
}

fn nodes_of(d: &Domains, cpus: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut nodes: Vec<u32> = cpus.map(|c| d.node_of(c)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Nodes of each group of a domain, in ring order.
fn group_nodes(d: &Domains, cpu: u32, domain: usize) -> Vec<Vec<u32>> {
    d.tower(cpu)[domain].groups.iter().map(|g| nodes_of(d, d.group(*g).span.iter())).collect()
}

fn span_nodes(d: &Domains, cpu: u32, domain: usize) -> Vec<u32> {
    nodes_of(d, d.tower(cpu)[domain].span.iter())
}

fn rome() -> Shape {
    Shape { llcs_per_node: 16, cpus_per_llc: 8, ..Shape::t1() }
}

fn line(cpus: usize) -> Shape {
    let far = |a: usize, b: usize| 10 * (1 + a.abs_diff(b)) as u8;
    Shape { distance: table(4, far), ..Shape::flat(4, cpus, 1, 20) }
}

#[test]
fn v01_t1() {
    assert_eq!(thresholds(&Shape::t1()), [vec![1], vec![8], vec![8]]);
}

#[test]
fn v02_t2() {
    assert_eq!(thresholds(&Shape::t2()), [vec![10], vec![10], vec![5]]);
}

#[test]
fn v03_t3() {
    assert_eq!(thresholds(&Shape::t3()), [vec![3], vec![14], vec![7]]);
}

#[test]
fn v04_t3b() {
    assert_eq!(thresholds(&Shape::t3b()), [vec![3, 3], vec![14, 28], vec![7, 14]]);
}

#[test]
fn v05_t4() {
    assert_eq!(thresholds(&Shape::t4()), [vec![1, 1], vec![2, 4], vec![2, 4]]);
}

#[test]
fn v06_t5() {
    assert_eq!(thresholds(&Shape::t5()), [vec![1], vec![2], vec![2]]);
}

#[test]
fn v07_rome() {
    assert_eq!(thresholds(&rome()), [vec![1], vec![16], vec![16]]);
}

#[test]
fn v08_tiny_nodes_have_no_minimum_in_5_18() {
    assert_eq!(thresholds(&Shape::flat(2, 2, 1, 20)), [vec![1], vec![0], vec![1]]);
}

#[test]
fn v09_memory_only_node_counts_for_v3_only() {
    let shape = Shape { memory_only_nodes: 1, distance: table(3, |_, _| 21), ..Shape::t2() };
    assert_eq!(thresholds(&shape), [vec![6], vec![10], vec![5]]);
}

#[test]
fn v10_t5u_has_a_value_on_pkg_and_no_numa_domain() {
    for (rule, want) in [("imb_v3", 1), ("imb_5_18", 4), ("imb_6_0", 4)] {
        let d = with_rule(&Shape::t5u(), rule);
        let top = d.tower(0).last().unwrap();
        assert_eq!((top.level, top.imb_numa_nr), (Level::Pkg, want), "{rule}");
        assert!(d.sd_numa(0).is_none());
    }
}

/// max(2, ⌊λ²/φ⌋/4), times the span of a domain by that of the node.
#[test]
fn v4_scales_by_the_node() {
    let v4 = |shape: &Shape| numa_thresholds(&with_rule(shape, "imb_v4"), 0);
    assert_eq!(v4(&Shape::t1()), [4], "Zen 3: ⌊256/128⌋/4 = 0, so 2, times 256/128");
    assert_eq!(v4(&rome()), [4], "⌊64/128⌋ = 0, so 2");
    assert_eq!(v4(&Shape::t4()), [8, 16], "four nodes a socket: 2·128/32 and 2·256/32");
    assert_eq!(v4(&Shape::t2()), [20], "one cache a node: 40/4 = 10, times 80/40");
    assert_eq!(v4(&Shape::t3b()), [56, 112], "56/4 = 14, times 4 and 8");
    // POWER8 of 8 nodes with 32 CPUs, four caches of 8 in each: ⌊64/32⌋/4 = 0, so 2, times 256/32.
    let power8 = Shape { llcs_per_node: 4, cpus_per_llc: 8, ..Shape::flat(8, 32, 8, 40) };
    assert_eq!(v4(&power8), [16]);
    assert_eq!(thresholds(&power8), [vec![1], vec![4], vec![4]]);
}

#[test]
fn worked_numbers_of_section_5_1() {
    let near = |a: usize, b: usize| if a / 4 == b / 4 { 16 } else { 32 };
    let naples = Shape { cpus_per_llc: 8, distance: table(8, near), ..Shape::t4() };
    assert_eq!(thresholds(&naples), [vec![1, 1], vec![2, 4], vec![2, 4]]);
    let near = |a: usize, b: usize| if a / 2 == b / 2 { 12 } else { 32 };
    let nps2 = Shape { sockets: 2, nodes_per_socket: 2, llcs_per_node: 4, distance: table(4, near), ..Shape::t1() };
    assert_eq!(thresholds(&nps2), [vec![1, 1], vec![4, 8], vec![4, 8]]);
    assert_eq!(thresholds(&Shape::flat(2, 56, 2, 21)), [vec![14], vec![14], vec![7]]);
    assert_eq!(thresholds(&Shape::flat(2, 96, 2, 21)), [vec![24], vec![24], vec![12]]);
    assert_eq!(thresholds(&Shape::flat(4, 48, 2, 21)), [vec![6], vec![12], vec![6]]);
    assert_eq!(thresholds(&Shape::flat(2, 8, 2, 20)), [vec![2], vec![2], vec![1]]);
    // Node 2 is at 30 from a pair that is at 20 from each other: its redundant NUMA level still counts as the first
    // (3·base).
    let far = |a: usize, b: usize| if a < 2 && b < 2 { 20 } else { 30 };
    let d = build(&Shape { distance: table(3, far), ..Shape::flat(3, 16, 2, 20) });
    assert_eq!(numa_thresholds(&d, 32), [6]);
    assert_eq!(numa_thresholds(&d, 0), [2, 2]);
}

#[test]
fn v11_t1_tower() {
    let d = build(&Shape::t1());
    for cpu in [0, 1, 17, 130, 255] {
        let tower = d.tower(cpu);
        assert_eq!(weights(&d, cpu), [2, 16, 128, 256]);
        assert_eq!(tower.iter().map(|d| d.interval_ms).collect::<Vec<_>>(), [2, 16, 128, 256]);
        assert_eq!(tower.iter().map(|d| d.cache_nice_tries).collect::<Vec<_>>(), [0, 1, 1, 2]);
        assert_eq!(tower.iter().map(|d| d.imbalance_pct).collect::<Vec<_>>(), [110, 117, 117, 117]);
        let levels: Vec<Level> = tower.iter().map(|d| d.level).collect();
        assert_eq!(levels, [Level::Smt, Level::Mc, Level::Pkg, Level::Numa(1)]);
        assert!(tower[3].flags.has(PLACE));
        assert_eq!(group_counts(&d, cpu), [2, 8, 8, 2]);
    }
    assert_eq!((d.cache(d.cache_of(20)).size, d.cache_count()), (16, 16));
}

#[test]
fn v12_t1_with_the_generic_limit_keeps_only_newidle() {
    let d = build(&Shape { node_reclaim_distance: 30, ..Shape::t1() });
    let numa = d.tower(0)[3].flags;
    assert!(numa.has(Flags::NEWIDLE.with(Flags::SERIALIZE)));
    assert!(!numa.any(PLACE));
}

#[test]
fn v13_t2_tower() {
    let d = build(&Shape::t2());
    assert_eq!(weights(&d, 0), [2, 40, 80]);
    assert_eq!(group_counts(&d, 0), [2, 20, 2]);
    assert_eq!(d.tower(0)[1].level, Level::Mc);
    assert!(d.tower(0)[1].flags.has(Flags::SHARE_LLC));
    assert_eq!(d.cache(d.cache_of(0)).size, 40);
}

#[test]
fn v14_t4_tower() {
    let d = build(&Shape::t4());
    assert_eq!(weights(&d, 0), [2, 16, 32, 128, 256]);
    assert_eq!(group_counts(&d, 0), [2, 8, 2, 4, 2]);
    let sibling: Vec<bool> = d.tower(0).iter().map(|d| d.flags.has(Flags::PREFER_SIBLING)).collect();
    assert_eq!(sibling, [true, true, true, false, false]);
    assert_eq!(d.tower(0)[2].level, Level::Node);
}

#[test]
fn v15_t5_and_t5u_towers() {
    assert_eq!(weights(&build(&Shape::t5()), 0), [2, 8, 16, 32]);
    let u = build(&Shape::t5u());
    assert_eq!(weights(&u, 0), [2, 8, 32]);
    assert_eq!(group_counts(&u, 0), [2, 4, 4]);
    assert_eq!(u.tower(0)[2].level, Level::Pkg);
}

#[test]
fn v16_four_nodes_in_a_line() {
    let d = build(&line(4));
    // Domain 0 is the cache, which is also the node; the NUMA levels follow.
    let numa =
        |node: u32| -> Vec<Vec<u32>> { (1..d.tower(node * 4).len()).map(|i| span_nodes(&d, node * 4, i)).collect() };
    assert_eq!(numa(0), [vec![0, 1], vec![0, 1, 2], vec![0, 1, 2, 3]]);
    assert_eq!(numa(1), [vec![0, 1, 2], vec![0, 1, 2, 3]]);
    assert_eq!(numa(2), [vec![1, 2, 3], vec![0, 1, 2, 3]]);
    assert_eq!(numa(3), [vec![2, 3], vec![1, 2, 3], vec![0, 1, 2, 3]]);
    assert_eq!(group_nodes(&d, 0, 1), [vec![0], vec![1]]);
    assert_eq!(group_nodes(&d, 0, 2), [vec![0, 1], vec![2]]);
    assert_eq!(group_nodes(&d, 0, 3), [vec![0, 1, 2], vec![1, 2, 3]]);
    assert_eq!(group_nodes(&d, 4, 1), [vec![1], vec![2], vec![0]]);
    assert_eq!(group_nodes(&d, 4, 2), [vec![0, 1, 2], vec![2, 3]]);
    assert_eq!(group_nodes(&d, 12, 3), [vec![1, 2, 3], vec![0, 1, 2]]);
    for cpu in [0, 4, 8, 12] {
        for domain in d.tower(cpu) {
            let far = domain.level == Level::Numa(3);
            assert_eq!(domain.flags.has(PLACE), !far, "{:?} of CPU {cpu}", domain.level);
        }
    }
    assert_eq!(d.class(), NumaTopology::GluelessMesh);
    let small = build(&line(2));
    assert_eq!(numa_thresholds(&small, 0), [1, 1, 2]);
    assert_eq!(numa_thresholds(&small, 2), [1, 1]);
    assert_eq!(numa_thresholds(&small, 4), [1, 1]);
    assert_eq!(numa_thresholds(&small, 6), [1, 1, 2]);
}

#[test]
fn v16_cube() {
    let d = build(&Shape::t3b());
    assert_eq!(weights(&d, 0), [2, 56, 224, 448]);
    assert_eq!(group_nodes(&d, 0, 2), [vec![0], vec![1], vec![2], vec![4]]);
    assert_eq!(group_nodes(&d, 0, 3), [vec![0, 1, 2, 4], vec![1, 2, 3, 7], vec![1, 4, 5, 7], vec![2, 4, 6, 7]]);
    assert!(!d.tower(0)[3].flags.any(PLACE));
    assert_eq!(group_nodes(&d, 7 * 56, 3), [vec![3, 5, 6, 7], vec![0, 1, 2, 4]]);
}

#[test]
fn v17_two_distances_are_direct() {
    assert_eq!(build(&Shape::flat(2, 4, 1, 20)).class(), NumaTopology::Direct);
}

#[test]
fn towers_nest_and_own_groups_come_first() {
    for shape in [Shape::t1(), Shape::t2(), Shape::t3b(), Shape::t4(), Shape::t5(), Shape::t5u(), line(3), rome()] {
        let d = build(&shape);
        for cpu in 0..d.cpus() as u32 {
            let tower = d.tower(cpu);
            for pair in tower.windows(2) {
                assert!(pair[0].span.is_subset(&pair[1].span));
            }
            for domain in tower {
                assert!(d.group(domain.groups[0]).span.contains(cpu));
                let inside = domain.groups.iter().all(|g| d.group(*g).span.is_subset(&domain.span));
                assert!(inside, "a group reaches beyond its domain");
            }
            assert_eq!(tower.last().unwrap().weight as usize, d.cpus());
        }
    }
}

/// Node 0 is at 20 from node 1, which is at 30 from node 0: the towers of node 0 end one level earlier.
#[test]
fn distances_that_differ_by_direction_leave_cpus_without_a_group() {
    let far = |a: usize, _: usize| if a == 0 { 20 } else { 30 };
    let d = build(&Shape { distance: table(2, far), ..Shape::flat(2, 2, 1, 20) });
    assert_eq!((weights(&d, 0), group_counts(&d, 0)), (vec![2, 4], vec![2, 2]));
    assert_eq!(group_nodes(&d, 0, 1), [vec![0], vec![1]]);
    // A domain of 30 keeps WAKE_AFFINE, so it stays, although node 0 is in none of its groups.
    assert_eq!((weights(&d, 2), group_counts(&d, 2)), (vec![2, 4], vec![2, 1]));
    assert_eq!((group_nodes(&d, 2, 1), span_nodes(&d, 2, 1)), (vec![vec![1]], vec![0, 1]));
    // At 31 it has no flag left that works with one group.
    let far = |a: usize, _: usize| if a == 0 { 20 } else { 31 };
    let d = build(&Shape { distance: table(2, far), ..Shape::flat(2, 2, 1, 20) });
    assert_eq!(weights(&d, 2), [2]);
}

/// Rows as sub-NUMA clusters report them: the way to a cluster of the other socket differs from the way back.
#[test]
fn sub_numa_clusters_with_different_ways_there_and_back() {
    let distance = [[10, 12, 21, 24], [12, 10, 22, 21], [23, 21, 10, 12], [21, 24, 12, 10]].map(Vec::from).to_vec();
    let d = build(&Shape { sockets: 2, nodes_per_socket: 2, distance, ..Shape::flat(2, 2, 1, 20) });
    // Levels of 12, 21, 22, 23 and 24. Node 0 reaches node 2 at 21 and node 3 at 24.
    assert_eq!((span_nodes(&d, 0, 1), span_nodes(&d, 0, 2)), (vec![0, 1], vec![0, 1, 2]));
    assert_eq!(
        group_nodes(&d, 0, 2),
        [vec![0, 1], vec![2]],
        "the child of node 2 reaches beyond, its own child does not"
    );
    assert_eq!(d.tower(0).last().unwrap().weight, 8);
    // Node 1 reaches all within 22; a level of 23 or 24 would be the same.
    assert_eq!(weights(&d, 2), [2, 4, 6, 8]);
}

#[test]
fn any_distances_make_towers_that_nest() {
    // A multiplicative generator: the tables are arbitrary, and the same in every run.
    let mut seed = 1_u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as u8
    };
    for round in 0..300 {
        let nodes = 2 + round % 7;
        let choices = 2 + usize::from(next() % 12);
        let distance = table(nodes, |_, _| 0);
        let distance: Vec<Vec<u8>> = distance
            .iter()
            .map(|r| r.iter().map(|d| if *d == 10 { 10 } else { 11 + 17 * (next() % choices as u8) }).collect())
            .collect();
        let d = build(&Shape { distance: distance.clone(), ..Shape::flat(nodes, 2, 1, 20) });
        for cpu in 0..d.cpus() as u32 {
            let tower = d.tower(cpu);
            assert!(tower.windows(2).all(|p| p[0].span.is_subset(&p[1].span)), "{distance:?}");
            for domain in tower {
                let groups: Vec<_> = domain.groups.iter().map(|g| d.group(*g)).collect();
                assert!(groups[0].span.contains(cpu), "{distance:?}");
                assert!(groups.iter().all(|g| g.span.is_subset(&domain.span)), "{distance:?}");
                assert!(groups.iter().all(|g| g.span.contains(g.balance_cpu)), "{distance:?}");
            }
        }
    }
}

#[test]
fn describe_prints_the_tower() {
    let text = build(&Shape::t2()).describe(41);
    let parts = [
        "cpu41/domain0",
        "SMT",
        "40-79 (40 CPUs)",
        "{40-41} {42-43}",
        "imb_numa_nr       5",
        "SD_NUMA",
        "min_interval      80\n",
    ];
    for part in parts {
        assert!(text.contains(part), "{part} not in\n{text}");
    }
}

#[test]
fn bad_distances_are_refused_with_what_was_expected() {
    let bad = |distance: Vec<Vec<u8>>| {
        let shape = Shape { distance, ..Shape::flat(3, 2, 1, 20) };
        Domains::build(&shape.machine("m"), &config("imb_6_0")).unwrap_err().to_string()
    };
    let mut low = table(3, |_, _| 20);
    low[0][2] = 9;
    assert!(bad(low).contains("from node 0 to node 2 is 9; expected 10"));
    let mut self_far = table(3, |_, _| 20);
    self_far[1][1] = 30;
    assert!(bad(self_far).contains("nearer to node 1"));
    assert!(bad(vec![vec![10, 20], vec![20, 10]]).contains("not square; expected 3 rows"));
}

#[test]
fn group_flags_after_the_removal_of_a_level() {
    // Node 2 is at 30 from a pair that is at 20 from each other: its NUMA level of 20 spans only itself and is removed.
    let far = |a: usize, b: usize| if a < 2 && b < 2 { 20 } else { 30 };
    let shape = Shape { distance: table(3, far), ..Shape::flat(3, 8, 2, 20) };
    for (form, own) in [("v61", false), ("v612", true)] {
        let config = SchedConfig { form: Form::parse(form).unwrap(), ..config("imb_6_0") };
        let d = Domains::build(&shape.machine("m"), &config).unwrap();
        let top = d.tower(16).last().unwrap();
        assert_eq!((d.tower(16).len(), top.groups.len()), (3, 2));
        let prefers = |g: usize| d.group(top.groups[g]).flags.has(Flags::PREFER_SIBLING);
        assert_eq!((prefers(0), prefers(1)), (own, false), "{form}");
        assert!(d.tower(16)[1].flags.has(Flags::PREFER_SIBLING), "{form}: the child still says so");
    }
}
