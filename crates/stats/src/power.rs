//! What a comparison could have seen: "with 5 runs a change of 3 % would have shown".

use crate::{describe, dist};

/// Smallest difference of means that a two-sided test at `alpha` finds with probability `power`.
///
/// `(t(1 - alpha/2) + t(power)) * sqrt(v0/n0 + v1/n1)` with n0 + n1 - 2 degrees of freedom, the usual approximation of the
/// non-central t distribution; `None` with fewer than two samples on either side. In the unit of the samples.
pub fn detectable_difference(base: &[f64], col: &[f64], alpha: f64, power: f64) -> Option<f64> {
    let (s0, s1) = (describe::stddev(base)?, describe::stddev(col)?);
    let (n0, n1) = (base.len() as f64, col.len() as f64);
    let se = (s0 * s0 / n0 + s1 * s1 / n1).sqrt();
    let df = n0 + n1 - 2.0;
    Some((dist::t_quantile(1.0 - alpha / 2.0, df) + dist::t_quantile(power, df)) * se)
}

/// Smallest number of runs per side (2 to 10 000) with which a difference of `difference` would be found, given the
/// standard deviation `sd` of both sides; `None` if no such number is enough.
pub fn runs_needed(sd: f64, difference: f64, alpha: f64, power: f64) -> Option<usize> {
    if difference.is_nan() || difference <= 0.0 {
        return None;
    }
    let enough = |n: usize| {
        let df = 2.0 * n as f64 - 2.0;
        let t = dist::t_quantile(1.0 - alpha / 2.0, df) + dist::t_quantile(power, df);
        t * sd * (2.0 / n as f64).sqrt() <= difference
    };
    let (mut low, mut high) = (2, 10_000);
    if !enough(high) {
        return None;
    }
    while low < high {
        let mid = (low + high) / 2;
        if enough(mid) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_samples_agree_with_the_normal_formula() {
        // 200 values alternating +-1 around 10: sd = sqrt(200/199); difference = (1.960 + 0.842) sd sqrt(2/200).
        let x: Vec<f64> = (0..200).map(|i| if i % 2 == 0 { 9.0 } else { 11.0 }).collect();
        let d = detectable_difference(&x, &x, 0.05, 0.8).unwrap();
        let want = 2.8016 * (200.0_f64 / 199.0).sqrt() * 0.1;
        assert!((d / want - 1.0).abs() < 0.005, "{d} {want}");
        assert_eq!(detectable_difference(&[1.0], &x, 0.05, 0.8), None);
    }

    #[test]
    fn one_standard_deviation_takes_seventeen_runs() {
        // Tables of sample size for effect 1.0, alpha 5 %, power 80 %, two-sided: 17 per group.
        assert_eq!(runs_needed(1.0, 1.0, 0.05, 0.8), Some(17));
        assert_eq!(runs_needed(0.0, 1.0, 0.05, 0.8), Some(2));
        assert_eq!(runs_needed(1.0, 0.0, 0.05, 0.8), None);
        assert_eq!(runs_needed(1.0, 1e-9, 0.05, 0.8), None);
    }
}
