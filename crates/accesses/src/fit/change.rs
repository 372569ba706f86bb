//! What could be done about a region of a program: the fit with one change, whose simulation says what the change
//! gains.

use super::classes::{Class, Kept};
use super::fitted::Fit;
use super::image::FittedProcess;
use super::pattern::{Part, Phase};
use super::region::{Placing, Region};
use crate::format::LINE_BYTES;

/// Share of writes up to which a region counts as read-mostly.
const READ_MOSTLY: f64 = 0.02;

/// A change of a region, or of the threads that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The threads that use it touch it first, each its own part, in place of the initial thread.
    FirstTouch,
    /// As [`Change::FirstTouch`], and the threads stay on their nodes.
    FirstTouchKept,
    /// Its pages are spread over all nodes.
    Interleave,
    /// Its pages and the threads that use it are on one node.
    Bind,
    /// It has huge pages.
    Huge,
    /// Each node has a copy.
    Copy,
    /// The threads that use it stay on their nodes.
    Keep,
    /// What each thread writes of its lines has lines of its own.
    Pad,
}

impl Change {
    /// All of them. Of changes that gain the same, the first is the least to do.
    pub const ALL: [Self; 8] = [
        Self::Pad,
        Self::FirstTouch,
        Self::Interleave,
        Self::Huge,
        Self::Keep,
        Self::FirstTouchKept,
        Self::Bind,
        Self::Copy,
    ];

    /// Word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::FirstTouch => "first_touch",
            Self::FirstTouchKept => "first_touch_kept",
            Self::Interleave => "interleave",
            Self::Bind => "bind",
            Self::Huge => "huge_pages",
            Self::Copy => "copy_per_node",
            Self::Keep => "keep_threads",
            Self::Pad => "pad_lines",
        }
    }

    /// What to do about a region, as a sentence.
    pub fn advice(self, region: &Region) -> String {
        let it = match &region.site {
            Some(site) => format!("`{}` ({site})", region.name),
            None => format!("`{}`", region.name),
        };
        match self {
            Self::FirstTouch => {
                format!(
                    "{it} is first touched by the initial thread: touch it in the threads that use it, each its own \
                     part"
                )
            }
            Self::FirstTouchKept => format!(
                "{it} is first touched by the initial thread: touch it in the threads that use it, each its own part, \
                 and keep those on their nodes (numa_run_on_node)"
            ),
            Self::Interleave => format!("spread {it} over all nodes: mbind(MPOL_INTERLEAVE) after it is mapped"),
            Self::Bind => {
                format!("put {it} and the threads that use it on one node: mbind(MPOL_BIND) and numa_run_on_node")
            }
            Self::Huge => format!("ask for huge pages for {it}: madvise(MADV_HUGEPAGE) after it is mapped"),
            Self::Copy => {
                format!("{it} is read by many and written by few: give each node a copy, and its threads that copy")
            }
            Self::Pad => {
                let lines = region.lines.unwrap_or(1);
                let (lines, what) =
                    if lines == 1 { ("A line".into(), "is") } else { (format!("{lines} lines"), "are") };
                let name = region.name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches("_lines");
                let of = match &region.site {
                    Some(site) => format!("`{name}` ({site})"),
                    None => format!("`{name}`"),
                };
                format!(
                    "{lines} of {of} {what} written by several threads, each its own bytes: \
                     give each thread's part lines \
                     of its own, such as by __attribute__((aligned(64)))"
                )
            }
            Self::Keep => {
                format!("keep the threads that use {it} on their nodes: numa_run_on_node, equally many on each")
            }
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
        if p.regions.get(region)?.lines.is_some() != (change == Change::Pad) {
            return None;
        }
        if change == Change::Huge && p.regions.get(region)?.placing == Placing::Huge {
            return None;
        }
        // Whose part of shared memory a thread's is, no record of one process says.
        let needs_parts = matches!(change, Change::FirstTouch | Change::FirstTouchKept | Change::Copy);
        if needs_parts && (!p.regions.get(region)?.is_own() || self.is_inherited(process, region)) {
            return None;
        }
        // Whose it is says how its pages are placed.
        if matches!(change, Change::Interleave | Change::Huge) && p.regions.get(region)?.inherited.is_some() {
            return None;
        }
        match change {
            Change::Pad => pad(p, region),
            Change::Interleave => p.regions.get_mut(region)?.placing = Placing::Interleaved,
            Change::Huge => p.regions.get_mut(region)?.placing = Placing::Huge,
            Change::FirstTouch => touch_first(p, region)?,
            Change::FirstTouchKept => {
                touch_first(p, region)?;
                keep(p, region, Kept::Spread)?;
            }
            Change::Keep => keep(p, region, Kept::Spread)?,
            Change::Bind => {
                keep(p, region, Kept::First)?;
                let r = p.regions.get_mut(region)?;
                let (owner, name) = (r.inherited.unwrap_or(process), r.name.clone());
                let of = out.processes.get_mut(owner)?.regions.iter_mut();
                of.filter(|r| r.name == name).for_each(|r| r.placing = Placing::Bound);
            }
            Change::Copy => copy(p, region)?,
        }
        Some(out)
    }
}

/// Lets the lines of a region stay in their cores, where an access to them costs no more than its instructions.
fn pad(p: &mut FittedProcess, region: usize) {
    p.regions.remove(region);
    for phase in p.prologue.iter_mut().chain(p.classes.iter_mut().flat_map(|c| &mut c.phases)) {
        phase.visits.retain(|v| v.region != region);
        phase.visits.iter_mut().filter(|v| v.region > region).for_each(|v| v.region -= 1);
    }
}

/// Lines of a region that all threads of a kind visit.
fn lines(c: &Class, region: usize) -> f64 {
    let visits = c.phases.iter().flat_map(|p| &p.visits).filter(|v| v.region == region);
    visits.map(|v| v.lines).sum::<f64>() * c.threads.len() as f64
}

/// Whether the initial thread uses a region before there are others.
fn is_touched_before(p: &FittedProcess, region: usize) -> bool {
    p.prologue.iter().flat_map(|p| &p.visits).any(|v| v.region == region)
}

fn forget_first_touch(p: &mut FittedProcess, region: usize) {
    for phase in &mut p.prologue {
        phase.visits.retain(|v| v.region != region);
    }
    p.prologue.retain(|phase| !phase.visits.is_empty());
}

/// Lets the kind of threads that uses a region most write it first.
fn touch_first(p: &mut FittedProcess, region: usize) -> Option<()> {
    let most = |a: &usize, b: &usize| lines(&p.classes[*a], region).total_cmp(&lines(&p.classes[*b], region));
    let class = (0..p.classes.len()).max_by(most)?;
    let threads = p.classes[class].threads.len();
    let is_used = lines(&p.classes[class], region) > 0.0;
    if threads < 2 || !is_used || !is_touched_before(p, region) || !p.turns.is_empty() {
        return None;
    }
    forget_first_touch(p, region);
    let r = &p.regions[region];
    let own = if r.members.is_some() { r.bytes } else { r.bytes / threads as u64 } as f64 / LINE_BYTES as f64;
    let part = if r.members.is_some() { Part::Whole } else { Part::Slice };
    p.classes[class].phases.insert(0, Phase::write_once(region, part, own));
    Some(())
}

/// Keeps all kinds of threads that use a region on nodes.
fn keep(p: &mut FittedProcess, region: usize, kept: Kept) -> Option<()> {
    if !p.turns.is_empty() {
        return None;
    }
    let mut any = false;
    for c in p.classes.iter_mut().filter(|c| lines(c, region) > 0.0) {
        // A thread alone is on a node anyway.
        if kept == Kept::First || c.threads.len() > 1 {
            c.kept = kept;
            any = true;
        }
    }
    any.then_some(())
}

/// Gives each node a copy of a region that is read by several threads and hardly written.
fn copy(p: &mut FittedProcess, region: usize) -> Option<()> {
    let of = |p: &FittedProcess| -> Vec<usize> {
        (0..p.classes.len()).filter(|&c| lines(&p.classes[c], region) > 0.0).collect()
    };
    let users = of(p);
    let visits = |c: &usize| p.classes[*c].phases.iter().flat_map(|p| &p.visits).filter(|v| v.region == region);
    let is_read = users.iter().flat_map(visits).all(|v| v.write_share <= READ_MOSTLY && v.part != Part::Slice);
    let threads: usize = users.iter().map(|c| p.classes[*c].threads.len()).sum();
    if !is_read || threads < 2 || p.regions.get(region)?.members.is_some() {
        return None;
    }
    keep(p, region, Kept::Spread)?;
    forget_first_touch(p, region);
    let whole = p.regions[region].bytes as f64 / LINE_BYTES as f64;
    for c in users {
        p.classes[c].phases.insert(0, Phase::write_once(region, Part::Whole, whole));
    }
    p.regions[region].placing = Placing::Copied;
    Some(())
}
