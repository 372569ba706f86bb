//! Maps over time: which node every stretch of memory and every thread is on.
//!
//! They answer "did memory follow its threads?" for runs of any length and size. Regions are divided into at most
//! [`PAGE_ROWS`] stretches, threads into at most [`TASK_ROWS`] rows. When there are [`MAX_SAMPLES`] samples, every
//! other one is dropped and the time between them doubles. A stretch shows the node that holds most of its pages,
//! judged by at most 64 of its 2 MiB chunks. Values are nodes, or -1 for none: no page there yet, or a thread that is
//! asleep, ended or not created yet.

use numalab_nouns::record::Series;
use numalab_nouns::workload::Process;

/// Most rows of the map of pages.
pub(crate) const PAGE_ROWS: u64 = 256;

/// Most rows of the map of threads. With more threads only every second, third, … thread has a row.
pub(crate) const TASK_ROWS: usize = 512;

/// Most samples kept.
pub(crate) const MAX_SAMPLES: usize = 600;

/// A stretch of a region, in chunks from its first one.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub(crate) process: usize,
    pub(crate) region: usize,
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// Both maps.
#[derive(Debug)]
pub struct Maps {
    /// Node of each stretch of memory.
    pub pages: Series,
    /// Node of each thread.
    pub tasks: Series,
    pub(crate) stretches: Vec<Stretch>,
    /// Number of the first thread of each process, over all processes.
    pub(crate) first_thread: Vec<usize>,
    /// One row per this many threads.
    pub(crate) fold: usize,
    /// Every this many calls is a sample.
    pub(crate) every: u64,
    pub(crate) calls: u64,
    pub(crate) votes: Vec<u64>,
}

fn series(name: &str, columns: Vec<String>) -> Series {
    Series { name: name.into(), unit: "node".into(), values: vec![Vec::new(); columns.len()], columns, time_ns: vec![] }
}

impl Maps {
    /// Empty maps of the processes of a workload, whose mappings have chunks of so many bytes.
    pub fn new(processes: &[Process], nodes: usize, chunk_bytes: u64) -> Self {
        let (mut rows, mut names) = (Vec::new(), Vec::new());
        let regions = || processes.iter().enumerate().flat_map(|(p, x)| x.regions.iter().map(move |r| (p, r)));
        let chunks = |bytes: u64| bytes.div_ceil(chunk_bytes).max(1);
        let total: u64 = regions().map(|(_, r)| chunks(r.size_bytes)).sum();
        // At least one row per region, so many regions may make a few more rows than asked for.
        let step = total.div_ceil(PAGE_ROWS).max(1);
        for (process, spec) in processes.iter().enumerate() {
            for (region, r) in spec.regions.iter().enumerate() {
                let mut first = 0;
                while first < chunks(r.size_bytes) && rows.len() < 4 * PAGE_ROWS as usize {
                    let end = (first + step).min(chunks(r.size_bytes));
                    names.push(format!("{}/{}+{}MiB", spec.name, r.name, (first * chunk_bytes) >> 20));
                    rows.push(Stretch { process, region, first: first as usize, end: end as usize });
                    first = end;
                }
            }
        }
        let mut first_thread = Vec::new();
        let mut threads = Vec::new();
        for p in processes {
            first_thread.push(threads.len());
            threads.extend((0..p.threads.len()).map(|t| format!("{}/t{t}", p.name)));
        }
        let fold = threads.len().div_ceil(TASK_ROWS).max(1);
        Self {
            pages: series("page_node", names),
            tasks: series("task_node", threads.into_iter().step_by(fold).collect()),
            stretches: rows,
            first_thread,
            fold,
            every: 1,
            calls: 0,
            votes: vec![0; nodes],
        }
    }

    /// Both series as a record keeps them; none without samples or columns.
    pub fn into_series(self) -> impl Iterator<Item = Series> {
        [self.pages, self.tasks].into_iter().filter(|s| !s.columns.is_empty())
    }

    /// Drops every other sample once there are too many.
    pub(crate) fn thin(&mut self) {
        if self.pages.time_ns.len() < MAX_SAMPLES {
            return;
        }
        self.every *= 2;
        for s in [&mut self.pages, &mut self.tasks] {
            halve(&mut s.time_ns);
            s.values.iter_mut().for_each(halve);
        }
    }
}

/// Keeps the first, third, fifth, … entry.
fn halve<T: Copy>(list: &mut Vec<T>) {
    let mut i = 0;
    list.retain(|_| {
        i += 1;
        i % 2 == 1
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_keeps_the_first_sample() {
        let mut list = vec![0, 1, 2, 3, 4];
        halve(&mut list);
        assert_eq!(list, [0, 2, 4]);
    }
}
