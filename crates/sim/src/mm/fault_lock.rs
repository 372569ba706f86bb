//! The locks that page faults of several threads meet, and what they pay for them.
//!
//! * The lock of the address space (`mmap_lock`), from 6.4 on of the mapping (`vm_lock`; commit 0bff0aaea03e). Faults
//!   take it for reading, so none waits for another to end. But taking it and giving it back are atomic instructions on
//!   one line (`down_read_trylock`, `up_read`; from 6.15 on `vm_refcnt`), and that line is in one cache at a time. A
//!   failed compare-and-exchange that tries again finds the line at hand, so each counts as one transfer.
//! * The lock of a zone, when a CPU fills its list of free pages (`rmqueue_bulk`).
//! * The lock of an LRU list, when a batch is full (`folio_batch_move_lru`). It is one per node before 5.11 and one per
//!   node and control group since; the processes of a workload are in one group, so both are one per node here.
//! * The lock of a page table is in [`concurrent_first_touch`](crate::fault::concurrent_first_touch): threads meet
//!   there only if they fault within the same 2 MiB at the same time.
//!
//! Costs without contention are part of the costs of a fault. What comes on top is the time of lines between caches,
//! by the latencies of the machine, and the wait until it is one's turn ([`LockLine`]). Both are system time.
//! CPUs of an emulated guest that take turns never meet at a lock.
//! Not modelled: the fallback to `mmap_lock` for the first fault of a mapping, and for files before 6.6; counters of
//! control groups; freeing. Times are ns.
//!
//! [`LockLine`]: crate::state::lock_line::LockLine

use crate::state::fault_locks::LockKind;
use crate::state::lock_line::{LockUse, BIN_NS};
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;

/// Atomic instructions of a fault on the lock of its address space or mapping: taking it, and giving it back.
const FAULT_ATOMICS: f32 = 2.0;

/// Base pages that a CPU takes from a zone at a time (`zone_batchsize` of a zone of 1 GiB and more, since commit
/// d8a759b57035 of 4.20; 31 before, with the same time per page).
const ZONE_BATCH: u16 = 63;

/// A fault of `task` on a mapping, at `clock`, takes the lock that it shares with other threads and gives it back.
/// Returns the time on top of an uncontended fault, ns.
#[inline]
pub(crate) fn take_fault_lock(sim: &mut Simulation<'_>, by: (usize, u32), vma: usize, clock: u64) -> u64 {
    sim.mm.locks.fault_waited_ns = 0;
    if shares_fault_lock(sim, by.1) {
        take_shared_lock(sim, by, vma, clock, 1)
    } else {
        0
    }
}

/// As [`take_fault_lock`], for the faults on all pages that an entry of the mapping stands for.
pub(crate) fn take_fault_lock_of_entry(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> u64 {
    match sim.processes[s.process].space.vma(s.vma).grain.pages() {
        1 => take_fault_lock(sim, (s.cpu, s.task), s.vma, clock),
        pages => take_fault_locks(sim, (s.cpu, s.task), s.vma, clock, (pages, sim.machine.costs.hint_fault_ns)),
    }
}

/// As [`take_fault_lock`], for so many faults of which one begins every `each_ns`. Those that fall into one bin of the
/// lock ask for it together.
pub(crate) fn take_fault_locks(
    sim: &mut Simulation<'_>,
    by: (usize, u32),
    vma: usize,
    clock: u64,
    (faults, each_ns): (u64, f64),
) -> u64 {
    if !shares_fault_lock(sim, by.1) {
        return 0;
    }
    let together = ((BIN_NS as f64 / each_ns) as u64).clamp(1, faults.max(1));
    let (mut done, mut ns) = (0, 0);
    while done < faults {
        let some = together.min(faults - done);
        ns += take_shared_lock(sim, by, vma, clock + ns + (done as f64 * each_ns) as u64, some);
        done += some;
    }
    ns
}

/// Whether other threads use the lock that faults of `task` take.
#[inline]
fn shares_fault_lock(sim: &Simulation<'_>, task: u32) -> bool {
    let p = &sim.processes[sim.tasks[task as usize].process as usize];
    p.live_threads >= 2 && !p.lock_lines.is_empty()
}

fn take_shared_lock(sim: &mut Simulation<'_>, (cpu, task): (usize, u32), vma: usize, clock: u64, faults: u64) -> u64 {
    let process = sim.tasks[task as usize].process as usize;
    let one = sim.cfg.mm.vm.fault_holds_mmap_lock;
    let (kind, number) = if one { (LockKind::Mmap, 0) } else { (LockKind::Vma, vma) };
    let p = &mut sim.processes[process];
    let Some(line) = p.lock_lines.get_mut(number) else { return 0 };
    let (node, locks) = (sim.cpus[cpu].node, &mut sim.mm.locks);
    let u = LockUse {
        line: number as u32,
        now_ns: sim.now_ns,
        at_ns: clock,
        node,
        times: FAULT_ATOMICS * faults as f32,
        hold_ns: 0.0,
        from_ns: locks.distances.ns_to(node),
    };
    let t = line.take(&u, &mut sim.tasks[task as usize].lock_uses);
    if t.wait_ns > 0 || line.is_pressed(clock) {
        p.pressed_until_ns = p.pressed_until_ns.max(clock + t.wait_ns + 2 * BIN_NS);
    }
    // One of the two transfers comes before the fault looks at the entry.
    locks.fault_waited_ns = t.wait_ns + t.transfer_ns / 2;
    locks.count(kind, t.wait_ns + t.transfer_ns);
    t.wait_ns + t.transfer_ns
}

/// `cpu` takes a base page of `node` from its list of free pages at `clock`, and fills the list if it is empty.
/// Returns the wait and the transfer of the line, ns.
#[inline]
pub(crate) fn take_listed_page(sim: &mut Simulation<'_>, cpu: usize, node: usize, clock: u64) -> u64 {
    let c = &mut sim.cpus[cpu];
    if c.listed_pages > 0 {
        c.listed_pages -= 1;
        return 0;
    }
    c.listed_pages = ZONE_BATCH - 1;
    take_machine_lock(sim, LockKind::Zone, cpu, (node, ZONE_BATCH.into()), clock)
}

/// As [`take_listed_page`], for so many pages one after the other.
pub(crate) fn take_listed_pages(sim: &mut Simulation<'_>, cpu: usize, node: usize, pages: u64, clock: u64) -> u64 {
    let (mut left, mut ns) = (pages, 0);
    while left > u64::from(sim.cpus[cpu].listed_pages) {
        left -= u64::from(sim.cpus[cpu].listed_pages) + 1;
        sim.cpus[cpu].listed_pages = 0;
        ns += take_listed_page(sim, cpu, node, clock + ns);
    }
    sim.cpus[cpu].listed_pages -= left as u16;
    ns
}

/// The batch of `cpu`, of `pages` pages, goes to the LRU list of `node` at `clock`. Returns the wait and the transfer
/// of the line, ns.
pub(crate) fn add_batch_to_lru(sim: &mut Simulation<'_>, cpu: usize, (node, pages): (usize, u32), clock: u64) -> u64 {
    take_machine_lock(sim, LockKind::Lru, cpu, (node, pages), clock)
}

/// Takes the lock of a zone or LRU list of `node` for work on `pages` pages. Each page takes a line of its `struct
/// page`, which lies beside the last one and has been fetched ahead: one latency of the LLC (estimate).
fn take_machine_lock(
    sim: &mut Simulation<'_>,
    kind: LockKind,
    cpu: usize,
    (node, pages): (usize, u32),
    clock: u64,
) -> u64 {
    if sim.cfg.harness.cpus_take_turns() {
        return 0;
    }
    let c = &mut sim.cpus[cpu];
    let locks = &mut sim.mm.locks;
    let (own, line) = match kind {
        LockKind::Zone => (&mut c.lock_uses[0], &mut locks.zones[node]),
        _ => (&mut c.lock_uses[1], &mut locks.lru[node]),
    };
    let u = LockUse {
        line: node as u32,
        now_ns: sim.now_ns,
        at_ns: clock,
        node: c.node,
        times: 1.0,
        hold_ns: f64::from(pages) * sim.machine.cache.llc_latency_ns,
        from_ns: locks.distances.ns_to(c.node),
    };
    let t = line.take(&u, own);
    if t.wait_ns > 0 || line.is_pressed(clock) {
        locks.pressed_until_ns = locks.pressed_until_ns.max(clock + t.wait_ns + 2 * BIN_NS);
    }
    locks.count(kind, t.wait_ns + t.transfer_ns);
    t.wait_ns + t.transfer_ns
}

/// While a lock is in demand, faults are handled no further ahead than this, about one fault, ns. A bin then goes to
/// those who ask first, and not to those who are planned first.
const TURN_NS: u64 = 2000;

/// Up to when a slice that is planned now may handle faults: a turn, while a lock that its process meets is in demand,
/// else any time. A later fault ends the slice, and begins the next one.
#[inline]
pub(crate) fn end_of_turn(sim: &Simulation<'_>, process: usize) -> u64 {
    let pressed_until_ns = sim.processes[process].pressed_until_ns.max(sim.mm.locks.pressed_until_ns);
    if sim.now_ns >= pressed_until_ns {
        return u64::MAX;
    }
    sim.now_ns.saturating_add(TURN_NS)
}
