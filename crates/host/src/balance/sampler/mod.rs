//! Which pages are in use: samplers of accesses.
//!
//! Problem: where memory is says little about where it is used. A large region that nobody touches must not decide
//! where threads run, and moving it gains nothing.
//! Approach: a sampler answers one question, which pages of a range of at most 2 MiB are in use. One file has one way
//! to find out, and [`LIST`] has them all, best first. [`choose`] takes the first that works here, and says of every
//! other why not. [`Walk`](super::walk::Walk) asks about one range after the other, within a share of the CPU.
//! Invariants: opening a sampler leaves nothing behind that [`Sampler::end`] does not remove. A sampler that cannot
//! tell says `None`, never "unused".

pub mod damon;
pub mod idle_page;
pub mod perf;
pub mod residence;
pub mod soft_dirty;

use super::machine::Shape;
use super::state::State;
use super::usage::Bits;
use crate::procfs::Roots;
use std::io;
use std::time::Duration;

/// A process whose memory is sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Process.
    pub pid: u32,
    /// Its start after boot, ticks; tells it from a later one with the same id.
    pub start: u64,
    /// Its mappings: first address, and the first after.
    pub ranges: Vec<(u64, u64)>,
    /// Pages of these mappings that are in memory.
    pub pages: u64,
}

/// What a sampler may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Time between two looks.
    pub every: Duration,
    /// Share of one CPU for what the kernel does for a sampler outside this process, from 0 to 1.
    pub cpu_share: f64,
}

/// What was seen of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Pages in use, counted from the first of the range.
    pub pages: Bits,
    /// Node, of those in [`Shape`], whose CPUs alone use them, where a sampler can tell.
    pub user: Option<usize>,
}

/// Finds out which pages are in use.
pub trait Sampler {
    /// Called once a look, before ranges are asked for. Returns remarks for the log.
    fn prepare(&mut self, targets: &[Target], state: &mut State) -> Vec<String>;
    /// A walk over all ranges of the process begins, for which answers are wanted from the next look on.
    ///
    /// # Errors
    /// This process cannot be sampled.
    fn begin(&mut self, target: &Target) -> io::Result<()>;
    /// What is in use from `range.0` to `range.1`, at most 2 MiB; `None` if that is not known yet.
    ///
    /// # Errors
    /// The process has ended, or can no longer be sampled.
    fn seen(&mut self, target: &Target, range: (u64, u64)) -> io::Result<Option<Seen>>;
    /// Stops sampling, and removes what was set up for it. Sampling goes on at the next [`Sampler::prepare`].
    fn end(&mut self, state: &mut State);
}

/// A way to sample.
#[derive(Clone, Copy)]
pub struct Way {
    /// Its name, for `--sampler`.
    pub name: &'static str,
    /// What it sees, for the log.
    pub sees: &'static str,
    /// Why it is used only if it is asked for; empty if it may be chosen.
    pub only_asked: &'static str,
    /// It writes to files of the kernel, which a dry run must not.
    pub writes: bool,
    /// Opens it.
    pub open: fn(&Roots, &Shape, Budget) -> Opened,
}

/// A sampler, `None` if all memory counts, or what is missing.
pub type Opened = Result<Option<Box<dyn Sampler>>, String>;

/// All ways, best first.
pub const LIST: [Way; 5] = [perf::WAY, damon::WAY, idle_page::WAY, soft_dirty::WAY, residence::WAY];

/// Names of all ways, best first.
pub fn names() -> [&'static str; LIST.len()] {
    LIST.map(|w| w.name)
}

/// The way that is used.
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// What it sees.
    pub sees: &'static str,
    /// It samples; `None` if all memory counts.
    pub sampler: Option<Box<dyn Sampler>>,
    /// Names of the others, and why they are not used.
    pub others: Vec<(&'static str, String)>,
}

/// What to choose from.
#[derive(Clone, Copy)]
pub struct Ways<'a> {
    /// All ways, best first.
    pub list: &'a [Way],
    /// Name of the one that is asked for.
    pub asked: Option<&'a str>,
    /// Ways that write are left out.
    pub dry_run: bool,
}

/// Chooses the first of these ways that works here, or the one that is asked for.
///
/// # Errors
/// What was asked for does not work here, with the reason; or there is none of that name.
pub fn choose(ways: &Ways<'_>, roots: &Roots, shape: &Shape, budget: Budget) -> Result<Choice, String> {
    let Ways { list, asked, dry_run } = *ways;
    let open = |way: &Way| match way.writes && dry_run {
        true => Err("it writes to files of the kernel, which a dry run does not".to_string()),
        false => (way.open)(roots, shape, budget),
    };
    let mut others = Vec::new();
    let mut chosen: Option<Choice> = None;
    for way in list {
        let why = match (&chosen, asked) {
            (_, Some(name)) if name != way.name => format!("--sampler asks for {name}"),
            (Some(c), None) => format!("{} comes first", c.name),
            (None, None) if !way.only_asked.is_empty() => way.only_asked.to_string(),
            _ => match open(way) {
                Ok(sampler) => {
                    chosen = Some(Choice { name: way.name, sees: way.sees, sampler, others: Vec::new() });
                    continue;
                }
                Err(why) if asked.is_some() => return Err(format!("--sampler {}: {why}", way.name)),
                Err(why) => why,
            },
        };
        others.push((way.name, why));
    }
    let names: Vec<&str> = list.iter().map(|w| w.name).collect();
    let chosen = chosen.ok_or_else(|| format!("no sampler works here; expected one of {}", names.join(", ")))?;
    Ok(Choice { others, ..chosen })
}

#[cfg(test)]
mod tests;
