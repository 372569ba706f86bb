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
use crate::procfs::Roots;

pub use super::sampling::{Budget, Opened, Sampler, Seen, Target, Way};

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
