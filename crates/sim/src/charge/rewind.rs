//! Taking back the rest of a sweep that was planned ahead and is cut short.

use crate::state::page_migration::PlannedSweep;
use crate::state::simulation::Simulation;

/// Takes back the user time of a task's slice from `at_ns` on, where the slice now ends.
pub(crate) fn uncharge_user(sim: &mut Simulation<'_>, task: u32, at_ns: u64) {
    let t = &mut sim.tasks[task as usize];
    let unspent = t.planned_until_ns - at_ns;
    t.planned_until_ns = at_ns;
    t.user_ns -= unspent.min(t.user_ns);
    let process = &mut sim.processes[t.process as usize];
    process.user_ns -= unspent.min(process.user_ns);
}

/// Takes back what a sweep did after `bytes`, at `at_ns`.
pub(crate) fn rewind_sweep(sim: &mut Simulation<'_>, task: u32, s: &PlannedSweep, bytes: u64, at_ns: u64) {
    let t = &mut sim.tasks[task as usize];
    let over = if t.pc == s.pc { t.done } else { u64::MAX };
    (t.pc, t.done, t.entered, t.planned_sweep) = (s.pc, s.done + bytes, true, None);
    if let numalab_nouns::workload::Op::Access(a) = &t.ops[s.pc] {
        if let Some((id, per_byte)) = a.score {
            let undone = over.min(a.span.len_bytes) - t.done;
            sim.record.scores[id as usize] -= per_byte * undone as f64;
        }
    }
    uncharge_user(sim, task, at_ns);
}
