//! How far an access has come: its end, its score, and how far a slice may run ahead.

use crate::hardware::working_sets::NEVER_WARM;
use crate::state::simulation::Simulation;
use numalab_nouns::access::CacheFit;
use numalab_nouns::workload::Access;

/// Records progress, `done` of `of` units of `unit_bytes`; at the end of the pass counts the score and goes to the next
/// op.
pub(crate) fn finish_step(sim: &mut Simulation<'_>, task: u32, a: &Access, (done, of): (u64, u64), unit_bytes: u64) {
    let t = &mut sim.tasks[task as usize];
    if let Some((id, per_byte)) = a.score {
        sim.record.scores[id as usize] += per_byte * ((done - t.done) * unit_bytes) as f64;
    }
    t.done = done;
    if done >= of {
        if a.pattern.cache_fit() == CacheFit::Cyclic {
            let bit = sim.hw.working_sets.info(t.process, t.program(), t.pc).bit;
            if bit == NEVER_WARM {
                // A span too large for the cache has driven everything else out.
                t.unload();
            } else {
                t.warm |= 1 << bit;
            }
        }
        t.advance();
    }
}

/// How far a slice that ends at `end` may run ahead in a mapping. A grain moves for as long as all its pages do, so
/// those who use large ones need not look as often.
pub(crate) fn lookahead_ns(sim: &Simulation<'_>, (process, vma): (usize, usize), end: u64) -> u64 {
    if sharing(sim, process) {
        let pages = sim.processes[process].space.vma(vma).grain.pages();
        end.min(sim.now_ns + SHARED_STEP_NS * (pages / PAGES_PER_STEP).max(1))
    } else {
        end
    }
}

/// Whether pages that this process may share are under migration.
#[inline]
pub(crate) fn sharing(sim: &Simulation<'_>, process: usize) -> bool {
    sim.now_ns < sim.mm.shared_migration_until_ns && sim.processes[process].shares
}

/// While shared pages are under migration, random and strided accesses to single ones look at least this often, ns
/// (granularity of the model).
pub const SHARED_STEP_NS: u64 = 50_000;

/// Grains of so many pages are looked at as often as single ones. Where all looked as seldom as their moves are long,
/// pages were met in another order: of 16 GiB with 64 connections, nodes took turns at many more
/// (docs/log/performance.md).
const PAGES_PER_STEP: u64 = 8;
