//! Welch's t test: two means, unequal variances.

use crate::{describe, dist};

/// Result of a Welch test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// `(mean1 - mean0) / se`; infinite when both samples have no spread and the means differ.
    pub t: f64,
    /// Welch-Satterthwaite degrees of freedom.
    pub df: f64,
    /// Two-sided probability of a difference at least this large if the populations have the same mean.
    pub p: f64,
}

/// Tests the arithmetic means of `base` and `col`. `None` with fewer than two samples on either side, and where all
/// samples are equal: there the probability would be 1 by definition, not by a test.
pub fn welch(base: &[f64], col: &[f64]) -> Option<Welch> {
    if describe::all_equal(base, col) {
        return None;
    }
    let (m0, s0) = (describe::amean(base)?, describe::stddev(base)?);
    let (m1, s1) = (describe::amean(col)?, describe::stddev(col)?);
    let (n0, n1) = (base.len() as f64, col.len() as f64);
    let (v0, v1) = (s0 * s0 / n0, s1 * s1 / n1);
    let se2 = v0 + v1;
    if se2 == 0.0 {
        let same = m0 == m1;
        let t = if same { 0.0 } else { f64::INFINITY.copysign(m1 - m0) };
        return Some(Welch { t, df: n0 + n1 - 2.0, p: f64::from(u8::from(same)) });
    }
    let t = (m1 - m0) / se2.sqrt();
    let df = degrees_of_freedom(v0, n0, v1, n1);
    Some(Welch { t, df, p: dist::t_two_sided(t, df) })
}

/// Welch-Satterthwaite degrees of freedom from the variances of the two means (`s^2 / n`) and the sample sizes.
pub(crate) fn degrees_of_freedom(v0: f64, n0: f64, v1: f64, n1: f64) -> f64 {
    (v0 + v1) * (v0 + v1) / (v0 * v0 / (n0 - 1.0) + v1 * v1 / (n1 - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_example() {
        // First worked example of the usual encyclopedia article: t = -2.46, df = 25.0, P = 0.021.
        let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4];
        let w = welch(&b, &a).unwrap();
        assert!((w.t + 2.46).abs() < 0.005, "{w:?}");
        assert!((w.df - 25.0).abs() < 0.05, "{w:?}");
        assert!((w.p - 0.021).abs() < 0.0005, "{w:?}");
    }

    #[test]
    fn without_spread_or_samples() {
        assert_eq!(welch(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(welch(&[0.1; 3], &[0.1; 3]), None, "nothing to test");
        let w = welch(&[1.0, 1.0], &[2.0, 2.0]).unwrap();
        assert_eq!((w.t, w.p), (f64::INFINITY, 0.0));
    }
}
