//! Counters agree with each other, and none goes back.

use crate::check::view::{Counts, View};
use crate::record::outcome::counters;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::CHUNK_PAGES;

/// All counts of a run, as of now.
pub(crate) fn counts(sim: &Simulation<'_>) -> Counts {
    let reasons = sim.kernel.numa.reasons.named().map(|(role, word, n)| (format!("{role}.{word}"), n));
    counters(sim).into_iter().chain(reasons).collect()
}

/// Sums that may not exceed another: what counts a part of the whole.
fn parts(sim: &Simulation<'_>) -> Vec<(&'static str, u64, &'static str, u64)> {
    let (n, m, a) = (&sim.kernel.numa.counters, &sim.mm.physical.events, &sim.mm.physical.counters);
    // Before 6.17 pages that a node with free memory takes are promoted without being candidates.
    let (promotable, promotable_pages) = match sim.kernel.numa.cfg.switches.count_candidate_nrl {
        true => ("candidates for promotion", n.pgpromote_candidate + n.pgpromote_candidate_nrl),
        false => ("pgmigrate_success", n.pgmigrate_success),
    };
    vec![
        ("numa_hint_faults_local", n.numa_hint_faults_local, "numa_hint_faults", n.numa_hint_faults),
        (
            "pages of numa_huge_pte_updates",
            n.numa_huge_pte_updates * CHUNK_PAGES,
            "numa_pte_updates",
            n.numa_pte_updates,
        ),
        ("numa_pages_migrated", n.numa_pages_migrated, "pgmigrate_success", n.pgmigrate_success),
        ("pgpromote_success", n.pgpromote_success, promotable, promotable_pages),
        ("numa_interleave", a.numa_interleave, "numa_hit", a.numa_hit),
        ("pgsteal_kswapd", m.pgsteal_kswapd, "pgscan_kswapd", m.pgscan_kswapd),
        ("pgsteal_direct", m.pgsteal_direct, "pgscan_direct", m.pgscan_direct),
        ("compact_success", m.compact_success, "compact_stall", m.compact_stall),
        ("workingset_activate_anon", m.workingset_activate_anon, "workingset_refault_anon", m.workingset_refault_anon),
        ("workingset_restore_anon", m.workingset_restore_anon, "workingset_activate_anon", m.workingset_activate_anon),
    ]
}

/// Every allocation is local or not, and a page that one node misses is foreign to another. No counter goes back.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    for (part, n, whole, most) in parts(v.sim) {
        if n > most {
            return Err(format!("{part} is {n}, more than {whole}, {most}"));
        }
    }
    let a = &v.sim.mm.physical.counters;
    if a.numa_miss != a.numa_foreign || a.numa_hit + a.numa_miss != a.numa_local + a.numa_other {
        return Err(format!("allocations by node do not add up: {a:?}"));
    }
    let now = counts(v.sim);
    for (name, before) in v.before {
        let n = now.iter().find(|(now, _)| now == name).map_or(0, |c| c.1);
        if n < *before {
            return Err(format!("{name} went back from {before} to {n}"));
        }
    }
    Ok(())
}
