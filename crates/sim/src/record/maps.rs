//! Taking samples for the maps of a run.

use crate::state::simulation::Simulation;
use crate::state::task::Activity;

/// Chunks of a stretch that are looked at, evenly spread.
const CHUNKS_PER_ROW: usize = 64;

/// A cell without a node.
const NOWHERE: f64 = -1.0;

/// Takes a sample of both maps as of `now_ns`, if one is due or the run ends.
pub(crate) fn sample_maps(sim: &mut Simulation<'_>, now_ns: u64, last: bool) {
    let own = sim.own_processes();
    let maps = &mut sim.record.maps;
    let due = maps.calls.is_multiple_of(maps.every) || last;
    maps.calls += 1;
    if !due {
        return;
    }
    maps.thin();
    maps.pages.time_ns.push(now_ns);
    maps.tasks.time_ns.push(now_ns);
    for (row, s) in maps.stretches.iter().enumerate() {
        let p = &sim.processes[s.process];
        maps.votes.fill(0);
        if let Some(&id) = p.own_regions().get(s.region).filter(|id| (**id as usize) < p.space.len()) {
            let vma = p.space.vma(id as usize);
            let wide = vma.grain.pages() as usize;
            let (first, end) = (s.first / wide, s.end.div_ceil(wide));
            let step = (end - first).div_ceil(CHUNKS_PER_ROW).max(1);
            for chunk in (first..end.min(vma.chunk_count())).step_by(step) {
                for (vote, pages) in maps.votes.iter_mut().zip(vma.node_counts(chunk)) {
                    *vote += u64::from(*pages);
                }
            }
        }
        maps.pages.values[row].push(winner(&maps.votes));
    }
    let before = maps.tasks.time_ns.len() - 1;
    maps.tasks.values.iter_mut().for_each(|v| v.push(NOWHERE));
    for (id, t) in sim.tasks.iter().enumerate().filter(|(_, t)| (t.process as usize) < own) {
        let thread = maps.first_thread[t.process as usize] + t.thread as usize;
        if !thread.is_multiple_of(maps.fold) || matches!(t.activity, Activity::Asleep | Activity::Dead) {
            continue;
        }
        let cpu = sim.kernel.sched.cpu_of(id as u32) as usize;
        if let Some(v) = maps.tasks.values.get_mut(thread / maps.fold) {
            v[before] = sim.cpus[cpu].node as f64;
        }
    }
}

/// The node with most pages, the lowest of several.
fn winner(votes: &[u64]) -> f64 {
    let best = votes.iter().enumerate().max_by_key(|(n, v)| (**v, std::cmp::Reverse(*n)));
    best.filter(|b| *b.1 > 0).map_or(NOWHERE, |b| b.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_with_most_pages_wins() {
        assert_eq!(winner(&[0, 0]), NOWHERE);
        assert_eq!(winner(&[3, 7, 7]), 1.0);
        assert_eq!(winner(&[]), NOWHERE);
    }
}
