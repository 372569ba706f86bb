//! Blocks of a published table: rows that come from the same runs, and how these are predicted.

use super::columns::{self, params, sets, Columns};
use super::rows::{self, Row};
use crate::kernel::Setting;
use crate::spec::{SpecError, Spot, Table};

/// Rows that come from the same runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Name of the group.
    pub group: String,
    /// Machine on which the block was measured.
    pub machine: Spot<String>,
    /// How the block is predicted, or the reason why it is not.
    pub run: Result<BlockRun, String>,
    /// Columns of the block, `None` if they are those of the file.
    pub columns: Option<Columns>,
    /// Groups whose sums this block gives; empty for a block with runs of its own.
    pub sum_of: Vec<Spot<String>>,
    /// Number of runs of each of these groups in a sum, at least 1; it is 1 for any other block.
    pub times: u32,
    /// Rows in print order.
    pub rows: Vec<Row>,
    /// Whether the group is also judged by its gains: by direction, and by the mean absolute error in points.
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
    /// The one free choice: the amount of work.
    pub calibrate: Option<Calibrate>,
    /// Roles and tunables that hold for every column.
    pub sets: Vec<Setting>,
    /// Workload parameters of every column.
    pub params: Vec<Setting>,
}

/// The amount of work, chosen so that a metric of the baseline column comes out as published.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrate {
    /// Workload parameter.
    pub parameter: Spot<String>,
    /// Metric: `elapsed_s`, or `elapsed_s + SECONDS` with the time of other work that was measured with the program.
    pub metric: String,
    /// First amount of the search.
    pub start: u64,
    /// Smallest amount allowed.
    pub min: u64,
    /// Largest amount allowed.
    pub max: u64,
}

/// Reads `[[blocks]]`; `shared` are the columns of the file.
pub(super) fn read(t: Table<'_>, shared: Option<&Columns>) -> Result<Block, SpecError> {
    let simulated = t.opt_bool("simulated")?.is_none_or(|b| b.value);
    let sum_of = t.strs("sum_of")?;
    let times = if sum_of.is_empty() { None } else { t.opt_int("times", 1..=1000)? };
    let run = match (simulated, sum_of.is_empty()) {
        (true, true) => Ok(block_run(&t)?),
        (true, false) => Err("sums of other groups".to_string()),
        (false, _) => Err(t.str("reason")?.value),
    };
    let own = columns::read(&t)?;
    let of = own.as_ref().or(shared).ok_or_else(|| t.missing("columns", "columns here or for the whole file"))?;
    let mut rows = t.tables("rows")?.into_iter().map(|r| rows::read(r, &of.list)).collect::<Result<Vec<_>, _>>()?;
    if let Some(reason) = rows::derived(&t)? {
        rows.iter_mut().for_each(|r| r.derived = r.derived.take().or(Some(reason.clone())));
    }
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

/// Reads the machine on which a block was measured.
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

/// Whether a metric is `elapsed_s` or `elapsed_s + SECONDS`.
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
