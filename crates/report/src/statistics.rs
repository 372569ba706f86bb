//! Statistics rows of comparison tables: which ones a table shows, their labels and how they are computed
//! (mmtests-report.md §1.5).

use numalab_stats::describe::{self, Better, Mean};
use numalab_stats::resample::{self, SubMean};

/// Seed of the sub-selection rows. It is fixed, so that a report can be repeated.
const SUB_SEED: u64 = 1;

/// Which statistics the tables of a workload show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Several samples per cell (autonumabench, NAS, hackbench).
    Multi,
    /// Many samples of varying time (Coremark until 2025).
    Variable,
    /// tbench and dbench of 2026.
    Normalised,
    /// The short form of [`Family::Normalised`].
    NormalisedShort,
    /// Means of sub-selections of the samples.
    SubSelection,
    /// One value per cell: the mean of the samples (STREAM until 2025).
    Single,
    /// One value per cell: the best of the samples (SPECjbb since March 2026).
    Best,
}

/// Spelling of the statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Labels {
    /// `BAmean-95`, `1st-qrtle`, `Max-99`; three best-of means in "Multi" tables.
    #[default]
    Y2018,
    /// `BAmean.95`, `Pctile.99`; one best-of mean in "Multi" tables.
    Y2026,
}

/// A statistics row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stat {
    /// Smallest sample.
    Min,
    /// Largest sample.
    Max,
    /// Arithmetic or harmonic mean, as the metric asks.
    Mean,
    /// Standard deviation.
    Stddev,
    /// Coefficient of variation, percent.
    CoeffVar,
    /// Mean of the best samples, as many percent of them as given.
    BestMean(u8),
    /// The sample at this percentage of the order from best to worst.
    Percentile(u8),
    /// Mean of sub-selections.
    SubMean,
    /// Half width of the confidence interval of [`Stat::SubMean`].
    SubMeanCi,
    /// The mean itself, as the only row.
    Value,
    /// The best sample, as the only row.
    BestValue,
}

/// Rows of a family, in print order.
pub fn rows(family: Family, labels: Labels) -> Vec<Stat> {
    use Stat::{BestMean, BestValue, CoeffVar, Max, Mean, Min, Percentile, Stddev, SubMeanCi, Value};
    match (family, labels) {
        (Family::Multi, Labels::Y2018) => {
            vec![Min, Mean, Stddev, CoeffVar, Max, BestMean(50), BestMean(95), BestMean(99)]
        }
        (Family::Multi, Labels::Y2026) => vec![Min, Mean, Stddev, CoeffVar, Max, BestMean(95)],
        (Family::Variable, _) => {
            let mut list = vec![Min];
            list.extend([25, 50, 75, 1, 5, 10, 90, 95, 99].map(Percentile));
            list.extend([Max, Mean, Stddev, CoeffVar]);
            list.extend([99, 95, 90, 75, 50, 25].map(BestMean));
            list
        }
        (Family::Normalised, _) => {
            let mut list = vec![Min, Mean];
            list.extend([50, 75, 90, 99].into_iter().flat_map(|p| [BestMean(p), Percentile(p)]));
            list.extend([Stddev, CoeffVar, Max]);
            list
        }
        (Family::NormalisedShort, _) => vec![Min, Mean, BestMean(95), Percentile(95), Stddev, CoeffVar, Max],
        (Family::SubSelection, _) => vec![Min, Mean, BestMean(95), Stddev, CoeffVar, Max, Stat::SubMean, SubMeanCi],
        (Family::Single, _) => vec![Value],
        (Family::Best, _) => vec![BestValue],
    }
}

impl Stat {
    /// Label as printed. Tables of harmonic means say H instead of A; with `harmonic_spread` (since November 2024) the
    /// rows of the spread do too. `unit` is the unit of the operation, which decides the label of single-value rows.
    pub fn label(self, mean: Mean, labels: Labels, harmonic_spread: bool, unit: &str) -> String {
        let a = if mean == Mean::Harmonic { "H" } else { "A" };
        let h = if mean == Mean::Harmonic && harmonic_spread { "H" } else { "" };
        match self {
            Stat::Min => "Min".into(),
            Stat::Max => "Max".into(),
            Stat::Mean => format!("{a}mean"),
            Stat::Stddev => format!("{h}Stddev"),
            Stat::CoeffVar => format!("{h}CoeffVar"),
            Stat::BestMean(p) if labels == Labels::Y2026 => format!("B{a}mean.{p}"),
            Stat::BestMean(p) => format!("B{a}mean-{p}"),
            Stat::Percentile(p) if labels == Labels::Y2026 => format!("Pctile.{p}"),
            Stat::Percentile(25) => "1st-qrtle".into(),
            Stat::Percentile(50) => "2nd-qrtle".into(),
            Stat::Percentile(75) => "3rd-qrtle".into(),
            Stat::Percentile(p) => format!("Max-{p}"),
            Stat::SubMean => format!("Sub{a}mean"),
            Stat::SubMeanCi => format!("Sub{a}meanCI"),
            Stat::Value | Stat::BestValue => single_label(unit).into(),
        }
    }

    /// The value over samples that are ordered best first; `None` where the statistic does not exist.
    pub fn value(self, sorted: &[f64], mean: Mean, harmonic_spread: bool) -> Option<f64> {
        if sorted.is_empty() {
            return None;
        }
        let harmonic = mean == Mean::Harmonic && harmonic_spread;
        match self {
            Stat::Min => describe::min(sorted),
            Stat::Max => describe::max(sorted),
            Stat::Mean => mean.of(sorted),
            Stat::Stddev if harmonic => describe::hstddev(sorted),
            Stat::Stddev => describe::stddev(sorted),
            Stat::CoeffVar if harmonic => describe::hcoeffvar(sorted),
            Stat::CoeffVar => describe::coeffvar(sorted),
            Stat::BestMean(p) => describe::best_mean(sorted, f64::from(p), mean),
            Stat::Percentile(p) => describe::percentile(sorted, f64::from(p)),
            Stat::SubMean => sub_mean(sorted, mean).map(|s| s.mean),
            Stat::SubMeanCi => sub_mean(sorted, mean).map(|s| s.half_width),
            Stat::Value => describe::amean(sorted),
            Stat::BestValue => sorted.first().copied(),
        }
    }

    /// Whether the row is one of a spread.
    pub fn is_spread(self) -> bool {
        matches!(self, Stat::Stddev | Stat::CoeffVar | Stat::SubMeanCi)
    }

    /// Direction of the row. Of a spread less is better in every table.
    pub fn direction(self, better: Better) -> Better {
        if self.is_spread() {
            Better::Lower
        } else {
            better
        }
    }
}

/// Sub-selection mean of one column, which counts as one iteration.
pub(crate) fn sub_mean(sorted: &[f64], mean: Mean) -> Option<SubMean> {
    resample::sub_mean(&[sorted], mean, SUB_SEED)
}

/// Label of a single-value row: `MB/sec` for bandwidths, otherwise `Ops`.
fn single_label(unit: &str) -> &'static str {
    match unit {
        "MB/sec" | "MB/s" => "MB/sec",
        _ => "Ops",
    }
}
