//! Figures of a run at its end, from the shared block.

use crate::control::{Control, ProcessCell, State, ThreadCell};
use crate::job::Job;
use crate::sampler::thread_columns;
use numalab_nouns::record::{Scalar, Series};
use std::sync::atomic::Ordering;

const NS_PER_S: f64 = 1e9;

/// A figure of a run.
pub(crate) fn scalar(name: &str, value: f64, unit: &str, higher_is_better: bool) -> Scalar {
    Scalar { name: name.into(), value, unit: unit.into(), higher_is_better }
}

/// Time from the start to the end of the last process, ns. A process that still runs ends at `now_ns`.
pub fn elapsed_ns(job: &Job, control: &Control, start_ns: u64, now_ns: u64) -> u64 {
    let end = |p: usize| match control.state(p) {
        State::Finished => control.process(p, ProcessCell::EndNs).load(Ordering::Relaxed),
        _ => now_ns,
    };
    let last = (0..job.workload.processes.len()).map(end).max().unwrap_or(now_ns);
    last.saturating_sub(start_ns)
}

/// Elapsed, user, system and blocked time, then the scores, of a run that ended at `end_ns`. CPU times are there only
/// if every process finished. A rate over no time is left out, with a warning.
pub fn scalars(job: &Job, control: &Control, elapsed_ns: u64, end_ns: u64, warnings: &mut Vec<String>) -> Vec<Scalar> {
    let processes = 0..job.workload.processes.len();
    let elapsed_s = elapsed_ns as f64 / NS_PER_S;
    let mut out = vec![scalar("elapsed_s", elapsed_s, "s", false)];
    if processes.clone().all(|p| control.state(p) == State::Finished) {
        let sum = |cell| processes.clone().map(|p| control.process(p, cell).load(Ordering::Relaxed)).sum::<u64>();
        out.push(scalar("user_s", sum(ProcessCell::UserNs) as f64 / NS_PER_S, "s", false));
        out.push(scalar("system_s", sum(ProcessCell::SystemNs) as f64 / NS_PER_S, "s", false));
        // The kernel accounts blocked time only with schedstats on.
        if std::fs::read_to_string("/proc/sys/kernel/sched_schedstats").is_ok_and(|t| t.trim() == "1") {
            let threads = 0..job.thread_count();
            let blocked = threads.map(|t| control.thread(t, ThreadCell::BlockNs).load(Ordering::Relaxed)).sum::<u64>();
            out.push(scalar("blocked_s", blocked as f64 / NS_PER_S, "s", false));
        }
    }
    for (s, score) in job.workload.scores.iter().enumerate() {
        if score.latency {
            match score.percentiles(&control.requests(s)) {
                Ok(both) => out.extend(both),
                Err(why) => warnings.push(why),
            }
            continue;
        }
        match score.figure(control.score_sum(s), control.clock_ns(s, end_ns).unwrap_or(elapsed_ns)) {
            Ok(value) => out.push(scalar(&score.name, value, &score.unit, score.higher_is_better)),
            Err(why) => warnings.push(why),
        }
        if let Some(best) = control.best_rate(s).filter(|_| score.best) {
            out.push(scalar(&score.best_name(), best, &score.unit, score.higher_is_better));
        }
    }
    out
}

/// Series with one point at the end of the run: page placement of each region, NUMA faults and groups of each thread.
pub fn final_series(job: &Job, control: &Control, elapsed_ns: u64) -> Vec<Series> {
    let one = |name: &str, unit: &str, columns: Vec<String>, values: Vec<f64>| Series {
        name: name.into(),
        unit: unit.into(),
        columns,
        time_ns: vec![elapsed_ns],
        values: values.into_iter().map(|v| vec![v]).collect(),
    };
    let nodes = job.node_ids.len();
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for (p, process) in job.workload.processes.iter().enumerate() {
        if control.state(p) != State::Finished {
            continue;
        }
        for (r, (owner, index)) in job.visible_regions(p).into_iter().enumerate() {
            let region = &job.workload.processes[owner].regions[index];
            for node in 0..=nodes {
                let place = if node == nodes { "absent".to_string() } else { format!("node{node}") };
                columns.push(format!("{}/{}/{place}", process.name, region.name));
                values.push(control.placement(p, r, node).load(Ordering::Relaxed) as f64);
            }
        }
    }
    let mut out = vec![one("placement", "pages", columns, values)];
    let threads = thread_columns(job);
    let cell = |t: usize, c: ThreadCell| control.thread(t, c).load(Ordering::Relaxed) as f64;
    let count = threads.len();
    let columns = threads.iter().flat_map(|t| (0..nodes).map(move |n| format!("{t}/node{n}"))).collect();
    let faults = (0..count).flat_map(|t| (0..nodes).map(move |n| control.faults(t, n).load(Ordering::Relaxed) as f64));
    out.push(one("task_faults", "faults", columns, faults.collect()));
    let figures = [
        ("task_total_faults", "faults", ThreadCell::Faults),
        ("task_pages_migrated", "pages", ThreadCell::Migrated),
        ("task_group", "id", ThreadCell::Group),
        ("task_scan_seq", "passes", ThreadCell::ScanSeq),
    ];
    for (name, unit, c) in figures {
        out.push(one(name, unit, threads.clone(), (0..count).map(|t| cell(t, c)).collect()));
    }
    out.retain(|s| !s.columns.is_empty());
    out
}
