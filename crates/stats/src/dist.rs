//! Distribution functions. They are computed in the process, unlike in mmtests, which sets wrong stars if the external
//! program for them is missing (mmtests-report.md §1.6).

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, Normal, StudentsT};

/// Two-sided probability `2 P(T_df > |t|)`; 1 when `df` is not positive.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, df).map_or(1.0, |d| (2.0 * d.sf(t.abs())).min(1.0))
}

/// Quantile of Student's t, `P(T_df <= x) = p`; infinite when `df` is not positive.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::INFINITY, |d| d.inverse_cdf(p))
}

/// Two-sided probability `2 P(Z > |z|)` of the standard normal distribution.
pub fn normal_two_sided(z: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(1.0, |d| (2.0 * d.sf(z.abs())).min(1.0))
}

/// Quantile of the standard normal distribution.
pub fn normal_quantile(p: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(f64::NAN, |d| d.inverse_cdf(p))
}

/// Probability `P(Z > z)` of the standard normal distribution.
pub fn normal_above(z: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(f64::NAN, |d| d.sf(z))
}

/// Quantile of the chi-square distribution, `P(X <= x) = p`; infinite when `df` is not positive.
pub fn chi_square_quantile(p: f64, df: f64) -> f64 {
    ChiSquared::new(df).map_or(f64::INFINITY, |d| d.inverse_cdf(p))
}

/// Quantile of the beta distribution, `P(X <= x) = p`; not a number when `a` or `b` is not positive.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    Beta::new(a, b).map_or(f64::NAN, |d| d.inverse_cdf(p))
}

/// Quantile of the binomial distribution: the smallest k with `P(B(n, chance) <= k) >= p`.
pub fn binomial_quantile(p: f64, n: usize, chance: f64) -> usize {
    if chance >= 1.0 {
        return n;
    }
    // Terms by recurrence from k = 0, in logarithms, so that the first term does not underflow with many samples.
    let odds = (chance / (1.0 - chance)).ln();
    let mut log_term = n as f64 * (1.0 - chance).ln();
    let mut sum = log_term.exp();
    for k in 0..n {
        if sum >= p {
            return k;
        }
        log_term += ((n - k) as f64 / (k + 1) as f64).ln() + odds;
        sum += log_term.exp();
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomial_quantiles_by_hand() {
        // B(4, 1/2): cumulative 1/16, 5/16, 11/16, 15/16, 1.
        let got = [0.05, 0.3, 0.5, 0.9, 0.99].map(|p| binomial_quantile(p, 4, 0.5));
        assert_eq!(got, [0, 1, 2, 3, 4]);
        // B(6, 0.95): P(X <= 3) = 0.0022, P(X <= 4) = 0.0328, P(X <= 5) = 0.2649.
        assert_eq!(binomial_quantile(0.025, 6, 0.95), 4);
        assert_eq!(binomial_quantile(0.975, 6, 0.95), 6);
        assert_eq!(binomial_quantile(0.5, 0, 0.5), 0);
    }

    #[test]
    fn printed_tables_of_quantiles() {
        // Standard tables: t(0.975) for 1, 10 and 30 degrees, z(0.975), z(0.80).
        for (df, x) in [(1.0, 12.706), (10.0, 2.228), (30.0, 2.042)] {
            assert!((t_quantile(0.975, df) - x).abs() < 5e-4, "{df}");
            assert!((t_two_sided(t_quantile(0.975, df), df) - 0.05).abs() < 1e-6);
        }
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-6);
        assert!((normal_quantile(0.80) - 0.841_621).abs() < 1e-6);
        assert!((normal_two_sided(1.959_964) - 0.05).abs() < 1e-6);
        assert!((normal_above(1.959_964) - 0.025).abs() < 1e-6);
        // Chi-square at 95 % for 1 and 10 degrees; the median of a beta distribution with equal parameters is 0.5.
        assert!((chi_square_quantile(0.95, 1.0) - 3.841).abs() < 5e-4);
        assert!((chi_square_quantile(0.95, 10.0) - 18.307).abs() < 5e-4);
        assert!((beta_quantile(0.5, 3.0, 3.0) - 0.5).abs() < 1e-4);
        assert!((beta_quantile(0.75, 1.0, 2.0) - 0.5).abs() < 1e-4);
    }

    #[test]
    fn t_with_one_degree_is_cauchy() {
        // P(|T_1| > 1) = 1/2 exactly.
        assert!((t_two_sided(1.0, 1.0) - 0.5).abs() < 1e-12);
        assert_eq!(t_two_sided(f64::INFINITY, 3.0), 0.0);
        assert_eq!(t_two_sided(2.0, 0.0), 1.0);
    }
}
