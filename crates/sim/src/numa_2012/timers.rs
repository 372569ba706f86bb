//! Timers of the daemons of 2012, and the clock of their rate limits.

use crate::state::effects::Effects;
use crate::state::event_queue::{Daemon, Event};

/// Time of the last jiffy at `clock`, ms.
pub(crate) fn last_tick_ms(jiffy_ns: u64, clock: u64) -> u64 {
    clock / jiffy_ns * jiffy_ns / 1_000_000
}

/// A daemon wakes up `ns` from now.
pub(crate) fn sleep_daemon(effects: &mut Effects, now_ns: u64, which: Daemon, ns: u64) {
    effects.at(now_ns + ns, Event::Daemon(which));
}
