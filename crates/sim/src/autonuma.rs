//! AutoNUMA in the engine: the daemon's walk, the hinting fault, the balancing hook, khugepaged (designs-2012.md
//! section 1).

use crate::designs::{Daemon, Marks};
use crate::engine::{Pending, World};
use crate::fault::{Found, Site};
use crate::fronts::Front;
use crate::mmap_lock::LONG_FAULT_NS;
use crate::task::Activity;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::block::NEVER;
use numalab_kernel::mm::khugepaged::{scan_slot, Pause as Nap, SlotFacts, SlotVerdict};
use numalab_kernel::mm::{ChunkKind, Got, PageClass, CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::autonuma::fault::Verdict;
use numalab_kernel::numa::autonuma::{BalanceHost, Choice, Pause};
use numalab_kernel::numa::design::Faults;
use numalab_kernel::numa::migrate::{nearly_full, NodeMemory as _};
use numalab_kernel::sched::Scheduler;
use numalab_model::machine::Machine;

/// The run queues as the hook sees them.
struct Queues<'a> {
    sched: &'a Scheduler,
    machine: &'a Machine,
    mms: &'a [crate::task::Task<'a>],
    busy: &'a dyn Fn(u32) -> bool,
}

impl BalanceHost for Queues<'_> {
    fn cpus(&self) -> usize {
        self.machine.cpu_count()
    }
    fn node_of(&self, cpu: usize) -> usize {
        self.machine.cpus[cpu].node
    }
    fn running(&self, cpu: usize) -> Option<u32> {
        self.sched.current(cpu as u32).filter(|t| (self.busy)(*t))
    }
    fn mm_of(&self, task: u32) -> u32 {
        self.mms[task as usize].process
    }
    fn allowed(&self, task: u32, cpu: usize) -> bool {
        self.sched.allowed(task, cpu as u32)
    }
}

impl World<'_> {
    /// knuma_scand wakes up: walks until its burst is spent or the list ends.
    pub(crate) fn scand(&mut self) {
        let knobs = self.designs.cfg.autonuma;
        let pause = loop {
            let mm = self.designs.scand.mm;
            if mm >= self.processes.len() {
                break self.designs.scand.end_of_list(&knobs);
            }
            if !self.processes[mm].started || self.processes[mm].ended {
                self.designs.scand.next_mm();
                continue;
            }
            if self.designs.scand.addr == 0 {
                self.designs.autonuma.mms[mm].begin_pass();
            }
            match self.scand_burst(mm) {
                Pause::None => {
                    self.designs.autonuma.mms[mm].end_pass();
                    // Sweeps are what schednuma's statistics go by, if they are used with this scanner.
                    self.designs.schednuma.mms[mm].seq += 1;
                    self.designs.scand.next_mm();
                }
                pause => break pause,
            }
        };
        let ms = match pause {
            Pause::None => 0,
            Pause::Burst(ms) | Pause::Pass(ms) => ms,
        };
        self.sleep_daemon(Daemon::Scand, u64::from(ms) * 1_000_000);
    }

    /// Walks one process; [`Pause::None`] means that its end was reached.
    fn scand_burst(&mut self, process: usize) -> Pause {
        let knobs = self.designs.cfg.autonuma;
        let first = self.processes[process].space.first_above(self.designs.scand.addr);
        for i in first..self.processes[process].space.len() {
            let space = &self.processes[process].space;
            let id = space.id_at(i);
            let (start, end) = (space.vma(id).start, space.vma(id).end);
            let mut from = start.max(self.designs.scand.addr);
            let mut marked = Marks::default();
            let mut pause = Pause::None;
            while from < end && pause == Pause::None {
                let v = self.processes[process].space.vma(id);
                let chunk = v.chunk_of(from);
                let stop = end.min(v.chunk_base(chunk) + numalab_kernel::mm::CHUNK_BYTES);
                let m = self.mark_stretch(process, id, from, stop);
                marked.pages += m.pages;
                marked.huge += m.huge;
                marked.ptes += m.ptes;
                marked.tables += m.tables;
                pause = self.designs.scand.progress(&knobs, m.pages);
                from = stop;
            }
            self.designs.scand.addr = from;
            self.pay_scand(process, &marked);
            if pause != Pause::None {
                return pause;
            }
        }
        Pause::None
    }

    fn pay_scand(&mut self, process: usize, m: &Marks) {
        let c = &self.machine.costs;
        let by_table = self.designs.cfg.autonuma.scan_pmd && self.designs.cfg.faults == Faults::AutoNuma;
        let (ptes, tables) = if by_table { (0, m.tables) } else { (m.ptes, 0) };
        let mut ns = c.scan_vma_ns
            + (m.huge + tables) as f64 * c.pmd_mark_ns
            + ptes as f64 * c.pte_mark_ns
            + (m.pages - m.huge * CHUNK_PAGES).saturating_sub(ptes) as f64 * c.pte_skip_ns;
        if m.huge + m.ptes > 0 {
            ns += self.flush_from_daemon(process, m.pages) as f64;
        }
        self.designs.counters.daemon_ns += ns as u64;
        self.designs.counters.scans += 1;
        // Marks on page tables are not counted (section 5.4), and huge ones have no counter of their own yet (3.13).
        self.numa.counters.numa_pte_updates += m.huge + ptes;
    }

    /// A hinting fault, with all its moves under the lock of the address space. Returns its CPU time; it may sleep as well.
    pub(crate) fn autonuma_fault(&mut self, cpu: usize, task: u32, f: &Found, clock: u64) -> u64 {
        self.vm.pgfault += 1;
        let process = self.tasks[task as usize].process as usize;
        let slept_ns = self.tasks[task as usize].waits_ns;
        let ns = self.autonuma_pages(cpu, task, process, f, clock);
        let takes_ns = ns + self.tasks[task as usize].waits_ns - slept_ns;
        if takes_ns >= LONG_FAULT_NS {
            self.designs.long_faults.begin(process, (clock, clock + takes_ns), self.now_ns);
        }
        ns
    }

    /// The mark goes first, then every page under it is looked at by this thread.
    fn autonuma_pages(&mut self, cpu: usize, task: u32, process: usize, f: &Found, clock: u64) -> u64 {
        let (mut ns, slept_ns) = (self.machine.costs.hint_fault_ns, self.tasks[task as usize].waits_ns);
        let ignored = !self.tasks[task as usize].policy.migrates_on_fault();
        if f.pages > 1 {
            self.processes[process].space.vma_mut(f.vma).unmark(f.chunk, f.page);
            if !ignored {
                ns += self.autonuma_page(cpu, task, f, clock);
            }
            return ns as u64;
        }
        let (mut page, whole) = if self.designs.cfg.autonuma.scan_pmd { (0, true) } else { (f.page, false) };
        while let Some(p) = self.processes[process].space.vma(f.vma).next_marked(f.chunk, page) {
            let vma = self.processes[process].space.vma_mut(f.vma);
            let (node, last) = match vma.page(f.chunk, p, &self.shared) {
                numalab_kernel::mm::PageState::Marked { node, last, .. } => (usize::from(node), last),
                _ => (f.node, f.last),
            };
            vma.unmark(f.chunk, p);
            if whole {
                ns += self.machine.costs.hint_page_ns;
            }
            if !ignored {
                let found = Found { page: p, node, last, pages: 1, ..*f };
                let begins_ns = clock + ns as u64 + self.tasks[task as usize].waits_ns - slept_ns;
                ns += self.autonuma_page(cpu, task, &found, begins_ns);
            }
            if !whole {
                break;
            }
            page = p + 1;
        }
        ns as u64
    }

    /// Access to an absent page: if its table carries the mark, it traps for that first (`pmd_numa_fixup` runs before the
    /// entry is looked at), and this thread handles all pages present. Returns the time, 0 without a mark.
    pub(crate) fn table_trap(&mut self, s: &Site, clock: u64) -> u64 {
        let by_table = self.designs.cfg.faults == Faults::AutoNuma && self.designs.cfg.autonuma.scan_pmd;
        let marked = |w: &Self| w.processes[s.process].space.vma(s.vma).next_marked(s.chunk, 0);
        let Some(page) = by_table.then(|| marked(self)).flatten() else { return 0 };
        let first = Found { vma: s.vma, chunk: s.chunk, page, node: self.cpus[s.cpu].node, last: NEVER, pages: 1 };
        self.autonuma_fault(s.cpu, s.task, &first, clock)
    }

    /// `numa_hinting_fault` for one page (or huge page); returns the time beyond the trap.
    fn autonuma_page(&mut self, cpu: usize, task: u32, f: &Found, clock: u64) -> f64 {
        let here = self.cpus[cpu].node;
        let process = self.tasks[task as usize].process as usize;
        let seen = (f.last != NEVER).then_some(f.last);
        let (verdict, last) = self.designs.autonuma.decide(seen, f.node, here);
        if last != f.last {
            self.processes[process].space.vma_mut(f.vma).set_last(f.chunk, f.page, last);
        }
        self.numa.counters.numa_hint_faults += 1;
        self.numa.counters.numa_hint_faults_local += u64::from(verdict == Verdict::Here);
        self.designs.counters.filtered += u64::from(verdict == Verdict::Filtered);
        let mut dest = f.node;
        let mut ns = 0.0;
        if verdict == Verdict::Migrate && self.autonuma_admits(here, f.pages, clock) {
            let moved = self.autonuma_migrate(cpu, task, &Found { last, ..*f }, clock);
            if let Some(time) = moved {
                ns = time;
                dest = here;
            }
        }
        self.designs.autonuma.account(task, process as u32, dest, u64::from(f.pages));
        ns
    }

    fn autonuma_admits(&mut self, node: usize, pages: u32, clock: u64) -> bool {
        if !self.designs.autonuma.admit(node, self.last_tick_ms(clock), pages) {
            self.designs.counters.rate_limited += 1;
            return false;
        }
        let full = nearly_full(self.memory.zones(node), pages);
        self.designs.counters.nearly_full += u64::from(full);
        !full
    }

    /// Time of the last jiffy at `clock`, ms.
    pub(crate) fn last_tick_ms(&self, clock: u64) -> u64 {
        clock / self.cfg.jiffy_ns() * self.cfg.jiffy_ns() / 1_000_000
    }

    /// Moves a page to the faulting CPU's node; a huge page is split first. Returns the time, `None` if nothing moved.
    fn autonuma_migrate(&mut self, cpu: usize, task: u32, f: &Found, clock: u64) -> Option<f64> {
        let process = self.tasks[task as usize].process as usize;
        let here = self.cpus[cpu].node;
        if f.pages == 1 {
            if !self.autonuma_migrate_base(cpu, task, f) {
                return None;
            }
            let ns = self.base_migration_ns(cpu, task, f, here);
            self.rates.copied(f.node, here, PAGE_BYTES, ns);
            return Some(ns);
        }
        if self.designs.cfg.autonuma.native_huge {
            let frame = self.memory.alloc_on(here, here, CHUNK_PAGES)?;
            let vma = self.processes[process].space.vma_mut(f.vma);
            let frame = self.memory.carry_flags(vma.frame(f.chunk, f.page), here, frame, CHUNK_PAGES);
            let old = vma.move_page(f.chunk, f.page, here, frame, f.last);
            self.memory.free_page(f.node, old, PageClass::AnonHuge);
            self.count_moved(CHUNK_PAGES, CHUNK_PAGES);
            let slowdown = self.copy_slowdown(cpu, f.node, here);
            let ns = self.costs.migrate_2m_ns(f.node, here, slowdown);
            self.rates.copied(f.node, here, CHUNK_BYTES, ns);
            return Some(ns + self.shoot_down(cpu, task, CHUNK_PAGES) as f64);
        }
        let waited = self.wait_for_anon_vma(task, process, f.vma, clock);
        let (node, frame) = self.processes[process].space.vma_mut(f.vma).split_huge(f.chunk);
        self.memory.split_frame(node, frame);
        self.designs.counters.thp_split += 1;
        let split_ns = self.costs.split_ns() + self.shoot_down(cpu, task, CHUNK_PAGES) as f64;
        let (mut moved, mut ns) = (0, 0.0);
        for page in 0..CHUNK_PAGES as usize {
            let found = Found { page, pages: 1, ..*f };
            if self.autonuma_migrate_base(cpu, task, &found) {
                ns += self.base_migration_ns(cpu, task, &found, here);
                moved += 1;
            }
        }
        self.rates.copied(f.node, here, moved * PAGE_BYTES, ns);
        let (vma, chunk, page_ns) = (f.vma, f.chunk, ns / CHUNK_PAGES as f64);
        let from_ns = clock + waited + split_ns as u64;
        let until_ns = from_ns + ns as u64;
        let front = Front { task, process, vma, chunk, from_ns, until_ns, page_ns };
        self.designs.fronts.begin(front, self.now_ns);
        self.designs.anon_locks.hold((process, vma), until_ns, task, self.now_ns);
        Some(split_ns + ns)
    }

    /// How long a thread that is about to split and move a huge page sleeps until those who move others of the mapping
    /// are done.
    fn wait_for_anon_vma(&mut self, task: u32, process: usize, vma: usize, clock: u64) -> u64 {
        if !self.designs.cfg.autonuma.anon_vma_mutex {
            return 0;
        }
        let (waited, holder) = self.designs.anon_locks.wait_ns(process, vma, clock);
        self.sleeps(task, waited, holder);
        waited
    }

    fn autonuma_migrate_base(&mut self, cpu: usize, task: u32, f: &Found) -> bool {
        let here = self.cpus[cpu].node;
        let Some(frame) = self.memory.alloc_on(here, here, 1) else {
            self.numa.counters.pgmigrate_fail += 1;
            return false;
        };
        let process = self.tasks[task as usize].process as usize;
        self.settle(process, f.vma, f.chunk);
        let vma = self.processes[process].space.vma_mut(f.vma);
        let frame = self.memory.carry_flags(vma.frame(f.chunk, f.page), here, frame, 1);
        let old = vma.move_page(f.chunk, f.page, here, frame, f.last);
        self.memory.free_page(f.node, old, PageClass::Anon);
        self.count_moved(1, 1);
        true
    }

    /// The generic path unmaps an accessible page, so each one needs its flush.
    fn base_migration_ns(&mut self, cpu: usize, task: u32, f: &Found, here: usize) -> f64 {
        let slowdown = self.copy_slowdown(cpu, f.node, here);
        let flushes = shootdowns(FlushOp::MigrateBase { pages: 1 }, &self.cfg.flush, false);
        let flush: u64 = (0..flushes).map(|_| self.shoot_down(cpu, task, 1)).sum();
        self.costs.migrate_4k_ns(f.node, here, slowdown) + flush as f64
    }

    /// Counts `pages` moved, as `counted` in vmstat.
    pub(crate) fn count_moved(&mut self, pages: u64, counted: u64) {
        let c = &mut self.numa.counters;
        c.numa_pages_migrated += counted;
        c.pgmigrate_success += counted;
        c.thp_migration_success += u64::from(pages > 1);
        self.designs.counters.pages_copied += pages;
    }

    /// The hook at the end of the load-balance softirq.
    pub(crate) fn autonuma_balance(&mut self, cpu: usize, task: u32) {
        let leaving = |t: u32| self.cpus.iter().any(|c| c.task == Some(t) && c.pending.leaves());
        let busy = |t: u32| {
            let s = &self.tasks[t as usize];
            s.activity != Activity::Dead && s.carried.is_none() && !leaving(t)
        };
        let host = Queues { sched: &self.sched, machine: self.machine, mms: &self.tasks, busy: &busy };
        let (choice, examined) = self.designs.autonuma.balance(task, cpu, &host);
        self.cpus[cpu].debt_ns += self.costs.balance_ns(examined) as u64;
        let selected = self.designs.autonuma.tasks[task as usize].selected;
        self.sched.set_preferred_nid(task, selected);
        let Choice::Exchange { other, .. } = choice else { return };
        if self.sched.current(cpu as u32) != Some(task) || self.cpus[cpu].pending != Pending::None {
            return;
        }
        if self.sched.swap(task, other, self.now_ns) {
            self.designs.counters.exchanges += 1;
        }
    }

    /// khugepaged wakes up: looks at ranges until one has been joined, or its round is over.
    pub(crate) fn khugepaged(&mut self) {
        let (mut naps, mut used_ns) = (0, 0);
        let ms = loop {
            let (knobs, [process, position, chunk], mut pace) = self.designs.khugepaged;
            let nap = if process >= self.processes.len() {
                self.designs.khugepaged.1 = [0; 3];
                pace.end_of_list(&knobs)
            } else if !self.processes[process].started || position >= self.processes[process].space.len() {
                self.designs.khugepaged.1 = [process + 1, 0, 0];
                Nap::None
            } else {
                let space = &self.processes[process].space;
                let id = space.id_at(position);
                let v = space.vma(id);
                if !v.huge_ok || chunk >= v.chunk_count() {
                    self.designs.khugepaged.1 = [process, position + 1, 0];
                    pace.small_step(&knobs)
                } else {
                    self.designs.khugepaged.1[2] += 1;
                    let (verdict, ns) = self.look_at_slot(process, id, chunk);
                    used_ns += ns;
                    match verdict {
                        SlotVerdict::AllocFail => pace.alloc_failed(&knobs),
                        _ => pace.slot(&knobs),
                    }
                }
            };
            self.designs.khugepaged.2 = pace;
            naps += 1;
            match nap {
                Nap::Retry(ms) | Nap::NextRound(ms) => break ms,
                // Nothing to look at anywhere.
                Nap::None if naps > 1_000_000 => break knobs.scan_sleep_millisecs,
                Nap::None if used_ns > 0 => break 0,
                Nap::None => {}
            }
        };
        // Its rest begins when its work is done; between two huge pages others get at the address space.
        self.sleep_daemon(Daemon::Khugepaged, used_ns + u64::from(ms) * 1_000_000);
    }

    /// Collapses a range if it should be, onto the node of its first page; returns the time as well.
    fn look_at_slot(&mut self, process: usize, id: usize, chunk: usize) -> (SlotVerdict, u64) {
        let v = self.processes[process].space.vma(id);
        let c = *v.chunk(chunk);
        let present = u32::from(c.present);
        let swapped = v.places.swapped_in_chunk(chunk) > 0;
        let idle = c.kind != ChunkKind::Small || !v.chunk_is_whole(chunk) || c.shared > 0 || swapped;
        let facts =
            SlotFacts { present, referenced: present, writable: true, nothing_to_do: idle, ..SlotFacts::default() };
        let verdict = scan_slot(&self.designs.khugepaged.0, &facts);
        let first = v.first_node(chunk).filter(|_| verdict == SlotVerdict::Collapse);
        let Some(node) = first else { return (verdict, 0) };
        let last = v.first_remembered(chunk);
        let marked = c.marked > 0;
        let Some(frame) = self.memory.alloc_on(node, node, CHUNK_PAGES) else {
            return (SlotVerdict::AllocFail, 0);
        };
        let sources = self.collapse_into(process, id, chunk, Got { node, frame });
        let ns = self.collapse_ns(&sources, node);
        self.designs.counters.pages_copied += sources.iter().filter(|&&from| from != node).count() as u64;
        self.processes[process].space.vma_mut(id).remember_collapsed(chunk, last, marked);
        self.designs.counters.thp_collapse_alloc += 1;
        let ns = ns as u64 + self.flush_from_daemon(process, CHUNK_PAGES);
        self.designs.counters.daemon_ns += ns;
        let taken = self.designs.long_faults.wait_ns(process, self.now_ns) + ns;
        self.processes[process].write_locked.hold((self.now_ns, self.now_ns + taken), self.now_ns);
        (SlotVerdict::Collapse, taken)
    }

    /// Collapses pages of the nodes `sources` into a huge page of `node`: the entries, and the copies, which memory sees.
    /// The daemon is taken to run beside the huge page. Returns the time.
    pub(crate) fn collapse_ns(&mut self, sources: &[usize], node: usize) -> f64 {
        let cpu = self.machine.nodes[node].cpus.first().copied();
        let slowdown = |from| cpu.map_or(1.0, |cpu| self.copy_slowdown(cpu, from, node));
        let copies: f64 = sources.iter().map(|&from| self.costs.copy_4k_ns(from, node, slowdown(from))).sum();
        let ns = self.machine.costs.collapse_ns + copies;
        for &from in sources {
            self.rates.copied(from, node, PAGE_BYTES, ns);
        }
        ns
    }
}
