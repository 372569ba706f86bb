//! The Mann-Whitney U test: whether one sample is shifted against the other, without assuming a normal distribution.
//!
//! The probability is exact for small samples without ties. Otherwise it is the normal approximation with corrections
//! for ties and continuity.

use crate::dist;

/// Largest sample size per side for which the exact distribution is computed.
const EXACT_MAX: usize = 20;

/// Result of a Mann-Whitney test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// U of the first sample: the number of pairs in which its value is the larger one; a tie counts one half.
    pub u: f64,
    /// Two-sided probability.
    pub p: f64,
    /// Whether `p` is exact.
    pub exact: bool,
}

/// Compares two samples; `None` when either is empty or has an entry that is no number.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    if first.is_empty() || second.is_empty() || first.iter().chain(second).any(|x| x.is_nan()) {
        return None;
    }
    // Counted in a sorted sample, since pairs of 50,000 runs would be billions. Halves add up exactly, in any order.
    let mut sorted = second.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = |x: &f64| sorted.partition_point(|y| y.total_cmp(x).is_lt());
    let up_to = |x: &f64| sorted.partition_point(|y| y.total_cmp(x).is_le());
    let u = first.iter().map(|x| (below(x) + up_to(x)) as f64 / 2.0).sum();
    let ties = tie_sizes(first, second);
    if ties.is_empty() && first.len() <= EXACT_MAX && second.len() <= EXACT_MAX {
        return Some(MannWhitney { u, p: exact_p(u, first.len(), second.len()), exact: true });
    }
    Some(MannWhitney { u, p: normal_p(u, first.len() as f64, second.len() as f64, &ties), exact: false })
}

/// Sizes of the groups of two or more equal values in both samples together.
fn tie_sizes(first: &[f64], second: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    all.sort_by(f64::total_cmp);
    let mut sizes = Vec::new();
    let mut run = 1;
    for i in 1..=all.len() {
        if i < all.len() && all[i] == all[i - 1] {
            run += 1;
            continue;
        }
        if run > 1 {
            sizes.push(f64::from(run));
        }
        run = 1;
    }
    sizes
}

/// Exact two-sided probability: twice the smaller tail of the distribution of U over all orders, at most 1.
fn exact_p(u: f64, n: usize, m: usize) -> f64 {
    let counts = orders_by_u(n, m);
    let total: f64 = counts.iter().sum();
    let tail = u.min((n * m) as f64 - u) as usize;
    let small: f64 = counts[..=tail].iter().sum();
    (2.0 * small / total).min(1.0)
}

/// The number of orders of n + m distinct values that give each U: the coefficients of the Gaussian binomial.
fn orders_by_u(n: usize, m: usize) -> Vec<f64> {
    // counts[j][u]: orders of i first and j second values that give u. A first value on top is larger than all j.
    let mut counts = vec![vec![0.0; n * m + 1]; m + 1];
    for row in &mut counts {
        row[0] = 1.0;
    }
    for i in 1..=n {
        let before = counts.clone();
        for j in 1..=m {
            for u in 0..=i * j {
                let top_is_first = if u >= j { before[j][u - j] } else { 0.0 };
                counts[j][u] = top_is_first + counts[j - 1][u];
            }
        }
    }
    counts.swap_remove(m)
}

/// Two-sided probability by the normal approximation; `ties` are the sizes of groups of equal values.
fn normal_p(u: f64, n: f64, m: f64, ties: &[f64]) -> f64 {
    let all = n + m;
    let tie_term: f64 = ties.iter().map(|t| t * t * t - t).sum::<f64>() / (all * (all - 1.0));
    let variance = n * m / 12.0 * (all + 1.0 - tie_term);
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    dist::normal_two_sided(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// U by its definition: all pairs.
    #[test]
    fn counting_in_order_is_counting_all_pairs() {
        let sample = |n: u64, step: u64| (0..n).map(|i| (i * step % 101) as f64 - 50.0).collect::<Vec<f64>>();
        for (first, second) in
            [(sample(300, 37), sample(200, 53)), (vec![-0.0, 0.0], vec![0.0]), (vec![1.0], vec![1.0])]
        {
            let pairs = first.iter().flat_map(|x| second.iter().map(move |y| x.total_cmp(y)));
            let halves: u32 = pairs.map(|o| (o as i32 + 1) as u32).sum();
            assert_eq!(mann_whitney(&first, &second).unwrap().u, f64::from(halves) / 2.0);
        }
    }

    #[test]
    fn separated_samples_exactly() {
        // 3 against 3, completely apart: 2 of 20 orders are as extreme.
        let r = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!((r.u, r.exact), (0.0, true));
        assert!((r.p - 0.1).abs() < 1e-12);
    }

    #[test]
    fn documented_example() {
        // SciPy's documentation: U = 17, p = 0.1111 exact, 0.11134688653314041 by approximation.
        let males = [19.0, 22.0, 16.0, 29.0, 24.0];
        let females = [20.0, 11.0, 17.0, 12.0];
        let r = mann_whitney(&males, &females).unwrap();
        assert_eq!(r.u, 17.0);
        assert!((r.p - 1.0 / 9.0).abs() < 1e-12, "{r:?}");
        assert!((normal_p(17.0, 5.0, 4.0, &[]) - 0.111_346_886_533_140_41).abs() < 1e-9);
    }

    #[test]
    fn ties_use_the_approximation_and_all_equal_is_no_difference() {
        let r = mann_whitney(&[1.0, 1.0, 2.0], &[1.0, 2.0, 2.0]).unwrap();
        assert!(!r.exact);
        // By hand: each first 1 ties with one value, the 2 beats one and ties with two: U = 0.5 + 0.5 + 2. Groups of 3
        // and 3: variance = 9/12 (7 - 48/30) = 4.05; distance |3 - 4.5| - 0.5 = 1; z = 0.4969.
        assert_eq!(r.u, 3.0);
        assert!((r.p - dist::normal_two_sided(1.0 / 4.05_f64.sqrt())).abs() < 1e-12);
        assert_eq!(mann_whitney(&[1.0, 1.0], &[1.0, 1.0]).unwrap().p, 1.0);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
    }

    #[test]
    fn orders_sum_to_the_binomial() {
        // C(10, 4) = 210 and the distribution is symmetric.
        let c = orders_by_u(4, 6);
        assert_eq!(c.iter().sum::<f64>(), 210.0);
        assert!((0..=24).all(|u| c[u] == c[24 - u]));
    }
}
