//! A look at the machine, from procfs.

use super::machine::Shape;
use super::state::{Entry, State};
use crate::procfs::numa_maps::{Mapping, Reading};
use crate::procfs::process::TICKS_PER_S;
use crate::procfs::scope::Scope;
use crate::procfs::{cgroup, maps, node, process, read, Roots};
use numalab_base::node_mask::NodeMask;
use numalab_kernel::userspace_balance::{Hold, Look, MappingLook, NodeLook, TaskLook};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is known of a process besides the look.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Name.
    pub name: String,
    /// Start after boot, ticks.
    pub start: u64,
    /// Ranges of its mappings by first address.
    pub ranges: BTreeMap<u64, u64>,
}

/// Makes looks.
#[derive(Debug)]
pub struct Survey {
    roots: Roots,
    scope: Scope,
    ticks: BTreeMap<(u32, u32), u64>,
    /// Busy ticks of each CPU at the last look.
    cpu_ticks: BTreeMap<u32, u64>,
    /// Processes of the last look.
    pub known: BTreeMap<u32, Known>,
    /// Processes whose mappings could not be read at the last look.
    pub denied: usize,
    /// Threads that were found with an affinity that they have inherited from one that was moved.
    pub(super) inherited: Vec<Entry>,
}

/// Longest time for the mappings of one process in one look.
const MAPS_LIMIT: Duration = Duration::from_secs(2);
/// A mapping from this size on may have huge pages, bytes.
const HUGE_BYTES: u64 = 2 << 20;

impl Survey {
    /// A survey of a scope.
    pub fn new(roots: Roots, scope: Scope) -> Self {
        Self {
            roots,
            scope,
            ticks: BTreeMap::new(),
            cpu_ticks: BTreeMap::new(),
            known: BTreeMap::new(),
            denied: 0,
            inherited: vec![],
        }
    }

    /// Looks at the machine. `interval` is the time since the last look.
    ///
    /// # Errors
    /// The scope's control group cannot be read.
    pub fn look(&mut self, shape: &Shape, state: &State, interval: Duration) -> Result<Look, String> {
        let mut look = Look::default();
        let huge = self.huge_pages();
        self.denied = 0;
        let mut known = BTreeMap::new();
        let mut ticks = BTreeMap::new();
        let mut busy = vec![0u64; shape.ids.len()];
        for pid in self.scope.processes(&self.roots)? {
            // The daemon itself is left where it is.
            if pid == std::process::id() {
                continue;
            }
            let Some(stat) = process::stat(&self.roots, pid).filter(|s| !s.is_kernel() && s.state != 'Z') else {
                continue;
            };
            let mut own = Known { name: stat.name, start: stat.start, ranges: BTreeMap::new() };
            let before = look.tasks.len();
            self.threads(pid, shape, state, interval, &mut look, &mut ticks);
            look.tasks[before..].iter().for_each(|t| busy[t.node] += u64::from(t.busy_permille));
            if look.tasks[before..].iter().any(|t| t.busy_permille > 0) {
                self.mappings(pid, shape, huge, &mut own, &mut look);
            }
            known.insert(pid, own);
        }
        self.ticks = ticks;
        self.known = known;
        look.nodes = self.nodes(shape, &busy, interval);
        Ok(look)
    }

    fn threads(
        &mut self,
        pid: u32,
        shape: &Shape,
        state: &State,
        interval: Duration,
        look: &mut Look,
        ticks: &mut BTreeMap<(u32, u32), u64>,
    ) {
        let effective = cgroup::cpus_allowed(&self.roots, pid);
        let mut free = shape.online();
        if let Some(cpus) = &effective {
            free.retain(|c| cpus.contains(c));
        }
        for tid in process::tasks(&self.roots, pid) {
            let Some(stat) = process::task_stat(&self.roots, pid, tid) else { continue };
            let Some(node) = shape.node_of(stat.cpu) else { continue };
            let old = self.ticks.get(&(pid, tid)).copied();
            ticks.insert((pid, tid), stat.ticks);
            let used = old.map_or(0, |old| stat.ticks.saturating_sub(old));
            let per_look = (interval.as_secs_f64() * TICKS_PER_S as f64).max(1.0);
            let busy_permille = (used as f64 * 1000.0 / per_look).min(1000.0) as u32;
            let (mut hold, mut allowed) = (None, NodeMask::of(0..shape.ids.len()));
            if busy_permille > 0 {
                let status = process::task_status(&self.roots, pid, tid).unwrap_or_default();
                let mut may: Vec<u32> = status.cpus_allowed;
                may.retain(|c| shape.node_of(*c).is_some());
                // Ours is what we have set, or what a child has inherited of it.
                match state.entries().iter().find(|e| e.set == may) {
                    Some(e) if state.of(tid).is_none() => {
                        let (before, set) = (e.before.clone(), may);
                        self.inherited.push(Entry { pid, tid, start: stat.start, before, set });
                    }
                    Some(_) => {}
                    None if may == free => {}
                    None => hold = Some(Hold::Pinned),
                }
                allowed = NodeMask::of((0..shape.ids.len()).filter(|&n| {
                    let cpus = &shape.cpus[n];
                    !cpus.is_empty() && cpus.iter().all(|c| free.contains(c))
                }));
            }
            look.tasks.push(TaskLook {
                task: u64::from(tid),
                group: u64::from(pid),
                node,
                busy_permille,
                hold,
                allowed,
            });
        }
    }

    /// Mappings of a process; none if they may not be read.
    fn mappings(&mut self, pid: u32, shape: &Shape, huge: bool, own: &mut Known, look: &mut Look) {
        let numa = Reading::open(&self.roots.process(pid).join("numa_maps")).and_then(|mut r| r.advance(MAPS_LIMIT));
        let ranges = read(&self.roots.process(pid).join("maps")).map(|t| maps::parse(&t));
        let (Ok(Some(numa)), Ok(ranges)) = (numa, ranges) else {
            self.denied += 1;
            return;
        };
        let mems = process::status(&self.roots, pid).unwrap_or_default().mems_allowed;
        let allowed = NodeMask::of((0..shape.ids.len()).filter(|&n| mems.contains(&shape.ids[n])));
        for m in &numa {
            // A mapping that came between the two files is seen at the next look.
            let Ok(at) = ranges.binary_search_by_key(&m.start, |r| r.start) else { continue };
            let range = &ranges[at];
            // As in the kernel (task_numa_work), files that are only read count for nothing.
            if !range.writable && !m.file.is_empty() {
                continue;
            }
            let on = |id: &u32| m.nodes.iter().filter(|n| n.0 == *id).map(|n| n.1).sum::<u64>();
            let pages: Vec<u64> = shape.ids.iter().map(on).collect();
            if pages.iter().all(|&p| p == 0) {
                continue;
            }
            own.ranges.insert(m.start, range.end);
            let anonymous = m.file.is_empty() && !range.shared;
            look.mappings.push(MappingLook {
                group: u64::from(pid),
                start: m.start,
                pages,
                used: None,
                huge: huge && anonymous && range.end - range.start >= HUGE_BYTES,
                hold: hold(m, range),
                allowed,
            });
        }
    }

    /// Whether anonymous memory may have huge pages.
    fn huge_pages(&self) -> bool {
        let text = read(&self.roots.sys.join("kernel/mm/transparent_hugepage/enabled")).unwrap_or_default();
        !text.is_empty() && !text.contains("[never]")
    }

    /// Nodes with their free memory, and the threads on them that belong to nobody of the scope. `busy` has the CPU
    /// time of the scope in thousandths of a CPU.
    fn nodes(&mut self, shape: &Shape, busy: &[u64], interval: Duration) -> Vec<NodeLook> {
        let now = node::all(&self.roots);
        let ticks = cpu_ticks(&read(&self.roots.proc.join("stat")).unwrap_or_default());
        let per_look = (interval.as_secs_f64() * TICKS_PER_S as f64).max(1.0);
        let one = |n: usize| {
            let memory = now.iter().find(|m| m.id == shape.ids[n]).map_or((0, 0), |m| (m.free_bytes, m.total_bytes));
            // A CPU that came online since, or that could not be read, says nothing of this interval.
            let growth = |cpu: &u32| Some(ticks.get(cpu)?.saturating_sub(*self.cpu_ticks.get(cpu)?));
            let all = shape.cpus[n].iter().filter_map(growth).fold(0, u64::saturating_add);
            let elsewhere = (all as f64 * 1000.0 / per_look) as u64;
            NodeLook {
                free_pages: memory.0 / 4096,
                total_pages: memory.1 / 4096,
                busy_elsewhere: (elsewhere.saturating_sub(busy[n]) / 1000).min(1 << 16) as u32,
            }
        };
        let out = (0..shape.ids.len()).map(one).collect();
        self.cpu_ticks = ticks;
        out
    }
}

/// Busy ticks of each CPU since boot, from `/proc/stat`: all but idle and iowait.
fn cpu_ticks(text: &str) -> BTreeMap<u32, u64> {
    let mut out = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next().and_then(|w| w.strip_prefix("cpu")).and_then(|n| n.parse().ok());
        let Some(cpu) = cpu else { continue };
        let ticks: Vec<u64> = words.take(8).map(|w| w.parse().unwrap_or(0)).collect();
        let busy = ticks.iter().enumerate().filter(|(i, _)| *i != 3 && *i != 4).map(|(_, t)| *t);
        out.insert(cpu, busy.fold(0, u64::saturating_add));
    }
    out
}

/// Why a mapping stays where it is. Pages that other processes map too are not worth a move to the one that asks.
fn hold(m: &Mapping, range: &maps::Range) -> Option<Hold> {
    let device = m.file.starts_with("/dev/") && !m.file.starts_with("/dev/zero") && !m.file.starts_with("/dev/shm/");
    if m.has_own_policy() {
        Some(Hold::OwnPolicy)
    } else if m.hugetlb || device {
        Some(Hold::Unmovable)
    } else if range.shared && m.mapmax > 1 {
        Some(Hold::Shared)
    } else if m.mapmax > 1 {
        Some(Hold::SharedCow)
    } else {
        None
    }
}
