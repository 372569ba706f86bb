//! Requests: how long the steps took that a score calls a request.

use crate::state::cpu::Pending;
use crate::state::simulation::Simulation;
use crate::state::step::Step;

/// A task begins or ends a request of score `id` at `clock`.
///
/// A slice is planned ahead, and the task may lose its CPU inside it. So the slice ends at this step first, and the
/// time that counts is the one at which the task really comes here.
pub(crate) fn request(sim: &mut Simulation<'_>, task: u32, id: usize, begin: bool, clock: u64) -> Step {
    let t = &mut sim.tasks[task as usize];
    if !t.entered && clock > sim.now_ns {
        t.entered = true;
        return Step::Stop(Pending::Resume);
    }
    t.advance();
    if begin {
        t.requests.push(clock);
    } else if let Some(begun_ns) = t.requests.pop() {
        sim.record.requests[id].add(clock - begun_ns);
        sim.record.scores[id] += 1.0;
    }
    Step::Go
}
