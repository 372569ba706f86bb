//! Percentages of a comparison, where positive means better in either direction (mmtests-report.md §1.4).

use crate::describe::Better;

/// Percentage of `n` against baseline `b` where higher is better, both unrounded: `100 n / b - 100`.
///
/// Special cases, in this order: n = b or n = 0 gives 0 (a throughput of zero prints 0.00, not -100.00); b = 0 or not a
/// number gives 100.
pub fn pdiff(n: f64, b: f64) -> f64 {
    if n == b || n == 0.0 {
        return 0.0;
    }
    if b == 0.0 || b.is_nan() {
        return 100.0;
    }
    n * 100.0 / b - 100.0
}

/// Percentage of `n` against baseline `b` where lower is better, both unrounded: `100 - 100 n / b`.
///
/// Special cases, in this order: n = b gives 0; n = 0 gives 100; b = 0 (or not a number) gives -99.
pub fn pndiff(n: f64, b: f64) -> f64 {
    if n == b {
        return 0.0;
    }
    if n == 0.0 {
        return 100.0;
    }
    if b == 0.0 || b.is_nan() {
        return -99.0;
    }
    100.0 - n * 100.0 / b
}

/// Growth of a figure without a better direction, in percent: positive means that it grew. From a baseline of 0 it is
/// 100, as in [`pdiff`].
pub fn growth(n: f64, b: f64) -> f64 {
    change(n, b).filter(|x| x.is_finite()).unwrap_or(100.0)
}

/// The percentage for a direction: [`pdiff`], [`pndiff`], or [`growth`] where neither direction is better.
pub fn difference(n: f64, b: f64, better: Better) -> f64 {
    match better {
        Better::Higher => pdiff(n, b),
        Better::Lower => pndiff(n, b),
        Better::Neutral => growth(n, b),
    }
}

/// Plain change in percent, positive if the number grew: `100 (n - b) / b`. `None` when b is 0 and n is not.
pub fn change(n: f64, b: f64) -> Option<f64> {
    if n == b {
        Some(0.0)
    } else if b == 0.0 {
        None
    } else {
        Some(100.0 * (n - b) / b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_direction_plus_means_more() {
        let of = |n, b| difference(n, b, Better::Neutral);
        assert_eq!([of(3.0, 2.0), of(1.0, 2.0), of(2.0, 2.0)], [50.0, -50.0, 0.0]);
        assert_eq!([of(5.0, 0.0), of(0.0, 5.0), of(0.0, 0.0)], [100.0, -100.0, 0.0]);
    }
}
