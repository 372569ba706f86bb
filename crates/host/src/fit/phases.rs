//! Phases: stretches of time with about the same use of CPU time.

use super::series::at;
use numalab_model::record::Series;

/// Difference in the busy share at which a new phase begins.
const NEW_PHASE: f64 = 0.2;
/// Shortest phase, as a share of the run.
const SHORTEST: f64 = 0.05;

/// A phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// How long it lasts, s.
    pub seconds: f64,
    /// Share of its time that a thread is busy, above 0 and at most 1.
    pub busy: f64,
}

/// Reads the phases. `cpu` has the CPU time since the start in columns `user` and `system`; without it there is one
/// phase in which threads are always busy. Times before memory was there do not count.
pub(super) fn read(cpu: Option<&Series>, pages: &Series, threads: f64, assumed: &mut Vec<String>) -> Vec<Phase> {
    let end = pages.time_ns.last().copied().unwrap_or(0) as f64 / 1e9;
    let Some(cpu) = cpu.filter(|c| c.time_ns.len() >= 2) else {
        assumed.push("threads are always busy: the record has no CPU time".into());
        return vec![Phase { seconds: end.max(0.001), busy: 1.0 }];
    };
    let counted = |c: &usize| matches!(cpu.columns[*c].as_str(), "user" | "system");
    let columns: Vec<usize> = (0..cpu.columns.len()).filter(counted).collect();
    let used = |s: usize| columns.iter().map(|c| at(cpu, *c, s)).sum::<f64>();
    let steps = (1..cpu.time_ns.len()).map(|s| {
        let seconds = (cpu.time_ns[s] - cpu.time_ns[s - 1]) as f64 / 1e9;
        Phase { seconds, busy: (used(s) - used(s - 1)) / (seconds * threads).max(1e-9) }
    });
    let mut phases = without_short(merged(steps.filter(|s| s.seconds > 0.0).collect()));
    phases.iter_mut().for_each(|p| p.busy = p.busy.clamp(0.01, 1.0));
    phases
}

fn joined(a: Phase, b: Phase) -> Phase {
    let seconds = a.seconds + b.seconds;
    Phase { seconds, busy: (a.busy * a.seconds + b.busy * b.seconds) / seconds }
}

/// Phases with the shortest ones joined to the neighbour that is most like them.
fn without_short(mut phases: Vec<Phase>) -> Vec<Phase> {
    let all: f64 = phases.iter().map(|p| p.seconds).sum();
    while phases.len() > 1 {
        let by_length = |a: &usize, b: &usize| phases[*a].seconds.total_cmp(&phases[*b].seconds);
        let Some(shortest) = (0..phases.len()).min_by(by_length) else { break };
        if phases[shortest].seconds >= SHORTEST * all {
            break;
        }
        let distance = |i: usize| phases.get(i).map_or(f64::INFINITY, |p| (p.busy - phases[shortest].busy).abs());
        let left = shortest > 0 && distance(shortest - 1) <= distance(shortest + 1);
        let first = if left { shortest - 1 } else { shortest };
        phases[first] = joined(phases[first], phases[first + 1]);
        phases.remove(first + 1);
    }
    merged(phases)
}

/// Phases without neighbours that are alike: once a short phase between them has gone, they are one.
fn merged(phases: Vec<Phase>) -> Vec<Phase> {
    let mut out: Vec<Phase> = Vec::new();
    for phase in phases {
        match out.last_mut() {
            Some(last) if (last.busy - phase.busy).abs() < NEW_PHASE => *last = joined(*last, phase),
            _ => out.push(phase),
        }
    }
    out
}
