//! Threads that fault on one missing page together.
//!
//! Problem: between the look at an empty entry and the moment a new page is put there, an anonymous fault allocates a page and
//! fills it with zeros, without a lock that would keep others from doing the same (`do_anonymous_page`,
//! `__do_huge_pmd_anonymous_page`: the entry is looked at again under the lock afterwards, and whoever finds it taken gives
//! its page back). So threads that sweep untouched memory together fill every page several times: allocations count
//! (`numa_hit`, and before 4.3 `thp_fault_alloc`), and so does the time.
//!
//! Approach: the thread whose fault is being simulated is the one whose page stays. The others of the process that have caught
//! up with it by then (`sweepers`) are somewhere within the time that one page takes, filling and sweeping: nothing keeps them in
//! step to the microsecond, so each comes at a random moment of that time, and fills a page of its own if the entry is still
//! empty. (Threads in perfect step would all come, five for every huge page of mail 002's numa01, where its baseline allocated
//! 1.7 more than needed.) They come one by one: a line of the page before goes from one to the next, so that nobody comes
//! sooner after another than a line takes from core to core. Whoever comes allocates and frees a page by its own policy and
//! pays for the fault. Times in ns of model time.

use crate::mm::contenders::{find_contenders, offset_in_vma};
use crate::mm::fill::fill_ns;
use crate::mm::page_alloc::{alloc_thp, try_alloc_base, work_ns, AllocatedFolio};
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{PageClass, Work, CHUNK_BYTES, PAGE_BYTES};

/// Lets whoever comes to the page of `s` fill one of their own until its entry is there, `fault_ns` after the fault began
/// at `clock`. The first look at the entry comes as long after an exception for one as for the other.
pub(crate) fn concurrent_first_touch(sim: &mut Simulation<'_>, s: &PageSite, huge: bool, clock: u64, fault_ns: u64) {
    let place = offset_in_vma(sim, s.task, s.vma, s.chunk, s.page);
    let bytes = if huge { CHUNK_BYTES } else { PAGE_BYTES };
    let fill_ns = (fault_ns as f64 - sim.machine.costs.exception_ns).max(0.0);
    let there_ns = clock as f64 + fill_ns;
    find_contenders(sim, s.task, s.vma, place, there_ns);
    if sim.sweep_positions.contenders.is_empty() {
        return;
    }
    let mut contenders = std::mem::take(&mut sim.sweep_positions.contenders);
    contenders.retain_mut(|c| {
        if !c.writes {
            return false;
        }
        c.ns = sim.rng.unit() * (fill_ns + bytes as f64 * c.ns_per_byte);
        c.ns < fill_ns
    });
    contenders.sort_unstable_by(|a, b| a.ns.total_cmp(&b.ns).then(a.task.cmp(&b.task)));
    let (mut last_ns, mut last_cpu) = (0.0, s.cpu);
    for c in &contenders {
        let (task, cpu) = (c.task, sim.kernel.sched.cpu_of(c.task) as usize);
        last_ns = c.ns.max(last_ns + cache_line_transfer_ns(sim, last_cpu, cpu));
        last_cpu = cpu;
        if last_ns >= fill_ns {
            break;
        }
        let ns = fill_and_free(sim, &PageSite { cpu, task, ..*s }, huge, clock + last_ns as u64);
        sim.cpus[cpu].debt_ns += ns;
        sim.sweep_positions.delay(task, ns);
    }
    sim.sweep_positions.contenders = contenders;
}

/// A page that is allocated, filled and given back; returns the time.
fn fill_and_free(sim: &mut Simulation<'_>, s: &PageSite, huge: bool, clock: u64) -> u64 {
    let here = sim.cpus[s.cpu].node;
    sim.kernel.vm.pgfault += 1;
    let mut work = Work::default();
    let got = if huge {
        alloc_thp(sim, s, &mut work)
    } else {
        try_alloc_base(sim, s, PageClass::Anon, &mut work).ok().map(|got| AllocatedFolio { huge, got })
    };
    let ns = work_ns(sim, &work, clock);
    let Some(AllocatedFolio { huge, got }) = got else { return ns + sim.machine.costs.exception_ns as u64 };
    let class = if huge { PageClass::AnonHuge } else { PageClass::Anon };
    sim.mm.physical.free_page(got.node, got.frame, class);
    if huge && !sim.cfg.mm.thp.counts_unused_alloc {
        sim.mm.physical.events.thp_fault_alloc -= 1;
    }
    ns + fill_ns(sim, here, got.node, huge) as u64
}

/// Time for a line that one CPU has just written to reach another: a hit of their cache, or about what memory at that
/// distance takes; between threads of a core none.
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
