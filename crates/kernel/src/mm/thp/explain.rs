//! The attempts of a page fault as a ladder: `D0 THP | D0 4k | D1 THP | ...` with latencies.
//!
//! The steps follow from the attempts of faults ([`Locality::attempt`]) and the rules of the slow path.

use super::latency::AccessLatency;
use super::settings::fault_gfp;
use crate::mm::alloc::gfp::Gfp;
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use crate::mm::config::MmConfig;
use crate::mm::policy::mempolicy::MemPolicy;
use crate::mm::policy::policy_nodes::PolicyNodes;
use crate::mm::thp::locality::parts::{Attempt, FaultContext, HugeRules};
use crate::mm::thp::locality::Locality;
use crate::mm::zone::zonelist::{fallback_orders, NodeShape};
use numalab_base::node_mask::NodeMask;
use numalab_model::machine::Machine;

/// How a step gets its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A page that is free above the low watermark.
    Free,
    /// A page that is free above the min watermark.
    Min,
    /// Asynchronous compaction.
    CompactAsync,
    /// Light synchronous compaction.
    Compact,
    /// One round of reclaim, whatever the result of compaction was.
    ReclaimOnce,
    /// One round of reclaim, unless compaction was deferred.
    ReclaimUnlessDeferred,
    /// One round of reclaim, if compaction ran and failed.
    ReclaimAfterFailure,
    /// Reclaim until there is a page.
    Reclaim,
}

impl Effort {
    /// The words of the ladder.
    pub fn words(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Min => "min",
            Self::CompactAsync => "compact async",
            Self::Compact => "compact",
            Self::ReclaimOnce => "reclaim once",
            Self::ReclaimUnlessDeferred => "reclaim once unless deferred",
            Self::ReclaimAfterFailure => "reclaim once after failure",
            Self::Reclaim => "reclaim",
        }
    }
}

/// A step of a ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Nearest distance class of its nodes, seen from the faulting CPU.
    pub first_class: usize,
    /// Farthest distance class of its nodes.
    pub last_class: usize,
    /// Nodes in the order in which they are tried.
    pub nodes: Vec<usize>,
    /// Whether it is a huge page; else a base page.
    pub huge: bool,
    /// How the step gets its page.
    pub effort: Effort,
    /// Mean latency of a random access to such a page on these nodes, ns.
    pub ns: f64,
    /// Latency relative to a local huge page.
    pub ratio: f64,
}

/// The fault to explain.
#[derive(Clone, Copy, Debug)]
pub struct LadderQuery<'a> {
    /// Node of the faulting CPU.
    pub node: usize,
    /// Whether the range is advised (`MADV_HUGEPAGE`).
    pub advised: bool,
    /// Policy of the range.
    pub policy: &'a MemPolicy,
    /// Policy of the range for huge pages, with rules (`mpol_huge`).
    pub huge_policy: Option<(&'a MemPolicy, HugeRules)>,
    /// Whether the process spans sockets (`prctl_span`).
    pub span: bool,
    /// Whether latencies are those seen in a guest.
    pub guest: bool,
}

impl<'a> LadderQuery<'a> {
    /// An advised range under this policy, for a CPU of node 0 without a hypervisor.
    pub fn advised(policy: &'a MemPolicy) -> Self {
        Self { node: 0, advised: true, policy, huge_policy: None, span: false, guest: false }
    }
}

/// The ladder of a huge-page fault on a machine under these settings.
pub fn explain_ladder(machine: &Machine, cfg: &MmConfig, query: &LadderQuery) -> Vec<Step> {
    let rule = cfg.thp.locality;
    let ladders = cfg.thp.ladders(machine, query.guest);
    let memory = NodeMask::of((0..machine.nodes.len()).filter(|n| machine.nodes[*n].memory_bytes > 0));
    let cpus = NodeMask::of((0..machine.nodes.len()).filter(|n| !machine.nodes[*n].cpus.is_empty()));
    let policy_nodes = query.policy.policy_nodes(query.node, 0);
    let (huge_place, rules) = match query.huge_policy {
        Some((policy, rules)) if rule == Locality::MpolHuge => (policy.policy_nodes(query.node, 0), Some(rules)),
        _ => (policy_nodes, None),
    };
    let ctx = FaultContext {
        here: query.node,
        policy_nodes: huge_place,
        huge_rules: rules,
        gfp: fault_gfp(&cfg.thp, query.advised),
        mems: memory,
        span: query.span,
        span_max_class: cfg.thp.span_max_class,
        ladders: &ladders,
    };
    let mut writer = Writer {
        here: query.node,
        orders: fallback_orders(&NodeShape { distance: &machine.distance, memory, cpus }),
        classes: ladders.classes(query.node).to_vec(),
        latency: AccessLatency::new(machine, query.guest),
        rules: cfg.slow_rules(),
        steps: Vec::new(),
    };
    let mut number = 0;
    while let Some(a) = rule.attempt(&ctx, number) {
        writer.attempt(&a);
        number += 1;
    }
    writer.base_walk(&policy_nodes);
    writer.steps
}

/// A ladder in one line. With `efforts` it lists every step; otherwise it lists each (distance, size) once, at its
/// first place.
pub fn ladder_text(steps: &[Step], efforts: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    for s in steps {
        let size = if s.huge { "THP" } else { "4k" };
        if efforts {
            let classes = if s.first_class == s.last_class {
                format!("D{}", s.first_class)
            } else {
                format!("D{}-D{}", s.first_class, s.last_class)
            };
            parts.push(format!("{classes} {size} {}", s.effort.words()));
        } else {
            for class in s.first_class..=s.last_class {
                let part = format!("D{class} {size}");
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
    }
    parts.join(" | ")
}

struct Writer<'a> {
    here: usize,
    orders: Vec<Vec<u16>>,
    classes: Vec<NodeMask>,
    latency: AccessLatency<'a>,
    rules: SlowRules,
    steps: Vec<Step>,
}

impl Writer<'_> {
    /// The allowed nodes in fallback order, in runs of one distance class.
    fn runs(&self, policy_nodes: &PolicyNodes, this_node: bool) -> Vec<(usize, Vec<usize>)> {
        let mut runs: Vec<(usize, Vec<usize>)> = Vec::new();
        for node in self.orders[policy_nodes.preferred].iter().map(|n| usize::from(*n)) {
            let allowed =
                policy_nodes.mask.is_none_or(|m| m.contains(node)) && (!this_node || node == policy_nodes.preferred);
            let class = self.classes.iter().position(|c| c.contains(node)).unwrap_or(0);
            match runs.last_mut() {
                _ if !allowed => {}
                Some((c, nodes)) if *c == class => nodes.push(node),
                _ => runs.push((class, vec![node])),
            }
        }
        runs
    }
    fn push(&mut self, runs: &[(usize, Vec<usize>)], huge: bool, effort: Effort) {
        let nodes: Vec<usize> = runs.iter().flat_map(|r| r.1.iter().copied()).collect();
        let classes = || runs.iter().map(|r| r.0);
        let (Some(first_class), Some(last_class)) = (classes().min(), classes().max()) else { return };
        let known = |s: &Step| s.huge == huge && s.effort == effort && nodes.iter().all(|n| s.nodes.contains(n));
        if self.steps.iter().any(known) {
            return;
        }
        let sum: f64 = nodes.iter().map(|n| self.latency.ns(self.here, *n, huge)).sum();
        let ns = sum / nodes.len() as f64;
        let ratio = ns / self.latency.ns(self.here, self.here, true);
        self.steps.push(Step { first_class, last_class, nodes, huge, effort, ns, ratio });
    }
    fn push_each(&mut self, runs: &[(usize, Vec<usize>)], huge: bool, effort: Effort) {
        for run in runs {
            self.push(std::slice::from_ref(run), huge, effort);
        }
    }
    fn attempt(&mut self, a: &Attempt) {
        if a.policy_nodes.preferred_many {
            let wish = Attempt {
                gfp: a.gfp & !Gfp::DIRECT_RECLAIM,
                policy_nodes: PolicyNodes { preferred_many: false, ..a.policy_nodes },
                ..*a
            };
            self.attempt(&wish);
            return self.attempt(&Attempt {
                policy_nodes: PolicyNodes { preferred_many: false, mask: None, ..a.policy_nodes },
                ..*a
            });
        }
        let runs = self.runs(&a.policy_nodes, a.gfp.has(Gfp::THISNODE));
        self.push_each(&runs, a.huge, Effort::Free);
        if a.free_only || !a.gfp.has(Gfp::DIRECT_RECLAIM) {
            return;
        }
        self.push(&runs, true, Effort::CompactAsync);
        let Some(reclaim) = self.reclaim_of(a.gfp) else { return };
        self.push(&runs, true, reclaim);
        let noretry = a.gfp.has(Gfp::NORETRY);
        self.push(&runs, true, if noretry { Effort::CompactAsync } else { Effort::Compact });
    }
    /// How a huge-page request with these flags reclaims after its first compaction; `None` if it does not.
    fn reclaim_of(&self, gfp: Gfp) -> Option<Effort> {
        let noretry = gfp.has(Gfp::NORETRY);
        let local = noretry && gfp.has(Gfp::THISNODE) && !self.rules.thisnode_fail_reclaims;
        if local || gfp.has(Gfp::COMPACT_ONLY) {
            return None;
        }
        Some(match self.rules.bail {
            BailRule::Deferred if noretry => Effort::ReclaimUnlessDeferred,
            BailRule::CostlyNoretry if noretry => Effort::ReclaimAfterFailure,
            BailRule::Pageblock54 => Effort::ReclaimAfterFailure,
            _ => Effort::ReclaimOnce,
        })
    }
    /// Adds the steps of the fault for a base page, after all attempts failed.
    fn base_walk(&mut self, policy_nodes: &PolicyNodes) {
        if policy_nodes.preferred_many {
            let wish = self.runs(policy_nodes, false);
            self.push_each(&wish, false, Effort::Free);
        }
        let policy_nodes =
            if policy_nodes.preferred_many { PolicyNodes { mask: None, ..*policy_nodes } } else { *policy_nodes };
        let runs = self.runs(&policy_nodes, false);
        self.push_each(&runs, false, Effort::Free);
        self.push(&runs, false, Effort::Min);
        self.push(&runs, false, Effort::Reclaim);
    }
}
