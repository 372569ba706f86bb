//! Threads that fault on one missing page together.
//!
//! An anonymous fault looks at the empty entry, allocates a page, fills it with zeros, and takes the lock only then
//! (`do_anonymous_page`, `__do_huge_pmd_anonymous_page`). A thread that finds the entry taken by then frees its own
//! page again. So threads that sweep untouched memory together fill every page several times. Their allocations count
//! (`numa_hit`, and `thp_fault_alloc` before 4.3), and so does their time.
//!
//! The page of the thread whose fault is being simulated is the one that stays. Other threads of the process that have
//! caught up with it ([`contenders`](crate::mm::contenders)) come at a random moment within the time of one page,
//! because nothing keeps them in step to the microsecond. Each fills a page of its own if the entry is still empty.
//! (Threads in perfect step would all come: five for every huge page of the published numa01 of 2012, whose baseline
//! allocated 1.7 more than needed.)
//!
//! A page that is freed again is the next that its CPU allocates, and its lines are in the CPU's cache. So in a convoy
//! most clears touch no memory, and take a fraction of the time.
//!
//! In an emulated guest whose CPUs take turns another thread comes only if the turn of this one ends while it fills the
//! page. Whoever comes first then fills the page too, and the others find that one.
//!
//! A thread whose exception comes while the first one still waits for the lock of the mapping looks at the entry as
//! much later. If that is set by then, the thread has faulted for nothing, and paid for the exception and the lock. So
//! a lock in demand makes more threads fault, and keeps them together.
//!
//! Each that has filled a page takes the lock of the page table, one after the other, and finds the entry set.
//!
//! A line of the page before goes from one thread to the next, so no thread follows another sooner than a line takes
//! from core to core. Each allocates and frees a page under its own policy, and pays for the fault. Times are ns of
//! model time.

use crate::mm::contenders::{comes_before, offset_in_vma, update_convoy};
use crate::mm::fault_lock::take_fault_lock;
use crate::mm::fill::{fill_freed_page_ns, fill_ns, keep_freed_page};
use crate::mm::page_alloc::{alloc_and_free_base, alloc_thp, work_ns, AllocatedFolio};
use crate::sim_config::ROUND_NS;
use crate::state::cpu::CpuState;
use crate::state::fault_locks::LockKind;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use numalab_base::math::exp;
use numalab_kernel::mm::{PageClass, Work, CHUNK_PAGES};
use numalab_nouns::machine::Machine;

/// Lets other threads that come to the page of `s` fill pages of their own until its entry is set to `folio`,
/// `took_ns` after the fault began at `clock`. All threads look at the entry equally long after their exception.
pub(crate) fn concurrent_first_touch(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    folio: AllocatedFolio,
    clock: u64,
    took_ns: u64,
) {
    let pages = folio.pages;
    let fill_ns = (took_ns as f64 - sim.machine.costs.exception_ns).max(0.0);
    let bytes = sim.cfg.base_page().bytes_of(u64::from(pages));
    if sim.cfg.harness.cpus_take_turns() {
        let busy = sim.cpus.iter().filter(|c| c.task.is_some()).count().max(1);
        let turn_ns = ROUND_NS as f64 / busy as f64;
        // A fill longer than a turn is one of many that go on side by side.
        if fill_ns < turn_ns {
            if sim.rng.unit() * turn_ns < fill_ns {
                fill_in_next_turn(sim, s, bytes, clock);
            }
            return;
        }
    }
    // Those who come while the fault waits for its lock wait as long, and look at the entry when it is set.
    let fault_ns = Window { fill_ns, all_ns: fill_ns + sim.mm.locks.fault_waited_ns as f64 };
    let Some(mut arrivals) = Arrivals::new(sim, s, (clock, fault_ns.all_ns), bytes) else { return };
    let (mut last_ns, mut last_cpu) = (0.0, s.cpu);
    let mut table = TableLock { free_ns: fill_ns, cpu: s.cpu };
    let mut freed = 0;
    while let Some((ns, task)) = arrivals.next(sim) {
        let cpu = sim.kernel.sched.cpu_of(task) as usize;
        last_ns = ns.max(last_ns + cache_line_transfer_ns(sim.machine, &sim.cpus, last_cpu, cpu));
        last_cpu = cpu;
        if last_ns >= fault_ns.all_ns {
            break;
        }
        let at_ns = clock + last_ns as u64;
        let mut ns = take_fault_lock(sim, (cpu, task), s.vma, at_ns);
        if last_ns < fault_ns.fill_ns {
            ns += fill_and_free(sim, &PageSite { cpu, task, ..*s }, pages, at_ns + ns);
            ns += table.take(sim, cpu, last_ns + ns as f64);
            freed += 1;
        } else {
            sim.kernel.vm.pgfault += 1;
            ns += sim.machine.costs.exception_ns as u64;
        }
        delay(sim, task, cpu, ns);
    }
    // Of those who filled the page any might have been first. Whoever is first at the next page has filled this one in
    // vain with these odds.
    if pages == 1 && sim.rng.below(freed + 1) < freed {
        keep_freed_page(sim, s.cpu, folio.got.node, clock + took_ns);
    }
}

/// One of the threads that come to the page of `s`, which has `bytes`, within a round from `clock` on fills a page in
/// vain, if there is one.
fn fill_in_next_turn(sim: &mut Simulation<'_>, s: &PageSite, bytes: u64, clock: u64) {
    let place = offset_in_vma(&sim.processes, &sim.tasks, s.task, s.vma, s.chunk, s.page);
    let (from_ns, before_ns) = (clock as f64, (clock + ROUND_NS) as f64);
    update_convoy(sim, (s.task, s.vma), (place, bytes), (from_ns, before_ns));
    let count = sim.convoy.tasks.len();
    if count == 0 {
        return;
    }
    let task = sim.convoy.tasks[sim.rng.below(count as u64) as usize];
    if comes_before(sim, task, place, before_ns) {
        let pages = sim.cfg.base_page().pages(bytes) as u32;
        fill_in_vain(sim, s, task, pages, clock);
    }
}

/// `task` fills a page for the place of `s` from `clock` on, and frees it.
fn fill_in_vain(sim: &mut Simulation<'_>, s: &PageSite, task: u32, pages: u32, clock: u64) {
    let cpu = sim.kernel.sched.cpu_of(task) as usize;
    let ns = fill_and_free(sim, &PageSite { cpu, task, ..*s }, pages, clock);
    delay(sim, task, cpu, ns);
}

/// `task` on `cpu` spends `ns` in the kernel before it goes on with its sweep.
fn delay(sim: &mut Simulation<'_>, task: u32, cpu: usize, ns: u64) {
    sim.cpus[cpu].debt_ns += ns;
    sim.sweep_positions.delay(task, ns);
}

/// From a fault's look at the entry: for how long others find it empty, and for how long others fault, ns.
struct Window {
    fill_ns: f64,
    all_ns: f64,
}

/// The lock of the page table of the present page.
struct TableLock {
    /// When the last one has given it back, ns after the first fault's look at the entry.
    free_ns: f64,
    /// The CPU that had it last.
    cpu: usize,
}

impl TableLock {
    /// `cpu` asks for the lock at `at_ns`. Returns its wait and the transfer of the line, ns.
    fn take(&mut self, sim: &mut Simulation<'_>, cpu: usize, at_ns: f64) -> u64 {
        let begins_ns = at_ns.max(self.free_ns);
        self.free_ns = begins_ns + cache_line_transfer_ns(sim.machine, &sim.cpus, self.cpu, cpu);
        self.cpu = cpu;
        let ns = (self.free_ns - at_ns) as u64;
        sim.mm.locks.count(LockKind::PageTable, ns);
        ns
    }
}

/// Threads that begin to fill the page of a fault while it is filled, in the order of time.
///
/// Each of the convoy comes at a random moment within its time of one page. The moments are drawn in their order: the
/// first of n, then the first of those that are left. So the cost is that of those who come, not of all who might. The
/// draws are for the fastest thread; a slower one is kept with the odds of its time.
struct Arrivals {
    /// How many of the convoy have no moment yet.
    left: usize,
    /// The last moment that was drawn, after the fault's look at the entry, ns.
    at_ns: f64,
    /// Time of one page of the fastest thread, ns.
    period_ns: f64,
    /// How long others fault on the page, ns.
    window_ns: f64,
    bytes: f64,
    place: u64,
    before_ns: f64,
}

impl Arrivals {
    /// Those that come during the fault of `s`, which began at `clock` and is open to them for `window_ns`; `None`
    /// if nobody may.
    fn new(sim: &mut Simulation<'_>, s: &PageSite, (clock, window_ns): (u64, f64), bytes: u64) -> Option<Self> {
        let place = offset_in_vma(&sim.processes, &sim.tasks, s.task, s.vma, s.chunk, s.page);
        let before_ns = clock as f64 + window_ns;
        update_convoy(sim, (s.task, s.vma), (place, bytes), (clock as f64, before_ns));
        let (convoy, bytes) = (&sim.convoy, bytes as f64);
        let period_ns = window_ns + bytes * convoy.least_ns_per_byte;
        let left = convoy.tasks.len();
        (left > 0).then_some(Self { left, at_ns: 0.0, period_ns, window_ns, bytes, place, before_ns })
    }

    /// The next moment, ns after the look of the fault, and the thread.
    fn next(&mut self, sim: &mut Simulation<'_>) -> Option<(f64, u32)> {
        while self.left > 0 {
            // The part of the remaining time behind the first of `left` uniform draws is a power of a uniform draw.
            let behind = exp_minus(sim.rng.standard_exponential() / self.left as f64);
            self.at_ns = self.period_ns - (self.period_ns - self.at_ns) * behind;
            if self.at_ns >= self.window_ns {
                return None;
            }
            let drawn = sim.rng.below(self.left as u64) as usize;
            self.left -= 1;
            let tasks = &mut sim.convoy.tasks;
            tasks.swap(drawn, self.left);
            let task = tasks[self.left];
            if !comes_before(sim, task, self.place, self.before_ns) {
                continue;
            }
            let own_ns = self.window_ns + self.bytes * sim.sweep_positions.sweeper[task as usize].ns_per_byte;
            if own_ns <= self.period_ns || sim.rng.unit() * own_ns < self.period_ns {
                return Some((self.at_ns, task));
            }
        }
        None
    }
}

/// exp(-x) for x of 0 and more; below 1/4 by a series that leaves out less than 10^-6.
fn exp_minus(x: f64) -> f64 {
    if x >= 0.25 {
        return exp(-x);
    }
    1.0 - x * (1.0 - x * (1.0 / 2.0 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x * (1.0 / 120.0)))))
}

/// Allocates, fills and frees a page; returns the time, ns.
fn fill_and_free(sim: &mut Simulation<'_>, s: &PageSite, pages: u32, clock: u64) -> u64 {
    sim.kernel.vm.pgfault += 1;
    let mut work = Work::default();
    if u64::from(pages) < CHUNK_PAGES {
        let got = alloc_and_free_base(sim, s, PageClass::Anon, &mut work);
        let ns = work_ns(sim, &work, clock);
        return match got {
            Ok(node) if pages > 1 => ns + fill_ns(sim, s.cpu, node, pages, clock + ns) as u64,
            Ok(node) => ns + fill_freed_page_ns(sim, s.cpu, node, clock + ns) as u64,
            Err(_) => ns + sim.machine.costs.exception_ns as u64,
        };
    }
    let got = alloc_thp(sim, s, &mut work);
    let ns = work_ns(sim, &work, clock);
    let Some(AllocatedFolio { huge, got, .. }) = got else { return ns + sim.machine.costs.exception_ns as u64 };
    let class = if huge { PageClass::AnonHuge } else { PageClass::Anon };
    sim.mm.physical.free_page(got.node, got.frame, class);
    if huge && !sim.cfg.mm.thp.counts_unused_alloc {
        sim.mm.physical.events.thp_fault_alloc -= 1;
    }
    if huge {
        return ns + fill_ns(sim, s.cpu, got.node, pages, clock + ns) as u64;
    }
    ns + fill_freed_page_ns(sim, s.cpu, got.node, clock + ns) as u64
}

/// Time for a line that one CPU has just written to reach another, ns: a hit of their common cache, or about the
/// latency of memory at that distance; none between threads of a core.
fn cache_line_transfer_ns(machine: &Machine, cpus: &[CpuState], from: usize, to: usize) -> f64 {
    let (a, b) = (&cpus[from], &cpus[to]);
    if a.siblings.contains(&(to as u32)) {
        0.0
    } else if a.llc == b.llc {
        machine.cache.llc_latency_ns
    } else {
        machine.latency_ns[b.node][a.node]
    }
}
