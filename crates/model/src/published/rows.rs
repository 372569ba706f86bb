//! Rows of a published table: what was measured, and how it follows from the figures of a run.

use super::columns::{index, Column};
use crate::spec::{SpecError, Spot, Table};

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name as published.
    pub id: String,
    /// Workload of the row, if it is not the block's.
    pub workload: Option<Spot<String>>,
    /// Scalar or counter of a record, or an expression of them.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// Whether a larger value is better.
    pub higher_is_better: bool,
    /// How the published figure follows from the metric.
    pub form: Form,
    /// Statistic over the runs of a column.
    pub stat: Stat,
    /// Which figure of the model was derived from this row, or chosen with it in view; then no cell of it is a
    /// prediction. `None` for a row that nothing was derived from.
    pub derived: Option<String>,
    /// One value per column.
    pub values: Vec<f64>,
    /// Column to which the ratios of this row refer, if the baseline's value is zero.
    pub base: Option<usize>,
    /// Columns whose cell was used for a fit and is no prediction.
    pub calibrated: Vec<usize>,
    /// Why the row is used only to test the form of tables, if that is so.
    pub formatter_only: Option<String>,
    /// Between which ratios to the baseline a column counts as reproduced, both ends included; `None` if that is not
    /// stated. No entries if the row states none.
    pub bands: Vec<Option<(f64, f64)>>,
    /// The suspected cause of a miss, per column; an empty text if there is none. No entries if the row states no
    /// cause.
    pub suspects: Vec<String>,
}

/// How a published figure follows from the metric of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The metric itself.
    Value,
    /// One divided by the metric, such as the latency of a rate.
    Reciprocal,
    /// 1 if the metric is above 0, else 0, for a claim in words.
    Any,
}

const FORMS: [(&str, Form); 3] = [("value", Form::Value), ("reciprocal", Form::Reciprocal), ("any", Form::Any)];

/// Statistic over the runs of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stat {
    /// Arithmetic mean; it is not part of the row's name.
    Mean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Harmonic mean.
    Hmean,
    /// Standard deviation, divisor N - 1.
    Stddev,
    /// Standard deviation in percent of the arithmetic mean.
    CoeffVar,
}

const STATS: [(&str, Stat); 6] = [
    ("mean", Stat::Mean),
    ("min", Stat::Min),
    ("max", Stat::Max),
    ("hmean", Stat::Hmean),
    ("stddev", Stat::Stddev),
    ("coeffvar", Stat::CoeffVar),
];

impl Form {
    /// The figure for a value of the metric; `None` if it does not exist.
    pub fn of(self, metric: f64) -> Option<f64> {
        match self {
            Self::Value => Some(metric),
            Self::Reciprocal => (metric != 0.0).then(|| 1.0 / metric),
            Self::Any => Some(if metric > 0.0 { 1.0 } else { 0.0 }),
        }
    }
}

/// Reads one row; `columns` are those of its block.
pub(super) fn read(t: Table<'_>, columns: &[Column]) -> Result<Row, SpecError> {
    let expected = format!("{} numbers, one per column", columns.len());
    let values = t.opt_f64s("values")?.ok_or_else(|| t.missing("values", &expected))?;
    if values.value.len() != columns.len() {
        return Err(values.error(format!("{} values", values.value.len()), expected));
    }
    let better = t.str("better")?;
    let higher_is_better = match better.value.as_str() {
        "higher" => true,
        "lower" => false,
        other => {
            return Err(better
                .error(format!("`better` is {other:?}"), "higher or lower")
                .near(other, ["higher", "lower"]))
        }
    };
    let row = Row {
        form: word(&t, "form", &FORMS)?,
        stat: word(&t, "stat", &STATS)?,
        derived: derived(&t)?,
        id: t.str("id")?.value,
        workload: t.opt_str("workload")?,
        metric: t.str("metric")?.value,
        unit: t.str("unit")?.value,
        higher_is_better,
        values: values.value,
        base: t.opt_str("base")?.map(|s| index(columns, &s)).transpose()?,
        calibrated: t.strs("calibrated")?.iter().map(|s| index(columns, s)).collect::<Result<_, _>>()?,
        formatter_only: t.opt_str("formatter_only")?.map(|s| s.value),
        bands: bands(&t, columns.len())?,
        suspects: suspects(&t, columns.len())?,
    };
    t.finish()?;
    Ok(row)
}

/// Reads one of a list of words; the first if the key is absent.
fn word<T: Copy>(t: &Table<'_>, key: &str, list: &[(&str, T)]) -> Result<T, SpecError> {
    let Some(word) = t.opt_str(key)? else { return Ok(list[0].1) };
    list.iter().find(|f| f.0 == word.value).map(|f| f.1).ok_or_else(|| {
        let names: Vec<&str> = list.iter().map(|f| f.0).collect();
        word.error(format!("`{key}` is {:?}", word.value), names.join(", ")).near(&word.value, names)
    })
}

/// Reads `derived` of a row or a block: what was derived from its cells.
pub(super) fn derived(t: &Table<'_>) -> Result<Option<String>, SpecError> {
    let Some(reason) = t.opt_str("derived")? else { return Ok(None) };
    let text = reason.value.trim().to_string();
    if text.is_empty() {
        let expected = "which figure was derived from these cells, in words";
        return Err(reason.error("`derived` is empty", expected));
    }
    Ok(Some(text))
}

/// Reads `suspects`: no text, or one per column.
fn suspects(t: &Table<'_>, columns: usize) -> Result<Vec<String>, SpecError> {
    let list = t.strs("suspects")?;
    match list.first() {
        Some(first) if list.len() != columns => {
            Err(first.error(format!("{} suspects", list.len()), format!("{columns} texts, one per column")))
        }
        _ => Ok(list.into_iter().map(|s| s.value).collect()),
    }
}

/// Reads `bands`: none, or one per column, each empty or the least and the largest ratio.
fn bands(t: &Table<'_>, columns: usize) -> Result<Vec<Option<(f64, f64)>>, SpecError> {
    let Some(list) = t.opt_matrix("bands")? else { return Ok(Vec::new()) };
    let expected = format!("{columns} lists, one per column, each empty or [least, largest]");
    if list.value.len() != columns {
        return Err(list.error(format!("{} bands", list.value.len()), expected));
    }
    let one = |band: &Vec<f64>| match band.as_slice() {
        [] => Ok(None),
        &[least, largest] if 0.0 <= least && least <= largest => Ok(Some((least, largest))),
        other => Err(list.error(format!("a band is {other:?}"), expected.clone())),
    };
    list.value.iter().map(one).collect()
}
