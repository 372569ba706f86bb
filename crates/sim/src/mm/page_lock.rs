//! Sleeping for a locked page, and waking its sleepers (kernel: `migration_entry_wait`, `folio_wake`).

use crate::state::cpu::Pending;
use crate::state::event_queue::Event;
use crate::state::page_site::PageSite;
use crate::state::simulation::{Memory, Simulation};
use crate::state::step::FaultEnd;
use crate::state::task::Activity;
use crate::state::wait::NOBODY;
use numalab_kernel::mm::PageRef;

/// Puts the task to sleep until the migration of the page ends. The task then faults again.
pub(crate) fn wait_on_page(sim: &mut Simulation<'_>, s: &PageSite, at: PageRef) -> (u64, FaultEnd) {
    let t = &mut sim.tasks[s.task as usize];
    t.activity = Activity::Asleep;
    t.wait.since_ns = Some(sim.now_ns);
    sim.mm.page_waiters.push((at, s.task));
    sim.kernel.vm.pgfault += sim.mm.shared.object(at.object).grain();
    (0, FaultEnd::Stop(Pending::Wait))
}

/// Whether a fault on a locked grain is on a page of it that is not locked now, because they move one after the other.
pub(crate) fn is_on_another_page(sim: &mut Simulation<'_>, at: PageRef) -> bool {
    let grain = sim.mm.shared.object(at.object).grain();
    grain > 1 && sim.rng.below(grain) > 0
}

/// Whether a task sleeps until the migration of a page ends.
pub(crate) fn has_page_waiters(mm: &Memory, at: PageRef) -> bool {
    mm.page_waiters.iter().any(|w| w.0 == at)
}

/// Wakes all tasks that wait for a page, one after the other, in order of arrival. The task of `cpu` pays for that.
pub(crate) fn wake_page_waiters(sim: &mut Simulation<'_>, at: PageRef, cpu: usize) {
    let (effects, tasks, waking_ns) = (&mut sim.effects, &sim.tasks, sim.hw.costs.waker_ns() as u64);
    let waker = sim.cpus[cpu].task.unwrap_or(NOBODY);
    let mut wakes_ns = sim.now_ns;
    sim.mm.page_waiters.retain(|&(page, task)| {
        if page == at {
            wakes_ns += waking_ns;
            effects.at(wakes_ns, Event::Wake { task, waker, sleep: tasks[task as usize].wait.sleep });
        }
        page != at
    });
    sim.cpus[cpu].debt_ns += wakes_ns - sim.now_ns;
}
