//! `madvise(MADV_DONTNEED)`: giving pages of a mapping back.

use crate::charge::time::charge_system;
use crate::state::simulation::Simulation;
use crate::state::step::Step;
use numalab_kernel::mm::CHUNK_PAGES;
use numalab_nouns::workload::Span;

pub(crate) fn discard(sim: &mut Simulation<'_>, cpu: usize, task: u32, span: &Span, clock: &mut u64) -> Step {
    sim.mm.lru_batches.drain(cpu, &mut sim.mm.shared);
    let t = &mut sim.tasks[task as usize];
    t.advance();
    let process = t.process as usize;
    let p = &mut sim.processes[process];
    let vma = p.space.vma_mut(p.region_vma[span.region as usize] as usize);
    let splits = sim.mm.physical.events.thp_split_pmd;
    let from = vma.grain.ceil(vma.start + span.offset_bytes);
    let to = vma.grain.floor(vma.start + span.offset_bytes + span.len_bytes);
    let memory = &mut sim.mm.physical;
    let mut pages = 0;
    if from < to {
        let split = vma.split_pmds_at(from, to);
        memory.events.thp_split_pmd += split;
        memory.events.thp_deferred_split_page += split;
        pages = vma.zap_range(from, to, &mut sim.mm.shared, |gone| memory.free_unmapped(gone));
    }
    // Splitting an entry rewrites it as 512, as a fork does.
    let splits = (sim.mm.physical.events.thp_split_pmd - splits) as f64;
    let cost =
        pages as f64 * sim.machine.costs.pte_skip_ns + splits * CHUNK_PAGES as f64 * sim.machine.costs.fork_pte_ns;
    let ns = (sim.machine.costs.exception_ns + cost) as u64;
    *clock += ns;
    charge_system(sim, task, ns);
    Step::Go
}
