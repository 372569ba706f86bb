//! A thread's time, cut where its behaviour changes.

use super::stretch::Stretch;
use crate::costs::Costs;
use crate::image::{Area, Image};
use crate::kernel_work;
use crate::regions;
use std::collections::BTreeMap;

/// Difference in behaviour from which stretches are phases of their own.
const NEW_PHASE: f64 = 0.3;
/// Most stretches that are compared; neighbours are joined before.
const MOST: usize = 200;
/// Share of a thread's instructions below which a stretch is no phase.
const SHORTEST: f64 = 0.02;
/// Phases above which a thread repeats itself: all of them are one loop.
pub const MOST_PHASES: usize = 8;

/// The slices of a thread as stretches, in the order of time.
fn slices(
    image: &Image,
    areas: &[Area],
    chosen: &BTreeMap<usize, usize>,
    (thread, costs): (u16, Costs),
) -> Vec<Stretch> {
    let mut out = BTreeMap::<u32, Stretch>::new();
    for ((_, number), s) in image.slices.range((thread, 0)..=(thread, u32::MAX)) {
        let work = image.work.get(&(thread, *number)).copied().unwrap_or_default();
        out.insert(
            *number,
            Stretch {
                begin: s.begin_clock,
                end: s.end_clock.max(s.begin_clock),
                insns: s.insns,
                kernel: kernel_work::insns(&costs, s, &work),
                waited: s.waited,
                awaited: work.awaited,
                slept_ns: s.slept_ns,
                sleeps: s.sleeps.into(),
                waits: s.waits.into(),
                uses: BTreeMap::new(),
                windows: Vec::new(),
            },
        );
    }
    for c in image.cells.iter().filter(|c| c.thread == thread) {
        let Some(stretch) = out.get_mut(&c.slice) else { continue };
        let area = regions::find(areas, c.chunk, (c.low, c.high), (stretch.begin, stretch.end));
        if let Some(region) = area.and_then(|a| chosen.get(&a)) {
            stretch.uses.entry(*region).or_default().add_at(c, stretch.begin);
        }
    }
    out.into_values().filter(|s| s.insns > 0 || s.lines() > 0).collect()
}

/// The phases of a thread, in the order of time. `chosen` are the areas that count, each with the number of its region.
/// No phase goes across the times `cuts`.
pub fn phases(
    image: &Image,
    areas: &[Area],
    chosen: &BTreeMap<usize, usize>,
    (thread, costs): (u16, Costs),
    cuts: &[u64],
) -> Vec<Stretch> {
    let all = slices(image, areas, chosen, (thread, costs));
    let mut out = Vec::new();
    let part = |s: &Stretch| cuts.iter().filter(|&&c| s.begin >= c).count();
    for n in 0..=cuts.len() {
        let own: Vec<Stretch> = all.iter().filter(|s| part(s) == n).cloned().collect();
        out.extend(joined(coarse(own)));
    }
    out
}

/// At most [`MOST`] stretches.
fn coarse(all: Vec<Stretch>) -> Vec<Stretch> {
    let least = all.iter().map(|s| s.insns).sum::<u64>() / MOST as u64;
    let mut out: Vec<Stretch> = Vec::new();
    for s in all {
        match out.last_mut() {
            Some(last) if last.insns < least => last.join(&s),
            _ => out.push(s),
        }
    }
    out
}

/// Joins neighbours that are alike, the most alike first, then those that are too short.
fn joined(mut all: Vec<Stretch>) -> Vec<Stretch> {
    let insns: u64 = all.iter().map(|s| s.insns).sum();
    let lines: u64 = all.iter().map(Stretch::lines).sum();
    let is_short = |s: &Stretch| {
        (s.insns as f64) < SHORTEST * insns as f64 && (s.lines() as f64) < SHORTEST * (lines as f64).max(1.0)
    };
    while all.len() > 1 {
        let pairs = (0..all.len() - 1).map(|i| {
            let short = is_short(&all[i]) || is_short(&all[i + 1]);
            (i, all[i].distance(&all[i + 1]), short)
        });
        let Some((at, distance, short)) = pairs.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        let at = match (distance < NEW_PHASE, short) {
            (true, _) => at,
            // What is left over are phases, and short stretches between them.
            (false, _) => match (0..all.len()).find(|&i| is_short(&all[i])) {
                Some(0) => 0,
                Some(i) if i + 1 == all.len() => i - 1,
                Some(i) if all[i].distance(&all[i - 1]) <= all[i].distance(&all[i + 1]) => i - 1,
                Some(i) => i,
                None => break,
            },
        };
        let next = all.remove(at + 1);
        all[at].join(&next);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::usage::Use;
    use super::*;

    fn stretch(region: usize, lines: u64, writes: u64) -> Stretch {
        let mut u = Use { lines, writes, end_page: 512, ..Use::default() };
        u.chunks.insert(0, lines);
        Stretch { insns: 1000, uses: BTreeMap::from([(region, u)]), ..Stretch::default() }
    }

    #[test]
    fn phases_are_cut_where_behaviour_changes() {
        let mut all: Vec<Stretch> = (0..20).map(|_| stretch(0, 100, 0)).collect();
        all.extend((0..20).map(|_| stretch(0, 100, 100)));
        all.extend((0..20).map(|_| stretch(1, 100, 100)));
        let phases = joined(all);
        assert_eq!(phases.iter().map(Stretch::lines).collect::<Vec<_>>(), [2000, 2000, 2000]);
        assert_eq!(phases[1].uses[&0].writes, 2000);
    }

    #[test]
    fn a_short_stretch_joins_what_it_is_like() {
        let mut all: Vec<Stretch> = (0..100).map(|_| stretch(0, 100, 0)).collect();
        all.insert(50, stretch(1, 100, 0));
        assert_eq!(joined(all).len(), 1);
        let quiet: Vec<Stretch> = [0, 1, 0, 1].map(|r| stretch(r, 0, 0)).into();
        assert_eq!(joined(quiet).len(), 1, "what visits nothing is alike");
    }

    #[test]
    fn other_intensity_is_another_phase() {
        let all: Vec<Stretch> = (0..40).map(|i| stretch(0, if i < 20 { 200 } else { 4 }, 0)).collect();
        assert_eq!(joined(all).len(), 2);
    }
}
