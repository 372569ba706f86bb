//! What could be done about a region of a program: the fit with one change, whose simulation says what the change
//! gains.

use super::classes::Class;
use super::fitted::Fit;
use super::image::FittedProcess;
use super::pattern::{Part, Phase, Visit};
use super::usage::Order;
use crate::format::LINE_BYTES;

/// A change of where a region's pages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The threads that use it touch it first, each its own part, in place of the initial thread.
    FirstTouch,
    /// Its pages are spread over all nodes.
    Interleave,
}

impl Change {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::FirstTouch, Self::Interleave];

    /// Word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::FirstTouch => "first_touch",
            Self::Interleave => "interleave",
        }
    }

    /// What to do, as a sentence. `who` touches the region first today.
    pub fn advice(self, region: &str) -> String {
        match self {
            Self::FirstTouch => format!(
                "`{region}` is first touched by the initial thread: touch it in the threads that use it, each its own \
                 part"
            ),
            Self::Interleave => format!("spread `{region}` over all nodes: mbind(MPOL_INTERLEAVE) after it is mapped"),
        }
    }
}

impl Fit {
    /// Number of the process and of the region, for every region.
    pub fn places(&self) -> Vec<(usize, usize)> {
        let of = |(n, p): (usize, &FittedProcess)| (0..p.regions.len()).map(move |r| (n, r)).collect::<Vec<_>>();
        self.processes.iter().enumerate().flat_map(of).collect()
    }

    /// The fit with a change of a region; `None` where it changes nothing.
    pub fn changed(&self, (process, region): (usize, usize), change: Change) -> Option<Self> {
        let mut out = self.clone();
        let p = out.processes.get_mut(process)?;
        match change {
            Change::Interleave => p.regions.get_mut(region)?.interleaved = true,
            Change::FirstTouch => touch_first(p, region)?,
        }
        Some(out)
    }
}

/// Lets the kind of threads that uses a region most write it first.
fn touch_first(p: &mut FittedProcess, region: usize) -> Option<()> {
    let lines = |c: &Class| {
        let visits = c.phases.iter().flat_map(|p| &p.visits).filter(|v| v.region == region);
        visits.map(|v| v.lines).sum::<f64>() * c.threads.len() as f64
    };
    let class = (0..p.classes.len()).max_by(|a, b| lines(&p.classes[*a]).total_cmp(&lines(&p.classes[*b])))?;
    let threads = p.classes[class].threads.len();
    let is_touched_before = p.prologue.iter().flat_map(|p| &p.visits).any(|v| v.region == region);
    if threads < 2 || lines(&p.classes[class]) <= 0.0 || !is_touched_before || !p.turns.is_empty() {
        return None;
    }
    for phase in &mut p.prologue {
        phase.visits.retain(|v| v.region != region);
    }
    p.prologue.retain(|phase| !phase.visits.is_empty());
    let r = &p.regions[region];
    let own = if r.members.is_some() { r.bytes } else { r.bytes / threads as u64 } as f64 / LINE_BYTES as f64;
    let visit = Visit {
        region,
        part: if r.members.is_some() { Part::Whole } else { Part::Slice },
        order: Order::Sweep,
        lines: own,
        write_share: 1.0,
        foreign: 0.0,
        passes: 1.0,
        tiers: Vec::new(),
        reuse: None,
    };
    let first = Phase { insns: own * 8.0, visits: vec![visit], once: true, ..Phase::default() };
    p.classes[class].phases.insert(0, first);
    Some(())
}
