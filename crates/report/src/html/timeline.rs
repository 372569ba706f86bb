//! Builds the data of charts and maps from the series of runs.
//!
//! Problem: backends sample different things under different names. Approach: a series is recognised by its name or its
//! columns. A series that is not recognised is drawn as lines under its own name, so that nothing recorded is missing.
//!
//! | series | columns | drawn as |
//! |---|---|---|
//! | `process_pages`, `node_pages` | `PROCESS/nodeN`, pages | memory per node, share per process and node |
//! | `workload_pages` | `nodeN`, pages of all processes, each counted once | memory per node of all processes |
//! | any with a counter of the dictionary, `score` | counts since the start | rates, one line per kernel |
//! | `cpu_time` | `user`, `system`, `blocked`, seconds since the start | CPUs busy or waiting |
//! | `page_node`, `task_node`, `task_preferred_node` | any; the value is a dense node, negative is none | map |
//! | others (`dram_bandwidth`, `link_bandwidth`, …) | any | levels |
//!
//! Units: MiB, per second, and those of the series.

use std::cmp::Ordering;

use numalab_model::counters;
use numalab_model::record::{Outcome, Series, Status};

use super::chart_data::{cell, nums, Data, Group, Limits, Line, Map, Memory, Num, Process, RunData, WorkloadData};
use super::input::{Input, Run};
use super::time_axis::{spacing, TimeAxis};

/// Pages of 4 KiB in a MiB.
const PAGES_PER_MIB: f64 = 256.0;
/// Series of memory by process and node.
const MEMORY: [&str; 2] = ["process_pages", "node_pages"];
/// Series of memory by node of all processes together, each page counted once.
const ONCE: &str = "workload_pages";
/// Series whose values are nodes.
const MAPS: [&str; 3] = ["page_node", "task_node", "task_preferred_node"];
/// Series of CPU time since the start, s.
const CPU: &str = "cpu_time";
/// Series of work done since the start.
const SCORE: &str = "score";

/// The data of all charts and maps, within limits.
pub fn data(input: &Input<'_>, limits: &Limits) -> Data {
    let c = input.comparison;
    let workloads = (0..c.workloads.len()).filter_map(|w| workload(input, w, limits)).collect();
    Data { kernels: c.kernels.iter().map(|k| k.run_name()).collect(), baseline: c.baseline, workloads, picture: None }
}

fn workload(input: &Input<'_>, index: usize, limits: &Limits) -> Option<WorkloadData> {
    let name = input.comparison.workloads.get(index)?.name.clone();
    let sampled = |r: &&Run<'_>| r.workload == index && r.outcome.series.iter().any(|s| s.time_ns.len() > 1);
    let all: Vec<&Run<'_>> = input.runs.iter().filter(sampled).collect();
    if all.is_empty() {
        return None;
    }
    let mut runs: Vec<(u32, &Run<'_>)> = Vec::new();
    for kernel in 0..input.comparison.kernels.len() {
        let of_kernel = all.iter().filter(|r| r.kernel == kernel).take(limits.runs);
        runs.extend((1..).zip(of_kernel.copied()));
    }
    let series = || runs.iter().flat_map(|(_, r)| &r.outcome.series);
    let longest = series().filter_map(|s| s.time_ns.last().copied()).max().unwrap_or(0);
    // The finest series decides the width of a point; coarser ones are interpolated.
    let usual = series().map(|s| spacing(&s.time_ns)).filter(|s| *s > 0).min().unwrap_or(0);
    let axis = TimeAxis::new(longest, usual, limits.points);
    Some(WorkloadData {
        name,
        step: axis.step_ns as f64 / 1e9,
        points: axis.points,
        end: axis.end_ns as f64 / 1e9,
        left_out: all.len() - runs.len() + input.not_drawn.get(index).copied().unwrap_or(0),
        runs: runs.iter().map(|(number, r)| run(r, *number, &axis, limits)).collect(),
    })
}

fn run(r: &Run<'_>, number: u32, axis: &TimeAxis, limits: &Limits) -> RunData {
    let longest = r.outcome.series.iter().filter(|s| s.time_ns.len() > 1).max_by_key(|s| s.time_ns.last());
    let times: &[u64] = longest.map_or(&[], |s| &s.time_ns);
    let mut out = RunData {
        kernel: r.kernel,
        run: number,
        seed: r.seed.to_string(),
        status: status(r.outcome),
        points: axis.used(times),
        end: times.last().copied().unwrap_or(0) as f64 / 1e9,
        ..RunData::default()
    };
    // A single sample is no series over time; `snapshot` shows it.
    for s in r.outcome.series.iter().filter(|s| s.time_ns.len() > 1 && !s.columns.is_empty()) {
        if MEMORY.contains(&s.name.as_str()) && out.memory.is_none() {
            let once = r.outcome.series.iter().find(|s| s.name == ONCE).map(|s| each_once(s, axis));
            out.memory = memory(s, axis, limits).map(|m| Memory { once, ..m });
        } else if s.name == ONCE {
            // It stands with the memory of the processes.
        } else if MAPS.contains(&s.name.as_str()) {
            out.maps.push(map(s, axis, limits));
        } else if s.name == CPU {
            out.groups.push(Group { lines: lines(s, &|v| axis.rate(&s.time_ns, v)), ..group(s, "CPUs") });
        } else if s.name == SCORE || s.columns.iter().any(|c| counters::find(c).is_some()) {
            out.rates.extend(lines(s, &|v| axis.rate(&s.time_ns, v)));
        } else {
            out.groups.push(levels(s, axis, limits));
        }
    }
    out
}

fn status(outcome: &Outcome) -> &'static str {
    match outcome.status {
        Status::Completed => "completed",
        Status::Timeout => "timeout",
        Status::Failed(_) => "failed",
    }
}

fn group(s: &Series, unit: &str) -> Group {
    Group { name: s.name.clone(), unit: unit.to_string(), ..Group::default() }
}

fn lines(s: &Series, binned: &dyn Fn(&[f64]) -> Vec<f64>) -> Vec<Line> {
    s.columns.iter().zip(&s.values).map(|(name, v)| Line { name: name.clone(), values: nums(binned(v)) }).collect()
}

/// A group of the columns with the highest peaks, in the order of the series.
fn levels(s: &Series, axis: &TimeAxis, limits: &Limits) -> Group {
    let kept = largest(&s.values, limits.columns);
    let one = |&c: &usize| Line { name: s.columns[c].clone(), values: nums(axis.level(&s.time_ns, &s.values[c])) };
    let kept: Vec<usize> = kept.into_iter().filter(|c| *c < s.columns.len()).collect();
    Group { lines: kept.iter().map(one).collect(), left_out: s.columns.len() - kept.len(), ..group(s, &s.unit) }
}

/// Indices of the `count` columns with the highest peaks, ascending.
fn largest(values: &[Vec<f64>], count: usize) -> Vec<usize> {
    let peak = |c: &usize| values[*c].iter().copied().fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| peak(b).partial_cmp(&peak(a)).unwrap_or(Ordering::Equal).then(a.cmp(b)));
    order.truncate(count);
    order.sort_unstable();
    order
}

/// Process and node of a column `PROCESS/nodeN`; `None` if it has another form.
fn process_and_node(column: &str) -> Option<(&str, usize)> {
    let (process, node) = column.rsplit_once("/node")?;
    Some((process, node.parse().ok().filter(|n| *n < numalab_model::machine::MAX_NODES)?))
}

/// Memory by process and node, MiB; `None` if no column names a process and a node.
fn memory(s: &Series, axis: &TimeAxis, limits: &Limits) -> Option<Memory> {
    let mut names: Vec<&str> = Vec::new();
    let mut columns: Vec<(usize, usize, &Vec<f64>)> = Vec::new();
    for (column, values) in s.columns.iter().zip(&s.values) {
        let Some((process, node)) = process_and_node(column) else { continue };
        let at = names.iter().position(|n| *n == process).unwrap_or_else(|| {
            names.push(process);
            names.len() - 1
        });
        columns.push((at, node, values));
    }
    let nodes = columns.iter().map(|c| c.1 + 1).max()?;
    let peaks: Vec<Vec<f64>> = (0..names.len())
        .map(|p| vec![columns.iter().filter(|c| c.0 == p).map(|c| c.2.iter().copied().fold(0.0, f64::max)).sum()])
        .collect();
    // If there are too many processes, the sum of the others takes the last place.
    let kept =
        if names.len() > limits.columns { largest(&peaks, limits.columns - 1) } else { (0..names.len()).collect() };
    let used = axis.used(&s.time_ns);
    let mut out: Vec<Vec<Vec<f64>>> = vec![vec![vec![0.0; used]; nodes]; kept.len() + 1];
    for (process, node, values) in columns {
        let at = kept.binary_search(&process).unwrap_or(kept.len());
        for (sum, v) in out[at][node].iter_mut().zip(axis.level(&s.time_ns, values)) {
            *sum += v / PAGES_PER_MIB;
        }
    }
    let folded = names.len() - kept.len();
    let mut names: Vec<String> = kept.iter().map(|k| names[*k].to_string()).collect();
    names.push(format!("{folded} others"));
    out.truncate(kept.len() + usize::from(folded > 0));
    let process =
        |(name, nodes): (String, Vec<Vec<f64>>)| Process { name, nodes: nodes.into_iter().map(nums).collect() };
    Some(Memory { processes: names.into_iter().zip(out).map(process).collect(), once: None })
}

/// Memory on each node, MiB, from a series with a column per node.
fn each_once(s: &Series, axis: &TimeAxis) -> Vec<Vec<Num>> {
    let mib = |v: &Vec<f64>| axis.level(&s.time_ns, v).into_iter().map(|x| x / PAGES_PER_MIB).collect();
    s.values.iter().map(|v| nums(mib(v))).collect()
}

/// A map of nodes. Neighbouring columns become one row, which shows the node that most of them show.
fn map(s: &Series, axis: &TimeAxis, limits: &Limits) -> Map {
    let columns = s.columns.len().min(s.values.len());
    let fold = columns.div_ceil(limits.rows.max(1)).max(1);
    let at = axis.sampled(&s.time_ns);
    let (mut rows, mut cells) = (Vec::new(), Vec::new());
    for first in (0..columns).step_by(fold) {
        let last = (first + fold).min(columns) - 1;
        rows.push(if first == last {
            s.columns[first].clone()
        } else {
            format!("{} … {}", s.columns[first], s.columns[last])
        });
        cells.push(at.iter().map(|t| cell(t.and_then(|t| majority(&s.values[first..=last], t)))).collect());
    }
    Map { name: s.name.clone(), rows, cells, fold }
}

/// The node that most columns show at a sample, and the lowest of equals; none if most show none.
fn majority(columns: &[Vec<f64>], sample: usize) -> Option<usize> {
    let node = |v: &Vec<f64>| v.get(sample).filter(|v| **v >= 0.0 && v.is_finite()).map(|v| *v as usize);
    let mut seen: Vec<(Option<usize>, usize)> = Vec::new();
    for n in columns.iter().map(node) {
        match seen.iter_mut().find(|s| s.0 == n) {
            Some(s) => s.1 += 1,
            None => seen.push((n, 1)),
        }
    }
    seen.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    seen.first().and_then(|s| s.0)
}

/// Part of the most memory of a run from which on it holds most of it.
const MOST: f64 = 0.9;

/// Pages on each node at a time when the run held most of what it ever held, from its last such sample; `None` without
/// a series of memory. Whether what processes share is counted once, too.
pub fn pages_at_the_end(outcome: &Outcome) -> Option<(Vec<f64>, bool)> {
    let named = |name: &str| outcome.series.iter().find(|s| s.name == name && s.time_ns.len() > 1);
    let processes = MEMORY.iter().find_map(|name| named(name));
    let s = named(ONCE).or(processes)?;
    let plain = |c: &str| c.strip_prefix("node")?.parse().ok();
    let node = |c: &str| process_and_node(c).map(|p| p.1).or_else(|| plain(c));
    let columns: Vec<(usize, &Vec<f64>)> =
        s.columns.iter().zip(&s.values).filter_map(|(c, v)| Some((node(c)?, v))).collect();
    let total = |t: usize| columns.iter().filter_map(|c| c.1.get(t)).sum::<f64>();
    let peak = (0..s.time_ns.len()).map(total).fold(0.0, f64::max);
    let last = (0..s.time_ns.len()).rev().find(|t| peak > 0.0 && total(*t) >= MOST * peak)?;
    let mut pages = vec![0.0; columns.iter().map(|c| c.0 + 1).max()?];
    columns.iter().for_each(|(node, v)| pages[*node] += v.get(last).copied().unwrap_or(0.0));
    let alone = processes.is_some_and(|s| {
        let names = s.columns.iter().filter_map(|c| process_and_node(c)).map(|p| p.0);
        crate::order::unique(names).len() < 2
    });
    Some((pages, s.name == ONCE || alone))
}

/// Whether any run has a series that is drawn, so that the page has a section of charts.
pub fn any(input: &Input<'_>) -> bool {
    input.runs.iter().any(|r| r.outcome.series.iter().any(|s| s.time_ns.len() > 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { points: 100, rows: 2, columns: 2, runs: 9 };

    fn series(name: &str, columns: &[&str], values: Vec<Vec<f64>>) -> Series {
        let time_ns = (0..values[0].len() as u64).map(|i| i * 1_000_000_000).collect();
        Series {
            name: name.into(),
            unit: "u".into(),
            columns: columns.iter().map(|c| (*c).into()).collect(),
            time_ns,
            values,
        }
    }

    fn axis() -> TimeAxis {
        TimeAxis { step_ns: 1_000_000_000, points: 3, end_ns: 3_000_000_000 }
    }

    #[test]
    fn memory_is_split_by_process_and_small_ones_are_added_up() {
        let names = ["a/node0", "a/node1", "b/node0", "b/node1", "c/node0", "c/x", "odd"];
        let values = [256.0, 0.0, 5120.0, 5120.0, 512.0, 1.0, 1.0].map(|v| vec![v; 3]);
        let m = memory(&series("node_pages", &names, values.to_vec()), &axis(), &LIMITS).unwrap();
        assert_eq!(m.processes.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["b", "2 others"]);
        assert_eq!(m.processes[0].nodes[1], nums(vec![20.0; 2]));
        assert_eq!(m.processes[1].nodes[0], nums(vec![3.0; 2]));
        assert!(memory(&series("node_pages", &["x"], vec![vec![1.0]]), &axis(), &LIMITS).is_none());
    }

    #[test]
    fn memory_that_processes_share_is_added_up_once() {
        let pool = 131_072.0;
        let each = series("process_pages", &["a/node0", "b/node0"], vec![vec![pool; 3]; 2]);
        let once = series("workload_pages", &["node0", "node1"], vec![vec![pool; 3], vec![0.0; 3]]);
        let mut outcome = Outcome { series: vec![each, once], ..Outcome::default() };
        let drawn = |o: &Outcome| run(&Run { workload: 0, kernel: 0, seed: 7, outcome: o }, 1, &axis(), &LIMITS);
        let shown = drawn(&outcome);
        assert_eq!(shown.memory.unwrap().once.unwrap(), [nums(vec![512.0; 2]), nums(vec![0.0; 2])]);
        assert!(shown.groups.is_empty(), "the series is not drawn a second time");
        assert_eq!(pages_at_the_end(&outcome), Some((vec![pool, 0.0], true)));
        outcome.series.pop();
        assert_eq!(drawn(&outcome).memory.unwrap().once, None);
        assert_eq!(pages_at_the_end(&outcome), Some((vec![2.0 * pool], false)), "an older record does not tell");
    }

    #[test]
    fn maps_fold_rows_by_majority() {
        let values = vec![vec![0.0, 1.0], vec![1.0, 1.0], vec![1.0, -1.0], vec![-1.0, 0.0], vec![f64::NAN, 63.0]];
        let m = map(&series("page_node", &["p0", "p1", "p2", "p3", "p4"], values), &axis(), &LIMITS);
        assert_eq!((m.rows.as_slice(), m.fold), (["p0 … p2".to_string(), "p3 … p4".to_string()].as_slice(), 3));
        // There is one bin, shown by its last sample. Of 1, 1 and none it is 1; of 0 and 63, once each, it is 0.
        assert_eq!(m.cells, ["1", "0"]);
    }

    #[test]
    fn every_series_is_drawn_somewhere() {
        let series = vec![
            series("process_pages", &["m/node0"], vec![vec![256.0; 3]]),
            series("numa_activity", &["numa_hint_faults", "numa_pte_updates"], vec![vec![0.0, 5.0, 15.0]; 2]),
            series("cpu_time", &["user"], vec![vec![0.0, 2.0, 4.0]]),
            series("score", &["ops"], vec![vec![0.0, 100.0, 200.0]]),
            series("task_node", &["m/t0"], vec![vec![0.0; 3]]),
            series("anything", &["a", "b", "c"], vec![vec![1.0; 3], vec![3.0; 3], vec![2.0; 3]]),
        ];
        let outcome = Outcome { series, ..Outcome::default() };
        let r = run(&Run { workload: 0, kernel: 0, seed: 7, outcome: &outcome }, 1, &axis(), &LIMITS);
        let rates: Vec<_> = r.rates.iter().map(|l| (l.name.as_str(), l.values[1])).collect();
        assert_eq!(rates, [("numa_hint_faults", Num(10.0)), ("numa_pte_updates", Num(10.0)), ("ops", Num(100.0))]);
        let groups: Vec<_> = r.groups.iter().map(|g| (g.name.as_str(), g.lines.len(), g.left_out)).collect();
        assert_eq!(groups, [("cpu_time", 1, 0), ("anything", 2, 1)]);
        assert_eq!(r.groups[0].lines[0].values, nums(vec![2.0, 2.0]));
        assert_eq!(r.groups[1].lines[0].name, "b");
        assert!(r.memory.is_some() && r.maps.len() == 1);
        assert_eq!((r.points, r.end), (2, 2.0));
    }

    #[test]
    fn the_axis_ends_with_the_longest_run() {
        let sampled = |last: u64| {
            let mut s = series("anything", &["a"], vec![vec![1.0; 4]]);
            s.time_ns = vec![4_000_000, 204_000_000, 404_000_000, last];
            Outcome { series: vec![s], ..Outcome::default() }
        };
        let outcomes = [sampled(408_000_000), sampled(539_400_000)];
        let c = crate::data::Comparison {
            kernels: vec![crate::data::Kernel::named("a"), crate::data::Kernel::named("b")],
            workloads: vec![crate::data::Workload { name: "w".into(), ..Default::default() }],
            ..Default::default()
        };
        let runs = (0..2).map(|kernel| Run { workload: 0, kernel, seed: 1, outcome: &outcomes[kernel] }).collect();
        let w = &data(&Input { runs, ..Input::new("t", &c) }, &LIMITS).workloads[0];
        assert_eq!((w.step, w.points, w.end), (0.2, 3, 0.5394));
        assert_eq!(w.runs.iter().map(|r| (r.points, r.end)).collect::<Vec<_>>(), [(2, 0.408), (3, 0.5394)]);
        assert_eq!(w.runs[0].groups[0].lines[0].values.len(), 2);
    }
}
