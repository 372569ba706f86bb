//! What to move from the busiest to the local group: the second half of `sched_balance_find_src_group` (before 6.10
//! `find_busiest_group`), and `calculate_imbalance` (kernel-scheduler.md §4.4).

use super::migration_type::MigrationType;
use crate::sched::imbalance::{Allowance, PullSides};
use crate::sched::rules::{Balancer, Form};
use crate::sched::state::sg_lb_stats::{GroupType, SgLbStats};

/// The domain and CPU that a pass is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImbalanceEnv {
    /// Generation of the balancer.
    pub form: Form,
    /// Release of the balancer's steps, 5.5 or later.
    pub balancer: Balancer,
    /// NUMA imbalance rule.
    pub rule: Allowance,
    /// The balancing CPU is idle or about to be.
    pub idle: bool,
    /// A full group pulls only while it is below the domain's average.
    pub below_average: bool,
    /// `imbalance_pct` of the domain.
    pub imbalance_pct: u32,
    /// The domain crosses nodes.
    pub numa: bool,
    /// The domain shares a cache.
    pub share_llc: bool,
    /// Tasks are spread evenly over the sibling domains.
    pub prefer_sibling: bool,
    /// Threshold of the domain.
    pub imb_numa_nr: u32,
    /// CPUs of the domain.
    pub span_weight: u32,
    /// Σ load of all groups.
    pub total_load: u64,
    /// Σ capacity of all groups.
    pub total_capacity: u64,
}

/// What a pass should move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// What `amount` counts.
    pub kind: MigrationType,
    /// How much to move.
    pub amount: i64,
}

/// Difference in tasks between sibling groups.
fn sibling_imbalance(env: &ImbalanceEnv, local: &SgLbStats, busiest: &SgLbStats) -> i64 {
    let (nb, nl) = (i64::from(busiest.nr), i64::from(local.nr));
    if env.form == Form::V61 {
        return (nb - nl).max(0);
    }
    if !env.idle || nb == 0 {
        return 0;
    }
    if busiest.cores == local.cores {
        return (nb - nl).max(0);
    }
    let (cb, cl) = (i64::from(busiest.cores), i64::from(local.cores));
    let x = (cl * nb - cb * nl).max(0);
    let x = (2 * x + cl + cb) / (cl + cb);
    if x <= 1 && nl == 0 && nb > 1 {
        2
    } else {
        x
    }
}

/// Average load of the domain.
fn domain_average(env: &ImbalanceEnv) -> u64 {
    env.total_load * 1024 / env.total_capacity.max(1)
}

/// What the pass should move from `busiest` to `local`; `None` if they are balanced. Both groups are classified, and
/// `avg_load` is set if they are overloaded.
pub fn decide(env: &ImbalanceEnv, local: &SgLbStats, busiest: &SgLbStats) -> Option<Imbalance> {
    if busiest.kind != GroupType::Imbalanced {
        if local.kind > busiest.kind {
            return None;
        }
        if local.kind == GroupType::Overloaded {
            let average = domain_average(env);
            let near = 100 * busiest.avg_load <= u64::from(env.imbalance_pct) * local.avg_load;
            if local.avg_load >= busiest.avg_load || local.avg_load >= average || near {
                return None;
            }
        }
        let siblings = env.prefer_sibling && local.kind == GroupType::HasSpare;
        let gathers = siblings && busiest.kind == GroupType::LlcBalance;
        let spread = gathers || siblings && sibling_imbalance(env, local, busiest) > 1;
        if !spread && !worth_it(env, local, busiest) {
            return None;
        }
    }
    Some(calculate_imbalance(env, local, busiest)).filter(|p| p.amount > 0)
}

/// Whether a source that is not overloaded is worth pulling from.
fn worth_it(env: &ImbalanceEnv, local: &SgLbStats, busiest: &SgLbStats) -> bool {
    if busiest.kind == GroupType::Overloaded {
        return true;
    }
    if !env.idle {
        return false;
    }
    if busiest.kind == GroupType::SmtBalance && busiest.smt != local.smt {
        return true;
    }
    let even = busiest.weight > 1 && local.idle_cpus <= busiest.idle_cpus + 1;
    !even && busiest.nr != 1
}

fn calculate_imbalance(env: &ImbalanceEnv, local: &SgLbStats, busiest: &SgLbStats) -> Imbalance {
    let tasks = |amount| Imbalance { kind: MigrationType::Task, amount };
    if matches!(busiest.kind, GroupType::SmtBalance | GroupType::Imbalanced) {
        return tasks(1);
    }
    if busiest.kind == GroupType::LlcBalance && local.kind == GroupType::HasSpare && env.prefer_sibling {
        return Imbalance { kind: MigrationType::LlcTask, amount: 1 };
    }
    if local.kind == GroupType::HasSpare {
        let by_tasks = env.share_llc && env.balancer >= Balancer::V510;
        if busiest.kind == GroupType::Overloaded && !by_tasks {
            // Fills the spare capacity. No NUMA imbalance is tolerated on this path.
            let amount = local.capacity.saturating_sub(local.util) as i64;
            return match amount {
                0 if env.idle => tasks(1),
                amount => Imbalance { kind: MigrationType::Util, amount },
            };
        }
        return tasks(spare_tasks(env, local, busiest));
    }
    let load = |amount| Imbalance { kind: MigrationType::Load, amount };
    let average = domain_average(env);
    let mut local_avg = local.avg_load;
    if local.kind < GroupType::Overloaded {
        local_avg = local.load * 1024 / local.capacity.max(1);
        let less_loaded = local_avg >= busiest.avg_load && env.balancer >= Balancer::V57;
        if less_loaded || (env.below_average && local_avg >= average) {
            return load(0);
        }
    }
    // The kernel's arithmetic is unsigned. A domain busier than its busiest group sets no bound on that side. Up to 6.2
    // neither does a domain less busy than the local group ("Fix imbalance overflow", 91dcf1e8068e). Before 5.7 both
    // can occur.
    let bound = |above: Option<u64>, g: &SgLbStats| above.map_or(u64::MAX, |x| x.saturating_mul(g.capacity));
    let from = bound(busiest.avg_load.checked_sub(average), busiest);
    let to = bound(average.checked_sub(local_avg), local);
    load((from.min(to) / 1024) as i64)
}

/// Tasks to move from a group, with CPUs to spare or not, to one with CPUs to spare.
fn spare_tasks(env: &ImbalanceEnv, local: &SgLbStats, busiest: &SgLbStats) -> i64 {
    let raw = if busiest.weight == 1 || env.prefer_sibling {
        sibling_imbalance(env, local, busiest)
    } else {
        (i64::from(local.idle_cpus) - i64::from(busiest.idle_cpus)).max(0)
    };
    if !env.numa {
        return raw >> 1;
    }
    env.rule.tasks_to_move(
        raw,
        &PullSides {
            local_nr: local.nr,
            local_weight: local.weight,
            busiest_nr: busiest.nr,
            busiest_weight: busiest.weight,
            span_weight: env.span_weight,
            imbalance_pct: env.imbalance_pct,
            imb_numa_nr: env.imb_numa_nr,
        },
    )
}
