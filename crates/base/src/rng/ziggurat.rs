//! Exponential draws with mean 1 by the ziggurat method (Marsaglia and Tsang, Journal of Statistical Software 5(8),
//! 2000).
//!
//! The density is covered by 256 layers of equal area. Nearly all draws need one uniform number, one multiplication and
//! one comparison. The tables come from [`crate::math`], so they have the same bits everywhere.

use super::xoshiro::Rng;
use crate::math::{exp, ln};
use std::sync::LazyLock;

const LAYERS: usize = 256;
/// Where the tail begins.
const TAIL: f64 = 7.697_117_470_131_05;
/// Area of each layer, the lowest with the tail.
const AREA: f64 = 3.949_659_822_581_572e-3;

/// Right end of each layer, and the density there.
struct Layers {
    x: [f64; LAYERS + 1],
    density: [f64; LAYERS + 1],
}

static TABLE: LazyLock<Layers> = LazyLock::new(|| {
    let mut x = [0.0; LAYERS + 1];
    // The lowest layer is as wide as a rectangle of its area would be.
    (x[0], x[1]) = (AREA * exp(TAIL), TAIL);
    for i in 2..LAYERS {
        x[i] = -ln(exp(-x[i - 1]) + AREA / x[i - 1]);
    }
    Layers { x, density: x.map(|x| exp(-x)) }
});

/// An exponential draw with mean 1.
pub(super) fn standard_exponential(rng: &mut Rng) -> f64 {
    let table = &*TABLE;
    let mut before = 0.0;
    loop {
        let bits = rng.next_u64();
        let layer = (bits as usize) % LAYERS;
        let x = (bits >> 11) as f64 / (1u64 << 53) as f64 * table.x[layer];
        if x < table.x[layer + 1] {
            return before + x;
        }
        if layer == 0 {
            // What lies beyond the beginning of the tail is exponential again.
            before += TAIL;
            continue;
        }
        let (low, high) = (table.density[layer], table.density[layer + 1]);
        if low + (high - low) * rng.unit() < exp(-x) {
            return before + x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_equal_areas_and_meet_at_the_top() {
        let t = &*TABLE;
        for i in 1..LAYERS {
            let area = t.x[i] * (t.density[i + 1] - t.density[i]);
            assert!((area / AREA - 1.0).abs() < 1e-6, "layer {i}: {area}");
        }
        assert_eq!((t.x[LAYERS], t.density[LAYERS]), (0.0, 1.0));
    }

    #[test]
    fn the_distribution_is_exponential() {
        let (mut rng, n) = (Rng::new(11), 400_000);
        let draws: Vec<f64> = (0..n).map(|_| standard_exponential(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 0.008, "{mean}");
        for at in [0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 7.7, 9.0] {
            let (share, expected) = (draws.iter().filter(|x| **x > at).count() as f64 / n as f64, exp(-at));
            let error = (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((share - expected).abs() < 5.0 * error, "beyond {at}: {share}, expected {expected}");
        }
    }

    #[test]
    fn gaps_are_geometric() {
        let (mut rng, n) = (Rng::new(12), 200_000);
        for p in [1e-6, 0.003, 0.01, 0.3, 0.9] {
            let (mut sum, mut ones) = (0.0, 0);
            for _ in 0..n {
                let gap = rng.next_success(p);
                sum += gap as f64;
                ones += u64::from(gap == 1);
            }
            let (mean, share) = (sum / n as f64 * p, ones as f64 / n as f64);
            assert!((mean - 1.0).abs() < 0.012, "{p}: {mean}");
            assert!((share - p).abs() < 5.0 * (p * (1.0 - p) / n as f64).sqrt(), "{p}: {share}");
        }
        assert_eq!((rng.next_success(1.0), rng.next_success(0.0), rng.next_success(f64::NAN)), (1, u64::MAX, u64::MAX));
    }
}
