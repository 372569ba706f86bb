//! Access patterns: one file each, and the words in which they say what they do.
//!
//! Problem: the simulator models an access and the worker carries it out; both must mean the same, and a new pattern
//! must not touch either of them.
//! Approach: a pattern implements [`AccessPattern`]. It declares its keys in workload files, and describes itself in
//! three words of a closed vocabulary: how lines follow each other ([`Walk`]), what traffic they make ([`Traffic`]), and
//! what a cache keeps of them ([`CacheFit`]). When a workload is resolved, these words are worked out once and kept in a
//! [`Pattern`]. The simulator and the worker have one walker per word and never ask for the name of a pattern.
//! [`PATTERNS`] is the only list of all patterns.
//!
//! To add a pattern: write one file here, and add its module and its type to the two lists below.
//! `crates/sim/tests/toy_pattern.rs` adds one that way.

mod key;
mod pattern;
mod ranks;
mod vocabulary;

mod blocks;
mod chase;
mod fill;
mod random;
mod reuse;
mod sequential;
mod strided;
mod zipf;

pub use key::Key;
pub use pattern::Pattern;
pub use ranks::{scale, Ranks};
pub use vocabulary::{CacheFit, Lines, Order, Traffic, Walk, LINE_BYTES, REUSE_REACH_BYTES};

pub(crate) use key::within;
pub(crate) use pattern::PatternSpec;

/// Every pattern, in the order in which messages list them.
pub static PATTERNS: &PatternList = &[
    &sequential::Sequential,
    &strided::Strided,
    &random::Random,
    &zipf::Zipf,
    &chase::Chase,
    &blocks::Blocks,
    &reuse::Reuse,
    &fill::Fill,
];

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

    /// What a cache keeps of it.
    fn cache_fit(&self, args: Args) -> CacheFit;

    /// How often each of `lines` lines is used; read for walks that draw by rank ([`Lines::Ranked`],
    /// [`Lines::Scattered`]), by the worker.
    fn ranks(&self, args: Args, lines: u64) -> Ranks {
        let _ = args;
        Ranks::even(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_pattern_is_whole() {
        let words: BTreeSet<&str> = PATTERNS.iter().map(|p| p.word()).collect();
        assert_eq!(words.len(), PATTERNS.len(), "each word once");
        for p in PATTERNS {
            assert!(p.keys().len() <= MAX_KEYS, "{}", p.word());
            assert!(words.contains(p.identity()), "{}", p.word());
            let walk = p.walk([64.0; MAX_KEYS]);
            assert_eq!(walk.lines_of_pass(4096).is_some(), p.most_accesses().is_none(), "{}", p.word());
        }
    }
}
