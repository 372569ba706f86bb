//! What a run reports.

use crate::record::never_scanned::never_scanned;
use crate::state::settling::Skipped;
use crate::state::simulation::Simulation;
use crate::state::task::Task;
use numalab_kernel::sched::state::COUNTED_LEVELS;
use numalab_nouns::record::{stalls, Outcome, Scalar, Settled, SettledRate, Status, TOO_SHORT, WAKE_UPS};
use numalab_nouns::workload::{Score, Workload};

/// A balancing run shorter than this says little: the first pass over memory takes longer.
const SHORT_RUN_NS: u64 = 5_000_000_000;

fn scalar(name: &str, value: f64, unit: &str, higher_is_better: bool) -> Scalar {
    Scalar { name: name.into(), value, unit: unit.into(), higher_is_better }
}

/// The figures of the workload's scores. What has none becomes a warning.
fn score_figures(sim: &Simulation<'_>, warnings: &mut Vec<String>) -> Vec<Scalar> {
    let mut out = Vec::new();
    for (i, spec) in sim.workload.scores.iter().enumerate() {
        let (value, clock) = (sim.record.scores[i], &sim.record.score_clocks[i]);
        if spec.latency {
            match spec.percentiles(&sim.record.requests[i]) {
                Ok(both) => out.extend(both),
                Err(why) => warnings.push(why),
            }
            continue;
        }
        match spec.figure(value, clock.read_ns(sim.end_ns)) {
            Ok(value) => out.push(scalar(&spec.name, value, &spec.unit, spec.higher_is_better)),
            Err(why) => warnings.push(why),
        }
        if let Some(best) = clock.best().filter(|_| spec.best) {
            out.push(scalar(&spec.best_name(), best, &spec.unit, spec.higher_is_better));
        }
    }
    out
}

/// The outcome of a finished run; tunables are the caller's to fill in.
pub(crate) fn outcome(sim: Simulation<'_>) -> Outcome {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let own = sim.own_processes();
    let sum = |f: fn(&crate::state::process::ProcessState) -> u64| sim.processes[..own].iter().map(f).sum::<u64>();
    let skipped = sim.record.settling.skipped.as_ref();
    let elapsed = seconds(sim.end_ns + sim.record.settling.skipped_ns());
    let more_s = |i: usize| skipped.map_or(0.0, |s| s.cpu_s[i]);
    let mut scalars = vec![
        scalar("elapsed_s", elapsed, "s", false),
        scalar("user_s", seconds(sum(|p| p.user_ns)) + more_s(0), "s", false),
        scalar("system_s", seconds(sum(|p| p.system_ns)) + more_s(1), "s", false),
        scalar("blocked_s", seconds(sum(|p| p.blocked_ns)) + more_s(2), "s", false),
    ];
    let mut warnings = Vec::new();
    scalars.extend(score_figures(&sim, &mut warnings));
    for (name, percent) in WAKE_UPS {
        if let Some(ns) = sim.record.wake_ups.percentile_ns(percent) {
            scalars.push(scalar(name, ns as f64 / 1e3, "us", false));
        }
    }
    let has_memory = sim.workload.processes[..own].iter().any(|p| !p.regions.is_empty());
    if sim.cfg.numa_enabled() && has_memory && sim.end_ns < SHORT_RUN_NS && sim.status == Status::Completed {
        warnings.push(format!(
            "the run took {elapsed:.2} s of model time: {TOO_SHORT}, the first scan of memory takes longer"
        ));
    }
    let scans = sim.cfg.numa_enabled() && !sim.kernel.numa_2012.active() && sim.cfg.numa.enabled();
    if scans && sim.end_ns >= SHORT_RUN_NS && sim.status == Status::Completed {
        warnings.extend(never_scanned(&sim));
    }
    let end_ns = sim.end_ns + sim.record.settling.skipped_ns();
    let names = task_names(sim.workload, &sim.tasks);
    let mut counters = counters(&sim);
    let mut reasons = reasons(&sim);
    if let Some(skipped) = skipped {
        Skipped::add(&skipped.counters, &mut counters);
        Skipped::add(&skipped.reasons, &mut reasons);
    }
    let settled = settled(&sim);
    counters.extend(stalls::counters(&sim.record.stalls.tasks).into_iter().map(|(n, x)| (n.to_string(), x)));
    Outcome {
        status: sim.status.clone(),
        scalars,
        counters,
        reasons,
        tunables: Vec::new(),
        warnings,
        settled,
        series: sim
            .record
            .samples
            .into_series()
            .chain(sim.record.maps.into_series())
            .chain(stalls::series(&sim.record.stalls.tasks, &names, end_ns))
            .collect(),
    }
}

/// What was left out of a run that had settled.
fn settled(sim: &Simulation<'_>) -> Option<Settled> {
    let skipped = sim.record.settling.skipped.as_ref()?;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let arrived = sim.record.samples.scores.time_ns.partition_point(|&t| t < skipped.arrived_ns);
    let before = |i: usize| {
        let units = sim.record.samples.scores.values[i].get(arrived).copied().unwrap_or(0.0);
        if skipped.arrived_ns > 0 {
            units / seconds(skipped.arrived_ns)
        } else {
            0.0
        }
    };
    let rate = |(i, score): (usize, &Score)| SettledRate {
        name: score.name.clone(),
        per_second: skipped.rates[i],
        before_per_second: before(i),
    };
    Some(Settled {
        after_s: seconds(skipped.arrived_ns),
        simulated_s: seconds(sim.end_ns),
        skipped_s: seconds(skipped.ns),
        rates: sim.workload.scores.iter().enumerate().map(rate).collect(),
    })
}

/// Counts of skips and refusals by reason.
pub(crate) fn reasons(sim: &Simulation<'_>) -> Vec<(String, u64)> {
    let mut out: Vec<(String, u64)> =
        sim.kernel.numa.reasons.named().map(|(role, word, n)| (format!("{role}.{word}"), n)).collect();
    if sim.kernel.numa_2012.active() {
        out.extend(sim.kernel.numa_2012.reasons().map(|(name, n)| (name.to_string(), n)));
    }
    out
}

/// Names of all threads: `PROCESS/tTHREAD`.
fn task_names(workload: &Workload, tasks: &[Task<'_>]) -> Vec<String> {
    let name = |process: u32| workload.processes.get(process as usize).map_or("", |p| p.name.as_str());
    tasks.iter().map(|t| format!("{}/t{}", name(t.process), t.thread)).collect()
}

/// All that the kernel counts; it only grows.
pub(crate) fn counters(sim: &Simulation<'_>) -> Vec<(String, u64)> {
    let a = &sim.mm.physical.counters;
    let v = &sim.kernel.vm;
    let mut out: Vec<(String, u64)> = [
        ("numa_hit", a.numa_hit),
        ("numa_miss", a.numa_miss),
        ("numa_foreign", a.numa_foreign),
        ("numa_interleave", a.numa_interleave),
        ("numa_local", a.numa_local),
        ("numa_other", a.numa_other),
        ("pgfault", v.pgfault),
        ("nr_tlb_remote_flush", v.nr_tlb_remote_flush),
        ("nr_tlb_remote_flush_received", v.nr_tlb_remote_flush_received),
    ]
    .map(|(n, x)| (n.to_string(), x))
    .to_vec();
    if sim.processes.iter().any(|p| p.vma_second_level_fault_ns.iter().any(|&ns| ns > 0)) {
        out.push(("kvm_pf_taken".to_string(), v.kvm_pf_taken));
    }
    out.extend(sim.mm.locks.counters());
    let table = numalab_kernel::numa::NumaCounters::TABLE;
    out.extend(table.iter().zip(sim.kernel.numa.counters.values()).map(|((n, _), x)| ((*n).to_string(), x)));
    // Compaction and reclaim move pages too, under the names that NUMA balancing counts its own moves by.
    let events = numalab_kernel::mm::MmCounters::TABLE.iter().zip(sim.mm.physical.events.values());
    for ((name, _), n) in events {
        match out.iter_mut().find(|c| c.0 == *name) {
            Some(counter) => counter.1 += n,
            None => out.push(((*name).to_string(), n)),
        }
    }
    if !sim.kernel.numa_2012.leaves_scans() {
        for (name, n) in sim.kernel.numa_2012.named() {
            match out.iter_mut().find(|c| c.0 == name) {
                Some(counter) => counter.1 += n,
                None => out.push((name.to_string(), n)),
            }
        }
    }
    out.extend(scheduler_counters(sim.kernel.sched.counters()));
    if let Some(damon) = &sim.kernel.damon {
        out.extend(damon.counters());
    }
    out
}

/// What the scheduler counts.
fn scheduler_counters(c: &numalab_kernel::sched::Counters) -> Vec<(String, u64)> {
    let plain = [
        ("ttwu_count", c.ttwu_count),
        ("ttwu_local", c.ttwu_local),
        ("ttwu_queued", c.ttwu_queued),
        ("ttwu_on_cpu", c.ttwu_on_cpu),
        ("rq_lock_waits", c.rq_lock_waits),
        ("rq_lock_wait_ns", c.rq_lock_wait_ns),
        ("lb_count", c.passes),
        ("lb_not_designated", c.not_designated),
        ("lb_serialized", c.serialized),
        ("lb_nobusyg", c.no_busy_group),
        ("lb_nobusyq", c.no_busy_queue),
        ("lb_failed", c.failed),
        ("lb_hot_refused", c.hot_refused),
        ("lb_gained", c.pulled),
        ("alb_pushed", c.active),
        ("nohz_balance", c.nohz_runs),
        ("newidle_count", c.newidle_passes),
        ("newidle_gained", c.newidle_pulled),
        ("newidle_skipped", c.newidle_skipped),
        ("newidle_too_short", c.newidle_too_short),
        ("newidle_too_dear", c.newidle_too_dear),
        ("newidle_dice", c.newidle_dice),
    ];
    let levels = COUNTED_LEVELS
        .iter()
        .zip(&c.levels)
        .flat_map(|(level, c)| [(format!("lb_count_{level}"), c.passes), (format!("lb_gained_{level}"), c.gained)]);
    plain.into_iter().map(|(name, n)| (name.to_string(), n)).chain(levels).collect()
}
