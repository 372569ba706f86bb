//! Comparison tables: rows of statistics with percentages and stars, from metrics.

use numalab_stats::describe::{self, Better, Mean};
use numalab_stats::percent;
use numalab_stats::star::{self, Figure, Span, StarRule, Verdict};

use super::table::{Cell, Row, Table};
use crate::data::{Comparison, Metric, Workload};
use crate::format::shows;
use crate::order::unique;
use crate::statistics::{self, Family, Labels, Stat};

/// What a comparison table shows.
#[derive(Clone, Debug, PartialEq)]
pub struct TableOptions {
    /// Width of a value: 12 (2018 to 2025, the default) or 18 (2026).
    pub value_width: usize,
    /// When a cell is starred. Generation C also prints harmonic spreads in tables of harmonic means.
    pub rule: StarRule,
    /// Spelling of the labels.
    pub labels: Labels,
    /// Whether `Significant` rows are added. Their value is 1 or 0; in the parentheses is p in percent, or the interval
    /// ratio.
    pub significant_rows: bool,
    /// Statistics to keep (`Amean`, `Hmean`, …); an empty list keeps all. The positions of columns do not change.
    pub keep: Vec<String>,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { value_width: 12, rule: StarRule::GenB, labels: Labels::Y2018, significant_rows: false, keep: Vec::new() }
    }
}

impl TableOptions {
    /// The layout of 2026: values 18 wide, the star rule of generation C, and the labels of that year.
    pub fn y2026() -> Self {
        Self { value_width: 18, rule: StarRule::GenC, labels: Labels::Y2026, ..Self::default() }
    }
    fn harmonic_spread(&self) -> bool {
        self.rule == StarRule::GenC
    }
    fn keeps(&self, label: &str) -> bool {
        self.keep.is_empty() || self.keep.iter().any(|k| k == label)
    }
}

/// The comparison tables of a workload: one for each direction and kind of mean among its metrics, in order of first
/// appearance.
pub fn comparison_tables(c: &Comparison, w: &Workload, options: &TableOptions) -> Vec<Table> {
    let kind = |m: &Metric| (m.better, m.mean);
    unique(w.metrics.iter().map(kind))
        .into_iter()
        .map(|(better, mean)| {
            let metrics: Vec<&Metric> = w.metrics.iter().filter(|m| kind(m) == (better, mean)).collect();
            let family = w.family.unwrap_or_else(|| family_of(&metrics));
            table(c, &metrics, (better, mean), family, w.decimals.unwrap_or(2), options)
        })
        .collect()
}

/// The family of a table: `Multi` if any cell has several samples, else `Single`.
fn family_of(metrics: &[&Metric]) -> Family {
    if metrics.iter().any(|m| m.samples.iter().any(|s| s.len() > 1)) {
        Family::Multi
    } else {
        Family::Single
    }
}

fn table(
    c: &Comparison,
    metrics: &[&Metric],
    (better, mean): (Better, Mean),
    family: Family,
    decimals: usize,
    options: &TableOptions,
) -> Table {
    let mut table = Table { value_width: options.value_width, decimals, percents: true, better, ..Table::default() };
    let mut significant = Vec::new();
    // Rows are grouped by statistic, not by operation: all Min, then all Amean, and so on. A metric without a direction
    // has no best samples.
    let shown = |stat: &Stat| better != Better::Neutral || !matches!(stat, Stat::BestMean(_));
    for stat in statistics::rows(family, options.labels).into_iter().filter(shown) {
        for m in metrics {
            let label = stat.label(mean, options.labels, options.harmonic_spread(), &m.unit);
            table.stat_width = table.stat_width.max(label.chars().count());
            table.operation_width = table.operation_width.max(m.name.chars().count());
            let columns = Columns::new(c, m, decimals, options);
            let verdicts = columns.verdicts(stat, family);
            if options.keeps(&label) {
                table.rows.push(Row { stat: label, operation: m.name.clone(), cells: columns.cells(stat, &verdicts) });
            }
            if options.significant_rows && !verdicts.is_empty() {
                significant.push(significant_row(m, &verdicts));
            }
        }
    }
    table.rows.extend(significant);
    table.fit_labels();
    table
}

/// A row `Significant`: value 1 or 0, and in the parentheses p in percent, or the interval ratio.
fn significant_row(m: &Metric, verdicts: &[Verdict]) -> Row {
    let cells = verdicts.iter().map(|v| Cell {
        value: Some(f64::from(u8::from(v.starred))),
        percent: v.p.map(|p| 100.0 * p).or(v.interval_ratio),
        star: false,
    });
    Row { stat: "Significant".into(), operation: m.name.clone(), cells: cells.collect() }
}

/// The samples of one metric, sorted, one column per kernel.
struct Columns<'a> {
    metric: &'a Metric,
    better: Better,
    baseline: usize,
    rule: StarRule,
    harmonic: bool,
    /// Decimals of the values.
    decimals: i32,
    sorted: Vec<Vec<f64>>,
}

impl<'a> Columns<'a> {
    fn new(c: &Comparison, metric: &'a Metric, decimals: usize, options: &TableOptions) -> Self {
        let better = metric.better;
        Self {
            metric,
            better,
            baseline: c.baseline,
            rule: options.rule,
            harmonic: options.harmonic_spread(),
            decimals: i32::try_from(decimals).unwrap_or(i32::MAX),
            sorted: (0..c.kernels.len()).map(|k| describe::best_first(metric.of(k), better)).collect(),
        }
    }

    fn base(&self) -> &[f64] {
        self.sorted.get(self.baseline).map_or(&[], Vec::as_slice)
    }

    fn cells(&self, stat: Stat, verdicts: &[Verdict]) -> Vec<Cell> {
        let base = stat.value(self.base(), self.metric.mean, self.harmonic);
        let cell = |(k, sorted): (usize, &Vec<f64>)| {
            let value = stat.value(sorted, self.metric.mean, self.harmonic);
            let (value, percent) = compared(value, base, stat.direction(self.better));
            // Of spreads that print as 0 a percentage says nothing: they are noise of the arithmetic.
            let nothing = |x: Option<f64>| x.is_none_or(|x| x.abs() < 0.5 * 0.1_f64.powi(self.decimals));
            let percent = percent.filter(|_| !(stat.is_spread() && nothing(value) && nothing(base)));
            Cell { value, percent, star: verdicts.get(k).is_some_and(|v| v.starred) }
        };
        self.sorted.iter().enumerate().map(cell).collect()
    }

    /// Verdict for each column if `stat` is the starred row of the family; else empty.
    fn verdicts(&self, stat: Stat, family: Family) -> Vec<Verdict> {
        if stat != starred_row(family, self.rule) {
            return Vec::new();
        }
        let mut list: Vec<Verdict> = self.sorted.iter().map(|col| self.judge(stat, col)).collect();
        // Runs with fixed seeds may differ so little that a difference of 0.00 % is significant. It gets no star.
        for (v, cell) in list.iter_mut().zip(self.cells(stat, &[])) {
            v.starred &= cell.percent.is_none_or(shows);
        }
        if let Some(given) = &self.metric.significant {
            for (k, v) in list.iter_mut().enumerate() {
                v.starred = given.get(k).copied().unwrap_or(false);
            }
        }
        list
    }

    fn judge(&self, stat: Stat, col: &[f64]) -> Verdict {
        let none = Verdict { starred: false, p: None, interval_ratio: None };
        if let Stat::Percentile(_) | Stat::SubMean = stat {
            return match (self.span(stat, self.base()), self.span(stat, col)) {
                (Some(b), Some(c)) => star::gen_c(b, c),
                _ => none,
            };
        }
        match (self.figure(self.base()), self.figure(col)) {
            (Some(b), Some(c)) => star::judge(self.rule, b, c),
            _ => none,
        }
    }

    /// The mean that the rule tests, with its spread: the printed mean, but the arithmetic one for Welch's test.
    fn figure(&self, sorted: &[f64]) -> Option<Figure> {
        let value = match self.rule {
            StarRule::Welch => describe::amean(sorted)?,
            StarRule::GenB | StarRule::GenC => self.metric.mean.of(sorted)?,
        };
        let stddev = if self.harmonic && self.metric.mean == Mean::Harmonic {
            describe::hstddev(sorted)
        } else {
            describe::stddev(sorted)
        };
        Some(Figure { value, stddev, n: sorted.len() })
    }

    fn span(&self, stat: Stat, sorted: &[f64]) -> Option<Span> {
        match stat {
            Stat::Percentile(p) => star::percentile_span(sorted, f64::from(p)),
            _ => statistics::sub_mean(sorted, self.metric.mean).map(|s| Span {
                value: s.mean,
                low: s.mean - s.half_width,
                high: s.mean + s.half_width,
            }),
        }
    }
}

/// The row that carries stars: the mean, or since generation C the row that the ratio report uses.
fn starred_row(family: Family, rule: StarRule) -> Stat {
    match (family, rule) {
        (Family::Variable, StarRule::GenC) => Stat::Percentile(95),
        (Family::SubSelection, StarRule::GenC) => Stat::SubMean,
        _ => Stat::Mean,
    }
}

/// Value and percentage of a cell. Missing values, values that are not finite, and -1 (mmtests' mark for them) are no
/// figures, and there is no percentage of them or against them. mmtests prints 0.00 there (mmtests-report.md §1.4).
/// Against a baseline of 0 the percentage is that of mmtests.
fn compared(value: Option<f64>, base: Option<f64>, direction: Better) -> (Option<f64>, Option<f64>) {
    let figure = |x: Option<f64>| x.filter(|v| v.is_finite() && *v != -1.0);
    let (value, base) = (figure(value), figure(base));
    (value, value.zip(base).map(|(n, b)| percent::difference(n, b, direction)))
}
