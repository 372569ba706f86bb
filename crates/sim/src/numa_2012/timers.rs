//! Timers of the daemons of 2012, and the clock of their rate limits.

use crate::state::event_queue::{Daemon, Event};
use crate::state::simulation::Simulation;

/// Time of the last jiffy at `clock`, ms.
pub(crate) fn last_tick_ms(sim: &Simulation<'_>, clock: u64) -> u64 {
    clock / sim.cfg.jiffy_ns() * sim.cfg.jiffy_ns() / 1_000_000
}

/// A daemon wakes up `ns` from now.
pub(crate) fn sleep_daemon(sim: &mut Simulation<'_>, which: Daemon, ns: u64) {
    sim.effects.at(sim.now_ns + ns, Event::Daemon(which));
}
