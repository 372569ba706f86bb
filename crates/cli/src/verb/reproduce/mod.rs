//! `numalab reproduce`: run the experiments of a published table, and print the results beside the published figures.
//!
//! The amount of work may be chosen so that the elapsed time of the baseline column comes out as published; that cell
//! is `calibrated`. Every column is run with the same amount of work, and every other cell is a prediction.

mod ahead;
mod calibrate;
mod metric;
mod repeated;
mod selection;
#[cfg(test)]
mod tests;

use crate::backend::Sim;
use crate::context::{named, Context};
use crate::execute::{execute, Executor, Finished};
use crate::failure::{self, Done, Exit, Failure};
use crate::interrupt;
use crate::memory;
use crate::options;
use crate::output_file;
use crate::progress::Progress;
use crate::service::{dry_run, page};
use crate::sources::CatalogSources;
use crate::terminal;
use ahead::Ahead;
use calibrate::Range;
use metric::{ratio, Means};
use numalab_model::catalog::Kind;
use numalab_model::experiment::{Axes, Cell as Run, Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::published::{self, Block, BlockRun, Calibrate, Column, Form, Published, Row, Stat};
use numalab_model::record::{self, Outcome, Status, Store};
use numalab_report::collect::metric_name;
use numalab_report::reproduce::{gains, json, repeats, score, score_line, text, Cell, Repeat, Role};
use numalab_report::trust::{errors_of, to_toml, FigureKind};
use numalab_stats::describe;
use selection::Selection;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Arguments of `reproduce`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Published table: a name such as disjoint-vma-2023 or 000 (see `numalab list published`), or a TOML file
    /// (docs/reference/published.md)
    #[arg(required_unless_present = "all")]
    table: Option<String>,
    /// Run every published table, and print one line of score for each and for the total
    #[arg(long, conflicts_with_all = ["table", "json"])]
    all: bool,
    /// Run only this group of the table, by the name above its rows. A group of sums includes the groups that it sums.
    /// May be repeated
    #[arg(long, value_name = "GROUP", conflicts_with = "all")]
    group: Vec<String>,
    /// Number of runs per column [default: the table's]
    #[arg(long, value_name = "N", value_parser = options::iterations, allow_negative_numbers = true)]
    iterations: Option<u32>,
    /// Number of runs at a time, which does not affect the results [default: one per CPU of this host]
    #[arg(long, value_name = "N", value_parser = options::job_count, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,
    /// Directory of the records [default: out/reproduce-TABLE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With --all: write how far predictions of each kind of figure are off to this file, as verdicts on simulated
    /// columns use it (docs/explanation/trust.md)
    #[arg(long, value_name = "FILE", requires = "all")]
    trust: Option<PathBuf>,
    /// Simulated machines do nothing beside the workload: no kernel threads, no daemons, and timers that fire on time
    /// (docs/reference/machine-files.md)
    #[arg(long)]
    quiet_machine: bool,
    /// Run nothing: print which runs would be carried out, which have a record, and about how much time and memory they
    /// need. A run lasts about as long as the table says, where it does
    #[arg(long, conflicts_with = "all")]
    dry_run: bool,
    /// Print cells and score as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Runs and prints the table. Misses are part of the result. They are a finding only if the table expects fewer of
/// them.
///
/// # Errors
/// An unknown table or group; a calibration that finds no amount of work; an error of the file system.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let Some(name) = &args.table else { return all(context, args) };
    if args.dry_run {
        return dry(context, args, name);
    }
    let done = table(context, args, name)?;
    let mail = &done.name;
    let printed = if args.json {
        failure::note(done.notes.trim_end());
        done.regression.iter().for_each(|r| failure::note(r.trim_end()));
        json(mail, &done.cells, &done.repeats).map_err(|e| Failure::environment(e.to_string()))?
    } else {
        let mut pages = String::new();
        for dir in &done.experiments {
            let page = page::write_into(context, dir)?;
            pages.push_str(&format!("report: {} (open it in a browser)\n", page.display()));
        }
        let regression = done.regression.as_deref().unwrap_or_default();
        let width = terminal::width();
        let notes = format!("{}{}records: {}\n{pages}{regression}", done.seeds, done.notes, done.dir.display());
        terminal::fit(&format!("{}\n{notes}", text(mail, &done.cells, width)), width)
    };
    Ok(Done { text: printed, exit: done.exit })
}

/// Says what [`run`] would do.
///
/// # Errors
/// As [`run`], as far as that is found before the first run.
fn dry(context: &Context, args: &Args, name: &str) -> Result<Done, Failure> {
    let file = context.catalog.find(Kind::Published, &named("reproduce", name))?;
    let published = published::parse(&file.label, &file.text)?;
    file.check_name(&published.name)?;
    let selection = Selection::new(&published, &args.group)?;
    let dir = options::directory(args.out.as_deref(), &format!("reproduce-{}", published.name.value));
    let progress = Progress::new(0);
    let jobs = options::jobs(args.jobs);
    let executor = Executor { backend: &Sim::default(), jobs, progress: &progress };
    let work = Work { context, published: &published, dir, executor, quiet_machine: args.quiet_machine, ahead: vec![] };
    let mut parts = Vec::new();
    for block in work.runs_of(&selection.simulated(args.iterations))? {
        let mut search = block.search.len();
        for (dir, runs) in block.parts {
            let known: Option<Vec<f64>> = runs.iter().map(|r| r.1).collect();
            let model_s = known.filter(|k| !k.is_empty()).map(|k| k.iter().sum::<f64>() / k.len() as f64);
            let cells = runs.into_iter().map(|r| r.0).collect();
            parts.push(dry_run::Part { dir, cells, model_s, search: std::mem::take(&mut search) });
        }
    }
    dry_run::forecast(&parts, jobs, work.executor.backend, args.json)
}

/// Runs all tables and prints one line of score for each, and for the total.
fn all(context: &Context, args: &Args) -> Result<Done, Failure> {
    let (mut lines, mut cells, mut exit) = (String::new(), Vec::new(), Exit::OK);
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
    let errors = errors_of(&cells);
    for e in &errors {
        lines.push_str(&format!(
            "{}: half of {} cells are off by at most a factor of {:.2}\n",
            e.kind.plural(),
            e.cells,
            e.half
        ));
    }
    if let Some(path) = &args.trust {
        output_file::write(path, &to_toml(env!("CARGO_PKG_VERSION"), &errors))?;
    }
    Ok(Done { text: lines, exit })
}

/// The result of a table.
struct DoneTable {
    name: String,
    cells: Vec<Cell>,
    notes: String,
    /// Further published measurements of its cells.
    repeats: Vec<Repeat>,
    /// The lines about them.
    again: String,
    /// Which runs each column has.
    seeds: String,
    /// Directory of all its records.
    dir: PathBuf,
    /// Directories of its experiments, below `dir`.
    experiments: Vec<PathBuf>,
    /// The message that the score is worse than the table expects.
    regression: Option<String>,
    exit: Exit,
}

/// The message about a score that is worse than the table expects. `None` with fewer runs than the table asks for,
/// since the mean of fewer runs varies more.
fn regression(published: &Published, iterations: Option<u32>, cells: &[Cell]) -> Option<String> {
    let asked = published.blocks.iter().filter_map(|b| b.run.as_ref().ok()).map(|r| r.iterations);
    let enough = asked.max().is_none_or(|most| iterations.is_none_or(|n| n >= most));
    published.expect.filter(|_| enough).and_then(|e| score(cells).regression(&e))
}

/// Runs a table and compares it.
fn table(context: &Context, args: &Args, name: &str) -> Result<DoneTable, Failure> {
    let file = context.catalog.find(Kind::Published, &named("reproduce", name))?;
    let published = published::parse(&file.label, &file.text)?;
    file.check_name(&published.name)?;
    let selection = Selection::new(&published, &args.group)?;
    let own = format!("reproduce-{}", published.name.value);
    let out = if args.all { args.out.as_ref().map(|d| d.join(&own)) } else { args.out.clone() };
    let dir = options::directory(out.as_deref(), &own);
    let progress = Progress::told(0, &own)?;
    let executor = Executor { backend: &Sim::default(), jobs: options::jobs(args.jobs), progress: &progress };
    let (quiet_machine, blocks) = (args.quiet_machine, selection.simulated(args.iterations));
    let mut work = Work { context, published: &published, dir, executor, quiet_machine, ahead: vec![] };
    work.refuse_foreign()?;
    work.ahead = work.runs_of(&blocks)?;
    let (mut groups, mut cells, mut notes, mut exit) = (Vec::new(), Vec::new(), String::new(), Exit::OK);
    let mut experiments = Vec::new();
    for block in selection.blocks() {
        let own = blocks.iter().find(|(b, _)| std::ptr::eq(*b, block)).map(|(_, run)| run);
        match own.ok_or(block.run.as_ref().err()) {
            Ok(run) => {
                let done = work.block(block, run)?;
                cells.extend(done.cells);
                notes.push_str(&done.note);
                exit = exit.max(done.exit);
                experiments.extend(done.experiments);
                groups.push((block.group.as_str(), done.means));
            }
            Err(_) if !block.sum_of.is_empty() => {
                let sums = work.sums(block, &groups);
                cells.extend(work.cells(block, None, &|i, row| metric::evaluate(&sums[i], &row.metric)));
            }
            Err(reason) => {
                let reason = reason.map(String::as_str).unwrap_or_default();
                notes.push_str(&format!("{}: not simulated: {reason}\n", block.group));
            }
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
    exit = exit.max(if regression.is_some() { Exit::FINDING } else { Exit::OK });
    let (name, dir) = (published.name.value.clone(), work.dir);
    let seeds = ahead::seeds(&blocks, published.expect.and_then(|e| e.runs));
    Ok(DoneTable { name, cells, notes, repeats: measured, again, seeds, dir, experiments, regression, exit })
}

/// Folder of the runs that search the amount of work.
const CALIBRATION: &str = "calibration";

/// A table in progress: what all of its blocks share.
struct Work<'a> {
    context: &'a Context,
    published: &'a Published,
    dir: PathBuf,
    executor: Executor<'a>,
    quiet_machine: bool,
    /// The runs of all blocks, for the progress.
    ahead: Vec<Ahead<'a>>,
}

/// A number of runs in words: `1 run`, `7 runs`.
fn runs_of(n: u32) -> String {
    format!("{n} run{}", if n == 1 { "" } else { "s" })
}

/// The result of a block.
struct DoneBlock {
    cells: Vec<Cell>,
    /// Means of all scores and counters, by column.
    means: Vec<Means>,
    /// Directories of its experiments.
    experiments: Vec<PathBuf>,
    note: String,
    exit: Exit,
}

impl Work<'_> {
    /// The experiments of a block with their directories. An experiment has each kernel once, so a block with its own
    /// columns has one experiment per column.
    fn parts<'b>(&'b self, block: &'b Block) -> Vec<(PathBuf, Vec<&'b Column>)> {
        let (list, _) = self.published.columns_of(block);
        let home = self.home(block);
        if block.columns.is_some() {
            list.iter().map(|c| (home.join(file_name(&c.name)), vec![c])).collect()
        } else {
            vec![(home, list.iter().collect())]
        }
    }

    /// Runs a block, with a calibration first if the block asks for one.
    fn block(&self, block: &Block, run: &BlockRun) -> Result<DoneBlock, Failure> {
        let mut note = String::new();
        self.foresee(block, true);
        let parts = self.parts(block);
        let mut amount = None;
        if let Some(c) = &run.calibrate {
            // Creates the directory before the calibration creates its own below it.
            let (dir, columns) = &parts[0];
            Store::create(dir, &self.experiment(block, run, columns), &[])?;
            amount = Some(param(c, self.calibrate(block, run, c, &mut note)?));
            self.foresee(block, false);
        }
        let (mut outcomes, mut exit) = (Vec::new(), Exit::OK);
        for (dir, columns) in &parts {
            let mut experiment = self.experiment(block, run, columns);
            experiment.params.extend(amount.clone());
            let sources = CatalogSources::new(self.context, &experiment.workload_sources())?;
            let runs = experiment.cells(&sources, self.executor.backend.name())?;
            let finished = self.execute(dir, &experiment, &runs, &runs)?;
            for f in &finished {
                let m = &f.record.manifest;
                exit = exit.max(Exit::of(&f.record.outcome.status));
                if m.status != "completed" {
                    note.push_str(&format!("{} seed {}: {}\n", m.plan.kernel.name, m.plan.seed, m.status));
                }
            }
            outcomes.extend(by_column(finished, columns.len()));
        }
        let means = outcomes.iter().map(|runs| metric::means(&runs.iter().collect::<Vec<_>>())).collect();
        let figure = |i: usize, row: &Row| statistic(&outcomes[i], &row.metric, row.stat);
        let cells = self.cells(block, run.calibrate.as_ref(), &figure);
        let experiments = parts.into_iter().map(|(dir, _)| dir).collect();
        Ok(DoneBlock { cells, means, experiments, note, exit })
    }

    /// The runs of these blocks, in order.
    fn runs_of<'b>(&self, blocks: &[(&'b Block, BlockRun)]) -> Result<Vec<Ahead<'b>>, Failure> {
        let part = |block: &Block, run: &BlockRun, (dir, columns): (PathBuf, Vec<&Column>)| {
            let experiment = self.experiment(block, run, &columns);
            let sources = CatalogSources::new(self.context, &experiment.workload_sources())?;
            Ok((dir, experiment.cells(&sources, self.executor.backend.name())?, columns.len()))
        };
        let one = |(block, run): &(&'b Block, BlockRun)| {
            let (list, baseline) = self.published.columns_of(block);
            let parts =
                self.parts(block).into_iter().map(|p| part(block, run, p)).collect::<Result<Vec<_>, Failure>>()?;
            Ok(ahead::of(block, run, parts, (list.len(), baseline)))
        };
        blocks.iter().map(one).collect()
    }

    /// Tells the progress which runs are to come: those of this block, with those that search if `search`, and of the
    /// blocks after it.
    fn foresee(&self, block: &Block, search: bool) {
        let Some(at) = self.ahead.iter().position(|a| std::ptr::eq(a.block, block)) else { return };
        let searches = |i: usize| i > 0 || search;
        let runs = self.ahead[at..].iter().enumerate().flat_map(|(i, a)| {
            let search = a.search.iter().filter(move |_| searches(i));
            search.chain(a.parts.iter().flat_map(|p| &p.1)).map(|(run, model_s)| (&run.input, *model_s))
        });
        self.executor.progress.foresee(runs, self.executor.jobs);
    }

    /// Sums over the groups that a block names, by column.
    fn sums(&self, block: &Block, groups: &[(&str, Vec<Means>)]) -> Vec<Means> {
        let (list, _) = self.published.columns_of(block);
        let of = |column: usize| {
            let named = |g: &&(&str, Vec<Means>)| block.sum_of.iter().any(|s| s.value == g.0);
            metric::sums(&groups.iter().filter(named).map(|g| &g.1[column]).collect::<Vec<_>>(), block.times)
        };
        (0..list.len()).map(of).collect()
    }

    /// Carries out `runs`, as many at a time as fit into memory, in the directory of an experiment that lists `listed`.
    fn execute(&self, dir: &Path, of: &Experiment, listed: &[Run], runs: &[Run]) -> Result<Vec<Finished>, Failure> {
        let Executor { backend, jobs, progress } = self.executor;
        let jobs = memory::jobs_that_fit(backend, runs, dir, jobs)?;
        let store = Store::create(dir, of, listed)?;
        interrupt::watch(&store, runs);
        execute(&store, runs, &Executor { backend, jobs, progress })
    }

    /// Refuses a directory that holds anything but experiments of this table, before the first of them is created.
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
        // Records without their `experiment.json` are listed again.
        let lost = record::holds_records(&self.dir);
        let own = |name: &str| name.starts_with('.') || lost && record::goes_with_records(name);
        let mut others = entries.flatten().filter(|e| !own(&e.file_name().to_string_lossy())).map(|e| e.path());
        match others.find(|p| !known.contains(p)) {
            Some(path) => Err(foreign(format!("it holds other files, such as {}", path.display()))),
            None => Ok(()),
        }
    }

    /// Directory of a block's records: a folder of its own if the table has several blocks or the block its own
    /// columns.
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

    /// The experiment of some columns of a block.
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
            axes: Axes { quiet_machine: self.quiet_machine, ..Axes::default() },
        }
    }

    /// The amount of work for which the baseline's runs take as long as published, on average.
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
        let sources = CatalogSources::new(self.context, &base.workload_sources())?;
        let mut steps: Vec<Run> = Vec::new();
        let found = calibrate::search(target, Range { start: c.start, min: c.min, max: c.max }, |count| {
            let mut experiment = base.clone();
            experiment.params.push(param(c, count));
            let mut runs = experiment.cells(&sources, self.executor.backend.name())?;
            runs.iter_mut().zip(steps.len() as u32..).for_each(|(r, n)| r.iteration = n);
            let listed = [steps.as_slice(), runs.as_slice()].concat();
            let finished = self.execute(&dir, &experiment, &listed, &runs)?;
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

    /// The cells of a block; `figure` gives the simulated value of a column and row.
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
                let role = match () {
                    () if chosen || row.calibrated.contains(&i) => Role::Calibrated,
                    () if row.derived.is_some() => Role::Derived,
                    () => Role::Predicted,
                };
                out.push(Cell {
                    id: format!("{}/{}/{}", p.name.value, column.name, row.id),
                    group: block.group.clone(),
                    kernel: column.name.clone(),
                    metric: row_name(row),
                    figure: figure_kind(row),
                    published: Some(row.values[i]),
                    simulated: simulated[i],
                    published_ratio: ratio(Some(row.values[i]), Some(row.values[base])),
                    simulated_ratio: ratio(simulated[i], simulated[base]),
                    role,
                    derived: row.derived.clone().filter(|_| role == Role::Derived).unwrap_or_default(),
                    band: row.bands.get(i).copied().flatten(),
                    baseline: i == baseline || i == base,
                    note: row.suspects.get(i).cloned().unwrap_or_default(),
                });
            }
        }
        out
    }
}

/// The failure of a calibration whose run did not complete, so that the search has no time for this amount of work.
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

/// Name of a row in the printed table: the metric's if the row is the metric's mean, else the published name.
fn row_name(row: &Row) -> String {
    let plain = row.metric.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain && row.form == Form::Value && row.stat == Stat::Mean {
        metric_name(&row.metric).to_string()
    } else {
        row.id.clone()
    }
}

/// Kind of a row's figure.
fn figure_kind(row: &Row) -> FigureKind {
    match row.stat {
        Stat::Stddev | Stat::CoeffVar => FigureKind::Spread,
        Stat::Mean | Stat::Min | Stat::Max | Stat::Hmean => FigureKind::of(&row.metric, &row.unit),
    }
}

/// Outcomes by column, without incomplete runs.
fn by_column(finished: Vec<Finished>, columns: usize) -> Vec<Vec<Outcome>> {
    let mut out = vec![Vec::new(); columns];
    let per_column = (finished.len() / columns.max(1)).max(1);
    for (i, f) in finished.into_iter().enumerate() {
        // With one machine and one workload, runs are ordered by kernel, then iteration.
        if f.record.outcome.status == Status::Completed {
            out[(i / per_column).min(columns - 1)].push(f.record.outcome);
        }
    }
    out
}

/// A title as the name of a directory: other characters than letters, digits and `._+-` become `_`.
fn file_name(title: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    title.chars().map(plain).collect()
}

/// The parameter of a calibration, set to `count`.
fn param(c: &Calibrate, count: u64) -> Param {
    Param { workload: None, setting: Setting { name: c.parameter.clone(), value: count.to_string() } }
}

/// A statistic of a metric over runs; `None` without runs, or if a run lacks the metric.
fn statistic(runs: &[Outcome], expression: &str, stat: Stat) -> Option<f64> {
    let values = runs.iter().map(|o| figure(o, expression)).collect::<Option<Vec<f64>>>()?;
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

/// A metric of one run.
fn figure(outcome: &Outcome, expression: &str) -> Option<f64> {
    metric::evaluate(&metric::means(&[outcome]), expression)
}
