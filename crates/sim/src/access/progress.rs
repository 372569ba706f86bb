//! How far an access has come: its end, its score, and how far a slice may run ahead.

use crate::float::LINE_BYTES;
use crate::hardware::working_sets::NEVER_WARM;
use crate::state::simulation::Simulation;
use numalab_model::access::{CacheFit, Order, Walk};
use numalab_model::workload::Access;

/// Records progress; at the end of the pass counts the score and goes to the next op.
pub(crate) fn finish_step(sim: &mut Simulation<'_>, task: u32, a: &Access, done: u64, of: u64) {
    let t = &mut sim.tasks[task as usize];
    if let Some((id, per_byte)) = a.score {
        let unit = if matches!(a.pattern.walk(), Walk::Sweep(_)) { 1 } else { LINE_BYTES };
        sim.record.scores[id as usize] += per_byte * ((done - t.done) * unit) as f64;
    }
    t.done = done;
    if done >= of {
        if a.pattern.cache_fit() == CacheFit::Cyclic {
            let bit = sim.hw.working_sets.info(t.process, t.program(), t.pc).bit;
            // A span too large for the cache has driven everything else out.
            t.warm = if bit == NEVER_WARM { 0 } else { t.warm | 1 << bit };
        }
        if let Some(b) = &mut t.block {
            let by_blocks = matches!(a.pattern.walk(), Walk::Sweep(Order::Blocks { .. }));
            b.begun -= of as i64 * i64::from(by_blocks && b.span == a.span);
        }
        t.advance();
    }
}

/// How far a slice that ends at `end` may run ahead.
pub(crate) fn lookahead_ns(sim: &Simulation<'_>, process: usize, end: u64) -> u64 {
    if sharing(sim, process) {
        end.min(sim.now_ns + SHARED_STEP_NS)
    } else {
        end
    }
}

/// Whether pages that this process may share are under migration.
#[inline]
pub(crate) fn sharing(sim: &Simulation<'_>, process: usize) -> bool {
    sim.now_ns < sim.mm.shared_migration_until_ns && sim.processes[process].shares
}

/// While shared pages are under migration, random and strided accesses to them look at least this often, ns (granularity of the
/// model).
pub const SHARED_STEP_NS: u64 = 50_000;
