//! Time series: what a run looked like while it went on.

use crate::engine::World;
use crate::task::Activity;
use numalab_kernel::mm::{Frame, Mapper, PageClass, PageRef};
use numalab_model::machine::Machine;
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
    /// Traffic of each link, each way.
    pub links: Series,
    /// Thread time by kind since the start.
    pub cpu: Series,
    /// Scores since the start.
    pub scores: Series,
    scratch: Vec<u64>,
}

/// Most links that have columns.
const MAX_LINKS: usize = 256;

impl Samples {
    /// Empty series for a workload.
    pub fn new(workload: &Workload, machine: &Machine) -> Self {
        let nodes = machine.node_count();
        let per_node = |name: &str| (0..nodes).map(|n| format!("{name}/node{n}")).collect::<Vec<_>>();
        let series = |name: &str, unit: &str, columns: Vec<String>| Series {
            name: name.into(),
            unit: unit.into(),
            values: vec![Vec::new(); columns.len()],
            columns,
            time_ns: Vec::new(),
        };
        let pages = workload.processes.iter().flat_map(|p| per_node(&p.name)).collect();
        let names =
            ["numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated", "numa_pte_updates", "pgfault"];
        let links = machine.links.iter().take(MAX_LINKS);
        let links = links.flat_map(|l| [format!("{} there", l.name), format!("{} back", l.name)]).collect();
        Self {
            next_ns: 0,
            pages: series("process_pages", "pages", pages),
            activity: series("numa_activity", "count since start", names.iter().map(|n| (*n).into()).collect()),
            bandwidth: series("dram_bandwidth", "GB/s", per_node("dram")),
            links: series("link_bandwidth", "GB/s", links),
            cpu: series("cpu_time", "s since start", ["user", "system", "blocked"].map(String::from).to_vec()),
            scores: series("score", "since start", workload.scores.iter().map(|s| s.name.clone()).collect()),
            scratch: vec![0; nodes],
        }
    }
}

impl Samples {
    /// Node and pages of every process on it, at the last sample.
    pub fn last_pages(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let nodes = self.scratch.len();
        let last = |v: &Vec<f64>| v.last().map_or(0, |p| *p as u64);
        self.pages.values.iter().enumerate().map(move |(column, v)| (column % nodes, last(v)))
    }
    /// The series as a record keeps them, those without columns left out.
    pub fn into_series(self) -> impl Iterator<Item = Series> {
        let all = [self.pages, self.activity, self.bandwidth, self.links, self.cpu, self.scores];
        all.into_iter().filter(|s| !s.columns.is_empty())
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
            self.sample_now(false);
        }
    }

    /// Takes a sample now, unless there is one of this instant; the last one of a run is taken of everything.
    pub(crate) fn sample_now(&mut self, last: bool) {
        let now = self.now_ns;
        if self.samples.pages.time_ns.last() == Some(&now) {
            return;
        }
        self.sample_maps(last);
        let s = &mut self.samples;
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
        let activity = activity.into_iter().chain([self.vm.pgfault]);
        push(&mut s.activity, now, activity.map(|v| v as f64));
        let rates = &self.rates;
        push(&mut s.bandwidth, now, (0..nodes).map(|n| rates.dram_gbps(n)));
        let links = s.links.columns.len() / 2;
        push(&mut s.links, now, (0..links).flat_map(|l| [rates.link_gbps(l, true), rates.link_gbps(l, false)]));
        let mut ns = [0; 3];
        for p in &self.processes {
            ns = [ns[0] + p.user_ns, ns[1] + p.system_ns, ns[2] + p.blocked_ns];
        }
        push(&mut s.cpu, now, ns.into_iter().map(|ns| ns as f64 / 1e9));
        push(&mut s.scores, now, self.scores.iter().copied());
    }

    /// What the run's page state took at its largest, and how much the run did.
    pub(crate) fn footprint(&self) -> crate::Footprint {
        let c = &self.numa.counters;
        crate::Footprint {
            pages: self.peak.0,
            state_bytes: self.peak.1,
            page_events: self.vm.pgfault + c.numa_pte_updates + c.numa_pages_migrated,
            ticks: self.ticks,
        }
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
                for page in 0..512 {
                    let Some((slot, entries)) = b.slot(page) else { continue };
                    let names = |m: &&Mapper| {
                        let v = self.processes[m.process as usize].space.vma(m.vma as usize);
                        v.places.slot(chunk, page) == Some(slot)
                    };
                    let named = object.mappers.iter().filter(names).count();
                    if named != entries as usize {
                        return Err(format!("slot {slot} is named by {named} entries, {entries} are noted"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Every page table belongs to one mapping, and every slot of the swap device to one mapping or one shared page.
    fn check_tables_and_swap(&self) -> Result<(), String> {
        let vmas = || self.processes.iter().flat_map(|p| p.space.iter());
        let tables: u64 = vmas().map(|v| v.places.tables()).sum();
        let allocated: u64 =
            (0..self.memory.nodes()).map(|n| self.memory.account(n).pages(PageClass::PageTables)).sum();
        let (swapped, slots) = (vmas().map(|v| v.places.swapped()).sum::<u64>(), self.memory.swap.used_slots());
        let (common, entries) = self.shared.slots();
        let swapped = swapped - entries + common;
        if tables != allocated || swapped != slots {
            return Err(format!(
                "{tables} page tables in mappings, {allocated} allocated; {swapped} pages swapped, {slots} slots used"
            ));
        }
        Ok(())
    }

    /// Every nanosecond of a CPU that an ended task had was charged to it once, as user or kernel time; only what its
    /// process slept inside the kernel may be missing, for which the model keeps the CPU.
    fn check_cpu_time(&self) -> Result<(), String> {
        for (number, t) in self.tasks.iter().enumerate().filter(|(_, t)| t.activity == Activity::Dead) {
            let (charged, had) = (t.user_ns + t.system_ns, self.sched.runtime_ns(number as u32));
            let slept = self.processes[t.process as usize].blocked_ns;
            if charged > had || had - charged > slept {
                return Err(format!(
                    "task {number} was charged {charged} ns, had a CPU for {had} ns, slept {slept} ns"
                ));
            }
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
        let mut active = vec![0u64; self.machine.node_count()];
        self.processes.iter().for_each(|p| p.space.add_active_on_node(&mut active));
        self.shared.add_active_on_node(&mut active);
        for (node, frame, pages, anon) in self.in_flight() {
            used[node] += pages;
            active[node] += if anon && frame.has(Frame::ACTIVE) { pages } else { 0 };
        }
        if let Some(n) = (0..active.len()).find(|&n| active[n] != self.memory.account(n).lru.active_anon) {
            return Err(format!("node {n}: {} active pages, {:?}", active[n], self.memory.account(n).lru));
        }
        self.check_mapcounts()?;
        self.check_cpu_time()?;
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
