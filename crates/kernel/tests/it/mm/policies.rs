//! Table 16.3 and vectors 17 to 20: ladders by memory policy.

use crate::mm::setup::{base_fault, naples, put, small_naples, small_page, thp, Faulting, State};
use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::alloc::{AllocError, Constraint};
use numalab_kernel::mm::policy::{all_nodes, MemPolicy, PolicyMode};
use numalab_kernel::mm::reclaim::NoAnonReclaim;
use numalab_kernel::mm::thp::{HugeRules, Locality};
use numalab_kernel::mm::{Gfp, PageClass, PhysicalMemory, Work};

fn policy(mode: PolicyMode, nodes: &[usize]) -> MemPolicy {
    MemPolicy::new(mode, NodeMask::of(nodes.iter().copied()), all_nodes()).unwrap()
}

/// A machine with `nodes` in this state and the other nodes untouched.
fn machine(rule: Locality, state: State, nodes: &[usize]) -> PhysicalMemory {
    let mut m = small_naples(&[&format!("thp.locality={}", rule.word())]);
    nodes.iter().for_each(|n| put(&mut m, *n, state));
    m
}

/// Result of a fault from node 0 when the nodes in `bad` cannot give a huge page, because compaction fails there.
fn lands(rule: Locality, p: &MemPolicy, bad: &[usize]) -> (bool, usize) {
    let mut m = machine(rule, State::X, bad);
    Faulting::new(rule, Gfp::TRANSHUGE).policy(p).run(&mut m).unwrap()
}

const RULES: [Locality; 3] = [Locality::TwoStep, Locality::ThisNode, Locality::Relaxed];

#[test]
fn default_and_local() {
    for p in [MemPolicy::DEFAULT, policy(PolicyMode::Local, &[])] {
        assert_eq!(RULES.map(|r| lands(r, &p, &[])), [thp(0); 3]);
        assert_eq!(RULES.map(|r| lands(r, &p, &[0])), [thp(1), small_page(0), thp(1)]);
    }
}

#[test]
fn preferred_and_vector_19() {
    let p = policy(PolicyMode::Preferred, &[3]);
    assert_eq!(RULES.map(|r| lands(r, &p, &[])), [thp(3); 3]);
    // The fallback order of node 3 continues with node 0.
    assert_eq!(RULES.map(|r| lands(r, &p, &[3])), [thp(0), small_page(3), thp(0)]);
    assert_eq!(RULES.map(|r| lands(r, &p, &[3, 0, 1])), [thp(2), small_page(3), thp(2)]);
}

#[test]
fn preferred_many_and_vector_20() {
    let p = policy(PolicyMode::PreferredMany, &[1, 2]);
    assert_eq!(RULES.map(|r| lands(r, &p, &[])), [thp(1); 3]);
    assert_eq!(RULES.map(|r| lands(r, &p, &[1])), [thp(2); 3]);
    // The second pass starts at the node of the CPU; the first pass did not compact.
    assert_eq!(RULES.map(|r| lands(r, &p, &[1, 2])), [thp(0); 3]);
    let mut m = machine(Locality::TwoStep, State::C, &[1, 2]);
    let result = Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE).policy(&p).run(&mut m);
    assert_eq!((result, m.events.compact_stall), (Ok(thp(0)), 0));
}

#[test]
fn bind_with_the_local_node_and_vector_18() {
    let p = policy(PolicyMode::Bind, &[0, 1]);
    assert_eq!(RULES.map(|r| lands(r, &p, &[])), [thp(0); 3]);
    assert_eq!(RULES.map(|r| lands(r, &p, &[0])), [thp(1), small_page(0), thp(1)]);
    assert_eq!(RULES.map(|r| lands(r, &p, &[0, 1])), [small_page(0); 3], "never outside the mask");
    let mut m = machine(Locality::Relaxed, State::C, &[0]);
    let relaxed = Faulting::new(Locality::Relaxed, Gfp::TRANSHUGE).policy(&p).run(&mut m);
    assert_eq!(relaxed, Ok(thp(1)), "a plain walk over the mask");
}

#[test]
fn bind_without_the_local_node_and_vector_17() {
    let p = policy(PolicyMode::Bind, &[1]);
    for rule in RULES {
        let mut m = machine(rule, State::E, &[]);
        assert_eq!(Faulting::new(rule, Gfp::TRANSHUGE).policy(&p).run(&mut m), Ok(thp(1)), "{rule:?}");
        assert_eq!(m.node_counters(1).numa_hit, 1, "inside the mask is a hit");
    }
    // With exhausted memory the base page does not go to node 0.
    let mut m = small_naples(&[]);
    m.cache_fill(1, u64::MAX, PageClass::FileMapped);
    let policy_nodes = p.policy_nodes(0, 0);
    let mut base = || base_fault(&mut m, 0, &policy_nodes, &mut NoAnonReclaim, &mut Work::default());
    let last = loop {
        match base() {
            Ok(got) => assert_eq!(got.node, 1),
            Err(e) => break e,
        }
    };
    assert_eq!(last, AllocError::Oom(Constraint::Mempolicy));
    assert_eq!(m.used(0), 0);
}

#[test]
fn interleave_is_not_strict() {
    let p = policy(PolicyMode::Interleave, &[2, 5]);
    assert_eq!(RULES.map(|r| lands(r, &p, &[])), [thp(2); 3]);
    assert_eq!(RULES.map(|r| lands(r, &p, &[2])), [thp(3); 3], "the chosen node's own fallback list");
    let mut m = machine(Locality::TwoStep, State::C, &[2]);
    let result = Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE).policy(&p).run(&mut m);
    assert_eq!((result, m.events.compact_stall), (Ok(thp(3)), 0), "no local-only step");
    let mut m = machine(Locality::TwoStep, State::E, &[]);
    Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE).policy(&p).run(&mut m).unwrap();
    assert_eq!(m.node_counters(2).numa_interleave, 1);
}

#[test]
fn weighted_interleave_chooses_by_weight() {
    let p = policy(PolicyMode::WeightedInterleave, &[1, 4]).with_weights(&[2, 1]);
    let mut m = naples(&[]);
    let nodes: Vec<usize> = (0..6)
        .map(|ilx| {
            base_fault(&mut m, 0, &p.policy_nodes(0, ilx), &mut NoAnonReclaim, &mut Work::default()).unwrap().node
        })
        .collect();
    assert_eq!(nodes, [1, 1, 4, 1, 1, 4]);
}

#[test]
fn without_direct_reclaim_only_what_is_free_counts() {
    let light = |p: &MemPolicy, bad: &[usize]| {
        let mut m = machine(Locality::TwoStep, State::C, bad);
        let result = Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE_LIGHT).policy(p).run(&mut m).unwrap();
        assert_eq!(m.events.compact_stall, 0);
        result
    };
    assert_eq!(light(&MemPolicy::DEFAULT, &[0]), small_page(0), "local-only, then base pages");
    assert_eq!(light(&policy(PolicyMode::Preferred, &[3]), &[3]), small_page(3));
    assert_eq!(light(&policy(PolicyMode::PreferredMany, &[1]), &[1]), thp(0));
    assert_eq!(light(&policy(PolicyMode::Interleave, &[2]), &[2]), thp(3));
    assert_eq!(light(&policy(PolicyMode::Bind, &[1, 2]), &[1]), thp(2), "the CPU's node is not in the mask");
}

#[test]
fn cpusets_limit_the_walk() {
    let mut m = small_naples(&[]);
    let mems = NodeMask::of([4, 5]);
    let site = |policy_nodes| numalab_kernel::mm::alloc::AllocSite { here: 0, policy_nodes, mems };
    let local = site(MemPolicy::DEFAULT.policy_nodes(0, 0));
    let got = m.alloc_anon(Gfp::HIGHUSER_MOVABLE, false, &local, &mut NoAnonReclaim, &mut Work::default());
    assert_eq!(got.map(|g| g.node), Ok(4));
    for node in [4, 5] {
        m.cache_fill(node, u64::MAX, PageClass::FileMapped);
    }
    let last = loop {
        if let Err(e) = m.alloc_anon(Gfp::HIGHUSER_MOVABLE, false, &local, &mut NoAnonReclaim, &mut Work::default()) {
            break e;
        }
    };
    assert_eq!(last, AllocError::Oom(Constraint::Cpuset));
}

#[test]
fn a_policy_for_huge_pages_of_their_own() {
    let bind = policy(PolicyMode::Bind, &[0]);
    let many = policy(PolicyMode::PreferredMany, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let local = policy(PolicyMode::Local, &[]);
    let run = |huge: &MemPolicy, rules: HugeRules, gfp, local_state| {
        let mut m = machine(Locality::MpolHuge, local_state, &[0]);
        let f = Faulting { huge: Some((huge, rules)), ..Faulting::new(Locality::MpolHuge, gfp) };
        let result = f.run(&mut m).unwrap();
        (result, m.events.allocstall)
    };
    let plain = HugeRules::default();
    let strict = HugeRules { strict: true, noretry: false };
    // Bound huge pages fall back to base pages under the ordinary policy, without the OOM killer.
    assert_eq!(run(&bind, plain, Gfp::TRANSHUGE, State::Stuck).0, small_page(1));
    assert_eq!(run(&many, plain, Gfp::TRANSHUGE_LIGHT, State::C).0, thp(1), "remote huge pages allowed");
    assert_eq!(run(&local, strict, Gfp::TRANSHUGE, State::X), (small_page(0), 1), "thp_thisnode");
    let noretry = HugeRules { strict: true, noretry: true };
    let (result, stalls) = run(&local, noretry, Gfp::TRANSHUGE, State::S);
    assert_eq!((result, stalls), (small_page(1), 0), "thp_thisnode without its reclaim");
    let (result, stalls) = run(&local, strict, Gfp::TRANSHUGE, State::S);
    assert_eq!((result.1, stalls), (0, 1), "thp_thisnode with it");
    let mut m = machine(Locality::MpolHuge, State::C, &[0]);
    assert_eq!(Faulting::new(Locality::MpolHuge, Gfp::TRANSHUGE).run(&mut m), Ok(thp(0)), "none set: as two-step");
}

#[test]
fn span_is_limited_by_class_and_policy() {
    let span = |max, bad: &[usize], p: &MemPolicy| {
        let mut m = machine(Locality::PrctlSpan, State::X, bad);
        let f =
            Faulting { span: true, span_max_class: max, ..Faulting::new(Locality::PrctlSpan, Gfp::TRANSHUGE_LIGHT) };
        f.policy(p).run(&mut m).unwrap()
    };
    let socket = [0, 1, 2, 3];
    assert_eq!(span(255, &socket, &MemPolicy::DEFAULT), thp(4));
    assert_eq!(span(1, &socket, &MemPolicy::DEFAULT), small_page(0));
    assert_eq!(span(255, &socket, &policy(PolicyMode::Bind, &[0, 1])), small_page(0));
    let mut m = machine(Locality::PrctlSpan, State::X, &socket);
    let off = Faulting::new(Locality::PrctlSpan, Gfp::TRANSHUGE_LIGHT);
    assert_eq!(off.run(&mut m), Ok(small_page(0)), "processes without the mode stay local");
}
