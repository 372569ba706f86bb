//! How much a run did and held.

use crate::state::simulation::Simulation;

/// What the run's page state took at its largest, and how much the run did.
pub(crate) fn footprint(sim: &Simulation<'_>) -> crate::Footprint {
    let c = &sim.kernel.numa.counters;
    crate::Footprint {
        pages: sim.record.peak.0,
        state_bytes: sim.record.peak.1,
        page_events: sim.kernel.vm.pgfault + c.numa_pte_updates + c.numa_pages_migrated,
        ticks: sim.record.ticks,
        events: sim.record.events,
        steps: sim.record.steps,
    }
}
