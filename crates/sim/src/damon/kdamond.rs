//! When DAMON wakes up, and what it does then (`kdamond_fn`).

use crate::damon::migrate_region::migrate_span;
use crate::damon::sampling::{check_accesses, prepare_access_checks};
use crate::damon::targets::spans;
use crate::mm::daemon_time::occupy_node_cpu;
use crate::state::damon_state::Damon;
use crate::state::event_queue::Event;
use crate::state::simulation::Simulation;
use numalab_kernel::damon::Regions;

/// So much work of DAMON delays a task at once, ns: an estimate of what it does before it may be preempted.
const WORK_AT_ONCE_NS: u64 = 100_000;

/// Starts DAMON, if a scheme is set up.
pub(crate) fn start_kdamond(sim: &mut Simulation<'_>) {
    if let Some(damon) = &sim.kernel.damon {
        let first = sim.now_ns + u64::from(damon.cfg.damon.sample_us) * 1000;
        sim.effects.at(first, Event::Kdamond);
    }
}

/// DAMON wakes up: it counts accesses, at the end of an aggregation merges regions, applies its schemes and splits
/// regions, and begins the next sampling.
pub(crate) fn kdamond(sim: &mut Simulation<'_>) {
    // Taken out of the machine while it looks at the rest of it.
    let Some(mut damon) = sim.kernel.damon.take() else { return };
    let cfg = damon.cfg.damon;
    let mut ns = check_accesses(&mut sim.processes, &mut damon);
    if damon.samplings > 0 && damon.samplings.is_multiple_of(damon.samplings_per_aggregation()) {
        let counting = damon.counting();
        let most = damon.regions.list.iter().map(|r| r.nr_accesses).max().unwrap_or(0);
        damon.regions.merge(most / 10, damon.largest, cfg.max_nr_regions, counting.max_nr_accesses);
        ns += apply_schemes(sim, &mut damon);
        damon.regions.reset_aggregated();
        damon.regions.split(cfg.max_nr_regions, &mut damon.rng);
    }
    if damon.samplings.is_multiple_of(u64::from(cfg.update_us / cfg.sample_us).max(1)) {
        let spans = spans(&sim.processes);
        damon.largest = Regions::largest(&spans, cfg.min_nr_regions);
        damon.regions.follow(&spans, damon.largest);
    }
    ns += prepare_access_checks(&mut sim.processes, &mut damon);
    damon.samplings += 1;
    damon.cpu_ns += ns;
    damon.owed_ns += ns;
    if damon.owed_ns >= WORK_AT_ONCE_NS {
        let node = (0..sim.machine.node_count()).find(|n| !sim.machine.nodes[*n].cpus.is_empty()).unwrap_or(0);
        occupy_node_cpu(sim, node, std::mem::take(&mut damon.owed_ns));
    }
    sim.kernel.damon = Some(damon);
    sim.effects.at(sim.now_ns + ns + u64::from(cfg.sample_us) * 1000, Event::Kdamond);
}

/// Applies the schemes that are due. Returns the CPU time, ns.
fn apply_schemes(sim: &mut Simulation<'_>, damon: &mut Damon) -> u64 {
    let mut ns = 0;
    let counting = damon.counting();
    let mut schemes = std::mem::take(&mut damon.schemes);
    let mut regions = std::mem::take(&mut damon.regions);
    for scheme in &mut schemes {
        if !scheme.is_due(sim.now_ns) {
            continue;
        }
        let set = scheme.set;
        let goal_node = usize::from(set.goal.1);
        let physical = &sim.mm.physical;
        let measured = match set.goal.0 {
            numalab_kernel::damon::GoalMetric::None => 0,
            metric => {
                let free = physical.free(goal_node);
                metric.measure(free, free + physical.used(goal_node))
            }
        };
        let when = (sim.now_ns, measured);
        scheme.apply(&mut regions, counting, when, |at| migrate_span(sim, damon, &set, at, &mut ns));
    }
    (damon.schemes, damon.regions) = (schemes, regions);
    ns
}
