//! What every sampler is: the trait, what it is asked, and what it may cost.

use crate::balance::machine::Shape;
use crate::balance::state::State;
use crate::balance::usage::Bits;
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
