//! Direct I/O: transfers between memory and a device (kernel: `iomap_dio_rw`, `bio_iov_iter_get_pages`).
//!
//! Each transfer first gets its pages (`get_user_pages_fast`): what is missing or may not be written faults, and before
//! 6.5 marked pages take their hint faults. The pages are then pinned while the thread sleeps for the device. The
//! transfer itself takes no bandwidth of the memory (simplification).

use crate::charge::time::charge_system;
use crate::fault::handle_fault::handle_mm_fault;
use crate::mm::pins::mapping;
use crate::state::cpu::Pending;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::step::{FaultEnd, Step};
use crate::state::task::{Activity, GettingPages};
use numalab_kernel::mm::{PageState, CHUNK_PAGES};
use numalab_nouns::workload::{DirectIo, IoDirection};

/// Carries out transfers up to `end`. The task sleeps after each has begun.
pub(crate) fn direct_io(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    io: &DirectIo,
    clock: &mut u64,
    end: u64,
) -> Step {
    let t = &mut sim.tasks[task as usize];
    if t.done == io.ios {
        t.advance();
        return Step::Go;
    }
    let (process, done) = (t.process as usize, t.done);
    let id = sim.processes[process].region_vma[io.span.region as usize] as usize;
    let getting = match sim.tasks[task as usize].getting_pages {
        Some(getting) => getting,
        None => {
            let entered = sim.machine.costs.exception_ns as u64;
            *clock += entered;
            charge_system(sim, task, entered);
            let place = if io.random { sim.rng.below(io.places()) } else { done };
            let (offset, bytes) = io.transfer(place);
            let v = sim.processes[process].space.vma(id);
            let (first, last) = (v.page_number(v.start + offset), v.page_number(v.start + offset + bytes - 1));
            GettingPages { first, next: first, end: last + 1 }
        }
    };
    sim.tasks[task as usize].getting_pages = Some(getting);
    if let Some(stop) = get_user_pages(sim, (cpu, task), (process, id), io.direction, clock, end) {
        return stop;
    }
    let t = &mut sim.tasks[task as usize];
    t.getting_pages = None;
    t.done += 1;
    t.activity = Activity::Asleep;
    let of = mapping(&sim.processes[process].space, process, id);
    let (now_ns, until_ns) = (sim.now_ns, *clock + io.latency_ns);
    sim.mm.pins.start(of, (getting.first, getting.end), (*clock, until_ns), now_ns);
    Step::Stop(Pending::Sleep(io.latency_ns))
}

/// Faults in the pages of the transfer that begins. Returns how the step ends if it ends before all are there.
fn get_user_pages(
    sim: &mut Simulation<'_>,
    (cpu, task): (usize, u32),
    (process, id): (usize, usize),
    direction: IoDirection,
    clock: &mut u64,
    end: u64,
) -> Option<Step> {
    let write = direction == IoDirection::Read;
    let started = *clock;
    let mut out = None;
    while let Some(at) = sim.tasks[task as usize].getting_pages.filter(|g| g.next < g.end) {
        if *clock >= end {
            out = Some(Step::Go);
            break;
        }
        let (chunk, page) = ((at.next / CHUNK_PAGES) as usize, (at.next % CHUNK_PAGES) as usize);
        *clock += sim.machine.costs.pte_skip_ns.ceil() as u64;
        if page_faults(sim, (process, id), (chunk, page), write) {
            let site = PageSite { cpu, task, process, vma: id, chunk, page, write };
            let (ns, fate) = handle_mm_fault(sim, &site, *clock);
            *clock += ns;
            if fate != FaultEnd::Pass {
                out = fate.stops();
            }
        }
        if out.is_none() {
            sim.processes[process].space.vma_mut(id).touch(chunk, page, page + 1);
            if let Some(getting) = &mut sim.tasks[task as usize].getting_pages {
                getting.next += 1;
            }
        }
        let moves = !sim.task_migrations.decided.is_empty();
        if out.is_some() || moves || sim.tasks[task as usize].wait.block_ns > 0 {
            out = out.or(Some(Step::Go));
            break;
        }
    }
    let ns = *clock - started;
    charge_system(sim, task, ns);
    out
}

/// Whether getting a page faults.
fn page_faults(
    sim: &Simulation<'_>,
    (process, id): (usize, usize),
    (chunk, page): (usize, usize),
    write: bool,
) -> bool {
    match sim.processes[process].space.vma(id).page(chunk, page, &sim.mm.shared) {
        PageState::Absent | PageState::Migrating(_) => true,
        PageState::Marked { .. } => sim.kernel.numa.cfg.switches.gup_takes_hint_faults,
        PageState::ReadOnly { .. } => write,
        PageState::Ready { .. } => false,
    }
}
