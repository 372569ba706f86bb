//! What an administrator sets up of DAMON, and what of it a release decides.
//!
//! Defaults of the monitoring are DAMON's own. Those of the schemes are of the sample module `mtier`
//! (samples/damon/mtier.c), which promotes from node 1 and demotes from node 0.

use super::destination::{Destination, Destinations};
use super::goal::{GoalMetric, Goals};
use super::scheme::{Action, SchemeSettings};
use super::score::ScoreWeights;
use numalab_base::node_weights::NodeWeights;
use numalab_base::tunable::Needs;
use numalab_base::words;

words! {
    /// Which schemes an administrator has set up.
    pub enum Schemes {
        /// None: DAMON does not run.
        None = "none",
        /// Hot pages migrate (`migrate_hot`).
        Hot = "hot",
        /// Cold pages migrate (`migrate_cold`).
        Cold = "cold",
        /// Both.
        HotAndCold = "hot_and_cold",
    }
}

const SOME: Needs = Needs::Not("none");
const HOT: Needs = Needs::OneOf(&["hot", "hot_and_cold"]);
const COLD: Needs = Needs::OneOf(&["cold", "hot_and_cold"]);

numalab_base::tunables! {
    /// Monitoring of accesses.
    pub struct DamonTunables: "damon" {
        read when "damon_migrate" is SOME;

        /// Schemes that an administrator has set up. No release has any by itself.
        schemes: Schemes = Schemes::None, "", "sysfs kernel/mm/damon/admin/kdamonds/*/contexts/*/schemes/*/action";
        /// One page of each region is looked at this often.
        sample_us: u32 = 5000, "us", "sysfs damon/*/monitoring_attrs/intervals/sample_us", range 100..=10_000_000,
            read when "damon.schemes" is SOME;
        /// Accesses are counted for so long, then regions merge and split.
        aggr_us: u32 = 100_000, "us", "sysfs damon/*/monitoring_attrs/intervals/aggr_us", range 1000..=100_000_000,
            read when "damon.schemes" is SOME;
        /// Regions follow the mappings of processes this often.
        update_us: u32 = 1_000_000, "us", "sysfs damon/*/monitoring_attrs/intervals/update_us",
            range 1000..=1_000_000_000, read when "damon.schemes" is SOME;
        /// Fewest regions.
        min_nr_regions: u32 = 10, "regions", "sysfs damon/*/monitoring_attrs/nr_regions/min", range 3..=100_000,
            read when "damon.schemes" is SOME;
        /// Most regions, which bounds the cost of a sampling.
        max_nr_regions: u32 = 1000, "regions", "sysfs damon/*/monitoring_attrs/nr_regions/max", range 3..=100_000,
            read when "damon.schemes" is SOME;
        /// Pages go to another node than a scheme names if that one has no room.
        fallback: bool = true, "", "model", read when "damon.schemes" is SOME;
    }
}

/// Declares the tunables of one scheme: its group, when it is set up, and the defaults that differ.
macro_rules! scheme_tunables {
    ($name:ident, $group:literal, $needs:expr, $goal:literal, $what:literal,
     nid $nid:literal, accesses $least:literal to $most:expr, bp $bp:literal) => {
        numalab_base::tunables! {
            #[doc = $what]
            pub struct $name: $group {
                read when "damon_migrate" is SOME;
                read when "damon.schemes" is $needs;

                /// Node that pages go to.
                target_nid: u16 = $nid, "", "sysfs damon/*/schemes/*/target_nid", range 0..=1023;
                /// Nodes that pages go to by weights, such as `0:3 1:1`; they come before `target_nid`.
                dests: NodeWeights = NodeWeights::NONE, "", "sysfs damon/*/schemes/*/dests",
                    read when "damon_migrate" is Destinations::Weighted.only();
                /// The only node from which pages go; -1 for any.
                source_nid: i32 = -1, "", "the memory that DAMON monitors", range -1..=1023;
                /// Fewest accesses of a region in an aggregation.
                min_nr_accesses: u32 = $least, "samplings", "sysfs damon/*/schemes/*/access_pattern/nr_accesses/min",
                    range 0..=4_294_967_295;
                /// Most accesses of a region in an aggregation.
                max_nr_accesses: u32 = $most, "samplings", "sysfs damon/*/schemes/*/access_pattern/nr_accesses/max",
                    range 0..=4_294_967_295;
                /// Least age of a region: aggregations since its accesses changed.
                min_age: u32 = 0, "aggregations", "sysfs damon/*/schemes/*/access_pattern/age/min",
                    range 0..=4_294_967_295;
                /// Greatest age of a region.
                max_age: u32 = u32::MAX, "aggregations", "sysfs damon/*/schemes/*/access_pattern/age/max",
                    range 0..=4_294_967_295;
                /// Looks at the accessed bit of each page too, and clears it: hot pages must have it, cold ones must
                /// not.
                young: bool = true, "", "sysfs damon/*/schemes/*/filters/*/type = young";
                /// The scheme is applied this often; 0 for after each aggregation.
                apply_interval_ms: u32 = 1000, "ms", "sysfs damon/*/schemes/*/apply_interval_us", range 0..=1_000_000;
                /// Most memory that may be tried in a window; 0 for no limit.
                quota_mib: u32 = 200, "MiB", "sysfs damon/*/schemes/*/quotas/bytes", range 0..=1_048_576;
                /// Length of a window of the quota.
                quota_reset_ms: u32 = 1000, "ms", "sysfs damon/*/schemes/*/quotas/reset_interval_ms",
                    range 1..=1_000_000;
                /// Weight of accesses in the order of regions.
                weight_nr_accesses: u32 = 100, "permil", "sysfs damon/*/schemes/*/quotas/weights/nr_accesses_permil",
                    range 0..=1000;
                /// Weight of the age in the order of regions.
                weight_age: u32 = 100, "permil", "sysfs damon/*/schemes/*/quotas/weights/age_permil", range 0..=1000;
                /// What the quota tunes itself for, below its limit.
                goal: GoalMetric = GoalMetric::None, "", "sysfs damon/*/schemes/*/quotas/goals/*/target_metric",
                    read when "damon_goals" is Goals::Node.only();
                /// Node of the goal.
                goal_nid: u16 = 0, "", "sysfs damon/*/schemes/*/quotas/goals/*/nid", range 0..=1023,
                    read when "damon_goals" is Goals::Node.only(), read when $goal is SOME;
                /// The goal, a share of the node's memory.
                goal_bp: u32 = $bp, "1/10000", "sysfs damon/*/schemes/*/quotas/goals/*/target_value",
                    range 1..=10_000,
                    read when "damon_goals" is Goals::Node.only(), read when $goal is SOME;
            }
        }
        impl $name {
            /// The settings of the scheme.
            pub fn settings(&self, action: Action) -> SchemeSettings {
                SchemeSettings {
                    action,
                    to: Destination { target_nid: self.target_nid, dests: self.dests },
                    from: u16::try_from(self.source_nid).ok(),
                    nr_accesses: (self.min_nr_accesses, self.max_nr_accesses),
                    age: (self.min_age, self.max_age),
                    young: self.young,
                    apply_ms: u64::from(self.apply_interval_ms),
                    weights: ScoreWeights { nr_accesses: self.weight_nr_accesses, age: self.weight_age },
                    quota_bytes: u64::from(self.quota_mib) << 20,
                    quota_reset_ms: u64::from(self.quota_reset_ms),
                    goal: (self.goal, self.goal_nid, u64::from(self.goal_bp)),
                }
            }
        }
    };
}

scheme_tunables!(
    MigrateHotTunables, "migrate_hot", HOT, "migrate_hot.goal", "The scheme that migrates hot pages.",
    nid 0, accesses 1 to u32::MAX, bp 9970
);
scheme_tunables!(
    MigrateColdTunables, "migrate_cold", COLD, "migrate_cold.goal", "The scheme that migrates cold pages.",
    nid 1, accesses 0 to 0, bp 50
);

/// DAMON as it is set up on a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DamonConfig {
    /// Monitoring.
    pub damon: DamonTunables,
    /// The scheme for hot pages.
    pub hot: MigrateHotTunables,
    /// The scheme for cold pages.
    pub cold: MigrateColdTunables,
}

impl DamonConfig {
    /// The schemes that are set up, with the group of their tunables.
    pub fn schemes(&self) -> Vec<(&'static str, SchemeSettings)> {
        let mut out = Vec::new();
        if matches!(self.damon.schemes, Schemes::Hot | Schemes::HotAndCold) {
            out.push(("migrate_hot", self.hot.settings(Action::MigrateHot)));
        }
        if matches!(self.damon.schemes, Schemes::Cold | Schemes::HotAndCold) {
            out.push(("migrate_cold", self.cold.settings(Action::MigrateCold)));
        }
        out
    }
}
