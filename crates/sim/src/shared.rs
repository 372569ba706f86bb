//! Faults on pages that several processes may show: first mapping, copy on write, hint faults, waits for a page.
//!
//! Who comes first matters here, so these faults happen in global time order: a task that meets one inside a slice
//! planned ahead ends its slice there and handles it when the run has come to that instant.

use crate::access::FaultEnd;
use crate::asleep::NOBODY;
use crate::engine::{Pending, World};
use crate::event::Event;
use crate::fault::Site;
use crate::reclaim::Everybody;
use crate::task::Activity;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{
    rmap, Backing, Got, PageClass, PageRef, VmaKind, CHUNK_BYTES, FAULT_AROUND_PAGES, NEVER, PAGE_BYTES,
};

impl World<'_> {
    /// An absent entry of a mapping of a file or of shared memory.
    pub(crate) fn object_fault(&mut self, s: &Site) -> (u64, FaultEnd) {
        let v = self.processes[s.process].space.vma(s.vma);
        let (kind, object) = (v.kind, v.objects[0]);
        let at = PageRef { object, chunk: s.chunk as u32, page: s.page as u16 };
        if self.shared.locked(at) {
            return self.wait_on_page(s, at);
        }
        let mut ns = self.machine.costs.exception_ns;
        if !self.shared.object(object).resident(s.chunk, s.page) {
            match self.object_page(s, at) {
                Some(fetched) => ns = fetched,
                None => return (0, FaultEnd::OutOfMemory),
            }
        }
        self.vm.pgfault += 1;
        if s.write && kind == VmaKind::CowData {
            // The copy is the process's own at once; the page of the file is only read.
            return self.copy_for_write(s, at, false);
        }
        if s.write && kind.notifies_writes() {
            self.shared.block_of(at).dirty.set(s.page);
        }
        let mapped = self.map_around(s, at, !s.write && kind.is_file());
        (ns as u64 + (mapped as f64 * self.machine.costs.fork_pte_ns) as u64, FaultEnd::Go)
    }

    /// Brings a page of an object into memory: one that was left to the page cache, if that still has it, else a new one.
    /// Returns the time, `None` when memory is exhausted.
    fn object_page(&mut self, s: &Site, at: PageRef) -> Option<f64> {
        let here = self.cpus[s.cpu].node;
        let b = self.shared.block_of(at);
        let mut left = None;
        if b.cached.get(s.page) {
            b.cached.clear(s.page);
            let node = usize::from(b.node[s.page]);
            left = self.memory.cache_claim(node).map(|frame| (node, frame));
        }
        let (node, frame, ns) = match left {
            Some((node, frame)) => (node, frame, self.machine.costs.exception_ns),
            None => {
                let (class, mut waited) = (self.shared.object(at.object).backing.class(false), 0);
                let got = self.place_base(s, class, self.now_ns, &mut waited)?;
                (got.node, got.frame, self.fill_ns(here, got.node, false) + waited as f64)
            }
        };
        let b = self.shared.block_of(at);
        b.resident.set(s.page);
        b.dirty.clear(s.page);
        (b.node[s.page], b.last[s.page], b.frame[s.page]) = (node as u8, NEVER, frame);
        self.lru_batches.add(s.cpu, at, &mut self.shared);
        Some(ns)
    }

    /// Maps a page, and with `around` those of its fault-around window that are in memory; returns how many.
    fn map_around(&mut self, s: &Site, at: PageRef, around: bool) -> usize {
        let v = self.processes[s.process].space.vma_mut(s.vma);
        let kind = v.kind;
        let window = if around {
            let from = s.page / FAULT_AROUND_PAGES * FAULT_AROUND_PAGES;
            from..from + FAULT_AROUND_PAGES
        } else {
            s.page..s.page + 1
        };
        let base = v.chunk_base(s.chunk);
        let b = self.shared.block_of(at);
        let mut mapped = 0;
        for page in window {
            let addr = base + page as u64 * PAGE_BYTES;
            let inside = addr >= v.start && addr < v.end && addr < base + CHUNK_BYTES;
            if !inside || !b.resident.get(page) || b.locked.get(page) || !v.is_absent(s.chunk, page) {
                continue;
            }
            let read_only = match kind {
                VmaKind::SharedAnon => false,
                VmaKind::FileShared => !b.dirty.get(page),
                _ => true,
            };
            b.mapcount[page] += 1;
            v.map_shared(s.chunk, page, usize::from(b.node[page]), read_only);
            mapped += 1;
        }
        mapped
    }

    /// A store met the write-protected entry of a shared page.
    pub(crate) fn shared_write_fault(&mut self, s: &Site, at: PageRef) -> (u64, FaultEnd) {
        self.vm.pgfault += 1;
        let v = self.processes[s.process].space.vma_mut(s.vma);
        let backing = self.shared.object(at.object).backing;
        let b = self.shared.block_of(at);
        let page = usize::from(at.page);
        let last_owner = backing == Backing::Anon && b.mapcount[page] == 1 && b.slot(page).is_none();
        if v.kind.is_shared() || last_owner {
            b.dirty.set(page);
            if !b.huge {
                b.last[page] = NEVER;
            }
            v.reuse_for_write(s.chunk, s.page);
            self.numa.counters.pgreuse += 1;
            return (self.machine.costs.exception_ns as u64, FaultEnd::Go);
        }
        let mut ns = 0;
        let mut at = at;
        if b.huge {
            if self.cfg.mm.thp.cow_copies_huge {
                if let Some(got) = self.place_huge(s, self.now_ns, &mut ns) {
                    return (ns + self.copy_huge(s, at, got), FaultEnd::Go);
                }
            }
            ns += self.split_shared(at);
            at.page = s.page as u16;
        }
        let (copy, end) = self.copy_for_write(s, at, true);
        (ns + copy, end)
    }

    /// The writer's huge page becomes base pages in every mapping (5.8 on splits only the writer's entry and keeps the
    /// huge page; model).
    fn split_shared(&mut self, at: PageRef) -> u64 {
        rmap::split(at, &mut self.shared, &mut Everybody(&mut self.processes), &mut self.memory);
        self.memory.events.thp_split_page += 1;
        self.memory.events.thp_split_pmd += 1;
        self.costs.split_ns() as u64
    }

    /// Gives the writer a huge page of its own with the contents of a shared one; returns the time.
    fn copy_huge(&mut self, s: &Site, at: PageRef, got: Got) -> u64 {
        let old = usize::from(self.shared.block_of(at).node[0]);
        let v = self.processes[s.process].space.vma_mut(s.vma);
        v.break_cow_huge(s.chunk, old, (got.node, got.frame));
        let memory = &mut self.memory;
        self.shared.unmap(at, &mut |gone| memory.take_back(gone));
        let mut ns = self.costs.copy_2m_ns(old, got.node, self.copy_slowdown(s.cpu, old, got.node)) as u64;
        self.rates.copied(old, got.node, CHUNK_BYTES, ns as f64);
        for _ in 0..shootdowns(FlushOp::CowReplace, &self.cfg.flush, false) {
            ns += self.shoot_down(s.cpu, s.task, 1);
        }
        ns + self.machine.costs.huge_fault_ns as u64
    }

    /// Gives the writer a page of its own with the contents of a shared one; `mapped` if its entry shows that now.
    fn copy_for_write(&mut self, s: &Site, at: PageRef, mapped: bool) -> (u64, FaultEnd) {
        let mut waited = 0;
        let Some(got) = self.place_base(s, PageClass::Anon, self.now_ns, &mut waited) else {
            return (waited, FaultEnd::OutOfMemory);
        };
        let node = got.node;
        let old = usize::from(self.shared.block_of(at).node[s.page]);
        let v = self.processes[s.process].space.vma_mut(s.vma);
        if mapped {
            v.break_cow(s.chunk, s.page, old, (node, got.frame));
            let memory = &mut self.memory;
            self.shared.unmap(at, &mut |gone| memory.take_back(gone));
        } else {
            v.populate(s.chunk, s.page, node, got.frame);
            self.joins_lru(s);
            let memory = &mut self.memory;
            self.shared.leave(at, &mut |gone| memory.take_back(gone));
        }
        self.log_first_touch(node, 1);
        let copy_ns = self.costs.cow_fault_ns(old, node, self.copy_slowdown(s.cpu, old, node));
        self.rates.copied(old, node, PAGE_BYTES, copy_ns);
        let mut ns = waited + copy_ns as u64;
        if mapped {
            for _ in 0..shootdowns(FlushOp::CowReplace, &self.cfg.flush, false) {
                ns += self.shoot_down(s.cpu, s.task, 1);
            }
        }
        (ns, FaultEnd::Go)
    }

    /// The task sleeps until the migration that holds the page ends; it then meets its entry again.
    pub(crate) fn wait_on_page(&mut self, s: &Site, at: PageRef) -> (u64, FaultEnd) {
        let t = &mut self.tasks[s.task as usize];
        t.activity = Activity::Asleep;
        t.blocked_since_ns = Some(self.now_ns);
        self.page_waiters.push((at, s.task));
        self.vm.pgfault += 1;
        (0, FaultEnd::Stop(Pending::Wait))
    }

    /// Whether somebody waits for a page.
    pub(crate) fn waited_for(&self, at: PageRef) -> bool {
        self.page_waiters.iter().any(|w| w.0 == at)
    }

    /// Wakes all who wait for a page, one after the other in the order in which they came; the task of `cpu` pays for that.
    pub(crate) fn wake_page_waiters(&mut self, at: PageRef, cpu: usize) {
        let (queue, tasks, waking_ns) = (&mut self.queue, &self.tasks, self.costs.waking_ns() as u64);
        let waker = self.cpus[cpu].task.unwrap_or(NOBODY);
        let mut wakes_ns = self.now_ns;
        self.page_waiters.retain(|&(page, task)| {
            if page == at {
                wakes_ns += waking_ns;
                queue.push(wakes_ns, Event::Wake { task, waker, sleep: tasks[task as usize].sleep });
            }
            page != at
        });
        self.cpus[cpu].debt_ns += wakes_ns - self.now_ns;
    }
}
