//! The visible list of NUMA imbalance rules.

use super::sides::{ForkSides, ImbalanceRule, NodeShape, PlacementLoad, PullSides, Terms, Threshold};
use super::{fixed_2, imb_5_18, imb_6_0, imb_v3, imb_v4, none, pair_5_6, pct_2019, quarter_5_11, quarter_5_17s};
use numalab_base::words;

/// Declares the enum of rules, and calls the file of each.
macro_rules! imbalance_rules {
    (
        $( #[doc = $doc:literal] )+
        pub enum $name:ident {
            $( $( #[doc = $vdoc:literal] )+ $variant:ident = $word:literal $( ($releases:literal) )? in $file:ident, )+
        }
    ) => {
        words! {
            $( #[doc = $doc] )+
            pub enum $name { $( $( #[doc = $vdoc] )+ $variant = $word $( ($releases) )?, )+ }
        }
        impl $name {
            /// Threshold from the sizes of a node; `None` for rules without one, whose `imb_numa_nr` is 0.
            pub fn threshold(self, shape: NodeShape) -> Option<Threshold> {
                match self { $( Self::$variant => $file::$variant::threshold(shape), )+ }
            }
            /// The terms on which a floating rule keeps a fork.
            pub fn fork_terms(self, s: &ForkSides) -> Option<Terms> {
                match self { $( Self::$variant => $file::$variant::fork_terms(s), )+ }
            }
            /// The terms on which the balancer of a floating rule tolerates an imbalance.
            pub fn pull_terms(self, s: &PullSides) -> Option<Terms> {
                match self { $( Self::$variant => $file::$variant::pull_terms(s), )+ }
            }
            /// The terms on which NUMA balancing with a floating rule tolerates an imbalance.
            pub fn placement_terms(self, l: &PlacementLoad) -> Option<Terms> {
                match self { $( Self::$variant => $file::$variant::placement_terms(l), )+ }
            }
            /// Whether a forked task stays local although the other node may have more idle CPUs.
            pub fn fork_stays(self, s: &ForkSides) -> bool {
                match self { $( Self::$variant => $file::$variant::fork_stays(s), )+ }
            }
            /// Number of tasks to move between nodes when the difference, in tasks or idle CPUs, is `raw`.
            pub fn tasks_to_move(self, raw: i64, s: &PullSides) -> i64 {
                match self { $( Self::$variant => $file::$variant::tasks_to_move(raw, s), )+ }
            }
            /// Imbalance that counts against a move of NUMA balancing to a node with spare capacity. `None` if task
            /// placement decides by load instead.
            pub fn placement(self, l: &PlacementLoad) -> Option<u32> {
                match self { $( Self::$variant => $file::$variant::placement(l), )+ }
            }
        }
    };
}

imbalance_rules! {
    /// How uneven the load balancer lets nodes be.
    pub enum Rule {
        /// No allowance.
        None = "none" ("before 5.6") in none,
        /// The balancer spares pairs; NUMA balancing places by load.
        Pair56 = "pair_5_6" ("5.6") in pair_5_6,
        /// Pairs are spared by the balancer and by NUMA balancing.
        Fixed2 = "fixed_2" ("5.7 to 5.10") in fixed_2,
        /// The balancer spares a share of the CPUs that follows imbalance_pct.
        Pct2019 = "pct_2019" ("posted in December 2019") in pct_2019,
        /// Up to a quarter of the CPUs, counted at the source.
        Quarter511 = "quarter_5_11" ("5.11 to 5.17") in quarter_5_11,
        /// Up to a quarter of the CPUs, counted at the destination.
        Quarter517s = "quarter_5_17s" ("stable 5.15.33, 5.16.19, 5.17.2") in quarter_5_17s,
        /// imb_numa_nr as posted in v3: half an LLC shared out over the nodes' LLCs.
        ImbV3 = "imb_v3" in imb_v3,
        /// imb_numa_nr as posted in v4: a quarter of the square of an LLC by its node, at least 2.
        ImbV4 = "imb_v4" in imb_v4,
        /// imb_numa_nr as merged: the LLCs of a node, or a quarter of its CPUs.
        Imb518 = "imb_5_18" ("5.18") in imb_5_18,
        /// The LLCs of a node, or an eighth of its CPUs, at least 1.
        Imb60 = "imb_6_0" ("6.0 on") in imb_6_0,
    }
}

impl Rule {
    /// The threshold of a node's first domain without the least value that the rule gives it. `part`: the part of a
    /// one-cache node, 0 for the rule's own.
    pub(super) fn bare_threshold(self, shape: NodeShape, part: u32) -> u32 {
        let caches = shape.node / shape.llc.max(1);
        let of_node = |own: u32| shape.node / if part > 0 { part } else { own };
        match self {
            Self::ImbV3 => (shape.llc >> 1) / (caches.max(1) * shape.nodes.max(1)),
            Self::ImbV4 => ((u64::from(shape.llc) * u64::from(shape.llc) / u64::from(shape.node.max(1))) >> 2) as u32,
            Self::Imb518 if caches == 1 => of_node(4),
            Self::Imb60 if caches == 1 => of_node(8),
            Self::Imb518 | Self::Imb60 => caches,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULL: PullSides = PullSides {
        local_nr: 0,
        local_weight: 16,
        busiest_nr: 2,
        busiest_weight: 16,
        imb_numa_nr: 2,
        imbalance_pct: 117,
    };

    #[test]
    fn no_rule_halves_and_fixed2_spares_pairs() {
        assert_eq!((Rule::None.tasks_to_move(2, &PULL), Rule::Fixed2.tasks_to_move(2, &PULL)), (1, 0));
        let three = PullSides { busiest_nr: 3, ..PULL };
        assert_eq!((Rule::None.tasks_to_move(3, &three), Rule::Fixed2.tasks_to_move(3, &three)), (1, 1));
        let fork = ForkSides {
            local_nr: 5,
            local_idle: 1,
            idlest_idle: 9,
            local_weight: 8,
            local_allowed: 8,
            span_weight: 16,
            imb_numa_nr: 0,
        };
        // find_idlest_group stays with an idle CPU since groups have types (57abff067a08, 5.5).
        for rule in [Rule::None, Rule::Fixed2] {
            assert!(rule.fork_stays(&fork), "{rule:?}: until 5.10 any idle CPU keeps a fork on its node");
            assert!(!rule.fork_stays(&ForkSides { local_idle: 0, ..fork }), "{rule:?}");
        }
    }

    /// The file of a rule that keeps every task where it is.
    mod keep_all {
        use super::*;

        pub struct KeepAll;

        impl ImbalanceRule for KeepAll {
            fn fork_stays(_s: &ForkSides) -> bool {
                true
            }
            fn tasks_to_move(_raw: i64, _s: &PullSides) -> i64 {
                0
            }
            fn placement(l: &PlacementLoad) -> Option<u32> {
                Some(l.imbalance)
            }
        }
    }

    imbalance_rules! {
        /// A list of its own.
        pub enum Toys {
            /// No allowance.
            None = "none" in none,
            /// All.
            KeepAll = "keep_all" ("never") in keep_all,
        }
    }

    #[test]
    fn a_rule_is_one_file_and_one_line() {
        let toy = Toys::parse("keep_all").unwrap();
        assert_eq!((toy.tasks_to_move(9, &PULL), Toys::None.tasks_to_move(9, &PULL)), (0, 4));
        let fork = ForkSides {
            local_nr: 5,
            local_idle: 0,
            idlest_idle: 9,
            local_weight: 8,
            local_allowed: 8,
            span_weight: 16,
            imb_numa_nr: 0,
        };
        assert!(toy.fork_stays(&fork) && !Toys::None.fork_stays(&fork));
        assert_eq!(toy.threshold(NodeShape { llc: 8, node: 16, nodes: 2 }), None);
        let load = PlacementLoad { imbalance: 3, dst_running: 4, src_running: 1, dst_weight: 8, imb_numa_nr: 2 };
        assert_eq!((toy.placement(&load), Toys::None.placement(&load)), (Some(3), None));
        assert_eq!((toy.fork_terms(&fork), toy.pull_terms(&PULL), toy.placement_terms(&load)), (None, None, None));
    }
}
