//! Names of processes and threads: those of a record of real programs have ids, those of a workload count from 0.

use super::processes::{busy, family, word};
use super::series::{find, MEMORY};
use numalab_model::record::Outcome;
use std::collections::BTreeMap;

/// The outcome of a recording of real programs with the names that its fitted workload has: `postgres.1234/t1240`
/// becomes `postgres.0/t1`. Processes of a name are counted in the order of the record. Threads that share the work
/// come first, in the order of their ids. Memory by process is the series `process_pages`, as in a simulated run. Other
/// columns stay.
pub fn aligned(outcome: &Outcome) -> Outcome {
    let mut out = outcome.clone();
    let processes = processes(outcome);
    let threads = threads(outcome, &processes);
    for series in &mut out.series {
        if series.name == MEMORY[1] && find(outcome, MEMORY[0]).is_none() {
            series.name = MEMORY[0].into();
        }
        for column in &mut series.columns {
            let (instance, rest) = column.split_once('/').map_or((column.as_str(), ""), |(i, rest)| (i, rest));
            let Some(name) = processes.get(instance) else { continue };
            let thread = rest.split('/').next().unwrap_or_default();
            let new = threads.get(&(instance.to_string(), thread.to_string()));
            *column = match (new, rest) {
                (_, "") => name.clone(),
                (Some(new), _) => format!("{name}/{new}{}", &rest[thread.len()..]),
                (None, _) => format!("{name}/{rest}"),
            };
        }
    }
    out
}

/// New names of all instances by their old ones.
fn processes(outcome: &Outcome) -> BTreeMap<String, String> {
    let mut counts = BTreeMap::<String, usize>::new();
    let mut out = BTreeMap::new();
    let columns = MEMORY.iter().find_map(|name| find(outcome, name)).map_or(&[][..], |s| &s.columns);
    for instance in columns.iter().filter_map(|c| c.rsplit_once("/node")).map(|c| c.0) {
        // What has no id stands for several processes, such as `others`.
        if out.contains_key(instance) || family(instance) == instance {
            continue;
        }
        let name = word(family(instance));
        let count = counts.entry(name.clone()).or_default();
        out.insert(instance.to_string(), format!("{name}.{count}"));
        *count += 1;
    }
    out
}

/// New names of all threads by their old ones.
fn threads(outcome: &Outcome, processes: &BTreeMap<String, String>) -> BTreeMap<(String, String), String> {
    let Some(tasks) = find(outcome, "task_node") else { return BTreeMap::new() };
    let mut of_process = BTreeMap::<&str, Vec<(bool, u64, &str)>>::new();
    for (column, name) in tasks.columns.iter().enumerate() {
        let Some((instance, thread)) = name.split_once('/').filter(|(i, _)| processes.contains_key(*i)) else {
            continue;
        };
        let id = thread.strip_prefix('t').and_then(|t| t.parse().ok()).unwrap_or(u64::MAX);
        let is_idle = !busy(tasks, family(instance)).contains(&column);
        of_process.entry(instance).or_default().push((is_idle, id, thread));
    }
    let mut out = BTreeMap::new();
    for (instance, mut all) in of_process {
        all.sort_unstable();
        for (i, (_, _, thread)) in all.into_iter().enumerate() {
            out.insert((instance.to_string(), thread.to_string()), format!("t{i}"));
        }
    }
    out
}
