//! Access patterns: one file each, and the words in which they say what they do.
//!
//! Problem: the simulator models an access and the worker carries it out; both must mean the same, and a new pattern
//! must not touch either of them.
//! Approach: a pattern implements [`AccessPattern`]. It declares its keys in workload files, and describes itself in
//! three words of a closed vocabulary: how lines follow each other ([`Walk`]), what traffic they make ([`Traffic`]),
//! and what a cache keeps of them ([`CacheFit`]). When a workload is resolved, these words are worked out once and kept
//! in a [`Pattern`]. The simulator and the worker have one walker per word and never ask for the name of a pattern.
//! [`PATTERNS`] is the only list of all patterns.
//!
//! To add a pattern: write one file here, and add its module and its type to the two lists below.
//! `crates/sim/tests/it/toy_pattern.rs` adds one that way.

mod access_pattern;
mod histogram;
mod key;
mod pattern;
mod ranks;
mod vocabulary;

mod blocks;
mod chase;
mod fill;
mod random;
mod recorded;
mod reuse;
mod sequential;
mod strided;
mod zipf;

pub use access_pattern::{AccessPattern, Args, PatternList, MAX_KEYS};
pub use histogram::{Histogram, Level, NoHistogram, MAX_PARTS};
pub use key::{Key, Range};
pub use pattern::Pattern;
pub use ranks::{scale, Ranks};
pub use recorded::MAX_HISTOGRAMS;
pub use vocabulary::{CacheFit, Lines, Order, Traffic, Walk, LINE_BYTES, REUSE_REACH_BYTES};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

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
    &recorded::Recorded,
];

/// From the word and the values.
impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (word, args) = <(String, Args)>::deserialize(from)?;
        let of = PATTERNS.iter().find(|p| p.word() == word);
        of.map(|of| Self::new(*of, args)).ok_or_else(|| D::Error::custom(format!("unknown pattern `{word}`")))
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

    #[test]
    fn patterns_survive_a_job_file() {
        for pattern in [Pattern::fill(), Pattern::strided(1 << 40), Pattern::zipf(0.99), Pattern::blocks(64)] {
            let text = serde_json::to_string(&pattern).unwrap();
            let back: Pattern = serde_json::from_str(&text).unwrap();
            assert_eq!((back, back.word(), back.walk()), (pattern, pattern.word(), pattern.walk()), "{text}");
        }
        let unknown = serde_json::from_str::<Pattern>("[\"spiral\", [0.0, 0.0]]");
        assert!(unknown.unwrap_err().to_string().contains("unknown pattern `spiral`"));
    }
}
