//! Computing: user time that touches no memory.

use crate::charge::core::{boost, sibling};
use crate::charge::time::charge_user;
use crate::float::{real, whole};
use crate::state::simulation::Simulation;
use crate::state::step::Step;
use numalab_kernel::hw::smt;

pub(crate) fn compute(sim: &mut Simulation<'_>, cpu: usize, task: u32, ns: u64, clock: &mut u64, end: u64) -> Step {
    let speed = smt::speed(0.0, sibling(sim, cpu)) * boost(sim, cpu);
    let t = &mut sim.tasks[task as usize];
    if !t.entered {
        t.entered = true;
        t.compute_left_ns = ns;
    }
    let wall = whole(real(t.compute_left_ns) / speed);
    let room = end - *clock;
    let used = wall.min(room);
    t.compute_left_ns = if used == wall { 0 } else { t.compute_left_ns - whole(real(used) * speed) };
    let done = t.compute_left_ns == 0;
    if done {
        t.advance();
    }
    *clock += used;
    charge_user(sim, task, used);
    Step::Go
}
