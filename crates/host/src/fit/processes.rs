//! Processes: how many, how large, where their memory starts, and how many threads run.

use super::series::{at, PAGE_BYTES};
use numalab_model::record::Series;
use std::collections::BTreeMap;

/// Share of its largest size at which the memory of a process counts as there.
const FILLED: f64 = 0.9;
/// A thread that runs less than so often as the busiest of its program does not count.
const SELDOM: f64 = 0.2;
/// Smallest share of a node that counts.
const LEAST_SHARE: f64 = 0.02;

/// Processes of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Name.
    pub name: String,
    /// How many there are.
    pub count: usize,
    /// Memory of each at its largest, bytes; the mean over all.
    pub bytes: u64,
    /// Share of the memory on each node when it is there, in the order of nodes.
    pub start: Vec<f64>,
    /// Threads of each that share the work, at least 1; the mean over all.
    pub threads: usize,
}

/// Sums over the processes of a name.
#[derive(Default)]
struct Sums {
    count: usize,
    pages: f64,
    start: Vec<f64>,
}

/// Reads the processes of a record. Columns of `pages` are `NAME.INSTANCE/nodeN`, those of `tasks` `NAME.INSTANCE/tN`
/// with the node that a thread ran on, or -1.
pub(super) fn read(pages: &Series, tasks: Option<&Series>, assumed: &mut Vec<String>) -> Vec<Process> {
    // Columns of every instance, in the order of nodes.
    let mut instances: Vec<(&str, Vec<usize>)> = Vec::new();
    for (column, name) in pages.columns.iter().enumerate() {
        let Some((instance, _)) = name.rsplit_once("/node") else { continue };
        match instances.iter_mut().find(|(n, _)| *n == instance) {
            Some((_, columns)) => columns.push(column),
            None => instances.push((instance, vec![column])),
        }
    }
    let (mut names, mut all) = (Vec::new(), BTreeMap::<&str, Sums>::new());
    for (instance, columns) in &instances {
        let name = family(instance);
        let Some((largest, start)) = size(pages, columns) else { continue };
        if !names.contains(&name) {
            names.push(name);
        }
        let sums = all.entry(name).or_default();
        sums.count += 1;
        sums.pages += largest;
        sums.start.resize(start.len().max(sums.start.len()), 0.0);
        sums.start.iter_mut().zip(&start).for_each(|(sum, s)| *sum += s);
    }
    if tasks.is_none() {
        assumed.push("every process has one thread: the record does not show threads".into());
    }
    let one = |name: &str| {
        let sums = all.get(name)?;
        let n = sums.count as f64;
        let threads = tasks.map_or(1.0, |t| running(t, name) / n);
        Some(Process {
            name: word(name),
            count: sums.count,
            bytes: (sums.pages / n * PAGE_BYTES) as u64,
            start: shares(&sums.start),
            threads: (threads.round() as usize).max(1),
        })
    };
    names.into_iter().filter_map(one).collect()
}

/// Name of all instances: what stands before the last dot.
pub(super) fn family(instance: &str) -> &str {
    instance.rsplit_once('.').map_or(instance, |(name, _)| name)
}

/// A name of the workload language: other characters become `_`.
pub(super) fn word(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let text: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text
    } else {
        format!("p{text}")
    }
}

/// Largest number of pages of an instance, and its pages by node when most of them are there. `None` without any.
fn size(pages: &Series, columns: &[usize]) -> Option<(f64, Vec<f64>)> {
    let sum = |sample: usize| columns.iter().map(|c| at(pages, *c, sample)).sum::<f64>();
    let largest = (0..pages.time_ns.len()).map(sum).fold(0.0, f64::max);
    let first = (0..pages.time_ns.len()).find(|s| largest > 0.0 && sum(*s) >= FILLED * largest)?;
    Some((largest, columns.iter().map(|c| at(pages, *c, first)).collect()))
}

/// Number of threads of all instances of a name that share the work: those that were seen running at least [`SELDOM`]
/// times as often as the busiest. A record of very many threads has every Nth alone, and each of them stands for N.
fn running(tasks: &Series, name: &str) -> f64 {
    (busy(tasks, name).len() * every(tasks)) as f64
}

/// Columns of the threads of all instances of a name that share the work.
pub(super) fn busy(tasks: &Series, name: &str) -> Vec<usize> {
    let own = |c: &usize| tasks.columns[*c].rsplit_once('/').is_some_and(|(i, _)| family(i) == name);
    let seen = |c: usize| (0..tasks.time_ns.len()).filter(|s| at(tasks, c, *s) >= 0.0).count() as f64;
    let counts: Vec<(usize, f64)> = (0..tasks.columns.len()).filter(own).map(|c| (c, seen(c))).collect();
    let most = counts.iter().map(|c| c.1).fold(0.0, f64::max);
    counts.into_iter().filter(|(_, n)| *n > 0.0 && *n >= SELDOM * most).map(|(c, _)| c).collect()
}

/// The N of a record that has every Nth thread: the smallest distance of two threads of a process.
fn every(tasks: &Series) -> usize {
    let parsed = |c: &String| {
        let (process, thread) = c.rsplit_once("/t")?;
        Some((process.to_string(), thread.parse::<usize>().ok()?))
    };
    let all: Vec<(String, usize)> = tasks.columns.iter().filter_map(parsed).collect();
    let distance = |w: &[(String, usize)]| (w[0].0 == w[1].0).then(|| w[1].1.saturating_sub(w[0].1));
    all.windows(2).filter_map(distance).filter(|d| *d > 0).min().unwrap_or(1)
}

/// Numbers as shares of their sum. Small shares go to the largest one.
fn shares(numbers: &[f64]) -> Vec<f64> {
    let sum: f64 = numbers.iter().sum();
    let mut out: Vec<f64> = numbers.iter().map(|n| n / sum.max(1.0)).collect();
    out.iter_mut().filter(|s| **s < LEAST_SHARE).for_each(|s| *s = 0.0);
    let rest = 1.0 - out.iter().sum::<f64>();
    if let Some(largest) = out.iter_mut().max_by(|a, b| a.total_cmp(b)) {
        *largest += rest;
    }
    out
}
