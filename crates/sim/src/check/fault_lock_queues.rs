//! Locks that faults meet are in use by one CPU at a time.

use crate::check::view::View;

/// No bin of any lock is longer in use than it is.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    let (locks, processes) = (&v.sim.mm.locks, &v.sim.processes);
    let of_processes = processes.iter().flat_map(|p| &p.lock_lines);
    locks.zones.iter().chain(&locks.lru).chain(of_processes).try_for_each(|l| l.check())
}
