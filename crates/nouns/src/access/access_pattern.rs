//! What a pattern says of itself.

use super::key::Key;
use super::ranks::Ranks;
use super::vocabulary::{CacheFit, Traffic, Walk};

/// Patterns that workload files can name; the first one is the default.
pub type PatternList = [&'static dyn AccessPattern];

/// Most keys that one pattern can declare.
pub const MAX_KEYS: usize = 2;

/// Values of a pattern's keys, in the order of [`AccessPattern::keys`]; 0 beyond them. Sizes are whole bytes.
pub type Args = [f64; MAX_KEYS];

/// A way to go through a span of memory.
///
/// The methods are called while a workload is parsed, resolved and compiled, never during a run.
pub trait AccessPattern: Sync {
    /// Its name in workload files: the value of `pattern`.
    fn word(&self) -> &'static str;

    /// Its own keys in workload files, at most [`MAX_KEYS`].
    fn keys(&self) -> &'static [Key] {
        &[]
    }

    /// The most accesses that a step can ask for with the key `accesses`. `None`: the pattern makes one pass over its
    /// span and has no such key.
    fn most_accesses(&self) -> Option<u64> {
        Some(u64::MAX)
    }

    /// Whether it is one call of `memset`: it only writes, and a long one may go past the caches
    /// ([`Fill`](crate::machine::Fill)).
    fn fills(&self) -> bool {
        false
    }

    /// The word of the pattern that it is in the identity of a plan; another one's where a step says the rest.
    fn identity(&self) -> &'static str {
        self.word()
    }

    /// Its values for a span of `span_bytes`.
    fn fit(&self, args: Args, span_bytes: u64) -> Args {
        let _ = span_bytes;
        args
    }

    /// How lines follow each other: what the simulator and the worker carry out. Patterns for which
    /// [`AccessPattern::most_accesses`] is `None` need a walk that makes passes ([`Walk::lines_of_pass`]).
    fn walk(&self, args: Args) -> Walk;

    /// What traffic its cache misses make.
    fn traffic(&self) -> Traffic;

    /// As [`AccessPattern::traffic`], where that depends on its values.
    fn traffic_of(&self, args: Args) -> Traffic {
        let _ = args;
        self.traffic()
    }

    /// What a cache keeps of it.
    fn cache_fit(&self, args: Args) -> CacheFit;

    /// How often each of `lines` lines is used; read for walks that draw by rank ([`Lines::Ranked`],
    /// [`Lines::Scattered`]), by the worker.
    fn ranks(&self, args: Args, lines: u64) -> Ranks {
        let _ = args;
        Ranks::even(lines)
    }
}
