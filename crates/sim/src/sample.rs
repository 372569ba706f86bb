//! Time series: what a run looked like while it went on.

use crate::engine::World;
use numalab_kernel::mm::{PageClass, PageRef};
use numalab_model::record::Series;
use numalab_model::workload::Workload;

/// Time between samples.
const SAMPLE_NS: u64 = 200_000_000;

/// Samples taken so far.
#[derive(Debug)]
pub struct Samples {
    next_ns: u64,
    /// Pages of each process on each node.
    pub pages: Series,
    /// Hint faults, local ones, migrated pages, PTE updates since the start.
    pub activity: Series,
    /// DRAM bandwidth of each node.
    pub bandwidth: Series,
    scratch: Vec<u64>,
}

impl Samples {
    /// Empty series for a workload.
    pub fn new(workload: &Workload, nodes: usize) -> Self {
        let per_node = |name: &str| (0..nodes).map(|n| format!("{name}/node{n}")).collect::<Vec<_>>();
        let series = |name: &str, unit: &str, columns: Vec<String>| Series {
            name: name.into(),
            unit: unit.into(),
            values: vec![Vec::new(); columns.len()],
            columns,
            time_ns: Vec::new(),
        };
        let pages = workload.processes.iter().flat_map(|p| per_node(&p.name)).collect();
        let names = ["numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated", "numa_pte_updates"];
        Self {
            next_ns: 0,
            pages: series("process_pages", "pages", pages),
            activity: series("numa_activity", "count since start", names.iter().map(|n| (*n).into()).collect()),
            bandwidth: series("dram_bandwidth", "GB/s", per_node("dram")),
            scratch: vec![0; nodes],
        }
    }
}

fn push(series: &mut Series, now: u64, values: impl Iterator<Item = f64>) {
    series.time_ns.push(now);
    for (column, v) in series.values.iter_mut().zip(values) {
        column.push(v);
    }
}

impl World<'_> {
    /// Takes a sample if one is due.
    pub(crate) fn sample(&mut self) {
        if self.now_ns >= self.samples.next_ns {
            self.samples.next_ns = self.now_ns + SAMPLE_NS;
            self.sample_now();
        }
    }

    /// Takes a sample now, unless there is one of this instant.
    pub(crate) fn sample_now(&mut self) {
        let now = self.now_ns;
        let s = &mut self.samples;
        if s.pages.time_ns.last() == Some(&now) {
            return;
        }
        s.pages.time_ns.push(now);
        let nodes = s.scratch.len();
        let pages = self.processes.iter().map(|p| p.space.rss_pages()).sum();
        if pages > self.peak.0 {
            let bytes = self.processes.iter().flat_map(|p| p.space.iter()).map(|v| v.state_bytes() as u64).sum();
            self.peak = (pages, bytes);
        }
        for (i, p) in self.processes.iter().enumerate() {
            s.scratch.fill(0);
            p.space.add_pages_on_node(&mut s.scratch);
            for n in 0..nodes {
                s.pages.values[i * nodes + n].push(s.scratch[n] as f64);
            }
        }
        let c = &self.numa.counters;
        let activity = [c.numa_hint_faults, c.numa_hint_faults_local, c.numa_pages_migrated, c.numa_pte_updates];
        push(&mut s.activity, now, activity.into_iter().map(|v| v as f64));
        let rates = &self.rates;
        push(&mut s.bandwidth, now, (0..nodes).map(|n| rates.dram_gbps(n)));
    }

    /// Every shared page is shown as often as its mapcount says.
    fn check_mapcounts(&self) -> Result<(), String> {
        for (id, object) in self.shared.iter() {
            for (chunk, b) in object.blocks() {
                let mut from = 0;
                while let Some(page) = b.resident.next(from) {
                    let at = PageRef { object: id, chunk: chunk as u32, page: page as u16 };
                    let shown = object.mappers.iter().filter(|m| {
                        let p = &self.processes[m.process as usize];
                        p.started && !p.ended && p.space.vma(m.vma as usize).shows(at)
                    });
                    let (shown, mapcount) = (shown.count(), b.mapcount[page]);
                    if shown != mapcount as usize {
                        return Err(format!("{at:?} is shown {shown} times, its mapcount is {mapcount}"));
                    }
                    from = page + 1;
                }
            }
        }
        Ok(())
    }

    /// Every page table and every slot of the swap device belongs to one mapping.
    fn check_tables_and_swap(&self) -> Result<(), String> {
        let vmas = || self.processes.iter().flat_map(|p| p.space.iter());
        let tables: u64 = vmas().map(|v| v.places.tables()).sum();
        let allocated: u64 =
            (0..self.memory.nodes()).map(|n| self.memory.account(n).pages(PageClass::PageTables)).sum();
        let (swapped, slots) = (vmas().map(|v| v.places.swapped()).sum::<u64>(), self.memory.swap.used_slots());
        if tables != allocated || swapped != slots {
            return Err(format!(
                "{tables} page tables in mappings, {allocated} allocated; {swapped} pages swapped, {slots} slots used"
            ));
        }
        Ok(())
    }

    /// Checks what must hold at the end of a run.
    ///
    /// # Errors
    /// A sentence naming the first violated rule.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut used = vec![0u64; self.machine.node_count()];
        for p in &self.processes {
            p.space.check()?;
            p.space.add_exclusive_on_node(&mut used);
        }
        self.shared.add_pages_on_node(&mut used);
        self.check_mapcounts()?;
        self.memory.check()?;
        self.check_tables_and_swap()?;
        for (n, &u) in used.iter().enumerate() {
            let a = self.memory.account(n);
            let kept = a.pages(PageClass::PageTables) + a.file();
            if u + kept != self.memory.used(n) {
                let all = self.memory.used(n);
                return Err(format!("node {n}: {u} pages mapped, {kept} tables and cache, {all} allocated"));
            }
            if u > 0 && self.machine.nodes[n].memory_bytes == 0 {
                return Err(format!("node {n} has no memory but holds {u} pages"));
            }
        }
        let c = &self.numa.counters;
        if c.numa_hint_faults_local > c.numa_hint_faults {
            return Err("more local hint faults than hint faults".into());
        }
        Ok(())
    }
}
