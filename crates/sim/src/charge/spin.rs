//! Time of busy-waiting.

use crate::charge::time::charge_user;
use crate::state::simulation::Simulation;
use crate::state::task::Activity;

/// Charges the busy-waiting of a task up to `now`.
pub(crate) fn charge_spin(sim: &mut Simulation<'_>, task: u32, now: u64) {
    match sim.tasks[task as usize].activity {
        Activity::Spinning { since_ns } if since_ns < now => {
            charge_user(sim, task, now - since_ns);
            sim.tasks[task as usize].activity = Activity::Spinning { since_ns: now };
        }
        _ => {}
    }
}
