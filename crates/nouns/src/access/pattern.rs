//! A pattern with its values.

use super::access_pattern::{AccessPattern, Args};
use super::ranks::Ranks;
use super::vocabulary::{CacheFit, Traffic, Walk};
use serde::{Serialize, Serializer};
use std::fmt;

/// A pattern with its values. What it says of itself is worked out when it is made, so that reading it during a run
/// costs no call.
#[derive(Clone, Copy)]
pub struct Pattern {
    of: &'static dyn AccessPattern,
    args: Args,
    walk: Walk,
    traffic: Traffic,
    cache_fit: CacheFit,
}

impl Pattern {
    /// The pattern `of` with the values `args`, which must be in the range of its keys.
    pub fn new(of: &'static dyn AccessPattern, args: Args) -> Self {
        Self { of, args, walk: of.walk(args), traffic: of.traffic_of(args), cache_fit: of.cache_fit(args) }
    }
    /// Its name in workload files.
    pub fn word(&self) -> &'static str {
        self.of.word()
    }
    /// The values of its keys.
    pub fn args(&self) -> Args {
        self.args
    }
    /// How lines follow each other.
    #[inline]
    pub fn walk(&self) -> Walk {
        self.walk
    }
    /// What traffic its cache misses make.
    #[inline]
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }
    /// What a cache keeps of it.
    #[inline]
    pub fn cache_fit(&self) -> CacheFit {
        self.cache_fit
    }
    /// How often each of `lines` lines is used, for walks that draw by rank.
    pub fn ranks(&self, lines: u64) -> Ranks {
        self.of.ranks(self.args, lines)
    }
}

/// Two patterns are equal if their texts are.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        (self.of.identity(), self.args) == (other.of.identity(), other.args)
    }
}

/// `Sequential`, `Strided { stride_bytes: 4096 }`: the word with a capital letter, and the values. This text is part of
/// the identity of a plan, so it may not change.
impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.of.identity().chars();
        let name: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        let mut out = f.debug_struct(&name);
        for (key, value) in self.of.keys().iter().zip(self.args) {
            key.write(&mut out, value);
        }
        out.finish()
    }
}

/// As its word and its values.
impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.of.word(), self.args).serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans are told apart by these texts, so records of earlier releases depend on them.
    #[test]
    fn texts_are_those_of_recorded_plans() {
        let text = |p: Pattern| format!("{p:?}");
        assert_eq!(text(Pattern::sequential()), "Sequential");
        assert_eq!(text(Pattern::fill()), "Sequential");
        assert_eq!(text(Pattern::strided(4096)), "Strided { stride_bytes: 4096 }");
        assert_eq!(text(Pattern::random()), "Random");
        assert_eq!(text(Pattern::zipf(0.99)), "Zipf { theta: 0.99 }");
        assert_eq!(text(Pattern::zipf(1.0)), "Zipf { theta: 1.0 }");
        assert_eq!(text(Pattern::chase()), "Chase");
        assert_eq!(text(Pattern::reuse(0.5)), "Reuse { alpha: 0.5 }");
        assert_eq!(text(Pattern::blocks(1 << 16)), "Blocks { block_bytes: 65536 }");
    }
}
