//! schednuma in the engine: scans in task context, faults, native migration of huge pages (designs-2012.md section 2).

use crate::access::FaultEnd;
use crate::asleep::NOBODY;
use crate::copies::Copy;
use crate::designs::Marks;
use crate::engine::World;
use crate::fault::{Found, Site};
use numalab_kernel::hw::cost::{shootdowns, FlushOp, ScanWork};
use numalab_kernel::mm::block::NEVER;
use numalab_kernel::mm::{ChunkKind, PageClass, CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::design::{Faults, Scanner, TaskMoves};
use numalab_kernel::numa::schednuma::fault::Verdict;
use numalab_kernel::numa::schednuma::scan::walk;

impl World<'_> {
    /// The queued scan work of `task` runs at `clock`; returns its time.
    pub(crate) fn schednuma_scan(&mut self, cpu: usize, task: u32, clock: u64) -> u64 {
        let process = self.tasks[task as usize].process as usize;
        let costs = self.machine.costs;
        if !self.designs.schednuma.claim(task, process as u32, clock / 1_000_000) {
            let ns = costs.exception_ns as u64;
            self.charge_system(task, ns);
            return ns;
        }
        let space = &self.processes[process].space;
        let mut stretches = Vec::new();
        let mut mm = self.designs.schednuma.mms[process];
        let before = mm.seq;
        let bounds = |i: usize| {
            let v = space.vma(space.id_at(i));
            (v.start, v.end)
        };
        walk(&self.designs.cfg.schednuma, &mut mm, space.len(), bounds, |s| stretches.push((space.id_at(s.vma), s)));
        self.designs.schednuma.mms[process] = mm;
        if mm.seq != before {
            let stats = &mut self.designs.autonuma.mms[process];
            stats.end_pass();
            stats.begin_pass();
        }
        // The lock is taken for writing (`down_write`, patches 26 and 28 of 31): copies under way hold it for reading.
        let (free_ns, copier) = self.designs.copies.last_of(process).unwrap_or((0, NOBODY));
        let waited = free_ns.saturating_sub(clock);
        self.sleeps(task, waited, copier);
        let mut work = ScanWork { vmas: stretches.len() as u64, ..ScanWork::default() };
        let (mut ns, mut huge_passed) = (0, 0);
        for (id, s) in stretches {
            let m = self.mark_stretch(process, id, s.from, s.to);
            self.count_marks(&m);
            work.marked_pmds += m.huge;
            huge_passed += m.huge_passed;
            work.marked_ptes += m.ptes;
            work.skipped_ptes += (m.pages - m.huge * CHUNK_PAGES).saturating_sub(m.ptes);
            if m.huge + m.ptes > 0 {
                ns += self.shoot_down(cpu, task, m.pages);
            }
        }
        ns += self.costs.scan_ns(&work, 0.0) as u64;
        ns += huge_passed * self.huge_residue_ns(cpu, process);
        // It is held for the whole walk: faults of the process wait ([`World::wait_for_mmap_lock`]).
        let p = &mut self.processes[process];
        (p.protecting_until_ns, p.protector) = (clock + waited + ns, task);
        self.designs.counters.scans += 1;
        self.charge_system(task, ns);
        ns
    }

    /// What a scan takes for each huge page it passes, beyond its known parts: work that waits for memory, so it grows as
    /// memory gets slower. On idle memory it is about what looking at the 512 descriptors of its pages would take.
    fn huge_residue_ns(&self, cpu: usize, process: usize) -> u64 {
        let here = self.cpus[cpu].node;
        let (mut pages, mut weighted) = (0, 0.0);
        for v in self.processes[process].space.iter() {
            for (n, p) in v.pages_on_node().iter().enumerate() {
                pages += p;
                weighted += *p as f64 * self.rates.latency_factor(here, n);
            }
        }
        let slower = if pages > 0 { weighted / pages as f64 } else { 1.0 };
        (f64::from(self.designs.cfg.schednuma.huge_residue_us) * 1000.0 * slower) as u64
    }

    fn count_marks(&mut self, m: &Marks) {
        let c = &mut self.numa.counters;
        // There is no counter of huge entries yet (3.13). This one grows once per area and scan with schednuma's patches,
        // per entry with AutoNUMA's (section 5.4).
        c.numa_pte_updates += match self.designs.cfg.faults {
            Faults::AutoNuma if self.designs.cfg.autonuma.scan_pmd => m.huge,
            Faults::AutoNuma => m.huge + m.ptes,
            _ => u64::from(m.pages > 0),
        };
    }

    /// How long a fault at `clock` is kept out because another thread of the process is scanning, ns.
    #[inline]
    pub(crate) fn behind_scan_ns(&self, process: usize, clock: u64) -> u64 {
        if self.designs.cfg.scan != Scanner::PerProcess {
            return 0;
        }
        self.processes[process].protecting_until_ns.saturating_sub(clock)
    }

    /// A hinting fault.
    pub(crate) fn schednuma_fault(
        &mut self,
        cpu: usize,
        task: u32,
        f: &Found,
        write: bool,
        clock: u64,
    ) -> (u64, FaultEnd) {
        self.vm.pgfault += 1;
        let process = self.tasks[task as usize].process as usize;
        let here = self.cpus[cpu].node;
        let own_policy = !self.tasks[task as usize].policy.migrates_on_fault();
        let mut ns = self.machine.costs.hint_fault_ns as u64;
        let copying = if f.pages > 1 && !self.designs.copies.is_empty() {
            self.designs.copies.of_chunk(process, f.vma, f.chunk).copied()
        } else {
            None
        };
        if let Some(copy) = copying.filter(|c| c.until_ns <= clock) {
            self.end_copy(process, f.vma, f.chunk);
            if !copy.lost {
                return (ns, FaultEnd::Go);
            }
        }
        let seen = (f.last != NEVER).then_some(f.last);
        let (verdict, last) = self.designs.schednuma.misplaced(task, own_policy, seen, f.node, here);
        let vma = self.processes[process].space.vma_mut(f.vma);
        if last != seen {
            vma.set_last(f.chunk, f.page, last.unwrap_or(NEVER));
        }
        self.designs.counters.filtered += u64::from(verdict == Verdict::Filtered);
        let copying = copying.filter(|c| c.until_ns > clock && !c.lost);
        if verdict == Verdict::Misplaced {
            if let Some(copy) = copying {
                // It goes for migration as well, and sleeps until the page is unlocked (`lock_page`, patch 22 of 31).
                self.sleeps(task, (copy.until_ns - clock).saturating_sub(ns), copy.task);
                return (ns, FaultEnd::Go);
            }
            if self.designs.schednuma.admit(here, self.last_tick_ms(clock), f.pages) {
                if f.pages > 1 {
                    if let Some(time) = self.begin_copy(cpu, task, f, clock) {
                        return (ns + time, FaultEnd::Copying);
                    }
                } else if let Some(time) = self.schednuma_migrate_base(cpu, task, f, last) {
                    ns += time;
                    self.schednuma_record(task, process, here, 1);
                    self.numa.counters.numa_hint_faults += 1;
                    return (ns, FaultEnd::Go);
                }
            }
        }
        // Access is restored, and with it the entry is changed under a copy in progress.
        self.processes[process].space.vma_mut(f.vma).unmark(f.chunk, f.page);
        if f.pages > 1 && self.designs.cfg.schednuma.huge_loses_write {
            self.processes[process].space.vma_mut(f.vma).set_read_only(f.chunk, f.page);
            if write {
                // The store that caused the fault meets the read-only entry at once.
                let s = Site { cpu, task, process, vma: f.vma, chunk: f.chunk, page: f.page, write };
                ns += self.huge_write_fault(&s, clock + ns);
            }
        }
        if let Some(copy) = self.designs.copies.of_chunk(process, f.vma, f.chunk).filter(|_| copying.is_some()) {
            copy.lost = self.designs.cfg.schednuma.copies_lost;
        }
        self.numa.counters.numa_hint_faults += 1;
        self.numa.counters.numa_hint_faults_local += 1;
        self.schednuma_record(task, process, f.node, u64::from(f.pages));
        (ns, FaultEnd::Go)
    }

    /// The first store to a huge page that a hint fault left read-only (`do_huge_pmd_wp_page`): `pmdp_set_access_flags`
    /// flushes the TLBs of all CPUs of the process until 3.8 ("x86/mm: Don't flush the TLB on #WP pmd fixups"), under the
    /// page-table lock. Whoever comes to the page meanwhile faults as well and spins for that lock. Returns the time.
    pub(crate) fn huge_write_fault(&mut self, s: &Site, clock: u64) -> u64 {
        self.vm.pgfault += 1;
        self.numa.counters.pgreuse += 1;
        self.processes[s.process].space.vma_mut(s.vma).reuse_for_write(s.chunk, 0);
        let ns = self.machine.costs.exception_ns as u64 + self.shoot_down(s.cpu, s.task, CHUNK_PAGES);
        let (place, until_ns) = (self.place_in(s.task, s.vma, s.chunk, 0), (clock + ns) as f64);
        self.find_comers(s.task, s.vma, place, until_ns);
        for i in 0..self.sweepers.comers.len() {
            let c = self.sweepers.comers[i];
            let cpu = self.sched.cpu_of(c.task) as usize;
            self.cpus[cpu].debt_ns += (until_ns - c.ns.max(clock as f64)) as u64;
            self.sweepers.holds_up(c.task, place, until_ns);
        }
        ns
    }

    fn schednuma_record(&mut self, task: u32, process: usize, node: usize, pages: u64) {
        let seq = self.designs.schednuma.mms[process].seq;
        if let Some(home) = self.designs.schednuma.record(task, seq, node, pages) {
            self.designs.counters.homes += 1;
            if self.designs.cfg.moves == TaskMoves::HomeNode {
                self.sched.set_preferred_nid(task, Some(home));
            }
        }
    }

    /// Moves a base page; its entry is not present, so no flush is needed unless a scan is under way.
    fn schednuma_migrate_base(&mut self, cpu: usize, task: u32, f: &Found, last: Option<u32>) -> Option<u64> {
        let here = self.cpus[cpu].node;
        let frame = self.memory.alloc_on(here, here, 1)?;
        let process = self.tasks[task as usize].process as usize;
        let remembered = self.designs.schednuma.after_move().unwrap_or(NEVER);
        self.designs.schednuma.stale.leave(f.node, last.unwrap_or(0));
        self.settle(process, f.vma, f.chunk);
        let vma = self.processes[process].space.vma_mut(f.vma);
        vma.unmark(f.chunk, f.page);
        let frame = self.memory.carry_flags(vma.frame(f.chunk, f.page), here, frame, 1);
        let old = vma.move_page(f.chunk, f.page, here, frame, remembered);
        self.memory.free_page(f.node, old, PageClass::Anon);
        self.count_moved(1, 1);
        let slowdown = self.copy_slowdown(cpu, f.node, here);
        let flushes = shootdowns(FlushOp::HintMigrateBase, &self.cfg.flush, false);
        let flush: u64 = (0..flushes).map(|_| self.shoot_down(cpu, task, 1)).sum();
        let ns = self.costs.migrate_4k_ns(f.node, here, slowdown);
        self.rates.copied(f.node, here, PAGE_BYTES, ns);
        Some(ns as u64 + flush)
    }

    /// Starts copying a huge page; its entry keeps the mark. Returns the time the copy takes.
    fn begin_copy(&mut self, cpu: usize, task: u32, f: &Found, clock: u64) -> Option<u64> {
        let to = self.cpus[cpu].node;
        let frame = self.memory.alloc_on(to, to, CHUNK_PAGES)?;
        let process = self.tasks[task as usize].process as usize;
        let slowdown = self.copy_slowdown(cpu, f.node, to);
        let ns = self.costs.migrate_2m_ns(f.node, to, slowdown) as u64 + self.shoot_down(cpu, task, CHUNK_PAGES);
        self.rates.copied(f.node, to, CHUNK_BYTES, ns as f64);
        self.designs.counters.pages_copied += CHUNK_PAGES;
        self.designs.copies.begin(Copy {
            task,
            process,
            vma: f.vma,
            chunk: f.chunk,
            from: f.node,
            to,
            frame,
            until_ns: clock + ns,
            lost: false,
        });
        Some(ns)
    }

    /// The copy a task was making is done.
    pub(crate) fn end_copy_of(&mut self, task: u32) {
        if !self.designs.copies.is_empty() {
            if let Some(copy) = self.designs.copies.end_of_task(task) {
                self.finish_copy(&copy);
            }
        }
    }

    fn end_copy(&mut self, process: usize, vma: usize, chunk: usize) {
        if let Some(copy) = self.designs.copies.end_of_chunk(process, vma, chunk) {
            self.finish_copy(&copy);
        }
    }

    /// Maps the copy, or throws it away if the entry has changed.
    fn finish_copy(&mut self, c: &Copy) {
        let p = &mut self.processes[c.process];
        let there = !p.ended && {
            let v = p.space.vma(c.vma);
            let chunk = v.chunk(c.chunk);
            chunk.kind == ChunkKind::Huge && usize::from(chunk.node) == c.from && chunk.pmd_marked
        };
        let changed = !there && self.designs.cfg.schednuma.copies_lost;
        let gone = p.ended || p.space.vma(c.vma).chunk(c.chunk).kind != ChunkKind::Huge;
        let moved = !gone && usize::from(p.space.vma(c.vma).chunk(c.chunk).node) != c.from;
        if c.lost || changed || gone || moved {
            self.memory.free_page(c.to, c.frame, PageClass::AnonHuge);
            self.designs.counters.copies_lost += 1;
            self.numa.counters.thp_migration_fail += 1;
            return;
        }
        let remembered = self.designs.schednuma.after_move().unwrap_or(NEVER);
        let vma = p.space.vma_mut(c.vma);
        vma.unmark(c.chunk, 0);
        let frame = self.memory.carry_flags(vma.frame(c.chunk, 0), c.to, c.frame, CHUNK_PAGES);
        let old = vma.move_page(c.chunk, 0, c.to, frame, remembered);
        self.memory.free_page(c.from, old, PageClass::AnonHuge);
        self.designs.schednuma.stale.leave(c.from, c.to as u32);
        let n = &mut self.numa.counters;
        n.numa_hint_faults += 1;
        // A huge page counts as one (section 5.4).
        n.numa_pages_migrated += 1;
        n.pgmigrate_success += 1;
        n.thp_migration_success += 1;
        self.schednuma_record(c.task, c.process, c.to, CHUNK_PAGES);
    }
}
