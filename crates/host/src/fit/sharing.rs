//! Sharing: how much of a process's memory its threads have in common.

use super::processes::Process;
use super::series::at;
use numalab_model::record::Series;

/// Fewest hinting faults that tell anything.
const FEWEST_FAULTS: f64 = 1000.0;
/// Share where faults tell nothing.
const UNKNOWN: f64 = 0.5;

/// Share of accesses to shared memory. Where every thread has pages of its own, balancing makes nearly all hinting
/// faults local in the end. Where all use all pages, no more than one node's share of faults is local. Between the two,
/// the share of local faults in the last third of the run is read as a mixture.
pub(super) fn read(activity: Option<&Series>, pages: &Series, processes: &[Process], assumed: &mut Vec<String>) -> f64 {
    if processes.iter().all(|p| p.threads == 1) {
        return 0.0;
    }
    let local = activity.and_then(local_share);
    let nodes = pages.columns.iter().filter(|c| c.rsplit_once("/node").is_some()).count();
    let instances: usize = processes.iter().map(|p| p.count).sum();
    let even = instances as f64 / nodes.max(1) as f64;
    match local {
        Some(local) if even < 1.0 => ((1.0 - local) / (1.0 - even)).clamp(0.0, 1.0),
        _ => {
            assumed
                .push("half of the accesses go to shared memory: the record has too few hinting faults to tell".into());
            UNKNOWN
        }
    }
}

/// Share of hinting faults in the last third of the run that were local.
fn local_share(activity: &Series) -> Option<f64> {
    let column = |name: &str| activity.columns.iter().position(|c| c == name);
    let (all, local) = (column("numa_hint_faults")?, column("numa_hint_faults_local")?);
    let last = activity.time_ns.len() - 1;
    let from = last * 2 / 3;
    let grew = |c: usize| at(activity, c, last) - at(activity, c, from);
    (grew(all) >= FEWEST_FAULTS).then(|| grew(local) / grew(all))
}
