//! The designs of 2012 in the engine: their state, and the places where they are called.
//!
//! A kernel whose roles are filled by AutoNUMA or schednuma (designs-2012.md) takes the faults, ticks and daemons here
//! instead of the paths of 3.8 and later. What each design does is in [`autonuma`](crate::autonuma) and
//! [`schednuma`](crate::schednuma); this file marks memory for either scanner, and counts.
//!
//! Counters have the names of mail 002 and grow where its patches put them, which differs between the two designs
//! (designs-2012.md section 5.4).

use crate::anon_lock::AnonLocks;
use crate::copies::Copies;
use crate::engine::World;
use crate::event::Event;
use crate::fronts::Fronts;
use crate::mmap_lock::LongFaults;
use numalab_kernel::mm::khugepaged::{KhugepagedTunables, Pace};
use numalab_kernel::mm::ChunkKind;
use numalab_kernel::numa::autonuma::{AutoNuma, Scand};
use numalab_kernel::numa::design::{Design, Faults, Scanner, TaskMoves};
use numalab_kernel::numa::mark::MarkRules;
use numalab_kernel::numa::schednuma::SchedNuma;

/// A kernel thread of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Daemon {
    /// knuma_scand.
    Scand,
    /// khugepaged.
    Khugepaged,
}

/// What a run reports of a design beside the counters every kernel has.
#[derive(Clone, Copy, Debug, Default)]
pub struct DesignCounters {
    /// Huge pages split.
    pub thp_split: u64,
    /// Huge pages made by khugepaged.
    pub thp_collapse_alloc: u64,
    /// Base pages copied between nodes by the kernel, thrown-away copies included.
    pub pages_copied: u64,
    /// Copies of huge pages thrown away.
    pub copies_lost: u64,
    /// Scans done.
    pub scans: u64,
    /// Migrations refused by the rate limit.
    pub rate_limited: u64,
    /// Migrations refused for lack of free memory.
    pub nearly_full: u64,
    /// Faults whose page the filter kept where it was.
    pub filtered: u64,
    /// Exchanges of two tasks.
    pub exchanges: u64,
    /// Homes set.
    pub homes: u64,
    /// Time of kernel threads, ns (not part of any process's time).
    pub daemon_ns: u64,
}

/// State of the designs in a run.
#[derive(Debug)]
pub struct Designs {
    /// Roles and knobs.
    pub cfg: Design,
    /// AutoNUMA.
    pub autonuma: AutoNuma,
    /// schednuma.
    pub schednuma: SchedNuma,
    /// Place and pace of the daemon.
    pub scand: Scand,
    /// Settings of khugepaged, its place (process, mapping, chunk) and pace.
    pub khugepaged: (KhugepagedTunables, [usize; 3], Pace),
    /// Copies of huge pages under way.
    pub copies: Copies,
    /// Huge pages being moved page by page.
    pub fronts: Fronts,
    /// Mappings whose pages are being moved one after the other.
    pub anon_locks: AnonLocks,
    /// Faults that hold the lock of their address space while they move pages.
    pub long_faults: LongFaults,
    /// Counts.
    pub counters: DesignCounters,
    /// Threads with scan work queued.
    queued: Vec<bool>,
}

/// What marking a stretch did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Present base pages passed.
    pub pages: u64,
    /// Huge entries passed, marked by this or an earlier scan.
    pub huge_passed: u64,
    /// Huge entries marked.
    pub huge: u64,
    /// Page-table entries marked.
    pub ptes: u64,
    /// Chunks of base pages marked as a whole.
    pub tables: u64,
}

impl Designs {
    /// State for so many nodes and processes.
    pub fn new(cfg: &Design, nodes: usize, processes: usize) -> Self {
        let mut kh = KhugepagedTunables::default();
        if cfg.faults == Faults::AutoNuma {
            kh.scan_sleep_millisecs = cfg.autonuma.khugepaged_scan_sleep_millisecs;
            kh.alloc_sleep_millisecs = cfg.autonuma.khugepaged_alloc_sleep_millisecs;
        }
        Self {
            autonuma: AutoNuma::new(cfg.autonuma, nodes, processes),
            schednuma: SchedNuma::new(cfg.schednuma, nodes, processes),
            scand: Scand::default(),
            khugepaged: (kh, [0; 3], Pace::new(&kh)),
            copies: Copies::default(),
            fronts: Fronts::default(),
            anon_locks: AnonLocks::default(),
            long_faults: LongFaults::default(),
            counters: DesignCounters::default(),
            queued: Vec::new(),
            cfg: *cfg,
        }
    }
    /// A design of 2012 handles faults.
    #[inline]
    pub fn active(&self) -> bool {
        self.cfg.active()
    }
    /// Scanning and placement of 3.8 and later are in force.
    #[inline]
    pub fn leaves_scans(&self) -> bool {
        self.cfg.scan == Scanner::TaskWork
    }
    /// Scan work of a task, taken from the queue.
    #[inline]
    pub fn take_queued(&mut self, task: u32) -> bool {
        self.active() && std::mem::take(&mut self.queued[task as usize])
    }
    /// The counters by name, for the record.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        let c = &self.counters;
        [
            ("thp_collapse_alloc", c.thp_collapse_alloc),
            ("thp_split", c.thp_split),
            // A page of 64 lines is loaded and stored once each; a base load of the rest of the system is not modelled.
            ("node_load_store_misses", 128 * c.pages_copied),
            ("numa_scans", c.scans),
        ]
    }
    /// Reasons by name, for the record.
    pub fn reasons(&self) -> [(&'static str, u64); 6] {
        let c = &self.counters;
        [
            ("design.rate_limited", c.rate_limited),
            ("design.nearly_full", c.nearly_full),
            ("design.filtered", c.filtered),
            ("design.copies_lost", c.copies_lost),
            ("design.exchanges", c.exchanges),
            ("design.homes", c.homes),
        ]
    }
}

impl World<'_> {
    /// Starts the daemons of the kernel, each at a random point of its sleep.
    pub(crate) fn start_daemons(&mut self) {
        if !self.designs.active() {
            return;
        }
        if self.designs.cfg.scan == Scanner::Scand {
            let sleep = u64::from(self.designs.cfg.autonuma.scan_sleep_pass_millisecs);
            let at = self.rng.below(sleep.max(1));
            self.sleep_daemon(Daemon::Scand, at * 1_000_000);
        }
        if self.cfg.mm.thp.enabled != "never" {
            let sleep = u64::from(self.designs.khugepaged.0.scan_sleep_millisecs);
            let at = self.rng.below(sleep.max(1));
            self.sleep_daemon(Daemon::Khugepaged, at * 1_000_000);
        }
    }
    pub(crate) fn sleep_daemon(&mut self, which: Daemon, ns: u64) {
        self.queue.push(self.now_ns + ns, Event::Daemon(which));
    }
    /// A daemon wakes up.
    pub(crate) fn daemon(&mut self, which: Daemon) {
        match which {
            Daemon::Scand => self.scand(),
            Daemon::Khugepaged => self.khugepaged(),
        }
    }
    /// A task has been created.
    pub(crate) fn designs_fork(&mut self, process: usize, parent: Option<u32>) -> Option<u32> {
        if !self.designs.active() {
            return None;
        }
        self.designs.autonuma.fork(parent);
        self.designs.schednuma.fork(process as u32);
        self.designs.queued.push(false);
        let selected = self.designs.autonuma.tasks.last().and_then(|t| t.selected);
        selected.filter(|_| self.designs.cfg.moves == TaskMoves::Exchange)
    }
    /// The tick of a task: `balanced` says that the load-balance softirq ran.
    pub(crate) fn designs_tick(&mut self, cpu: usize, task: u32, balanced: bool) {
        if !self.designs.active() {
            return;
        }
        let process = self.tasks[task as usize].process;
        if self.designs.cfg.scan == Scanner::PerProcess {
            let runtime = self.sched.runtime_ns(task);
            let now_ms = self.now_ns / 1_000_000;
            if self.designs.schednuma.tick(task, process, runtime, now_ms) {
                self.designs.queued[task as usize] = true;
            }
        }
        if balanced && self.designs.cfg.moves == TaskMoves::Exchange {
            self.autonuma_balance(cpu, task);
        }
    }
    /// Node that an allocation of a task without policy of its own prefers.
    pub(crate) fn home_of(&self, task: u32) -> Option<usize> {
        if self.designs.cfg.faults != Faults::SchedNuma || !self.tasks[task as usize].policy.migrates_on_fault() {
            return None;
        }
        self.designs.schednuma.tasks[task as usize].home.map(|n| n as usize)
    }
    /// Takes access to `from..to` of a mapping away, and counts its pages for the process.
    pub(crate) fn mark_stretch(&mut self, process: usize, id: usize, from: u64, to: u64) -> Marks {
        let d = &mut self.designs;
        let tables = d.cfg.faults == Faults::AutoNuma && d.cfg.autonuma.scan_pmd;
        let working_set = d.cfg.autonuma.mm_working_set;
        let stats = &mut d.autonuma.mms[process];
        let vma = self.processes[process].space.vma_mut(id);
        let mut out = Marks::default();
        let mut addr = from;
        while addr < to {
            let chunk = vma.chunk_of(addr);
            let base = vma.chunk_base(chunk);
            let stop = to.min(base + numalab_kernel::mm::CHUNK_BYTES);
            let c = *vma.chunk(chunk);
            // Pages that still carry the mark were not touched since the last pass.
            let (seen, whole) = match c.kind {
                ChunkKind::Empty => (0, true),
                ChunkKind::Huge => (u64::from(c.pmd_marked) * u64::from(c.present), true),
                ChunkKind::Small => (if tables { 0 } else { u64::from(c.marked) }, tables),
            };
            out.pages += u64::from(c.present);
            out.huge_passed += u64::from(c.kind == ChunkKind::Huge);
            if c.present > 0 && !(working_set && whole && seen > 0) {
                let untouched = if working_set { seen } else { 0 };
                let counted = u64::from(c.present) - untouched;
                for (n, k) in vma.node_counts(chunk).iter().enumerate() {
                    stats.count(n, u64::from(*k) * counted / u64::from(c.present));
                }
            }
            let m = vma.mark_range(addr, stop, &MarkRules::OWN_PAGES, &mut self.shared);
            out.huge += m.huge;
            if c.kind == ChunkKind::Small {
                out.ptes += m.updates;
                out.tables += u64::from(m.updates > 0);
            }
            addr = stop;
        }
        out
    }
    /// A kernel thread flushes the TLBs of the CPUs that run a process; returns its time.
    pub(crate) fn flush_from_daemon(&mut self, process: usize, pages: u64) -> u64 {
        let p = &mut self.processes[process];
        let s = self.costs.shootdown(self.costs.targets_by_node(0, &p.running_on_node), pages);
        if s.targets > 0 {
            p.flush_debt_ns += s.target_ns as u64;
            self.vm.nr_tlb_remote_flush += 1;
            self.vm.nr_tlb_remote_flush_received += u64::from(s.targets);
        }
        s.initiator_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_1_6_khugepaged_is_retuned_under_autonuma() {
        let sleeps = |faults| {
            let d = Designs::new(&Design { faults, ..Design::default() }, 2, 1);
            (d.khugepaged.0.scan_sleep_millisecs, d.khugepaged.0.alloc_sleep_millisecs)
        };
        assert_eq!(sleeps(Faults::AutoNuma), (100, 10_000));
        assert_eq!(sleeps(Faults::SchedNuma), (10_000, 60_000));
    }
}
