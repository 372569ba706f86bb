//! The runs that a table still needs, and how long they probably take: a published elapsed time is about the model time
//! of a run, which is long before the simulator has come to the end of one.

use super::metric::{self, Means};
use numalab_model::experiment::Cell as Run;
use numalab_model::published::{Block, BlockRun, Form, Stat};
use std::path::PathBuf;

/// Typical number of steps of a calibration, for the progress and forecasts.
pub(super) const CALIBRATION_STEPS: usize = 4;

/// A directory of a block: its runs, ordered by column, and how many columns it has.
pub(super) type Part = (PathBuf, Vec<Run>, usize);

/// A run, and its model time as published, s; `None` if that is not published.
pub(super) type Lasting = (Run, Option<f64>);

/// The runs of a block.
pub(super) struct Ahead<'a> {
    pub(super) block: &'a Block,
    /// Runs that search the amount of work, as many as a search typically has.
    pub(super) search: Vec<Lasting>,
    /// Runs of each directory.
    pub(super) parts: Vec<(PathBuf, Vec<Lasting>)>,
}

/// The runs of a block, which are in these directories. Its table has `columns` columns, of which one is the baseline.
pub(super) fn of<'a>(
    block: &'a Block,
    run: &BlockRun,
    parts: Vec<Part>,
    (columns, baseline): (usize, usize),
) -> Ahead<'a> {
    let mut out = Ahead { block, search: Vec::new(), parts: Vec::new() };
    let mut at = 0;
    for (dir, cells, own) in parts {
        let each = (cells.len() / own.max(1)).max(1);
        let lasts = |i: usize| elapsed_s(block, (at + i / each).min(columns - 1));
        let cells: Vec<_> = cells.into_iter().enumerate().map(|(i, c)| (c, lasts(i))).collect();
        if run.calibrate.is_some() && (at..at + own).contains(&baseline) {
            let searched = cells.iter().skip((baseline - at) * each).take(each);
            out.search = searched.cycle().take(each * CALIBRATION_STEPS).cloned().collect();
        }
        at += own;
        out.parts.push((dir, cells));
    }
    out
}

/// The published elapsed time of a column, s, without the time of other work that was measured with the program; `None`
/// if no row of the block has it.
fn elapsed_s(block: &Block, column: usize) -> Option<f64> {
    let row = |r: &numalab_model::published::Row| {
        let at = |s: f64| metric::evaluate(&Means::from([("elapsed_s".to_string(), s)]), &r.metric);
        let (other, one) = (at(0.0)?, at(1.0)?);
        let plain = r.form == Form::Value && r.stat == Stat::Mean && (one - other - 1.0).abs() < 1e-9;
        r.values.get(column).filter(|_| plain).map(|v| v - other).filter(|s| *s > 0.0)
    };
    block.rows.iter().find_map(row)
}

/// The seeds of the runs in words, and whether the score that the table expects is one of the same runs. `scored` is
/// the number of runs of each column that were scored then.
pub(super) fn seeds(blocks: &[(&Block, BlockRun)], scored: Option<u32>) -> String {
    let range = |of: fn(&BlockRun) -> u64| {
        let all = blocks.iter().map(|(_, run)| of(run));
        all.clone().min().zip(all.max())
    };
    let (Some((least, most)), Some((first, last))) = (range(|r| u64::from(r.iterations)), range(|r| r.seed)) else {
        return String::new();
    };
    let runs = match (least, most) {
        (1, 1) => "1 run".to_string(),
        (a, b) if a == b => format!("{a} runs"),
        (a, b) => format!("{a} to {b} runs"),
    };
    let seeds = match (first == last, most) {
        (true, 1) => format!("seed {first}"),
        (true, n) => format!("seeds {first} to {}", first + n - 1),
        (false, _) => format!("seeds from {first}, by group"),
    };
    let own = format!("Each column has {runs} ({seeds})");
    match scored {
        None => format!("{own}.\n"),
        Some(n) if (least, most) == (n.into(), n.into()) => {
            format!("{own}: the runs that were scored for docs/explanation/trust.md.\n")
        }
        Some(n) => {
            let s = if n == 1 { "" } else { "s" };
            format!(
                "{own}. The scores of docs/explanation/trust.md are of {n} run{s} of each column, from the same seed \
                 on; means of other numbers of runs may differ (--iterations {n}).\n"
            )
        }
    }
}
