//! The warning about large mappings that no scan has marked, although the kernel balances and nothing forbids it.

use crate::state::scan_visits::ScanVisits;
use crate::state::simulation::Simulation;

const GIB: u64 = 1 << 30;

/// A mapping of at least so many bytes is worth a warning.
const LARGE_BYTES: u64 = GIB;

/// A process that has run for less is not expected to scan: its threads scan by their CPU time.
const BUSY_NS: u64 = 5_000_000_000;

/// Most mappings whose names a warning lists.
const NAMES: usize = 2;

/// A sentence about the large mappings of a run that were never scanned; `None` without any. A mapping that the scanner
/// found unsuitable at each visit is left out: its policy, its kind or a pin of the workload keeps it where it is.
pub(crate) fn never_scanned(sim: &Simulation<'_>) -> Option<String> {
    let (mut names, mut bytes, mut sum) = (Vec::new(), 0, ScanVisits::default());
    for (spec, p) in sim.workload.processes.iter().zip(&sim.processes).take(sim.own_processes()) {
        for (region, &vma) in spec.regions.iter().zip(p.own_regions()) {
            let v = p.vma_scans.get(vma as usize).copied().unwrap_or_default();
            if p.user_ns + p.system_ns < BUSY_NS {
                continue;
            }
            let forbidden = v.unsuitable > 0 && v.inactive + v.not_due == 0;
            if region.size_bytes < LARGE_BYTES || region.pinned || v.scanned > 0 || forbidden {
                continue;
            }
            names.push(format!("{}/{}", spec.name, region.name));
            bytes += region.size_bytes;
            sum.inactive += v.inactive;
            sum.unsuitable += v.unsuitable;
            sum.not_due += v.not_due;
        }
    }
    let more = names.len().saturating_sub(NAMES);
    let (count, shown) = (names.len(), names.get(..NAMES.min(names.len()))?.join(", "));
    if count == 0 {
        return None;
    }
    let mappings = if count == 1 { "a mapping" } else { "mappings" };
    let (were, them) = if count == 1 { ("was", "it") } else { ("were", "them") };
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let gib = bytes as f64 / GIB as f64;
    Some(format!(
        "{mappings} of {gib:.1} GiB {were} never scanned in seed {}: {shown}{rest}; {}, \
         so no page of {them} could move",
        sim.seed,
        why(&sum)
    ))
}

/// What kept the scanner away.
fn why(v: &ScanVisits) -> String {
    let parts = [
        (v.inactive, "by a thread that was not seen there lately (pid_inactive)"),
        (v.unsuitable, "by a thread whose memory policy forbids it (unsuitable)"),
        (v.not_due, "before it was due (scan_delay, seq_completed)"),
    ];
    let all = v.inactive + v.unsuitable + v.not_due;
    if all == 0 {
        return "no scan came to it".into();
    }
    let said: Vec<String> = parts.iter().filter(|p| p.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
    format!("of {all} visits, each passed over, {}", said.join(", "))
}
