//! Holm's correction for many tests: with many rows in a table, some look significant by chance.

/// Adjusted probabilities in the order of the input. An entry that is no number stays as it is and does not count as a
/// test.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).filter(|&i| !p[i].is_nan()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut out = p.to_vec();
    let mut floor = 0.0_f64;
    for (rank, &i) in order.iter().enumerate() {
        floor = floor.max(p[i] * (order.len() - rank) as f64).min(1.0);
        out[i] = floor;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_example() {
        // The usual encyclopedia example: 0.01, 0.04, 0.03, 0.005 become 0.03, 0.06, 0.06, 0.02.
        let got = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (g, want) in got.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((g - want).abs() < 1e-12, "{got:?}");
        }
    }

    #[test]
    fn never_above_one_and_gaps_do_not_count() {
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        let got = holm(&[f64::NAN, 0.02]);
        assert!(got[0].is_nan() && (got[1] - 0.02).abs() < 1e-12);
        assert!(holm(&[]).is_empty());
    }
}
