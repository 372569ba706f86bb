//! `numalab reproduce`: run what is behind a published table and print it beside the published figures.
//!
//! The amount of work is chosen once, so that the baseline column's elapsed time comes out as published
//! (that cell is `calibrated`); with it, every column is run and every other cell is a prediction.

use crate::backend::Sim;
use crate::calibrate::{self, Range};
use crate::context::{named, Context};
use crate::execute::{execute, Executor, Finished};
use crate::failure::{self, Done, Exit, Failure};
use crate::figures::{self, Means};
use crate::interrupt;
use crate::options;
use crate::progress::Progress;
use crate::sources::CatalogSources;
use crate::verb::report;
use groups::Selection;
use numalab_model::catalog::Kind;
use numalab_model::experiment::{Cell as Run, Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::published::{self, Block, BlockRun, Calibrate, Column, Form, Published, Row, Stat};
use numalab_model::record::{self, Outcome, Status, Store};
use numalab_report::collect::metric_name;
use numalab_report::reproduce::{gains, json, repeats, score, score_line, text, Cell, Repeat, Role};
use numalab_stats::describe;
use std::num::NonZeroUsize;
use std::path::PathBuf;

mod groups;
mod repeated;

/// Arguments of `reproduce`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Published table: a name, e.g. disjoint-vma-2023 or 000 (see `numalab list published`), or a TOML file (docs/published.md)
    #[arg(required_unless_present = "all")]
    table: Option<String>,
    /// Every published table: a line of score each, and their total
    #[arg(long, conflicts_with_all = ["table", "json"])]
    all: bool,
    /// Only this group of the table, as it is printed above its rows; may be repeated. A group of sums brings
    /// those it sums
    #[arg(long, value_name = "GROUP", conflicts_with = "all")]
    group: Vec<String>,
    /// Runs per column; as the table says if not given
    #[arg(long, value_name = "N", value_parser = options::iterations, allow_negative_numbers = true)]
    iterations: Option<u32>,
    /// Runs at a time (results do not depend on it); one per CPU if not given
    #[arg(long, value_name = "N", value_parser = options::job_count, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,
    /// Where the records go; out/reproduce-TABLE if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print cells and score as JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Runs and prints the table; misses are part of the result, not a failure, unless the file expects fewer of them.
///
/// # Errors
/// An unknown table, a calibration that finds no amount of work, or the machine at hand refuses.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let Some(name) = &args.table else { return all(context, args) };
    let done = table(context, args, name)?;
    let mail = &done.name;
    let printed = if args.json {
        failure::note(done.notes.trim_end());
        done.regression.iter().for_each(|r| failure::note(r.trim_end()));
        json(mail, &done.cells, &done.repeats).map_err(|e| Failure::environment(e.to_string()))?
    } else {
        let mut pages = String::new();
        for dir in &done.experiments {
            let page = report::write_into(context, dir)?;
            pages.push_str(&format!("report: {} (open it in a browser)\n", page.display()));
        }
        let regression = done.regression.as_deref().unwrap_or_default();
        format!("{}\n{}records: {}\n{pages}{regression}", text(mail, &done.cells), done.notes, done.dir.display())
    };
    Ok(Done { text: printed, exit: done.exit })
}

/// One line of score per table, and the total.
fn all(context: &Context, args: &Args) -> Result<Done, Failure> {
    let (mut lines, mut cells, mut exit) = (String::new(), Vec::new(), Exit::Ok);
    if let Some(dir) = args.out.as_ref().filter(|d| d.join("experiment.json").exists()) {
        let expected = "a new directory, or one for every published table";
        return Err(Failure::usage(format!("{}: it holds an experiment; expected {expected}", dir.display())));
    }
    for name in context.catalog.names(Kind::Published) {
        let done = table(context, args, name)?;
        lines.push_str(&score_line(&done.name, &done.cells));
        lines.push_str(&done.again);
        lines.push_str(done.regression.as_deref().unwrap_or_default());
        cells.extend(done.cells);
        exit = exit.max(done.exit);
    }
    lines.push_str(&score_line("total", &cells));
    Ok(Done { text: lines, exit })
}

/// A table carried out.
struct DoneTable {
    name: String,
    cells: Vec<Cell>,
    notes: String,
    /// Other published runs of its cells, and what is said of them.
    repeats: Vec<Repeat>,
    again: String,
    /// Where everything is.
    dir: PathBuf,
    /// The directories of the experiments below it.
    experiments: Vec<PathBuf>,
    /// What came out worse than the file expects.
    regression: Option<String>,
    exit: Exit,
}

/// What a score lacks of what the file expects, if it is of the runs that the file asks for: fewer scatter more.
fn regression(published: &Published, iterations: Option<u32>, cells: &[Cell]) -> Option<String> {
    let asked = published.blocks.iter().filter_map(|b| b.run.as_ref().ok()).map(|r| r.iterations);
    let enough = asked.max().is_none_or(|most| iterations.is_none_or(|n| n >= most));
    published.expect.filter(|_| enough).and_then(|e| score(cells).regression(&e))
}

fn table(context: &Context, args: &Args, name: &str) -> Result<DoneTable, Failure> {
    let file = context.catalog.find(Kind::Published, &named("reproduce", name))?;
    let published = published::parse(&file.label, &file.text)?;
    file.check_name(&published.name)?;
    let selection = Selection::new(&published, &args.group)?;
    let own = format!("reproduce-{}", published.name.value);
    let out = if args.all { args.out.as_ref().map(|d| d.join(&own)) } else { args.out.clone() };
    let dir = options::directory(out.as_deref(), &own);
    let progress = Progress::new(0);
    let executor = Executor { backend: &Sim::default(), jobs: options::jobs(args.jobs), progress: &progress };
    let work = Work { context, published: &published, dir, executor };
    work.refuse_foreign()?;
    let (mut groups, mut cells, mut notes, mut exit) = (Vec::new(), Vec::new(), String::new(), Exit::Ok);
    let mut experiments = Vec::new();
    for block in selection.blocks() {
        match &block.run {
            Ok(run) => {
                let run = BlockRun { iterations: args.iterations.unwrap_or(run.iterations), ..run.clone() };
                let done = work.block(block, &run)?;
                cells.extend(done.cells);
                notes.push_str(&done.note);
                exit = exit.max(done.exit);
                experiments.extend(done.experiments);
                groups.push((block.group.as_str(), done.means));
            }
            Err(_) if !block.sum_of.is_empty() => {
                let sums = work.sums(block, &groups);
                cells.extend(work.cells(block, None, &|i, row| figures::figure(&sums[i], &row.metric)));
            }
            Err(reason) => notes.push_str(&format!("{}: not simulated: {reason}\n", block.group)),
        }
    }
    progress.clear();
    let mut judged: Vec<&str> = selection.blocks().filter(|b| b.gains).map(|b| b.group.as_str()).collect();
    judged.dedup();
    for group in &judged {
        notes.push_str(&gains(&cells, group));
    }
    let measured = repeated::repeats(&published, &cells);
    let again = repeats(&measured, &judged);
    notes.push_str(&again);
    let regression = regression(&published, args.iterations, &cells).filter(|_| selection.is_all());
    exit = exit.max(if regression.is_some() { Exit::Finding } else { Exit::Ok });
    let (name, dir) = (published.name.value.clone(), work.dir);
    Ok(DoneTable { name, cells, notes, repeats: measured, again, dir, experiments, regression, exit })
}

/// Folder of the runs with which an amount of work is searched.
const CALIBRATION: &str = "calibration";

/// What all blocks of a table share.
struct Work<'a> {
    context: &'a Context,
    published: &'a Published,
    dir: PathBuf,
    executor: Executor<'a>,
}

/// Steps that a calibration is expected to take, for the progress bar.
const CALIBRATION_STEPS: usize = 4;

/// "1 run", "7 runs".
fn runs_of(n: u32) -> String {
    format!("{n} run{}", if n == 1 { "" } else { "s" })
}

/// A block carried out.
struct DoneBlock {
    cells: Vec<Cell>,
    /// Means of all figures, by column.
    means: Vec<Means>,
    /// Directories of its experiments.
    experiments: Vec<PathBuf>,
    note: String,
    exit: Exit,
}

impl Work<'_> {
    fn block(&self, block: &Block, run: &BlockRun) -> Result<DoneBlock, Failure> {
        let (list, _) = self.published.columns_of(block);
        let mut note = String::new();
        let progress = self.executor.progress;
        let runs = list.len() * run.iterations as usize;
        progress.set_total(
            progress.done() + runs + run.calibrate.as_ref().map_or(0, |_| CALIBRATION_STEPS * run.iterations as usize),
        );
        // A kernel stands in an experiment once: columns of their own are an experiment each.
        let home = self.home(block);
        let parts: Vec<(PathBuf, Vec<&Column>)> = if block.columns.is_some() {
            let dir = home;
            list.iter().map(|c| (dir.join(file_name(&c.name)), vec![c])).collect()
        } else {
            vec![(home, list.iter().collect())]
        };
        let mut amount = None;
        if let Some(c) = &run.calibrate {
            // Claims the directory before the calibration puts its own below it.
            let (dir, columns) = &parts[0];
            Store::create(dir, &self.experiment(block, run, columns), &[])?;
            amount = Some(param(c, self.calibrate(block, run, c, &mut note)?));
        }
        let (mut outcomes, mut exit) = (Vec::new(), Exit::Ok);
        for (dir, columns) in &parts {
            let mut experiment = self.experiment(block, run, columns);
            experiment.params.extend(amount.clone());
            let sources = CatalogSources::new(self.context, &experiment.workloads)?;
            let runs = experiment.cells(&sources, self.executor.backend.name())?;
            let store = Store::create(dir, &experiment, &runs)?;
            interrupt::watch(&store, &runs);
            let finished = execute(&store, &runs, &self.executor)?;
            for f in &finished {
                let m = &f.record.manifest;
                exit = exit.max(Exit::of(&f.record.outcome.status));
                if m.status != "completed" {
                    note.push_str(&format!("{} seed {}: {}\n", m.plan.kernel.name, m.plan.seed, m.status));
                }
            }
            outcomes.extend(by_column(finished, columns.len()));
        }
        let means = outcomes.iter().map(|runs| figures::means(&runs.iter().collect::<Vec<_>>())).collect();
        let figure = |i: usize, row: &Row| statistic(&outcomes[i], &row.metric, row.stat);
        let cells = self.cells(block, run.calibrate.as_ref(), &figure);
        let experiments = parts.into_iter().map(|(dir, _)| dir).collect();
        Ok(DoneBlock { cells, means, experiments, note, exit })
    }

    /// Sums of the groups a block names, by column.
    fn sums(&self, block: &Block, groups: &[(&str, Vec<Means>)]) -> Vec<Means> {
        let (list, _) = self.published.columns_of(block);
        let of = |column: usize| {
            let named = |g: &&(&str, Vec<Means>)| block.sum_of.iter().any(|s| s.value == g.0);
            figures::sums(&groups.iter().filter(named).map(|g| &g.1[column]).collect::<Vec<_>>(), block.times)
        };
        (0..list.len()).map(of).collect()
    }

    /// Refuses a directory with anything else than this table's experiments, before any of them is put there.
    fn refuse_foreign(&self) -> Result<(), Failure> {
        let foreign = |what: String| {
            let expected = format!("a new or empty directory, or one of `reproduce {}`", self.published.name.value);
            Failure::usage(format!("{}: {what}; expected {expected}", self.dir.display()))
        };
        if self.dir.join("experiment.json").is_file() {
            let (held, own) =
                (Store::open(&self.dir)?.file().name.clone(), format!("reproduce-{}", self.published.name.value));
            return if held == own { Ok(()) } else { Err(foreign(format!("it holds the experiment `{held}`"))) };
        }
        let mut known: Vec<PathBuf> = self.published.blocks.iter().map(|b| self.home(b)).collect();
        known.push(self.dir.join(CALIBRATION));
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return Ok(()) };
        // Records that have lost their list get a new one.
        let lost = record::holds_records(&self.dir);
        let own = |name: &str| name.starts_with('.') || lost && record::goes_with_records(name);
        let mut others = entries.flatten().filter(|e| !own(&e.file_name().to_string_lossy())).map(|e| e.path());
        match others.find(|p| !known.contains(p)) {
            Some(path) => Err(foreign(format!("it holds other files, such as {}", path.display()))),
            None => Ok(()),
        }
    }

    /// Where a block's records go: a folder of its own if there are several, or columns of its own.
    fn home(&self, block: &Block) -> PathBuf {
        let simulated: Vec<&Block> = self.published.blocks.iter().filter(|b| b.run.is_ok()).collect();
        if simulated.len() < 2 && block.columns.is_none() {
            return self.dir.clone();
        }
        let namesakes = simulated.iter().filter(|b| b.group == block.group);
        let nth = namesakes.take_while(|b| !std::ptr::eq(**b, block)).count();
        let nth = if nth == 0 { String::new() } else { format!("-{}", nth + 1) };
        self.dir.join(format!("{}{nth}", file_name(&block.group)))
    }

    fn experiment(&self, block: &Block, run: &BlockRun, columns: &[&Column]) -> Experiment {
        let p = self.published;
        let own = |f: fn(&Column) -> &Vec<Setting>| columns.iter().flat_map(move |c| f(c).iter().cloned());
        let params = run.params.iter().cloned().chain(own(|c| &c.params));
        Experiment {
            name: format!("reproduce-{}", p.name.value),
            title: p.title.clone(),
            about: String::new(),
            machines: vec![block.machine.clone()],
            kernels: columns.iter().map(|c| c.kernel.clone()).collect(),
            workloads: vec![run.workload.clone()],
            baseline: None,
            iterations: run.iterations,
            seed: run.seed,
            sets: run.sets.iter().cloned().chain(own(|c| &c.sets)).collect(),
            params: params.map(|setting| Param { workload: None, setting }).collect(),
        }
    }

    /// The amount of work at which the baseline's runs take as long as published, on average.
    fn calibrate(&self, block: &Block, run: &BlockRun, c: &Calibrate, note: &mut String) -> Result<u64, Failure> {
        let p = self.published;
        let (list, baseline) = p.columns_of(block);
        let row = block.rows.iter().find(|r| r.metric == c.metric);
        let target = row.map(|r| r.values[baseline]).ok_or_else(|| {
            let what = format!("{} has no row of metric {}", block.group, c.metric);
            Failure::from(c.parameter.error(what, "the row that is to be met"))
        })?;
        let base = Experiment {
            name: format!("calibrate-{}", p.name.value),
            ..self.experiment(block, run, &[&list[baseline]])
        };
        let dir = self.dir.join(CALIBRATION);
        let sources = CatalogSources::new(self.context, &base.workloads)?;
        let mut steps: Vec<Run> = Vec::new();
        let found = calibrate::search(target, Range { start: c.start, min: c.min, max: c.max }, |count| {
            let mut experiment = base.clone();
            experiment.params.push(param(c, count));
            let mut runs = experiment.cells(&sources, self.executor.backend.name())?;
            runs.iter_mut().zip(steps.len() as u32..).for_each(|(r, n)| r.iteration = n);
            let store = Store::create(&dir, &experiment, &[steps.as_slice(), runs.as_slice()].concat())?;
            interrupt::watch(&store, &runs);
            let finished = execute(&store, &runs, &self.executor)?;
            steps.extend(runs);
            if let Some(f) = finished.iter().find(|f| f.record.outcome.status != Status::Completed) {
                return Err(unmeasured(&format!("{}: {} = {count}", block.group, c.parameter.value), f));
            }
            let values: Option<Vec<f64>> = finished.iter().map(|f| figure(&f.record.outcome, &c.metric)).collect();
            let values = values.filter(|v| !v.is_empty());
            let mean = values.map(|v| v.iter().sum::<f64>() / v.len() as f64);
            mean.ok_or_else(|| Failure::environment(format!("{}: the run reports no {}", block.group, c.metric)))
        })?;
        let column = &list[baseline].name;
        note.push_str(&format!(
            "{}: {} = {}, chosen so that {column} takes {target} s (simulated {:.3} s, mean of {}); \
             all else is predicted\n",
            block.group,
            c.parameter.value,
            found.count,
            found.value,
            runs_of(run.iterations)
        ));
        Ok(found.count)
    }

    /// The cells of a block; `figure` gives what was simulated for a column and row.
    fn cells(
        &self,
        block: &Block,
        calibrate: Option<&Calibrate>,
        figure: &dyn Fn(usize, &Row) -> Option<f64>,
    ) -> Vec<Cell> {
        let p = self.published;
        let (list, baseline) = p.columns_of(block);
        let mut out = Vec::new();
        for row in block.rows.iter().filter(|r| r.formatter_only.is_none()) {
            let simulated: Vec<Option<f64>> =
                (0..list.len()).map(|i| figure(i, row).and_then(|v| row.form.of(v))).collect();
            let base = row.base.unwrap_or(baseline);
            for (i, column) in list.iter().enumerate() {
                let chosen = i == baseline && calibrate.is_some_and(|c| c.metric == row.metric);
                let chosen = chosen || row.derived_from || row.calibrated.contains(&i);
                out.push(Cell {
                    id: format!("{}/{}/{}", p.name.value, column.name, row.id),
                    group: block.group.clone(),
                    kernel: column.name.clone(),
                    metric: row_name(row),
                    published: Some(row.values[i]),
                    simulated: simulated[i],
                    published_ratio: ratio(Some(row.values[i]), Some(row.values[base])),
                    simulated_ratio: ratio(simulated[i], simulated[base]),
                    role: if chosen { Role::Calibrated } else { Role::Predicted },
                    baseline: i == baseline || i == base,
                    note: row.suspects.get(i).cloned().unwrap_or_default(),
                });
            }
        }
        out
    }
}

/// A run of the search that was cut off or failed: how long its work takes is not known, so it gives no next guess.
fn unmeasured(guess: &str, f: &Finished) -> Failure {
    let (plan, status) = (&f.record.manifest.plan, &f.record.outcome.status);
    let why = match status {
        Status::Failed(why) => format!("failed ({why})"),
        _ => "reached its limit of time".into(),
    };
    let message = format!(
        "calibration: {guess}: {} seed {} {why}, so nothing tells how long that work takes; \
         expected a completed run ({})",
        plan.kernel.name,
        plan.seed,
        f.record.path.display()
    );
    Failure { exit: Exit::of(status), message }
}

/// Name of a row in the printed table: the metric's, or the published one where it is more than the metric's mean.
fn row_name(row: &Row) -> String {
    let plain = row.metric.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain && row.form == Form::Value && row.stat == Stat::Mean {
        metric_name(&row.metric).to_string()
    } else {
        row.id.clone()
    }
}

/// Outcomes by column; a run that did not complete counts for nothing.
fn by_column(finished: Vec<Finished>, columns: usize) -> Vec<Vec<Outcome>> {
    let mut out = vec![Vec::new(); columns];
    let per_column = (finished.len() / columns.max(1)).max(1);
    for (i, f) in finished.into_iter().enumerate() {
        // One machine and one workload: runs are ordered by kernel, then iteration.
        if f.record.outcome.status == Status::Completed {
            out[(i / per_column).min(columns - 1)].push(f.record.outcome);
        }
    }
    out
}

/// A title as the name of a directory.
fn file_name(title: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    title.chars().map(plain).collect()
}

/// `WORKLOAD PARAMETER = count`, as an experiment has it.
fn param(c: &Calibrate, count: u64) -> Param {
    Param { workload: None, setting: Setting { name: c.parameter.clone(), value: count.to_string() } }
}

/// Statistic of a scalar or counter over runs; `None` without runs or if a run lacks it.
fn statistic(runs: &[Outcome], metric: &str, stat: Stat) -> Option<f64> {
    let values = runs.iter().map(|o| figure(o, metric)).collect::<Option<Vec<f64>>>()?;
    match stat {
        _ if values.is_empty() => None,
        Stat::Mean => describe::amean(&values),
        Stat::Min => describe::min(&values),
        Stat::Max => describe::max(&values),
        Stat::Hmean => describe::hmean(&values),
        Stat::Stddev => describe::stddev(&values),
        Stat::CoeffVar => describe::coeffvar(&values),
    }
}

/// A figure of one run.
fn figure(outcome: &Outcome, metric: &str) -> Option<f64> {
    figures::figure(&figures::means(&[outcome]), metric)
}

/// A figure over that of the baseline: without limit if that is nothing, so that the direction can still be judged; none if
/// both are.
fn ratio(value: Option<f64>, baseline: Option<f64>) -> Option<f64> {
    value.zip(baseline).map(|(v, b)| v / b).filter(|r| !r.is_nan())
}

#[cfg(test)]
mod tests;
