//! Published tables: what others measured, cell by cell, and what numalab must run to predict it.
//!
//! Problem: a comparison with a published table is honest only if every cell is kept, the one free
//! choice (the amount of work) is named, and cells that mean nothing are marked rather than dropped.
//! Approach: a file names its columns with the catalog kernel of each, and blocks of rows with one value
//! per column. A block may have columns of its own, which may differ in settings and workload parameters too. A block
//! that is simulated names machine, workload, seeds and its calibration.
//! Invariants: every row has one finite value per column; the baseline is a column; only one metric of a
//! block is calibrated, and only in the baseline column.

mod expect;
mod repeats;

pub use expect::Expect;
pub use repeats::{Repeat, RepeatedRow};

use crate::kernel::{settings, Setting};
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
    /// The score below which a release has got worse, if the file says so.
    pub expect: Option<Expect>,
    /// Other published runs of the same tests.
    pub repeats: Vec<Repeat>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// As published.
    pub name: String,
    /// Catalog kernel that stands for it.
    pub kernel: Spot<String>,
    /// Roles and tunables that differ from that kernel's.
    pub sets: Vec<Setting>,
    /// Workload parameters of this column.
    pub params: Vec<Setting>,
}

/// Columns of a block that has its own, and the index of its baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Columns in print order.
    pub list: Vec<Column>,
    /// Index of the column that ratios refer to.
    pub baseline: usize,
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
    /// Its own columns, `None` for those of the file.
    pub columns: Option<Columns>,
    /// Groups of which this block gives the sums; empty for a block with runs of its own.
    pub sum_of: Vec<Spot<String>>,
    /// Runs of each of these groups that the sums cover; 1 or more, 1 for any other block.
    pub times: u32,
    /// Rows in print order.
    pub rows: Vec<Row>,
    /// The group is judged by its gains too: direction and mean absolute error, in points.
    pub gains: bool,
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
    /// Roles and tunables that hold for every column.
    pub sets: Vec<Setting>,
    /// Workload parameters of every column.
    pub params: Vec<Setting>,
}

/// The amount of work is chosen so that a metric of the baseline column comes out as published.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrate {
    /// Workload parameter.
    pub parameter: Spot<String>,
    /// Metric: `elapsed_s`, or `elapsed_s + SECONDS` with what is timed beside the program.
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
    /// What the published figure is of the metric.
    pub form: Form,
    /// Statistic over the runs of a column.
    pub stat: Stat,
    /// The machine's figures were derived from this row, which therefore is no prediction.
    pub derived_from: bool,
    /// One value per column.
    pub values: Vec<f64>,
    /// Column that ratios of this row refer to, where the baseline's value is zero.
    pub base: Option<usize>,
    /// Columns whose cell was used to fit something and is no prediction.
    pub calibrated: Vec<usize>,
    /// Why the row may be used to test the formatter only.
    pub formatter_only: Option<String>,
    /// What is suspected behind a miss, per column (empty: nothing yet); no entries if the row has none.
    pub suspects: Vec<String>,
}

/// What a published figure is of the metric that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The metric itself.
    Value,
    /// One by the metric: a latency of a rate.
    Reciprocal,
    /// 1 if it happened at all, else 0: a claim in words.
    Any,
}

const FORMS: [(&str, Form); 3] = [("value", Form::Value), ("reciprocal", Form::Reciprocal), ("any", Form::Any)];

/// Statistic over the runs of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stat {
    /// Arithmetic mean, and not part of the row's name.
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
    /// The figure of a metric's value; `None` where there is none.
    pub fn of(self, metric: f64) -> Option<f64> {
        match self {
            Self::Value => Some(metric),
            Self::Reciprocal => (metric != 0.0).then(|| 1.0 / metric),
            Self::Any => Some(if metric > 0.0 { 1.0 } else { 0.0 }),
        }
    }
}

impl Published {
    /// Columns of a block and the index of its baseline.
    pub fn columns_of<'a>(&'a self, block: &'a Block) -> (&'a [Column], usize) {
        match &block.columns {
            Some(c) => (&c.list, c.baseline),
            None => (&self.columns, self.baseline),
        }
    }
}

/// Parses a published table.
///
/// # Errors
/// Syntax, an unknown key, a wrong kind, a baseline that is no column, no row at all, a row with too few or too many
/// values, or a calibration of anything but the baseline's elapsed time.
pub fn parse(file: &str, text: &str) -> Result<Published, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let shared = columns(&root)?;
    let own = |t: Table<'_>| block(t, shared.as_ref());
    let blocks = root.tables("blocks")?.into_iter().map(own).collect::<Result<Vec<_>, _>>()?;
    for name in blocks.iter().flat_map(|b: &Block| &b.sum_of) {
        let groups: Vec<&str> = blocks.iter().filter(|b| b.run.is_ok()).map(|b| b.group.as_str()).collect();
        if !groups.contains(&name.value.as_str()) {
            let e = name.error(format!("no simulated group `{}`", name.value), format!("one of {}", groups.join(", ")));
            return Err(e.near(&name.value, groups));
        }
    }
    let repeat = |t: Table<'_>| repeats::read(t, shared.as_ref(), &blocks);
    let repeats = root.tables("repeats")?.into_iter().map(repeat).collect::<Result<Vec<_>, _>>()?;
    let Columns { list, baseline: index } = shared.unwrap_or(Columns { list: Vec::new(), baseline: 0 });
    let published = Published {
        name: root.str("name")?,
        title: root.title()?,
        source: root.str("source")?.value,
        about: root.opt_str("about")?.map(|s| s.value.trim().to_string()).unwrap_or_default(),
        baseline: index,
        columns: list,
        blocks,
        expect: root.opt_table("expect")?.map(expect::read).transpose()?,
        repeats,
    };
    if published.blocks.iter().all(|b| b.rows.is_empty()) {
        return Err(root.missing("blocks.rows", "at least one block with a row: a table without figures shows nothing"));
    }
    root.finish()?;
    Ok(published)
}

/// The columns of a file or block, if it has any.
fn columns(t: &Table<'_>) -> Result<Option<Columns>, SpecError> {
    let list = t.tables("columns")?.into_iter().map(column).collect::<Result<Vec<_>, _>>()?;
    if list.is_empty() {
        return Ok(None);
    }
    let baseline = t.str("baseline")?;
    let baseline = index(&list, &baseline)?;
    Ok(Some(Columns { list, baseline }))
}

/// Index of a column by its name.
fn index(columns: &[Column], name: &Spot<String>) -> Result<usize, SpecError> {
    columns.iter().position(|c| c.name == name.value).ok_or_else(|| {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let e = name.error(format!("no column `{}`", name.value), format!("one of {}", names.join(", ")));
        e.near(&name.value, names)
    })
}

fn column(t: Table<'_>) -> Result<Column, SpecError> {
    let column = Column { name: t.str("name")?.value, kernel: t.str("kernel")?, sets: sets(&t)?, params: params(&t)? };
    t.finish()?;
    Ok(column)
}

fn sets(t: &Table<'_>) -> Result<Vec<Setting>, SpecError> {
    Ok(t.opt_table("set")?.map(|t| settings(&t, true)).transpose()?.unwrap_or_default())
}

fn params(t: &Table<'_>) -> Result<Vec<Setting>, SpecError> {
    let Some(inner) = t.opt_table("params")? else { return Ok(Vec::new()) };
    let one = |name: Spot<String>| {
        let value =
            inner.opt_expr(&name.value)?.ok_or_else(|| inner.missing(&name.value, "a number or an expression"))?;
        Ok(Setting { name, value: value.value })
    };
    inner.keys().into_iter().map(one).collect()
}

fn block(t: Table<'_>, shared: Option<&Columns>) -> Result<Block, SpecError> {
    let simulated = t.opt_bool("simulated")?.is_none_or(|b| b.value);
    let sum_of = t.strs("sum_of")?;
    let times = if sum_of.is_empty() { None } else { t.opt_int("times", 1..=1000)? };
    let run = match (simulated, sum_of.is_empty()) {
        (true, true) => Ok(block_run(&t)?),
        (true, false) => Err("sums of other groups".to_string()),
        (false, _) => Err(t.str("reason")?.value),
    };
    let own = columns(&t)?;
    let of = own.as_ref().or(shared).ok_or_else(|| t.missing("columns", "columns here or for the whole file"))?;
    let rows = t.tables("rows")?.into_iter().map(|r| row(r, &of.list)).collect::<Result<_, _>>()?;
    let block = Block {
        group: t.str("group")?.value,
        machine: machine(&t)?,
        run,
        columns: own,
        sum_of,
        times: times.map_or(1, |n| n.value as u32),
        gains: t.opt_bool("gains")?.is_some_and(|b| b.value),
        rows,
    };
    t.finish()?;
    Ok(block)
}

/// The machine a block was measured on.
fn machine(t: &Table<'_>) -> Result<Spot<String>, SpecError> {
    let machine = t.str("machine")?;
    match machine.value.trim() {
        "" => Err(machine.error("`machine` is empty", "a machine (`numalab list machines`)")),
        _ => Ok(machine),
    }
}

fn block_run(t: &Table<'_>) -> Result<BlockRun, SpecError> {
    Ok(BlockRun {
        workload: t.str("workload")?,
        seed: t.opt_int("seed", 0..=i64::MAX)?.map_or(1, |s| s.value as u64),
        iterations: t.opt_int("iterations", 1..=1000)?.map_or(1, |n| n.value as u32),
        calibrate: t.opt_table("calibrate")?.map(calibrate).transpose()?,
        sets: sets(t)?,
        params: params(t)?,
    })
}

/// The elapsed time, or that with what is timed beside the program.
fn is_elapsed(metric: &str) -> bool {
    let beside = metric.strip_prefix("elapsed_s").map(str::trim);
    let seconds = |rest: &str| rest.strip_prefix('+').and_then(|n| n.trim().parse::<f64>().ok());
    beside.is_some_and(|rest| rest.is_empty() || seconds(rest).is_some_and(|n| n.is_finite() && n >= 0.0))
}

fn calibrate(t: Table<'_>) -> Result<Calibrate, SpecError> {
    let metric = t.str("metric")?;
    if !is_elapsed(&metric.value) {
        let what = format!("calibration of `{}`", metric.value);
        let expected = "elapsed_s, or elapsed_s + SECONDS: only the baseline's elapsed time may be calibrated";
        return Err(metric.error(what, expected));
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

fn row(t: Table<'_>, columns: &[Column]) -> Result<Row, SpecError> {
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
        derived_from: t.opt_bool("derived_from")?.is_some_and(|b| b.value),
        id: t.str("id")?.value,
        workload: t.opt_str("workload")?,
        metric: t.str("metric")?.value,
        unit: t.str("unit")?.value,
        higher_is_better,
        values: values.value,
        base: t.opt_str("base")?.map(|s| index(columns, &s)).transpose()?,
        calibrated: t.strs("calibrated")?.iter().map(|s| index(columns, s)).collect::<Result<_, _>>()?,
        formatter_only: t.opt_str("formatter_only")?.map(|s| s.value),
        suspects: suspects(&t, columns.len())?,
    };
    t.finish()?;
    Ok(row)
}

/// One of a list of words, the first if the key is absent.
fn word<T: Copy>(t: &Table<'_>, key: &str, list: &[(&str, T)]) -> Result<T, SpecError> {
    let Some(word) = t.opt_str(key)? else { return Ok(list[0].1) };
    list.iter().find(|f| f.0 == word.value).map(|f| f.1).ok_or_else(|| {
        let names: Vec<&str> = list.iter().map(|f| f.0).collect();
        word.error(format!("`{key}` is {:?}", word.value), names.join(", ")).near(&word.value, names)
    })
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
        // The source's passes, and a search where they do not fit.
        let run = |i: usize| p.blocks[i].run.as_ref().unwrap();
        let loops = |i: usize| run(i).params.iter().map(|s| s.value.as_str()).collect::<Vec<_>>();
        assert_eq!((loops(0), loops(1)), (vec!["1000"], vec!["50"]));
        let searched = |i: usize| run(i).calibrate.as_ref().map(|c| c.metric.as_str());
        assert_eq!([0, 1, 2, 3].map(searched), [None, None, Some("elapsed_s + 1.02"), Some("elapsed_s + 1.02")]);
        for (block, test) in p.blocks[1..4].iter().zip(["numa01", "numa02", "numa02_SMT"]) {
            let run = block.run.as_ref().unwrap();
            assert_eq!((run.workload.value.as_str(), run.iterations, block.rows.len()), (test, 7, 2));
        }
        let [whole, sums] = &p.blocks[4..] else { panic!("{} blocks", p.blocks.len()) };
        assert_eq!((whole.rows.len(), sums.rows.len()), (8, 12));
        assert_eq!(whole.rows.iter().filter(|r| r.formatter_only.is_some()).count(), 2);
        assert!(whole.run.is_err() && whole.sum_of.is_empty());
        assert_eq!((sums.sum_of.len(), sums.times), (3, 7));
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

    /// designs-2012.md sections 5.1 and 5.5: the rows of mail 002 agree with each other.
    #[test]
    fn mail_002_is_complete_and_consistent() {
        let catalog = Catalog::embedded();
        let file = catalog.get(Kind::Published, "002").unwrap();
        let p = parse(&file.label, &file.text).unwrap();
        let row = |id: &str, block: usize| &p.blocks[block].rows.iter().find(|r| r.id == id).unwrap().values;
        assert_eq!(p.blocks.iter().map(|b| b.rows.len()).collect::<Vec<_>>(), [4, 4, 4, 4, 3, 43, 40, 45]);
        assert_eq!(p.blocks[4].sum_of.len(), 4);
        for w in 1..=18 {
            let (mean, tput) = (row(&format!("Mean {w}"), 6), row(&format!("TPut {w}"), 6));
            assert!(mean.iter().zip(tput).all(|(m, t)| 4.0 * m == *t), "{w} warehouses");
        }
        for column in 0..3 {
            let peak = (1..=18).map(|w| row(&format!("TPut {w}"), 6)[column]).fold(0.0, f64::max);
            assert_eq!(peak, row("Actual Peak Bops", 6)[column]);
            assert_eq!(row("TPut 12", 6)[column], row("Expctd Peak Bops", 6)[column]);
            for block in [5, 7] {
                let v = |id: &str| row(id, block)[column];
                let cost =
                    7.0 * v("NUMA PTE updates") + 5000.0 * v("NUMA hint faults") + 19.0 * v("NUMA pages migrated");
                assert_eq!((cost / 1e6).trunc(), v("AutoNUMA cost"));
                assert_eq!((1038.0 * v("Page migrate success") / 1e6).trunc(), v("Compaction cost"));
            }
        }
        let percent = |v: &[f64], c: usize| 100.0 - 100.0 * v[c] / v[0];
        let elapsed = row("Elapsed NUMA01", 0);
        assert!((percent(elapsed, 1) - 53.85).abs() < 0.006 && (percent(elapsed, 2) - 5.97).abs() < 0.006);
    }

    /// mmtests-report.md section 4.2, rows 53 to 78: the printed changes follow from the values.
    #[test]
    fn mail_004_is_complete_and_agrees_with_its_printed_percentages() {
        let catalog = Catalog::embedded();
        let file = catalog.get(Kind::Published, "004").unwrap();
        let p = parse(&file.label, &file.text).unwrap();
        let printed = [
            ("MB/sec copy-16", 252.50),
            ("MB/sec scale-16", 180.87),
            ("MB/sec add-16", 284.74),
            ("MB/sec triad-16", 268.14),
            ("Min Score-16", 9.68),
            ("Hmean Score-16", 15.76),
            ("Max Score-16", 15.34),
            ("Stddev Score-16", 86.49),
            ("CoeffVar Score-16", 60.57),
        ];
        let warehouses = [
            -4.73, 5.00, 1.55, 0.38, 18.59, 19.69, -3.33, 12.86, -1.96, 20.09, 4.64, 8.24, 16.56, 9.97, 13.15, 6.52,
            3.89,
        ];
        let names = (0..17).map(|i| format!("Hmean tput-{}", if i == 0 { 1 } else { 8 * i }));
        let printed = printed.map(|(n, v)| (n.to_string(), v)).into_iter().chain(names.zip(warehouses));
        let rows: Vec<&Row> = p.blocks.iter().flat_map(|b| &b.rows).collect();
        let mut seen = 0;
        for (id, percent) in printed {
            let row = rows.iter().find(|r| r.id == id).unwrap_or_else(|| panic!("no row {id}"));
            let got = 100.0 * (row.values[1] / row.values[0] - 1.0);
            // The coefficient of variation is printed with two digits, which leaves a margin.
            let margin = if id.starts_with("Coeff") { 0.2 } else { 0.006 };
            assert!((got - percent).abs() < margin, "{id}: {got} is not {percent}");
            seen += 1;
        }
        assert_eq!((seen, rows.len()), (26, 26));
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
            (file(row, "").replace("\"t\"", "\"\""), "x:2:9: `title` is empty"),
            (file(row, "").replace("\"m\"", "\"\""), "`machine` is empty; expected a machine"),
            (file("", ""), "`blocks.rows` is missing; expected at least one block with a row"),
            (file(&row.replace("unit", "form = \"recip\", unit"), ""), "did you mean `reciprocal`?"),
            (file(&row.replace("unit", "stat = \"hmeen\", unit"), ""), "did you mean `hmean`?"),
            (
                file(row, "calibrate = { parameter = \"loops\", metric = \"system_s\", start = 1, min = 1, max = 2 }"),
                "only the baseline's elapsed time",
            ),
            (
                file(
                    row,
                    "calibrate = { parameter = \"loops\", metric = \"elapsed_s + user_s\", start = 1, min = 1, max = 2 }",
                ),
                "calibration of `elapsed_s + user_s`; expected elapsed_s, or elapsed_s + SECONDS",
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
