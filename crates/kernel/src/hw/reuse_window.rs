//! How long a line stays in an LRU cache, and which skewed accesses hit there.
//!
//! Problem: a streaming thread and a thread that returns to favoured lines share a cache. What each of them finds
//! there depends on how soon the lines of the other evict its own. Approach: an LRU cache holds what was touched in
//! the last *window* of time. The window is the time in which all accesses together touch as many bytes as the cache
//! holds (Che, Tung and Wang, "Hierarchical web caching systems", 2002; Denning's working set). A stream, a sweep or
//! uniform use touches a new line with every access. Skewed accesses miss a cache of `C` bytes with probability
//!
//! ```text
//!   m(C) = (1 + C / q)^-alpha,       q = 128 KiB
//! ```
//!
//! They touch new lines at the rate at which a cache of what they have touched misses, `dC/dn = 64 m(C)`, so
//!
//! ```text
//!   C(n) = q ((1 + (1 + alpha) 64 n / q)^(1 / (1 + alpha)) - 1).
//! ```
//!
//! `alpha` is about 0.5, the square-root rule (Hartstein and others, "Cache miss behavior: is it sqrt(2)?", 2006).
//! Sums over sets use `x^p` for `(1 + x)^p`, which is accurate to a tenth once a set holds a few times `q`.
//!
//! Units: bytes, ms, lines per ms. Invariant: sums are integers, so the order of changes does not matter.

use numalab_base::math::{exp, ln};
use numalab_nouns::access::REUSE_REACH_BYTES;

const LINE_BYTES: f64 = 64.0;
const REACH: f64 = REUSE_REACH_BYTES as f64;
/// Newton steps. Each doubles the number of correct digits; the first estimate is right within a factor of eight.
const STEPS: usize = 8;

fn power(x: f64, p: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    exp(p * ln(x))
}

/// Share (0..=1) of the skewed accesses to a set of `set_bytes` that miss a cache which holds `held_bytes` of it.
pub fn reuse_miss(alpha: f64, held_bytes: u64, set_bytes: u64) -> f64 {
    if held_bytes >= set_bytes {
        return 0.0;
    }
    let beyond = |bytes: u64| power(1.0 + bytes as f64 / REACH, -alpha);
    let all = beyond(set_bytes);
    ((beyond(held_bytes) - all) / (1.0 - all)).clamp(0.0, 1.0)
}

/// Bytes that accesses at `lines_per_ms` touch in `ms`, with exponent `alpha`, or uniformly if it is 0.
pub fn touched_bytes(alpha: f64, lines_per_ms: u64, ms: f64) -> f64 {
    let bytes = LINE_BYTES * lines_per_ms as f64 * ms;
    if alpha == 0.0 {
        return bytes;
    }
    REACH * (power(1.0 + (1.0 + alpha) * bytes / REACH, 1.0 / (1.0 + alpha)) - 1.0)
}

/// The skewed sets with one exponent that are in use on a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Class {
    alpha: f64,
    sets: u64,
    /// Sum of the bytes that the sets touch in a window of 1 ms, by the simplified formula.
    factor: u64,
}

impl Class {
    fn factor_of(&self, lines_per_ms: u64) -> u64 {
        let x = (1.0 + self.alpha) * LINE_BYTES * lines_per_ms as f64 / REACH;
        (REACH * power(x, 1.0 / (1.0 + self.alpha)) + 0.5) as u64
    }
}

/// All accesses of the threads that share one cache.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessMix {
    even_lines_per_ms: u64,
    classes: Vec<Class>,
}

impl AccessMix {
    /// Makes room for sets with this exponent. Allocates, so call it before the run.
    pub fn declare(&mut self, alpha: f64) {
        if alpha != 0.0 && !self.classes.iter().any(|c| c.alpha == alpha) {
            self.classes.push(Class { alpha, sets: 0, factor: 0 });
        }
    }

    /// The access rate of a set with a declared exponent changes; a rate of 0 means that it is not in use.
    pub fn change(&mut self, alpha: f64, before_lines_per_ms: u64, after_lines_per_ms: u64) {
        if alpha == 0.0 {
            self.even_lines_per_ms = self.even_lines_per_ms - before_lines_per_ms + after_lines_per_ms;
        } else if let Some(class) = self.classes.iter_mut().find(|c| c.alpha == alpha) {
            class.factor = class.factor - class.factor_of(before_lines_per_ms) + class.factor_of(after_lines_per_ms);
            class.sets = class.sets - u64::from(before_lines_per_ms > 0) + u64::from(after_lines_per_ms > 0);
        }
    }

    /// Whether no skewed set is in use.
    pub fn is_even(&self) -> bool {
        self.classes.iter().all(|c| c.sets == 0)
    }

    /// Time in which all sets in use together touch `capacity_bytes`, ms; infinite if none is in use.
    pub fn window_ms(&self, capacity_bytes: u64) -> f64 {
        let even = LINE_BYTES * self.even_lines_per_ms as f64;
        let used = || self.classes.iter().filter(|c| c.sets > 0);
        let fill = capacity_bytes as f64 + used().map(|c| REACH * c.sets as f64).sum::<f64>();
        let parts = 1.0 + used().count() as f64;
        // This estimate is below the root: at that time no term alone fills its part. The sum is concave, so Newton
        // steps stay below the root.
        let alone = |c: &Class| power(fill / parts / c.factor.max(1) as f64, 1.0 + c.alpha);
        let linear = if even > 0.0 { fill / parts / even } else { f64::INFINITY };
        let mut ms = used().map(alone).fold(linear, f64::min);
        if !ms.is_finite() {
            return f64::INFINITY;
        }
        for _ in 0..STEPS {
            let (mut sum, mut slope) = (even * ms - fill, even);
            for c in used() {
                let p = 1.0 / (1.0 + c.alpha);
                let touched = c.factor as f64 * power(ms, p);
                sum += touched;
                slope += p * touched / ms;
            }
            ms -= sum / slope;
        }
        ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn four_times_the_cache_halves_the_misses() {
        let huge = 1 << 50;
        let (one, four) = (reuse_miss(0.5, MIB, huge), reuse_miss(0.5, 4 * MIB, huge));
        assert!((one / four - 2.0).abs() < 0.12, "{one} {four}");
        assert!((reuse_miss(0.5, 0, huge) - 1.0).abs() < 1e-9, "by definition");
        assert_eq!(reuse_miss(0.5, MIB, MIB), 0.0, "all of it is there");
    }

    #[test]
    fn a_window_is_when_the_cache_is_full() {
        let rates = [(0.0, 5000u64), (0.5, 12_000), (0.5, 700), (0.4, 9000)];
        let mut mix = AccessMix::default();
        for (alpha, rate) in rates {
            mix.declare(alpha);
            mix.change(alpha, 0, rate);
        }
        let ms = mix.window_ms(18 * MIB);
        let sum: f64 = rates.iter().map(|&(alpha, rate)| touched_bytes(alpha, rate, ms)).sum();
        assert!((sum / (18 * MIB) as f64 - 1.0).abs() < 0.02, "{sum} in {ms} ms");
    }

    #[test]
    fn changes_cancel_and_their_order_is_nothing() {
        let mut mix = AccessMix::default();
        mix.declare(0.5);
        let before = mix.clone();
        mix.change(0.5, 0, 300);
        mix.change(0.0, 0, 10);
        mix.change(0.5, 300, 1000);
        assert!(!mix.is_even());
        mix.change(0.0, 10, 0);
        mix.change(0.5, 1000, 0);
        assert_eq!(mix, before);
        assert_eq!(mix.window_ms(MIB), f64::INFINITY, "nobody pushes anything out");
    }

    #[test]
    fn a_stream_beside_it_costs_a_skewed_set_less_than_its_part() {
        let mut mix = AccessMix::default();
        mix.declare(0.5);
        mix.change(0.5, 0, 10_000);
        mix.change(0.0, 0, 10_000);
        let held = touched_bytes(0.5, 10_000, mix.window_ms(16 * MIB));
        assert!(held < 8.0 * MIB as f64, "the stream fills more of the cache, line for line: {held}");
        let hit = 1.0 - reuse_miss(0.5, held as u64, 1 << 40);
        assert!(hit > 0.7, "and yet most of the skewed accesses hit: {hit}");
    }
}
