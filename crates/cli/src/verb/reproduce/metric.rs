//! The metric of a published row, evaluated for runs: a score or counter, an expression of them, or an extreme of a
//! series of scores.
//!
//! * `elapsed_s`, `numa_hint_faults`, `tput-12`: the score or counter of this name;
//! * `100 * (user_s + system_s) / elapsed_s`: arithmetic, in which `tput_12` stands for the score `tput-12`;
//! * `max tput`, `argmax tput`: among the scores `tput-N`, the largest value, or the N that has it.

use numalab_model::expr::Expr;
use numalab_model::record::Outcome;
use std::collections::BTreeMap;

/// Means of scores and counters over some runs, by name.
pub type Means = BTreeMap<String, f64>;

/// Means over runs of the scores and counters that every run has. Empty without runs.
pub fn means(runs: &[&Outcome]) -> Means {
    let mut sums: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    for o in runs {
        let scalars = o.scalars.iter().map(|s| (s.name.clone(), s.value));
        for (name, value) in scalars.chain(o.counters.iter().map(|c| (c.0.clone(), c.1 as f64))) {
            let entry = sums.entry(name).or_default();
            entry.0 += value;
            entry.1 += 1;
        }
    }
    let all = runs.len();
    sums.into_iter().filter(|(_, (_, n))| *n == all).map(|(name, (sum, n))| (name, sum / n as f64)).collect()
}

/// Sums over groups by name, times `times`. A name that one of the groups lacks is left out.
pub fn sums(groups: &[&Means], times: u32) -> Means {
    let Some((first, rest)) = groups.split_first() else { return Means::new() };
    let add = |(name, value): (&String, &f64)| {
        let others: Option<Vec<f64>> = rest.iter().map(|g| g.get(name).copied()).collect();
        others.map(|o| (name.clone(), (value + o.iter().sum::<f64>()) * f64::from(times)))
    };
    first.iter().filter_map(add).collect()
}

/// The value of a metric; `None` if a name is missing or the result is not finite.
pub fn evaluate(means: &Means, metric: &str) -> Option<f64> {
    let get = |name: &str| means.get(name).or_else(|| means.get(&name.replace('_', "-"))).copied();
    if let Some(value) = get(metric) {
        return Some(value);
    }
    if let Some((how, series)) = metric.split_once(' ').filter(|(how, _)| matches!(*how, "max" | "argmax")) {
        let (n, value) = largest(means, series)?;
        return Some(if how == "max" { value } else { n });
    }
    Expr::parse(metric).ok()?.eval_plain(get).ok()
}

/// The N and the value of the largest score `series-N`; of equal scores, the one with the lowest N.
fn largest(means: &Means, series: &str) -> Option<(f64, f64)> {
    let mut points: Vec<(u32, f64)> = means
        .iter()
        .filter_map(|(name, v)| Some((name.strip_prefix(series)?.strip_prefix('-')?.parse().ok()?, *v)))
        .collect();
    points.sort_by_key(|p| p.0);
    let best = points.iter().fold(None, |best: Option<(u32, f64)>, p| match best {
        Some(b) if p.1 <= b.1 => Some(b),
        _ => Some(*p),
    })?;
    Some((f64::from(best.0), best.1))
}

/// The ratio of a figure to that of the baseline. It is infinite if only the baseline is 0, which still shows the
/// direction. `None` if both are 0 or one is missing.
pub fn ratio(value: Option<f64>, baseline: Option<f64>) -> Option<f64> {
    value.zip(baseline).map(|(v, b)| v / b).filter(|r| !r.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_model::record::Scalar;

    fn outcome(scalars: &[(&str, f64)], counters: &[(&str, u64)]) -> Outcome {
        let scalar = |(n, v): &(&str, f64)| Scalar {
            name: (*n).to_string(),
            value: *v,
            unit: String::new(),
            higher_is_better: false,
        };
        Outcome {
            scalars: scalars.iter().map(scalar).collect(),
            counters: counters.iter().map(|(n, v)| ((*n).to_string(), *v)).collect(),
            ..Outcome::default()
        }
    }

    #[test]
    fn designs_2012_section_5_1_costs_of_numa_core_autonuma_2012() {
        let cost = "(7 * numa_pte_updates + 5000 * numa_hint_faults + 19 * numa_pages_migrated) / 1000000";
        for (faults, updates, migrated, printed) in [
            (13_322_261, 191_503, 7_061_327, 66_746.0),
            (818_762, 123_214, 57_167, 4095.0),
            (2_033_295_070, 3841, 8_070_314, 10_166_628.0),
            (2_945_111_212, 1_110_729, 399_095_844, 14_733_146.0),
        ] {
            let counts =
                [("numa_hint_faults", faults), ("numa_pte_updates", updates), ("numa_pages_migrated", migrated)];
            let m = means(&[&outcome(&[], &counts)]);
            assert_eq!(evaluate(&m, cost).map(f64::trunc), Some(printed));
        }
        let m = means(&[&outcome(&[], &[("pgmigrate_success", 7_061_327)])]);
        assert_eq!(evaluate(&m, "1038 * pgmigrate_success / 1000000").map(f64::trunc), Some(7329.0));
    }

    #[test]
    fn means_sums_and_expressions() {
        let (a, b) = (outcome(&[("user_s", 2.0), ("x", 1.0)], &[]), outcome(&[("user_s", 4.0)], &[]));
        let m = means(&[&a, &b]);
        assert_eq!((evaluate(&m, "user_s"), evaluate(&m, "x")), (Some(3.0), None), "not in every run");
        let s = sums(&[&m, &means(&[&a])], 1);
        assert_eq!(evaluate(&s, "2 * user_s"), Some(10.0));
        assert_eq!(evaluate(&s, "user_s / 0"), None);
        assert_eq!(evaluate(&means(&[]), "user_s"), None);
    }

    #[test]
    fn peaks_over_scores() {
        let points = [("tput-9", 3.0), ("tput-10", 5.0), ("tput-11", 5.0), ("tput", 9.0)];
        let m = means(&[&outcome(&points, &[])]);
        assert_eq!((evaluate(&m, "max tput"), evaluate(&m, "argmax tput")), (Some(5.0), Some(10.0)));
        assert_eq!(evaluate(&m, "tput_9 / 3"), Some(1.0));
        assert_eq!(evaluate(&m, "max other"), None);
    }
}
