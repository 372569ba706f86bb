//! Published tables: what others measured, cell by cell, and what numalab must run to predict it.
//!
//! Problem: a comparison with a published table is honest only if every cell is kept, the one free
//! choice (the amount of work) is named, and cells that mean nothing are marked rather than dropped.
//! Approach: a file names its columns with the catalog kernel of each, and blocks of rows with one value
//! per column. A block that is simulated names machine, workload, seeds and its calibration.
//! Invariants: every row has one finite value per column; the baseline is a column; only one metric of a
//! block is calibrated, and only in the baseline column.

use crate::spec::{Doc, SpecError, Spot, Table};

/// A published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Name, e.g. `000`.
    pub name: Spot<String>,
    /// Subject.
    pub title: String,
    /// Author and date.
    pub source: String,
    /// What it settles, in prose.
    pub about: String,
    /// Index of the column that ratios refer to.
    pub baseline: usize,
    /// Columns in print order.
    pub columns: Vec<Column>,
    /// Groups of rows.
    pub blocks: Vec<Block>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// As published.
    pub name: String,
    /// Catalog kernel that stands for it.
    pub kernel: Spot<String>,
}

/// Rows that come from the same runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Name of the group.
    pub group: String,
    /// Machine it was measured on.
    pub machine: Spot<String>,
    /// How to predict it, or why that is not done.
    pub run: Result<BlockRun, String>,
    /// Rows in print order.
    pub rows: Vec<Row>,
}

/// How a block is predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockRun {
    /// Workload.
    pub workload: Spot<String>,
    /// Seed of the first run.
    pub seed: u64,
    /// Runs per column.
    pub iterations: u32,
    /// The one free choice.
    pub calibrate: Option<Calibrate>,
}

/// The amount of work is chosen so that a metric of the baseline column comes out as published.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrate {
    /// Workload parameter.
    pub parameter: Spot<String>,
    /// Metric; always `elapsed_s`.
    pub metric: String,
    /// Where the search starts.
    pub start: u64,
    /// Smallest amount allowed.
    pub min: u64,
    /// Largest amount allowed.
    pub max: u64,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// As published.
    pub id: String,
    /// Workload, if it is not the block's.
    pub workload: Option<Spot<String>>,
    /// Scalar or counter of a record.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// Direction.
    pub higher_is_better: bool,
    /// One value per column.
    pub values: Vec<f64>,
    /// Why the row may be used to test the formatter only.
    pub formatter_only: Option<String>,
    /// What is suspected behind a miss, per column (empty: nothing yet); no entries if the row has none.
    pub suspects: Vec<String>,
}

/// Parses a published table.
///
/// # Errors
/// Syntax, an unknown key, a wrong kind, a baseline that is no column, a row with too few or too many
/// values, or a calibration of anything but the baseline's elapsed time.
pub fn parse(file: &str, text: &str) -> Result<Published, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let columns = root.tables("columns")?.into_iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let baseline = root.str("baseline")?;
    let index = columns.iter().position(|c| c.name == baseline.value).ok_or_else(|| {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let e = baseline.error(format!("no column `{}`", baseline.value), format!("one of {}", names.join(", ")));
        e.near(&baseline.value, names)
    })?;
    let blocks = root.tables("blocks")?.into_iter().map(|t| block(t, columns.len())).collect::<Result<_, _>>()?;
    let published = Published {
        name: root.str("name")?,
        title: root.str("title")?.value,
        source: root.str("source")?.value,
        about: root.opt_str("about")?.map(|s| s.value.trim().to_string()).unwrap_or_default(),
        baseline: index,
        columns,
        blocks,
    };
    root.finish()?;
    Ok(published)
}

fn column(t: Table<'_>) -> Result<Column, SpecError> {
    let column = Column { name: t.str("name")?.value, kernel: t.str("kernel")? };
    t.finish()?;
    Ok(column)
}

fn block(t: Table<'_>, columns: usize) -> Result<Block, SpecError> {
    let simulated = t.opt_bool("simulated")?.map_or(true, |b| b.value);
    let run = if simulated { Ok(block_run(&t)?) } else { Err(t.str("reason")?.value) };
    let block = Block {
        group: t.str("group")?.value,
        machine: t.str("machine")?,
        run,
        rows: t.tables("rows")?.into_iter().map(|r| row(r, columns)).collect::<Result<_, _>>()?,
    };
    t.finish()?;
    Ok(block)
}

fn block_run(t: &Table<'_>) -> Result<BlockRun, SpecError> {
    Ok(BlockRun {
        workload: t.str("workload")?,
        seed: t.opt_int("seed", 0..=i64::MAX)?.map_or(1, |s| s.value as u64),
        iterations: t.opt_int("iterations", 1..=1000)?.map_or(1, |n| n.value as u32),
        calibrate: t.opt_table("calibrate")?.map(calibrate).transpose()?,
    })
}

fn calibrate(t: Table<'_>) -> Result<Calibrate, SpecError> {
    let metric = t.str("metric")?;
    if metric.value != "elapsed_s" {
        let what = format!("calibration of `{}`", metric.value);
        return Err(metric.error(what, "elapsed_s: only the baseline's elapsed time may be calibrated"));
    }
    let amount = 1..=i64::from(u32::MAX);
    let min = t.int("min", amount.clone())?.value as u64;
    let max = t.int("max", amount.clone())?.value as u64;
    let start = t.int("start", amount)?;
    let out = Calibrate { parameter: t.str("parameter")?, metric: metric.value, start: start.value as u64, min, max };
    if !(out.min..=out.max).contains(&out.start) {
        return Err(start.error(format!("`start` is {}", out.start), format!("a value from {min} to {max}")));
    }
    t.finish()?;
    Ok(out)
}

fn row(t: Table<'_>, columns: usize) -> Result<Row, SpecError> {
    let expected = format!("{columns} numbers, one per column");
    let values = t.opt_f64s("values")?.ok_or_else(|| t.missing("values", &expected))?;
    if values.value.len() != columns {
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
        id: t.str("id")?.value,
        workload: t.opt_str("workload")?,
        metric: t.str("metric")?.value,
        unit: t.str("unit")?.value,
        higher_is_better,
        values: values.value,
        formatter_only: t.opt_str("formatter_only")?.map(|s| s.value),
        suspects: suspects(&t, columns)?,
    };
    t.finish()?;
    Ok(row)
}

fn suspects(t: &Table<'_>, columns: usize) -> Result<Vec<String>, SpecError> {
    let list = t.strs("suspects")?;
    match list.first() {
        Some(first) if list.len() != columns => {
            Err(first.error(format!("{} suspects", list.len()), format!("{columns} texts, one per column")))
        }
        _ => Ok(list.into_iter().map(|s| s.value).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, Kind};

    fn mail_000() -> Published {
        let catalog = Catalog::embedded();
        let file = catalog.get(Kind::Published, "000").unwrap();
        parse(&file.label, &file.text).unwrap()
    }

    #[test]
    fn mail_000_is_complete() {
        let p = mail_000();
        let block = &p.blocks[0];
        assert_eq!(p.columns[p.baseline].name, "base-numascan");
        assert_eq!(block.rows.len(), 10);
        let run = block.run.as_ref().unwrap();
        assert_eq!(run.calibrate.as_ref().map(|c| c.metric.as_str()), Some("elapsed_s"));
        for (block, test) in p.blocks[1..4].iter().zip(["numa01", "numa02", "numa02_SMT"]) {
            let run = block.run.as_ref().unwrap();
            assert_eq!((run.workload.value.as_str(), run.iterations, block.rows.len()), (test, 7, 2));
        }
        let whole = p.blocks.last().unwrap();
        assert_eq!(whole.rows.len(), 20);
        assert_eq!(whole.rows.iter().filter(|r| r.formatter_only.is_some()).count(), 2);
        assert!(whole.run.is_err());
        // The rows of a test are those of the whole table.
        for row in p.blocks[1..4].iter().flat_map(|b| &b.rows) {
            assert_eq!(whole.rows.iter().find(|r| r.id == row.id).unwrap().values, row.values, "{}", row.id);
        }
    }

    /// kernel-numa-balancing.md section 8: ratios 0.954 and 0.995.
    #[test]
    fn mail_001_is_complete() {
        let catalog = Catalog::embedded();
        let file = catalog.get(Kind::Published, "001").unwrap();
        let p = parse(&file.label, &file.text).unwrap();
        let values = &p.blocks[0].rows[0].values;
        let ratios: Vec<f64> = values.iter().map(|v| (1000.0 * v / values[p.baseline]).round() / 1000.0).collect();
        assert_eq!(ratios, [1.0, 0.954, 0.995]);
    }

    /// mmtests-report.md section 4.1: changes recomputed against column 1, and the local share of hint faults.
    #[test]
    fn mail_000_agrees_with_the_recomputed_percentages() {
        let p = mail_000();
        let row = |id: &str| &p.blocks[0].rows.iter().find(|r| r.id == id).unwrap().values;
        let percent = |v: &[f64], c: usize| (100.0 - 100.0 * v[c] / v[0]) as f32;
        let near = |a: f32, b: f32| assert!((a - b).abs() <= 0.006, "{a} is not {b}");
        for (id, base, fix) in [("real", -35.37, -1.83), ("user", -17.73, -3.15), ("sys", 93.19, 12.00)] {
            near(percent(row(id), 1), base);
            near(percent(row(id), 2), fix);
        }
        for (c, share) in [46.87, 93.31, 60.23].into_iter().enumerate() {
            near((100.0 * row("numa_hint_faults_local")[c] / row("numa_hint_faults")[c]) as f32, share);
        }
    }

    #[test]
    fn wrong_tables_are_refused() {
        let file = |rows: &str, calibrate: &str| {
            format!(
                "name = \"x\"\ntitle = \"t\"\nsource = \"s\"\nbaseline = \"a\"\n[[columns]]\nname = \"a\"\nkernel = \"6.1\"\n\
                 [[blocks]]\ngroup = \"g\"\nmachine = \"m\"\nworkload = \"w\"\n{calibrate}\nrows = [{rows}]\n"
            )
        };
        let row = "{ id = \"r\", metric = \"elapsed_s\", unit = \"s\", better = \"lower\", values = [1] }";
        assert!(parse("x", &file(row, "")).is_ok());
        for (text, part) in [
            (file(&row.replace("[1]", "[1, 2]"), ""), "2 values; expected 1 numbers"),
            (file(&row.replace("\"lower\"", "\"lowr\""), ""), "did you mean `lower`?"),
            (file(&row.replace("unit", "units"), ""), "`blocks[0].rows[0].unit` is missing"),
            (file(row, "").replace("baseline = \"a\"", "baseline = \"b\""), "no column `b`; expected one of a"),
            (
                file(row, "calibrate = { parameter = \"loops\", metric = \"system_s\", start = 1, min = 1, max = 2 }"),
                "only the baseline's elapsed time",
            ),
            (
                file(row, "calibrate = { parameter = \"loops\", metric = \"elapsed_s\", start = 3, min = 1, max = 2 }"),
                "`start` is 3; expected a value from 1 to 2",
            ),
        ] {
            let e = parse("x", &text).unwrap_err().to_string();
            assert!(e.contains(part), "{e}");
        }
    }
}
