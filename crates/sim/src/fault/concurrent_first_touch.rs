//! Threads that fault on one missing page together.
//!
//! An anonymous fault looks at the empty entry, allocates a page, fills it with zeros, and takes the lock only then
//! (`do_anonymous_page`, `__do_huge_pmd_anonymous_page`). A thread that finds the entry taken by then frees its own page again. So
//! threads that sweep untouched memory together fill every page several times. Their allocations count (`numa_hit`, and
//! `thp_fault_alloc` before 4.3), and so does their time.
//!
//! The page of the thread whose fault is being simulated is the one that stays. Other threads of the process that have caught up
//! with it ([`contenders`](crate::mm::contenders)) come at a random moment within the time of one page, because nothing keeps them
//! in step to the microsecond. Each fills a page of its own if the entry is still empty. (Threads in perfect step would all
//! come: five for every huge page of the published numa01 of 2012, whose baseline allocated 1.7 more than needed.)
//!
//! A line of the page before goes from one thread to the next, so no thread follows another sooner than a line takes from core to
//! core. Each allocates and frees a page under its own policy, and pays for the fault. Times are ns of model time.

use crate::mm::contenders::{find_contenders, offset_in_vma, sort_contenders};
use crate::mm::fill::fill_ns;
use crate::mm::page_alloc::{alloc_and_free_base, alloc_thp, work_ns, AllocatedFolio};
use crate::state::contender::Arrival;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{PageClass, Work, CHUNK_BYTES, PAGE_BYTES};
use std::collections::BinaryHeap;

/// Lets other threads that come to the page of `s` fill pages of their own until its entry is set, `fault_ns` after the fault
/// began at `clock`. All threads look at the entry equally long after their exception.
pub(crate) fn concurrent_first_touch(sim: &mut Simulation<'_>, s: &PageSite, huge: bool, clock: u64, fault_ns: u64) {
    let place = offset_in_vma(sim, s.task, s.vma, s.chunk, s.page);
    let bytes = if huge { CHUNK_BYTES } else { PAGE_BYTES };
    let fill_ns = (fault_ns as f64 - sim.machine.costs.exception_ns).max(0.0);
    let there_ns = clock as f64 + fill_ns;
    find_contenders(sim, s.task, s.vma, place, there_ns);
    if sim.sweep_positions.contenders.is_empty() {
        return;
    }
    // Each that fills draws when it comes, by turns.
    sim.sweep_positions.contenders.retain(|c| c.writes);
    sort_contenders(sim);
    let contenders = std::mem::take(&mut sim.sweep_positions.contenders);
    let mut arrivals = std::mem::take(&mut sim.sweep_positions.arrivals);
    arrivals.clear();
    for c in &contenders {
        let ns = sim.rng.unit() * (fill_ns + bytes as f64 * c.ns_per_byte);
        if ns < fill_ns {
            arrivals.push(Arrival { ns, task: c.task });
        }
    }
    sim.sweep_positions.contenders = contenders;
    // Few of them are early enough, so the others need no order.
    let mut arrivals = BinaryHeap::from(arrivals);
    let (mut last_ns, mut last_cpu) = (0.0, s.cpu);
    while let Some(Arrival { ns, task }) = arrivals.pop() {
        let cpu = sim.kernel.sched.cpu_of(task) as usize;
        last_ns = ns.max(last_ns + cache_line_transfer_ns(sim, last_cpu, cpu));
        last_cpu = cpu;
        if last_ns >= fill_ns {
            break;
        }
        let ns = fill_and_free(sim, &PageSite { cpu, task, ..*s }, huge, clock + last_ns as u64);
        sim.cpus[cpu].debt_ns += ns;
        sim.sweep_positions.delay(task, ns);
    }
    sim.sweep_positions.arrivals = arrivals.into_vec();
}

/// Allocates, fills and frees a page; returns the time, ns.
fn fill_and_free(sim: &mut Simulation<'_>, s: &PageSite, huge: bool, clock: u64) -> u64 {
    sim.kernel.vm.pgfault += 1;
    let mut work = Work::default();
    if !huge {
        let got = alloc_and_free_base(sim, s, PageClass::Anon, &mut work);
        let ns = work_ns(sim, &work, clock);
        return match got {
            Ok(node) => ns + fill_ns(sim, s.cpu, node, false, clock + ns) as u64,
            Err(_) => ns + sim.machine.costs.exception_ns as u64,
        };
    }
    let got = alloc_thp(sim, s, &mut work);
    let ns = work_ns(sim, &work, clock);
    let Some(AllocatedFolio { huge, got }) = got else { return ns + sim.machine.costs.exception_ns as u64 };
    let class = if huge { PageClass::AnonHuge } else { PageClass::Anon };
    sim.mm.physical.free_page(got.node, got.frame, class);
    if huge && !sim.cfg.mm.thp.counts_unused_alloc {
        sim.mm.physical.events.thp_fault_alloc -= 1;
    }
    ns + fill_ns(sim, s.cpu, got.node, huge, clock + ns) as u64
}

/// Time for a line that one CPU has just written to reach another, ns: a hit of their common cache, or about the latency of
/// memory at that distance; none between threads of a core.
fn cache_line_transfer_ns(sim: &Simulation<'_>, from: usize, to: usize) -> f64 {
    let (a, b) = (&sim.cpus[from], &sim.cpus[to]);
    if a.siblings.contains(&(to as u32)) {
        0.0
    } else if a.llc == b.llc {
        sim.machine.cache.llc_latency_ns
    } else {
        sim.machine.latency_ns[b.node][a.node]
    }
}
