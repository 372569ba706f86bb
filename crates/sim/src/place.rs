//! Getting a page for a fault: policy, huge-page ladder, allocation with what it makes the kernel do, page tables, swap.

use crate::engine::World;
use crate::fault::Site;
use crate::policy::page_index;
use crate::reclaim::{cpu_ns, Spaces};
use numalab_kernel::mm::alloc::{AllocSite, Constraint};
use numalab_kernel::mm::policy::MemPolicy;
use numalab_kernel::mm::rmap::SwapEntry;
use numalab_kernel::mm::thp::{fault_gfp, FaultContext, Ladders, Locality};
use numalab_kernel::mm::{AllocError, Gfp, Got, MmConfig, PageClass, PageRef, Work};
use numalab_model::machine::Machine;
use numalab_model::record::Status;

/// A page for a fault.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// A huge page.
    pub huge: bool,
    /// Node and pageblock.
    pub got: Got,
}

impl World<'_> {
    /// The policy of a mapping, or else of the task.
    pub(crate) fn policy(&self, s: &Site) -> &MemPolicy {
        let p = &self.processes[s.process];
        p.vma_policy[s.vma].as_ref().unwrap_or(&self.tasks[s.task as usize].policy)
    }

    /// A page for an empty entry of anonymous memory, huge if the mapping may have one there. `None` when memory is
    /// exhausted, which ends the run. Adds what the task waited for to `ns`.
    pub(crate) fn place(&mut self, s: &Site, clock: u64, ns: &mut u64) -> Option<Placed> {
        let mut work = Work::default();
        let vma = self.processes[s.process].space.vma(s.vma);
        let fits = vma.huge_fault_fits(s.chunk) || self.cfg.mm.thp.zero_page_write_huge && vma.is_huge_zero(s.chunk);
        let placed = if fits { self.climb(s, &mut work) } else { None };
        let out = placed.or_else(|| {
            let got = self.alloc_base(s, PageClass::Anon, &mut work);
            got.map(|got| Placed { huge: false, got })
        });
        self.place_table(s, &mut work);
        *ns += self.pay(&work, clock + *ns);
        out
    }

    /// A huge page for the copy of a shared one, by the rules of a fault; `None` if there is none.
    pub(crate) fn place_huge(&mut self, s: &Site, clock: u64, ns: &mut u64) -> Option<Got> {
        let mut work = Work::default();
        let placed = self.climb(s, &mut work);
        *ns += self.pay(&work, clock + *ns);
        match placed {
            Some(Placed { huge: true, got }) => Some(got),
            Some(Placed { got, .. }) => {
                // A ladder that prefers a near base page: the caller takes one page only.
                self.memory.free_page(got.node, got.frame, PageClass::Anon);
                None
            }
            None => None,
        }
    }

    /// Makes the attempts of a huge-page fault.
    pub(crate) fn climb(&mut self, s: &Site, work: &mut Work) -> Option<Placed> {
        let thp = &self.cfg.mm.thp;
        let here = self.cpus[s.cpu].node;
        let vma = self.processes[s.process].space.vma(s.vma);
        let own = self.processes[s.process].vma_huge_policy[s.vma].as_ref();
        let own = own.filter(|_| thp.locality() == Locality::MpolHuge);
        let mut place = own.unwrap_or(self.policy(s)).placement(here, page_index(vma, s.chunk, 0, 9));
        place.preferred = self.home_of(s.task).unwrap_or(place.preferred);
        let ctx = FaultContext {
            here,
            place,
            huge_rules: own.map(|_| thp.huge_rules()),
            gfp: fault_gfp(thp, vma.advised),
            mems: self.processes[s.process].mems,
            span: thp.span,
            span_max_class: thp.span_max_class,
            ladders: &self.ladders,
        };
        let (processes, shared, hands) = (&mut self.processes, &mut self.shared, &mut self.hands);
        let mut env = Spaces { processes, shared, hands, forget: self.numa.cpupid_forgotten_from() };
        let landed = self.memory.huge_fault(thp.locality(), &ctx, &mut env, work)?;
        Some(Placed { huge: landed.huge, got: landed.got })
    }

    /// A base page of a class for an entry, under the mapping's or task's policy.
    pub(crate) fn place_base(&mut self, s: &Site, class: PageClass, clock: u64, ns: &mut u64) -> Option<Got> {
        let mut work = Work::default();
        let got = self.alloc_base(s, class, &mut work);
        self.place_table(s, &mut work);
        *ns += self.pay(&work, clock + *ns);
        got
    }

    fn alloc_base(&mut self, s: &Site, class: PageClass, work: &mut Work) -> Option<Got> {
        self.try_base(s, class, work).map_err(|e| self.exhausted(s.process, e)).ok()
    }

    /// A base page of a class under the mapping's or task's policy, without page table.
    pub(crate) fn try_base(&mut self, s: &Site, class: PageClass, work: &mut Work) -> Result<Got, AllocError> {
        let here = self.cpus[s.cpu].node;
        let index = page_index(self.processes[s.process].space.vma(s.vma), s.chunk, s.page, 0);
        let mut place = self.policy(s).placement(here, index);
        place.preferred = self.home_of(s.task).unwrap_or(place.preferred);
        let site = AllocSite { here, place, mems: self.processes[s.process].mems };
        let (processes, shared, hands) = (&mut self.processes, &mut self.shared, &mut self.hands);
        let mut env = Spaces { processes, shared, hands, forget: self.numa.cpupid_forgotten_from() };
        self.memory.alloc_class(Gfp::HIGHUSER_MOVABLE, class, &site, &mut env, work)
    }

    /// The page table of a chunk, where it has none: by the task's policy, which that of the mapping does not touch.
    pub(crate) fn place_table(&mut self, s: &Site, work: &mut Work) {
        if self.processes[s.process].space.vma(s.vma).places.has_table(s.chunk) {
            return;
        }
        let here = self.cpus[s.cpu].node;
        let place = self.tasks[s.task as usize].policy.placement(here, s.chunk as u64);
        let site = AllocSite { here, place, mems: self.processes[s.process].mems };
        let (processes, shared, hands) = (&mut self.processes, &mut self.shared, &mut self.hands);
        let mut env = Spaces { processes, shared, hands, forget: self.numa.cpupid_forgotten_from() };
        if let Ok(got) = self.memory.alloc_class(Gfp::KERNEL, PageClass::PageTables, &site, &mut env, work) {
            self.processes[s.process].space.vma_mut(s.vma).places.set_table(s.chunk, got.node, got.frame);
        }
    }

    /// Time of what an operation made the task do at `clock`: its CPU time, and its waits for the swap device, which
    /// are noted to be counted as blocked.
    pub(crate) fn pay(&mut self, work: &Work, clock: u64) -> u64 {
        if *work == Work::default() {
            return 0;
        }
        let cpu = cpu_ns(work, &self.machine.costs);
        let io = self.swap_queue.wait(clock + cpu, work, &self.cfg.mm.swap);
        self.io_wait_ns += io;
        cpu + io
    }

    /// A page that is on the swap device comes back: to where the policy of the faulting task wants it.
    pub(crate) fn swap_in(&mut self, s: &Site, clock: u64) -> Option<u64> {
        let here = self.cpus[s.cpu].node;
        let mut ns = 0;
        let entry = |w: &Self| w.processes[s.process].space.vma(s.vma).swap_entry(s.chunk, s.page, &w.shared);
        if let Some(SwapEntry::Cached(at)) = entry(self) {
            self.show_again(s, at);
            return Some(self.machine.costs.exception_ns as u64);
        }
        let mut got = self.place_base(s, PageClass::Anon, clock, &mut ns)?;
        if let Some(slot) = self.processes[s.process].space.vma(s.vma).places.slot(s.chunk, s.page) {
            got.frame = self.memory.refault(slot, got);
        }
        // Reclaim on the way may take other pages of the chunk, never bring one back.
        match entry(self) {
            Some(SwapEntry::Shared(at)) => {
                self.shared.read_back(at, (got.node, got.frame));
                self.show_again(s, at);
            }
            _ => {
                let memory = &mut self.memory;
                let vma = self.processes[s.process].space.vma_mut(s.vma);
                vma.release_slot(s.chunk, s.page, &mut self.shared, &mut |gone| memory.take_back(gone));
                vma.populate(s.chunk, s.page, got.node, got.frame);
            }
        }
        self.memory.events.pswpin += 1;
        self.memory.events.pgmajfault += 1;
        ns += self.pay(&Work { swapped_in: 1, ..Work::default() }, clock + ns);
        Some(ns + self.fill_ns(here, got.node, false) as u64)
    }

    /// The entry of a swapped page shows the page, which is in memory again.
    fn show_again(&mut self, s: &Site, at: PageRef) {
        let memory = &mut self.memory;
        let vma = self.processes[s.process].space.vma_mut(s.vma);
        vma.swap_in_shared(at, &mut self.shared, &mut |gone| memory.take_back(gone));
    }

    /// Page tables for what a fork copied into `child`, by the policy of the parent's task; adds the time to its CPU.
    pub(crate) fn fork_tables(&mut self, cpu: usize, task: u32, child: usize) {
        let mut work = Work::default();
        for position in 0..self.processes[child].space.len() {
            let vma = self.processes[child].space.id_at(position);
            for chunk in 0..self.processes[child].space.vma(vma).chunk_count() {
                if self.processes[child].space.vma(vma).lacks_table(chunk) {
                    self.place_table(&Site { cpu, task, process: child, vma, chunk, page: 0, write: false }, &mut work);
                }
            }
        }
        let now = self.now_ns;
        self.cpus[cpu].debt_ns += self.pay(&work, now);
    }

    /// Memory is exhausted: somebody would have to be killed. The run ends.
    fn exhausted(&mut self, process: usize, e: AllocError) {
        let name = &self.workload.processes[process].name;
        let limit = match e {
            AllocError::Oom(Constraint::Mempolicy) => "none of the nodes that its memory policy allows has any left",
            AllocError::Oom(Constraint::Cpuset) => "none of the nodes that its cpuset allows has any left",
            _ => "no node has any left",
        };
        self.status = Status::Failed(format!("out of memory: {name} touched a page and {limit}"));
    }

    /// Charges time in the kernel; waits for devices in it count as blocked.
    pub(crate) fn charge_kernel(&mut self, task: u32, ns: u64) {
        let io = std::mem::take(&mut self.io_wait_ns).min(ns);
        self.charge_system(task, ns - io);
        self.processes[self.tasks[task as usize].process as usize].blocked_ns += io;
    }
}

/// What the huge-page rule needs to know of the machine.
///
/// # Errors
/// `ladder_custom` without a list.
pub(crate) fn ladders(machine: &Machine, cfg: &MmConfig) -> Result<Ladders, String> {
    if cfg.thp.locality() == Locality::LadderCustom && cfg.thp.ladder.is_none() {
        return Err("thp_locality = ladder_custom needs its list: thp.ladder=\"D0 THP | D1 THP | D0 4k\"".into());
    }
    Ok(Ladders::of(machine, &cfg.thp, machine.tlb.nested))
}
