//! The smallest difference that a comparison can find: "with 5 runs a change of 3 % would have shown".
//!
//! Problem: Welch's test estimates its degrees of freedom from the variances of the samples, so with few runs its
//! critical value varies from one repetition to the next. A formula with fixed degrees promises a power of 80 % where
//! three runs give 50 to 68 %.
//! Approach: the power is averaged over the variances that such samples may show. The sum of the two variances
//! (chi-square) and the share of one in it (beta) are independent, and the degrees of freedom depend on the share
//! alone.

use crate::{describe, dist, welch};

/// Steps in the probability of the sum and of the share; with 24 the power is within 0.01 of that of many repetitions.
const STEPS: usize = 24;
/// Halvings of the interval in which the difference lies: to less than a millionth of it.
const HALVINGS: usize = 24;

/// Smallest difference of means that a two-sided Welch test at level `alpha` finds with probability `power`, in the
/// unit of the samples. The populations are assumed to have the samples' spreads, and the test is not corrected for
/// other tests.
///
/// `None` with fewer than two samples on either side; infinite where no difference is large enough.
pub fn detectable_difference(base: &[f64], col: &[f64], alpha: f64, power: f64) -> Option<f64> {
    let (s0, s1) = (describe::stddev(base)?, describe::stddev(col)?);
    Some(Pair { sd: [s0, s1], n: [base.len() as f64, col.len() as f64] }.detectable(alpha, power))
}

/// Standard deviations of two populations, and the number of samples of each, at least 2.
struct Pair {
    sd: [f64; 2],
    n: [f64; 2],
}

impl Pair {
    /// Smallest difference of means that is found with probability `power`; infinite if none is.
    fn detectable(&self, alpha: f64, power: f64) -> f64 {
        let se = (0..2).map(|i| self.sd[i] * self.sd[i] / self.n[i]).sum::<f64>().sqrt();
        if se == 0.0 {
            return 0.0;
        }
        // From here on differences are in standard errors.
        let critical = self.critical(se, alpha);
        let found = |d: f64| {
            let one = |c: &f64| dist::normal_above(c - d) + dist::normal_above(c + d);
            critical.iter().map(one).sum::<f64>() / critical.len() as f64
        };
        let (mut low, mut high) = (0.0, 1.0);
        while found(high) < power {
            high *= 2.0;
            if high > 1e9 {
                return f64::INFINITY;
            }
        }
        for _ in 0..HALVINGS {
            let mid = 0.5 * (low + high);
            if found(mid) < power {
                low = mid;
            } else {
                high = mid;
            }
        }
        high * se
    }

    /// Critical differences of means, in standard errors, for variances that the samples may show; all are equally
    /// likely.
    fn critical(&self, se: f64, alpha: f64) -> Vec<f64> {
        let free = self.n.map(|n| n - 1.0);
        let step = |i: usize| (i as f64 + 0.5) / STEPS as f64;
        let sums: Vec<f64> =
            (0..STEPS).map(|i| dist::chi_square_quantile(step(i), free[0] + free[1]).sqrt() / se).collect();
        let mut out = Vec::with_capacity(STEPS * STEPS);
        for i in 0..STEPS {
            let share = dist::beta_quantile(step(i), 0.5 * free[0], 0.5 * free[1]);
            let part = |i: usize, share: f64| share * self.sd[i] * self.sd[i] / (self.n[i] * free[i]);
            let (v0, v1) = (part(0, share), part(1, 1.0 - share));
            let df = welch::degrees_of_freedom(v0, self.n[0], v1, self.n[1]);
            let c = dist::t_quantile(1.0 - alpha / 2.0, df) * (v0 + v1).sqrt();
            out.extend(sums.iter().map(|sum| c * sum));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::rng::SplitMix64;

    /// A draw from the standard normal distribution, by Box and Muller's method.
    fn normal(rng: &mut SplitMix64) -> f64 {
        let mut uniform = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let (a, b) = (1.0 - uniform(), uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Samples with exactly the standard deviation `sd`.
    fn samples(n: usize, sd: f64) -> Vec<f64> {
        let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let own = describe::stddev(&x).unwrap();
        x.iter().map(|v| v * sd / own).collect()
    }

    /// Smallest number of runs per side (2 to 10 000) with which a difference of `difference` would be found, given the
    /// standard deviation `sd` of both sides; `None` if no such number is enough.
    fn runs_needed(sd: f64, difference: f64, alpha: f64, power: f64) -> Option<usize> {
        if difference.is_nan() || difference <= 0.0 {
            return None;
        }
        let enough = |n: usize| Pair { sd: [sd; 2], n: [n as f64; 2] }.detectable(alpha, power) <= difference;
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

    #[test]
    fn the_difference_is_found_as_often_as_promised() {
        let mut rng = SplitMix64::new(1);
        for (n0, s0, n1, s1) in [
            (3, 1.0, 3, 1.0),
            (3, 1.0, 3, 4.0),
            (3, 1.0, 3, 0.01),
            (5, 1.0, 5, 3.0),
            (3, 3.0, 10, 1.0),
            (2, 1.0, 2, 1.0),
        ] {
            let d = detectable_difference(&samples(n0, s0), &samples(n1, s1), 0.05, 0.8).unwrap();
            let mut found = 0;
            for _ in 0..10_000 {
                let base: Vec<f64> = (0..n0).map(|_| s0 * normal(&mut rng)).collect();
                let col: Vec<f64> = (0..n1).map(|_| s1 * normal(&mut rng) + d).collect();
                found += usize::from(welch::welch(&base, &col).unwrap().p < 0.05);
            }
            // Binomial(10000, 0.8): standard deviation 40.
            assert!((7800..=8200).contains(&found), "{n0} runs of {s0}, {n1} of {s1}: {found}");
        }
    }

    #[test]
    fn the_unit_and_the_order_of_sides_do_not_matter() {
        let (a, b) = ([10.0, 10.3, 10.1], [11.0, 12.5, 11.2, 11.9]);
        let d = detectable_difference(&a, &b, 0.05, 0.8).unwrap();
        let swapped = detectable_difference(&b, &a, 0.05, 0.8).unwrap();
        let milli = detectable_difference(&a.map(|x| 1000.0 * x), &b.map(|x| 1000.0 * x), 0.05, 0.8).unwrap();
        assert!((swapped / d - 1.0).abs() < 1e-6 && (milli / d - 1000.0).abs() < 1e-6, "{d} {swapped} {milli}");
        assert_eq!(
            detectable_difference(&[5.0; 3], &[6.0; 3], 0.05, 0.8),
            Some(0.0),
            "without spread every difference is found"
        );
    }

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
