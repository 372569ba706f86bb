//! A tiny address space and a tiny scheduler for the tests.

use numalab_kernel::numa::host::{CpuStats, NumaDomain, Told};
use numalab_kernel::numa::mark::MarkRules;
use numalab_kernel::numa::migrate::{ZoneFacts, ZoneInfo};
use numalab_kernel::numa::page_filter::Verdict;
use numalab_kernel::numa::scan::{Marked, VmaView};
use numalab_kernel::numa::topology::NodeParts;
use numalab_kernel::numa::{
    NumaBalancing, NumaConfig, NumaSettings, NumaTopology, PageFacts, ScanSpace, TaskHost, VmaNuma,
};
use numalab_kernel::registry;

pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;
pub const PAGE: u64 = 4096;

/// Number of resident pages of `mib` MiB.
pub fn mib_pages(mib: u64) -> u64 {
    mib * 256
}

/// The settings of a release.
pub fn settings(release: &str) -> NumaSettings {
    registry::numa_settings(&numalab_model::catalog::built_in_kernel(release, &registry::vocabulary()).unwrap())
}

/// The configuration of a release.
pub fn config(release: &str, hz: u32) -> NumaConfig {
    settings(release).resolve(hz).unwrap()
}

/// Nodes with CPUs and memory, all remote distances 20.
pub fn direct(nodes: usize, cpus: usize) -> NumaTopology {
    let parts = vec![NodeParts { cpus, memory: true, tier: 0 }; nodes];
    let distance: Vec<u8> = (0..nodes * nodes).map(|i| if i % (nodes + 1) == 0 { 10 } else { 20 }).collect();
    NumaTopology::from_parts(&parts, &distance).unwrap()
}

/// NUMA balancing of a release on two nodes of two CPUs, with one task (pid 1000, tid 0). Its mm is past the first
/// arming.
pub fn system(release: &str, hz: u32) -> NumaBalancing {
    let mut n = NumaBalancing::new(config(release, hz), direct(2, 2));
    n.start(0, Some(0), 1000);
    n
}

/// Content of a VMA.
pub enum Content {
    /// All pages are of this kind and not marked.
    Unmarked(PageFacts),
    /// Every page is present and already PROT_NONE.
    AllMarked,
    /// Huge pages, one per 2 MiB.
    Huge(Vec<PageFacts>),
    /// The pages as listed.
    Pages(Vec<MockPage>),
}

/// A page of a mock VMA.
#[derive(Clone, Copy)]
pub struct MockPage {
    pub present: bool,
    pub marked: bool,
    pub facts: PageFacts,
}

impl MockPage {
    pub fn new(facts: PageFacts) -> Self {
        Self { present: true, marked: false, facts }
    }
    pub fn absent() -> Self {
        Self { present: false, ..Self::new(PageFacts::private_anon(0)) }
    }
}

pub struct MockVma {
    pub view: VmaView,
    pub state: Option<VmaNuma>,
    pub content: Content,
}

impl MockVma {
    /// An anonymous VMA of unmarked pages on node 0.
    pub fn anon(start: u64, len: u64) -> Self {
        let view = VmaView::anonymous(start, start + len);
        Self { view, state: None, content: Content::Unmarked(PageFacts::private_anon(0)) }
    }
    pub fn with(mut self, content: Content) -> Self {
        self.content = content;
        self
    }
}

/// An address space that remembers every call of `mark`.
#[derive(Default)]
pub struct MockSpace {
    pub vmas: Vec<MockVma>,
    pub calls: Vec<(usize, u64, u64)>,
    pub locked: bool,
}

impl MockSpace {
    pub fn of(vmas: Vec<MockVma>) -> Self {
        Self { vmas, ..Self::default() }
    }
}

fn mark_page(page: &mut MockPage, rules: &MarkRules) -> Verdict {
    if !page.present || page.marked {
        return Verdict::Skip;
    }
    let verdict = rules.pte(&page.facts);
    if verdict == Verdict::Mark {
        page.marked = true;
        if rules.stamp_nodes.contains(page.facts.nid) {
            page.facts.last = rules.stamp;
        }
    }
    verdict
}

impl ScanSpace for MockSpace {
    fn try_lock(&mut self) -> bool {
        !self.locked
    }
    fn vma_count(&self) -> usize {
        self.vmas.len()
    }
    fn first_vma_with_end_above(&self, addr: u64) -> usize {
        self.vmas.partition_point(|v| v.view.end <= addr)
    }
    fn vma(&self, index: usize) -> VmaView {
        self.vmas[index].view
    }
    fn state(&mut self, index: usize) -> &mut Option<VmaNuma> {
        &mut self.vmas[index].state
    }
    fn mark(&mut self, index: usize, start: u64, end: u64, rules: &MarkRules) -> Marked {
        self.calls.push((index, start, end));
        let vma = &mut self.vmas[index];
        let base = vma.view.start;
        let range = ((start - base) / PAGE) as usize..((end - base) / PAGE) as usize;
        let mut marked = Marked::default();
        match &mut vma.content {
            Content::AllMarked => {}
            Content::Huge(pages) => {
                let marked_pages = pages[range.start / 512..range.end.div_ceil(512)].iter();
                marked.huge = marked_pages.filter(|p| rules.huge(p) == Verdict::Mark).count() as u64;
                marked.updates = 512 * marked.huge;
            }
            Content::Unmarked(facts) => match rules.pte(facts) {
                Verdict::Mark => marked.updates = range.len() as u64,
                Verdict::Skip => {}
                Verdict::SkipVma => marked.stop_at = Some(start),
            },
            Content::Pages(pages) => {
                for i in range {
                    match mark_page(&mut pages[i], rules) {
                        Verdict::Mark => marked.updates += 1,
                        Verdict::Skip => {}
                        Verdict::SkipVma => {
                            marked.stop_at = Some(base + i as u64 * PAGE);
                            break;
                        }
                    }
                }
            }
        }
        marked
    }
}

/// Nodes with one zone each.
#[derive(Clone)]
pub struct MockMemory {
    pub zones: Vec<[ZoneFacts; 1]>,
    pub present: u64,
}

impl MockMemory {
    /// Much free memory on two nodes.
    pub fn plenty() -> Self {
        let zone = ZoneFacts { populated: true, free_pages: 1 << 24, ..ZoneFacts::default() };
        Self { zones: vec![[zone]; 4], present: 1 << 25 }
    }
}

impl ZoneInfo for MockMemory {
    fn zones(&self, node: usize) -> &[ZoneFacts] {
        &self.zones[node]
    }
    fn present_pages(&self, _: usize) -> u64 {
        self.present
    }
}

/// A scheduler without a clock: its answers come from tables.
#[derive(Clone)]
pub struct MockHost {
    pub runtime_ns: Vec<u64>,
    pub clock_ns: u64,
    pub load_sum: u64,
    pub rss_pages: u64,
    pub load: Vec<u64>,
    pub cpu: Vec<usize>,
    pub running: Vec<Option<u32>>,
    pub stats: Vec<CpuStats>,
    pub forbidden: Vec<(u32, usize)>,
    pub busy_cores: Vec<usize>,
    pub claimed: Vec<usize>,
    pub idle_sibling: Option<usize>,
    pub domain: Option<NumaDomain>,
    pub refuse_moves: bool,
    pub put_off: bool,
    pub log: Vec<String>,
}

impl MockHost {
    /// `cpus` idle CPUs of capacity 1024, and `tasks` tasks that are all on CPU 0 and do not run.
    pub fn new(cpus: usize, tasks: usize) -> Self {
        Self {
            runtime_ns: vec![0; tasks],
            clock_ns: 0,
            load_sum: 47_742,
            rss_pages: mib_pages(1024),
            load: vec![1024; tasks],
            cpu: vec![0; tasks],
            running: vec![None; cpus],
            stats: vec![CpuStats { capacity: 1024, ..CpuStats::default() }; cpus],
            forbidden: Vec::new(),
            busy_cores: Vec::new(),
            claimed: Vec::new(),
            idle_sibling: None,
            domain: Some(NumaDomain { imbalance_pct: 117, imb_numa_nr: 8 }),
            refuse_moves: false,
            put_off: false,
            log: Vec::new(),
        }
    }
    /// Puts a task on a CPU and runs it there with full load.
    pub fn run(&mut self, task: u32, cpu: usize) {
        self.cpu[task as usize] = cpu;
        self.running[cpu] = Some(task);
        let load = self.load[task as usize];
        self.stats[cpu] = CpuStats { load, runnable: load, util: load, nr_running: 1, capacity: 1024 };
    }
    fn vacate(&mut self, cpu: usize) {
        self.running[cpu] = None;
        self.stats[cpu] = CpuStats { capacity: 1024, ..CpuStats::default() };
    }
}

impl TaskHost for MockHost {
    fn runtime_ns(&self, task: u32) -> u64 {
        self.runtime_ns[task as usize]
    }
    fn exec_start_ns(&self, _: u32) -> u64 {
        self.clock_ns
    }
    fn load_sum(&self, _: u32) -> u64 {
        self.load_sum
    }
    fn task_load(&self, task: u32) -> u64 {
        self.load[task as usize]
    }
    fn rss_pages(&self, _: u32) -> u64 {
        self.rss_pages
    }
    fn cpu_of(&self, task: u32) -> usize {
        self.cpu[task as usize]
    }
    fn running_on(&self, cpu: usize) -> Option<u32> {
        self.running[cpu]
    }
    fn allowed(&self, task: u32, cpu: usize) -> bool {
        !self.forbidden.contains(&(task, cpu))
    }
    fn cpu_stats(&self, cpu: usize) -> CpuStats {
        self.stats[cpu]
    }
    fn idle(&self, cpu: usize) -> bool {
        self.running[cpu].is_none() && self.stats[cpu].nr_running == 0
    }
    fn core_idle(&self, cpu: usize) -> bool {
        !self.busy_cores.contains(&cpu)
    }
    fn claimed(&self, cpu: usize) -> bool {
        self.claimed.contains(&cpu)
    }
    fn idle_sibling(&mut self, _: u32, _: usize, target: usize) -> usize {
        self.idle_sibling.unwrap_or(target)
    }
    fn numa_domain(&self, _: usize) -> Option<NumaDomain> {
        self.domain
    }
    fn preferred_changed(&mut self, task: u32, old: Option<usize>, new: Option<usize>) {
        self.log.push(format!("prefer {task} {old:?} {new:?}"));
    }
    fn move_task(&mut self, task: u32, cpu: usize, _: u64) -> Told {
        if self.put_off {
            return Told::Later;
        }
        if self.refuse_moves {
            return Told::Refused;
        }
        self.log.push(format!("move {task} {cpu}"));
        let old = self.cpu[task as usize];
        if self.running[old] == Some(task) {
            self.vacate(old);
        }
        self.run(task, cpu);
        Told::Done
    }
    fn swap_tasks(&mut self, a: u32, b: u32, _: u64) -> Told {
        if self.put_off {
            return Told::Later;
        }
        if self.refuse_moves {
            return Told::Refused;
        }
        self.log.push(format!("swap {a} {b}"));
        let (ca, cb) = (self.cpu[a as usize], self.cpu[b as usize]);
        self.run(a, cb);
        self.run(b, ca);
        Told::Done
    }
}
