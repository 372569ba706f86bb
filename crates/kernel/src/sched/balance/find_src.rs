//! The group and the queue to pull from (before 6.10 `find_busiest_group` and `find_busiest_queue`, kernel-scheduler.md
//! §4.4, §4.5).

use super::calculate_imbalance::{decide, ImbalanceEnv};
use super::lb_env::LbEnv;
use super::migration_type::MigrationType;
use crate::sched::domains::{Flags, GroupId};
use crate::sched::rules::{Balancer, Form};
use crate::sched::state::sg_lb_stats::fbq_classify;
use crate::sched::state::{CpuIdleType, Scheduler};

impl Scheduler {
    /// The busiest group if something should move from it; sets what and how much in `env`.
    pub(in crate::sched) fn sched_balance_find_src_group(&mut self, env: &mut LbEnv) -> Option<GroupId> {
        if self.params.balancer.by_load() {
            return match self.params.balancer {
                Balancer::V37 => self.find_busiest_group_v37(env),
                _ => self.find_busiest_group_v311(env),
            };
        }
        let scan = self.update_sd_lb_stats(env);
        let (group, busiest) = scan.busiest?;
        let domain = self.topo.domain(env.dom);
        let prefer_sibling = match self.params.form {
            Form::V61 => {
                let child = self.topo.child(env.dom).map(|c| self.topo.domain(c).flags);
                child.is_some_and(|f| f.has(Flags::PREFER_SIBLING))
            }
            Form::V612 => self.topo.group(group).flags.has(Flags::PREFER_SIBLING),
        };
        let numa = domain.flags.has(Flags::NUMA);
        if numa {
            env.class = busiest.fbq_classify_group();
        }
        let pull = decide(
            &ImbalanceEnv {
                form: self.params.form,
                balancer: self.params.balancer,
                rule: self.params.rule,
                idle: env.idle != CpuIdleType::NotIdle,
                below_average: self.params.below_average,
                imbalance_pct: domain.imbalance_pct,
                numa,
                share_llc: domain.flags.has(Flags::SHARE_LLC),
                prefer_sibling,
                imb_numa_nr: domain.imb_numa_nr,
                span_weight: domain.weight,
                total_load: scan.load,
                total_capacity: scan.capacity,
            },
            &scan.local,
            &busiest,
        )?;
        env.kind = pull.kind;
        env.amount = pull.amount;
        Some(group)
    }
    /// The queue of `group` to pull from.
    pub(super) fn sched_balance_find_src_rq(&mut self, env: &LbEnv, group: GroupId) -> Option<u32> {
        if self.params.balancer.by_load() {
            return match self.params.balancer {
                Balancer::V37 => self.find_busiest_queue_v37(env, group),
                _ => self.find_busiest_queue_v311(env, group),
            };
        }
        let lone = self.params.balancer < Balancer::V57;
        if env.kind == MigrationType::LlcTask {
            let to = self.topo.cache_of(env.dst);
            let usable = |c: &u32| !env.narrowed || self.candidates.contains(*c);
            let counts = self.topo.group(group).span.iter().filter(usable).map(|c| (self.nr_preferring(c, to), c));
            // The first of those with the most.
            let most = counts.fold((0, None), |best, (n, c)| if n > best.0 { (n, Some(c)) } else { best });
            return most.1;
        }
        let Self { topo, rqs, candidates, now, .. } = self;
        let mut best: Option<(u64, u32)> = None;
        for c in topo.group(group).span.iter() {
            let rq = &mut rqs[c as usize];
            let nr = rq.nr();
            let skip = nr == 0 || (env.narrowed && !candidates.contains(c));
            if skip || fbq_classify(nr, rq.nr_numa, rq.nr_preferred) > env.class {
                continue;
            }
            let key = match env.kind {
                MigrationType::Task | MigrationType::LlcTask => u64::from(nr),
                MigrationType::Load => {
                    rq.refresh(*now);
                    if nr == 1 && rq.pelt.load as i64 > env.amount {
                        continue;
                    }
                    rq.pelt.load
                }
                MigrationType::Util => {
                    if nr <= 1 && !lone {
                        continue;
                    }
                    rq.refresh(*now);
                    match self.params.form {
                        Form::V61 => rq.util(),
                        Form::V612 => rq.util().max(rq.pelt.runnable).min(1024),
                    }
                }
            };
            if key > best.map_or(0, |b| b.0) {
                best = Some((key, c));
            }
        }
        best.map(|b| b.1)
    }
}
