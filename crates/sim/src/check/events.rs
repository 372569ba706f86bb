//! Time never goes back.

use crate::check::view::View;

/// No event is due before now, and now is not before the last check.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    let now_ns = v.sim.now_ns;
    if now_ns < v.before_ns {
        return Err(format!("the last check was at {} ns", v.before_ns));
    }
    match v.queue.earliest_ns() {
        Some(at_ns) if at_ns < now_ns => Err(format!("an event is due at {at_ns} ns")),
        _ => Ok(()),
    }
}
