//! When the daemon wakes up.

use crate::state::event_queue::Event;
use crate::state::simulation::Simulation;
use crate::userspace_balance::act::act;
use crate::userspace_balance::observe::look;

/// Starts the daemon, if the kernel has one.
pub(crate) fn start_userspace_balance(sim: &mut Simulation<'_>) {
    if let Some(daemon) = &sim.kernel.userspace_balance {
        let first = sim.now_ns + u64::from(daemon.cfg.interval_ms) * 1_000_000;
        sim.effects.at(first, Event::UserspaceBalance);
    }
}

/// The daemon wakes up: it looks, decides and acts, and sleeps until the next look.
pub(crate) fn balance_from_userspace(sim: &mut Simulation<'_>) {
    // Taken out of the machine while it looks at the rest of it.
    let Some(mut daemon) = sim.kernel.userspace_balance.take() else { return };
    let seen = look(sim, &mut daemon);
    let verdict = daemon.balancer.decide(&seen);
    for decision in &verdict.decisions {
        act(sim, &mut daemon, decision.action);
    }
    let next = sim.now_ns + u64::from(daemon.cfg.interval_ms) * 1_000_000;
    sim.kernel.userspace_balance = Some(daemon);
    sim.effects.at(next, Event::UserspaceBalance);
}
