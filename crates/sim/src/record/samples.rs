//! Taking samples for the time series of a run.

use crate::record::maps::sample_maps;
use crate::state::samples::Samples;
use crate::state::settling::Skipped;
use crate::state::simulation::Simulation;
use numalab_nouns::record::Series;

/// Time between samples.
const SAMPLE_NS: u64 = 200_000_000;

fn push(series: &mut Series, now: u64, values: impl Iterator<Item = f64>) {
    series.time_ns.push(now);
    for (column, v) in series.values.iter_mut().zip(values) {
        column.push(v);
    }
}

/// Whether a sample is due.
pub(crate) fn is_due(samples: &Samples, now_ns: u64) -> bool {
    now_ns >= samples.next_ns
}

/// Takes a sample that is due.
pub(crate) fn sample(sim: &mut Simulation<'_>) {
    sim.record.samples.next_ns = sim.now_ns + SAMPLE_NS;
    sample_now(sim, false);
}

/// Takes a sample now, unless there is one of this instant. The `last` sample of a run includes the maps in any case.
pub(crate) fn sample_now(sim: &mut Simulation<'_>, last: bool) {
    let now = sim.now_ns + sim.record.settling.skipped_ns();
    if sim.record.samples.pages.time_ns.last() == Some(&now) {
        return;
    }
    sample_maps(sim, now, last);
    let own = sim.own_processes();
    let skipped = sim.record.settling.skipped.as_ref();
    let more = |of: fn(&Skipped) -> &Vec<f64>, i: usize| skipped.map_or(0.0, |s| of(s)[i]);
    let page = sim.cfg.base_page();
    let s = &mut sim.record.samples;
    s.pages.time_ns.push(now);
    let nodes = s.scratch.len();
    let pages = sim.processes.iter().map(|p| p.space.rss_pages()).sum();
    if pages > sim.record.peak.0 {
        let bytes = sim.processes.iter().flat_map(|p| p.space.iter()).map(|v| v.state_bytes() as u64).sum();
        sim.record.peak = (pages, bytes);
    }
    for (i, p) in sim.processes[..own].iter().enumerate() {
        s.scratch.fill(0);
        p.space.add_pages_on_node(&mut s.scratch);
        for n in 0..nodes {
            s.pages.values[i * nodes + n].push(page.as_4k(s.scratch[n]) as f64);
        }
    }
    if !s.workload_pages.columns.is_empty() {
        s.scratch.fill(0);
        sim.processes.iter().for_each(|p| p.space.add_exclusive_on_node(&mut s.scratch));
        sim.mm.shared.add_pages_on_node(&mut s.scratch);
        push(&mut s.workload_pages, now, s.scratch.iter().map(|p| page.as_4k(*p) as f64));
    }
    let tasks = || sim.tasks.iter().zip(&sim.kernel.numa.tasks).filter(|(t, _)| (t.process as usize) < own);
    let periods = tasks().map(|(_, n)| f64::from(n.numa_scan_period)).sum::<f64>();
    s.scan_period_ms.push(periods / tasks().count().max(1) as f64);
    let c = &sim.kernel.numa.counters;
    let activity = [c.numa_hint_faults, c.numa_hint_faults_local, c.numa_pages_migrated, c.numa_pte_updates];
    let activity = activity.into_iter().chain([sim.kernel.vm.pgfault]);
    push(&mut s.activity, now, activity.enumerate().map(|(i, v)| v as f64 + more(|s| &s.activity, i)));
    let rates = &sim.hw.contention;
    push(&mut s.bandwidth, now, (0..nodes).map(|n| rates.dram_gbps(n)));
    let links = s.links.columns.len() / 2;
    push(&mut s.links, now, (0..links).flat_map(|l| [rates.link_gbps(l, true), rates.link_gbps(l, false)]));
    let mut ns = [0; 3];
    for p in &sim.processes[..own] {
        ns = [ns[0] + p.user_ns, ns[1] + p.system_ns, ns[2] + p.blocked_ns];
    }
    push(&mut s.cpu, now, ns.into_iter().enumerate().map(|(i, ns)| ns as f64 / 1e9 + more(|s| &s.cpu_s, i)));
    push(&mut s.scores, now, sim.record.scores.iter().copied());
}
