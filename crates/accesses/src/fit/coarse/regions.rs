//! Two regions of a process as one.

use super::phases::Scope;
use super::profile::{Moved, Profile};
use super::visits::{self, Site};
use crate::fit::classes::Class;
use crate::fit::image::FittedProcess;
use crate::fit::pattern::{Part, Phase, Visit};
use crate::fit::region::{Placing, Region};
use crate::format::PAGE_BYTES;

/// Whether two regions may be one: both the process's own, placed alike, and with slices of threads in both or in none.
/// Where huge pages begin and end decides what is moved of them, so these stay.
pub fn may_join(p: &FittedProcess, forked: &[bool], (a, b): (usize, usize)) -> bool {
    let (x, y) = (&p.regions[a], &p.regions[b]);
    let is_plain = |n: usize, r: &Region| r.is_own() && r.lines.is_none() && !forked[n] && r.bytes > 0;
    let are_alike = x.placing == y.placing && x.placing != Placing::Huge && x.members == y.members;
    is_plain(a, x) && is_plain(b, y) && are_alike && sliced(p, a) == sliced(p, b)
}

/// Phases, by kind of threads and number, in which each thread has its own slice of a region.
fn sliced(p: &FittedProcess, region: usize) -> Vec<(usize, usize)> {
    let is_slice = |v: &Visit| v.region == region && v.part == Part::Slice;
    let of = |(c, class): (usize, &Class)| {
        let phases = class.phases.iter().enumerate().filter(|(_, phase)| phase.visits.iter().any(is_slice));
        phases.map(|(n, _)| (c, n)).collect::<Vec<_>>()
    };
    p.classes.iter().enumerate().flat_map(of).collect()
}

/// Both as one region: its size is that of both, its name that of the larger.
fn joined(a: &Region, b: &Region) -> Region {
    let larger = if a.bytes >= b.bytes { a } else { b };
    let site = match (&a.site, &b.site) {
        (Some(x), Some(y)) if x != y => {
            larger.site.as_ref().map(|s| format!("{} and others", s.trim_end_matches(" and others")))
        }
        (x, y) => x.clone().or_else(|| y.clone()),
    };
    Region { bytes: a.bytes + b.bytes, site, ..larger.clone() }
}

/// How the two lie in the region that they become: the more used one first, so that what is used alike is together.
struct Places {
    a: (f64, f64),
    b: (f64, f64),
}

fn places(p: &FittedProcess, (a, b): (usize, usize)) -> Places {
    let (x, y) = (p.regions[a].bytes as f64, p.regions[b].bytes as f64);
    let of = |c: &Class| (c.phases.clone(), c.threads.len() as f64);
    let lines = |region: usize| {
        let all = p.classes.iter().map(of).chain([(p.prologue.clone(), 1.0)]);
        let visits = |phases: &[Phase]| -> f64 {
            phases.iter().flat_map(|p| &p.visits).filter(|v| v.region == region).map(|v| v.lines).sum()
        };
        all.map(|(phases, n)| visits(&phases) * n).sum::<f64>()
    };
    if lines(a) / x >= lines(b) / y {
        let cut = x / (x + y);
        Places { a: (0.0, cut), b: (cut, 1.0) }
    } else {
        let cut = y / (x + y);
        Places { a: (cut, 1.0), b: (0.0, cut) }
    }
}

/// Visits with those of both regions as visits of one, `to`.
fn all_moved(visits: &[Visit], (a, b): (usize, usize), of: &Places, to: usize, at: Site<'_>) -> Vec<Visit> {
    let one = |v: &Visit| match v.region {
        r if r == a => visits::moved(v, to, of.a, at),
        r if r == b => visits::moved(v, to, of.b, at),
        _ => v.clone(),
    };
    visits.iter().map(one).collect()
}

/// What goes elsewhere if two regions are one, and what goes to both of them.
pub fn apart(p: &FittedProcess, (a, b): (usize, usize)) -> (Moved, Moved, i64) {
    let region = [joined(&p.regions[a], &p.regions[b])];
    let of = places(p, (a, b));
    let scope = Scope { regions: &region, forked: &[false] };
    let (mut apart, mut all, mut saved) = (Moved::default(), Moved::default(), 0);
    let classes = p.classes.iter().map(|c| (&c.phases, c.threads.len()));
    for (phases, threads) in classes.chain([(&p.prologue, 1)]) {
        for phase in phases {
            let own: Vec<Visit> = phase.visits.iter().filter(|v| v.region == a || v.region == b).cloned().collect();
            if own.is_empty() {
                continue;
            }
            // The kernel scans a mapping for the threads that use it: of one that they do not use, all pages are more.
            let unused = [a, b].into_iter().filter(|r| own.iter().all(|v| v.region != *r));
            let pages: f64 = unused.map(|r| p.regions[r].bytes as f64 / PAGE_BYTES as f64).sum();
            apart.pages += pages * threads as f64;
            let before = all_moved(&own, (a, b), &of, 0, scope.site(0, threads));
            let after = scope.joined(before.clone(), threads);
            let (x, y) = (Profile::of(&before, &region, 1.0), Profile::of(&after, &region, 1.0));
            apart = apart.plus(x.apart(&y).times(threads as f64));
            all = all.plus(x.all().times(threads as f64));
            let steps = |all: &[Visit]| all.iter().map(|v| v.tiers.len().max(1)).sum::<usize>() as i64;
            saved += steps(&own) - steps(&after);
        }
    }
    (apart, all, saved)
}

/// Puts two regions together. Pages and visits of both are then the one's.
pub fn join(p: &mut FittedProcess, (a, b): (usize, usize)) {
    let (low, high) = (a.min(b), a.max(b));
    let of = places(p, (a, b));
    p.regions[low] = joined(&p.regions[a], &p.regions[b]);
    let regions = p.regions.clone();
    let forked = vec![false; regions.len()];
    let scope = Scope { regions: &regions, forked: &forked };
    let change = |phase: &mut Phase, threads: usize| {
        let moved = all_moved(&phase.visits, (a, b), &of, low, scope.site(low, threads));
        let (own, others): (Vec<_>, Vec<_>) = moved.into_iter().partition(|v| v.region == low);
        // They stand where the first of them stood.
        let at = phase.visits.iter().position(|v| v.region == a || v.region == b).unwrap_or(0);
        phase.visits = others;
        let at = at.min(phase.visits.len());
        phase.visits.splice(at..at, scope.joined(own, threads));
        phase.visits.iter_mut().filter(|v| v.region > high).for_each(|v| v.region -= 1);
    };
    p.prologue.iter_mut().for_each(|phase| change(phase, 1));
    for c in &mut p.classes {
        let threads = c.threads.len();
        c.phases.iter_mut().for_each(|phase| change(phase, threads));
    }
    p.regions.remove(high);
}
