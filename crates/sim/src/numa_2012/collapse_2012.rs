//! khugepaged as AutoNUMA and schednuma had it (designs-2012.md section 1.6).

use crate::charge::tlb_flush::flush_from_daemon;
use crate::mm::collapse::{collapse_into, collapse_ns};
use crate::numa_2012::timers::sleep_daemon;
use crate::state::event_queue::Daemon;
use crate::state::khugepaged_cursor::WalkStep;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::khugepaged::{scan_pmd, Pause, PmdFacts, ScanResult};
use numalab_kernel::mm::{AllocatedPage, ChunkKind, CHUNK_PAGES};

/// khugepaged wakes up: looks at slots until one has been collapsed, or its round is over.
pub(crate) fn khugepaged(sim: &mut Simulation<'_>) {
    let (mut steps, mut used_ns) = (0, 0);
    let knobs = sim.kernel.numa_2012.khugepaged.knobs;
    let ms = loop {
        let k = &mut sim.kernel.numa_2012.khugepaged;
        let pause = match k.cursor.advance(&sim.processes, |vma| vma.huge_ok) {
            WalkStep::EndOfList => k.pace.end_of_list(&knobs),
            WalkStep::EndOfMm | WalkStep::EnterMm => Pause::None,
            WalkStep::SkipVma | WalkStep::EndOfVma => k.pace.small_step(&knobs),
            WalkStep::Slot(process, id, chunk) => {
                let (verdict, ns) = collapse_slot(sim, process, id, chunk);
                used_ns += ns;
                let pace = &mut sim.kernel.numa_2012.khugepaged.pace;
                match verdict {
                    ScanResult::AllocFail => pace.alloc_failed(&knobs),
                    _ => pace.slot(&knobs),
                }
            }
        };
        steps += 1;
        match pause {
            Pause::Retry(ms) | Pause::NextRound(ms) => break ms,
            // Nothing to look at anywhere.
            Pause::None if steps > 1_000_000 => break knobs.scan_sleep_millisecs,
            Pause::None if used_ns > 0 => break 0,
            Pause::None => {}
        }
    };
    // It sleeps once its work is done; between two huge pages others get the lock of the address space.
    sleep_daemon(&mut sim.effects, sim.now_ns, Daemon::Khugepaged, used_ns + u64::from(ms) * 1_000_000);
}

/// Collapses a slot if it should be, onto the node of its first page; returns the time as well.
fn collapse_slot(sim: &mut Simulation<'_>, process: usize, id: usize, chunk: usize) -> (ScanResult, u64) {
    let v = sim.processes[process].space.vma(id);
    let c = *v.chunk(chunk);
    let present = u32::from(c.present);
    let swapped = v.frame_map.swapped_in_chunk(chunk) > 0;
    let idle = c.kind != ChunkKind::Small || !v.chunk_is_whole(chunk) || c.shared > 0 || swapped;
    let facts = PmdFacts { present, referenced: present, writable: true, nothing_to_do: idle, ..PmdFacts::default() };
    let verdict = scan_pmd(&sim.kernel.numa_2012.khugepaged.knobs, &facts);
    let first = v.first_node(chunk).filter(|_| verdict == ScanResult::Collapse);
    let Some(node) = first else { return (verdict, 0) };
    let last = v.first_last_cpupid(chunk);
    let marked = c.marked > 0;
    let Some(frame) = sim.mm.physical.alloc_on(node, node, CHUNK_PAGES) else {
        return (ScanResult::AllocFail, 0);
    };
    let sources = collapse_into(sim, process, id, chunk, AllocatedPage { node, frame });
    let ns = collapse_ns(sim, &sources, node);
    sim.kernel.numa_2012.counters.pages_copied += sources.iter().filter(|&&from| from != node).count() as u64;
    sim.processes[process].space.vma_mut(id).set_collapsed_state(chunk, last, marked);
    sim.kernel.numa_2012.counters.thp_collapse_alloc += 1;
    let ns = ns as u64 + flush_from_daemon(sim, process, CHUNK_PAGES);
    sim.kernel.numa_2012.counters.daemon_ns += ns;
    let taken = sim.kernel.numa_2012.long_read_locks.wait_ns(process, sim.now_ns) + ns;
    sim.processes[process].mmap_write_locks.hold((sim.now_ns, sim.now_ns + taken), sim.now_ns);
    (ScanResult::Collapse, taken)
}
