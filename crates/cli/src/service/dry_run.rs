//! What a command would run: which runs have a record, and about how much time and memory the others need.
//!
//! Approach: memory is [predicted](crate::memory). One run of every machine and workload is simulated for a fraction of
//! a second, several at a time: all trials together take a few seconds, however many there are. A trial gives the rate
//! of wall time to model time, which is taken to be that of all kernels. How long a run lasts is known if the trial
//! came to its end, from who asks, or from records of the same machine and workload. Otherwise only a lower bound is
//! said. A moment of
//! model time may take hours to simulate, so all trials end after 10 s. Invariant: nothing is written.

use crate::execute::{Backend, STACK_BYTES};
use crate::failure::{Done, Failure};
use crate::memory::{self, Limit, COMMAND_BYTES};
use crate::progress::in_words;
use crate::terminal;
use numalab_model::experiment::Cell;
use numalab_model::plan::PlanInput;
use numalab_model::record::{Status, Store};
use numalab_model::workload::Workload;
use numalab_sim::{MemoryPrediction, Observers, SimConfig};
use rayon::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};

/// Most wall time of a trial, s.
const TRIAL_S: f64 = 0.5;
/// Wall time that is shared among all trials, s. Attempts before the last take about as much again.
const ALL_TRIALS_S: f64 = 2.0;
/// Most wall time of all trials together. Those that have not ended by then are stopped, and tell no more than a lower
/// bound.
const MOST: Duration = Duration::from_secs(10);
/// Model time of a trial at first, ns. It grows until the trial takes its share of time.
const FIRST_NS: u64 = 20_000_000;
/// Least and greatest growth of a trial's model time from one attempt to the next.
const GROWTH: (f64, f64) = (1.5, 4.0);

/// Runs of a directory.
pub struct Part {
    /// The directory of their records.
    pub dir: PathBuf,
    /// The runs.
    pub cells: Vec<Cell>,
    /// Model time that one of them probably takes, s, if somebody knows. With a search it holds for the amount of work
    /// that is searched.
    pub model_s: Option<f64>,
    /// Number of runs that search the amount of work before these, about.
    pub search: usize,
}

/// Runs that differ only in the seed.
struct Group<'a> {
    cells: Vec<&'a Cell>,
    part: &'a Part,
    recorded: usize,
    /// What a run takes at its peak.
    memory: Option<MemoryPrediction>,
    /// Whether a run fits into memory alone.
    fits: bool,
    /// How long a run takes; unknown of a run that does not fit.
    estimate: Option<Estimate>,
}

/// How long one run of a group takes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    /// Wall time, s.
    wall_s: f64,
    /// Whether the run needs at least this time, and nobody knows how much more.
    at_least: bool,
}

/// What would be done for the runs of directories, at most `jobs` at a time.
///
/// # Errors
/// A wrong limit of memory; the text cannot be written as JSON.
pub fn forecast(work: &[Part], jobs: usize, backend: &dyn Backend, as_json: bool) -> Result<Done, Failure> {
    let limit = memory::limit(backend.memory_limit())?;
    let mut groups: Vec<Group<'_>> = work.iter().flat_map(grouped).collect();
    for group in groups.iter_mut().filter(|g| g.recorded < g.cells.len()) {
        group.memory = backend.memory(&group.cells[0].input);
        let fits = |m: &MemoryPrediction| limit.as_ref().is_none_or(|l| m.total() + COMMAND_BYTES <= l.bytes);
        group.fits = group.memory.as_ref().is_some_and(fits);
    }
    try_out(&mut groups, jobs)?;
    let total = Total::new(&groups, work, jobs, limit);
    if as_json {
        return Done::json(&as_value(&groups, &total));
    }
    let mut out = String::new();
    for dir in work.iter().map(|w| &w.dir) {
        out.push_str(&format!("{}\n{}", terminal::strong(&dir.display().to_string()), table(&groups, dir)));
    }
    out.push_str(&memory_table(&groups));
    out.push_str(&terminal::wrapped(&total.text(), terminal::width()));
    Ok(Done::text(out))
}

/// The groups of a directory's runs, in order.
fn grouped(part: &Part) -> Vec<Group<'_>> {
    let mut out: Vec<Group<'_>> = Vec::new();
    let key = |c: &Cell| {
        let p = &c.input.plan;
        (p.machine.name.clone(), p.workload.name.clone(), p.kernel.name.clone())
    };
    for cell in &part.cells {
        let recorded = usize::from(part.dir.join(cell.input.id.short()).join("manifest.json").is_file());
        match out.iter_mut().find(|g| key(g.cells[0]) == key(cell)) {
            Some(group) => {
                group.cells.push(cell);
                group.recorded += recorded;
            }
            None => out.push(Group { cells: vec![cell], part, recorded, memory: None, fits: false, estimate: None }),
        }
    }
    out
}

/// Tries a run of each machine and workload that is to do, `jobs` at a time. Its estimate is that of all kernels.
fn try_out(groups: &mut [Group<'_>], jobs: usize) -> Result<(), Failure> {
    let key = |g: &Group<'_>| {
        let p = &g.cells[0].input.plan;
        (g.part.dir.clone(), p.machine.name.clone(), p.workload.name.clone())
    };
    let mut tried: Vec<&Group<'_>> = Vec::new();
    for group in groups.iter().filter(|g| g.fits) {
        if !tried.iter().any(|t| key(t) == key(group)) {
            tried.push(group);
        }
    }
    let trial_s = TRIAL_S.min(ALL_TRIALS_S / tried.len().max(1) as f64);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).stack_size(STACK_BYTES).build();
    let pool = pool.map_err(|e| Failure::environment(format!("cannot start {jobs} threads: {e}")))?;
    let estimates: Vec<_> = stopped_after(MOST, |stop| {
        let one = |g: &&Group<'_>| (key(g), estimate(g.part, &g.cells[0].input, trial_s, stop));
        pool.install(|| tried.par_iter().map(one).collect())
    });
    for group in groups.iter_mut().filter(|g| g.fits) {
        let own = key(group);
        group.estimate = estimates.iter().find(|e| e.0 == own).and_then(|e| e.1);
    }
    Ok(())
}

/// Calls `work` with a flag that is set once `limit` has passed.
fn stopped_after<T>(limit: Duration, work: impl FnOnce(&Arc<AtomicBool>) -> T) -> T {
    let stop = Arc::new(AtomicBool::new(false));
    let (done, until) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // It ends at once when the work is done, which drops the other end.
            if until.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.store(true, Ordering::Relaxed);
            }
            drop(until);
        });
        let out = work(&stop);
        drop(done);
        out
    })
}

/// How long a run takes, by a trial of about `trial_s`; `None` if the simulator cannot carry it out, or `stop` came
/// before it began.
fn estimate(part: &Part, input: &PlanInput, trial_s: f64, stop: &Arc<AtomicBool>) -> Option<Estimate> {
    let config = SimConfig::of(&input.kernel).ok()?.with_machine_background(!input.on_quiet_machine());
    let mut limit_ns = FIRST_NS;
    loop {
        let workload = Workload { limit_ns: limit_ns.min(input.workload.limit_ns), ..(*input.workload).clone() };
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let observers = Observers { stop: Some(stop.clone()), ..Observers::default() };
        let start = Instant::now();
        let outcome =
            numalab_sim::observe(&input.machine, &workload, &config, input.seed, false, observers).ok()?.outcome;
        let wall_s = start.elapsed().as_secs_f64();
        if stop.load(Ordering::Relaxed) {
            return Some(Estimate { wall_s, at_least: true });
        }
        let ended = outcome.status != Status::Timeout || workload.limit_ns == input.workload.limit_ns;
        if ended {
            // Another amount of work is searched than that of the trial.
            let whole = part.model_s.filter(|_| part.search > 0);
            let own = outcome.scalars.iter().find(|s| s.name == "elapsed_s").map(|s| s.value).filter(|s| *s > 0.0);
            let times = whole.zip(own).map_or(1.0, |(whole, own)| whole / own);
            return Some(Estimate { wall_s: wall_s * times, at_least: false });
        }
        if wall_s >= trial_s {
            let model_s = workload.limit_ns as f64 / 1e9;
            let whole = part.model_s.or_else(|| recorded_s(&part.dir, input));
            let wall_s = whole.map_or(wall_s, |whole| wall_s * (whole / model_s).max(1.0));
            return Some(Estimate { wall_s, at_least: whole.is_none() });
        }
        let growth = (1.1 * trial_s / wall_s.max(1e-6)).clamp(GROWTH.0, GROWTH.1);
        limit_ns = (limit_ns as f64 * growth) as u64;
    }
}

/// Model time of runs of the same machine and workload that have a record, s.
fn recorded_s(dir: &Path, input: &PlanInput) -> Option<f64> {
    let store = Store::open(dir).ok()?;
    let alike = |m: &&numalab_model::record::Member| {
        m.machine == input.plan.machine.name && m.workload == input.plan.workload.name
    };
    let elapsed = |m| {
        let record = store.record(m).ok()??;
        record.outcome.scalars.iter().find(|s| s.name == "elapsed_s").map(|s| s.value)
    };
    let all: Vec<f64> = store.file().runs.iter().filter(alike).filter_map(elapsed).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// What all runs need together.
struct Total {
    runs: usize,
    recorded: usize,
    /// Runs that search the amount of work, about.
    search: usize,
    wall_s: f64,
    at_least: bool,
    /// Memory of the runs at a time and of the command, bytes.
    bytes: u64,
    known: bool,
    /// Number of runs at a time that was asked for.
    asked: usize,
    /// How many of them fit into memory; 0 if a run does not fit alone.
    jobs: usize,
    limit: Option<Limit>,
}

impl Total {
    fn new(groups: &[Group<'_>], parts: &[Part], asked: usize, limit: Option<Limit>) -> Self {
        let runs = groups.iter().map(|g| g.cells.len()).sum();
        let recorded = groups.iter().map(|g| g.recorded).sum();
        let to_do = |g: &Group<'_>| g.cells.len() - g.recorded;
        let (mut work, mut longest, mut at_least, mut known) = (0.0, 0.0f64, false, true);
        let mut peaks: Vec<u64> = Vec::new();
        for g in groups.iter().filter(|g| to_do(g) > 0) {
            let Some(memory) = &g.memory else {
                known = false;
                continue;
            };
            peaks.extend(std::iter::repeat_n(memory.total(), to_do(g)));
            let Some(e) = g.estimate else {
                at_least = true;
                continue;
            };
            work += e.wall_s * to_do(g) as f64;
            longest = longest.max(e.wall_s);
            at_least |= e.at_least;
        }
        let searched = |p: &&Part| p.search > 0 && groups.iter().any(|g| std::ptr::eq(g.part, *p) && to_do(g) > 0);
        let mut search = 0;
        for part in parts.iter().filter(searched) {
            let first = groups.iter().find(|g| std::ptr::eq(g.part, part)).and_then(|g| g.estimate);
            work += first.map_or(0.0, |e| e.wall_s) * part.search as f64;
            search += part.search;
        }
        peaks.sort_unstable_by(|a, b| b.cmp(a));
        let jobs = limit.as_ref().map_or(asked, |l| memory::fitting(peaks.clone(), asked, l));
        let bytes = COMMAND_BYTES + peaks.iter().take(jobs.max(1)).sum::<u64>();
        let wall_s = (work / jobs.max(1) as f64).max(longest);
        Self { runs, recorded, search, wall_s, at_least, bytes, known, asked, jobs, limit }
    }

    fn text(&self) -> String {
        let Self { runs, recorded, jobs, asked, .. } = *self;
        let to_do = runs - recorded;
        let s = if runs == 1 { "" } else { "s" };
        let fewer = if jobs < asked { format!(" instead of {asked}, for lack of memory") } else { String::new() };
        let search = match self.search {
            0 => String::new(),
            n => format!(" besides about {n} that search the amount of work"),
        };
        let head = format!(
            "{runs} run{s}: {recorded} with a record, {to_do} to carry out{search}, {} at a time{fewer}.",
            jobs.max(1)
        );
        if to_do == 0 {
            return format!("{head} Nothing is left to do.\n");
        }
        if !self.known {
            return format!("{head} Time and memory are known for simulated runs only.\n");
        }
        let may = self.limit.as_ref().map(|l| format!("{} ({})", memory::in_words(l.bytes), l.source));
        let bytes = memory::in_words(self.bytes);
        if jobs == 0 {
            return format!(
                "{runs} run{s}: {recorded} with a record, {to_do} to carry out. This would be refused: the largest run and the \
                 command take about {bytes} of memory, and {} may be used.\n",
                may.unwrap_or_default()
            );
        }
        let how = if self.at_least { "At least" } else { "About" };
        let why = if self.at_least { " (trials did not come to the end of some runs)" } else { "" };
        let of = may.map(|may| format!(", of {may}")).unwrap_or_default();
        format!("{head} {how} {}{why}, about {bytes} of memory{of}.\n", in_words(self.wall_s))
    }
}

/// What takes the memory of each run that is to do: one row for runs that need the same.
fn memory_table(groups: &[Group<'_>]) -> String {
    let mut rows: Vec<([String; 2], Vec<String>, MemoryPrediction)> = Vec::new();
    for g in groups {
        let Some(memory) = g.memory else { continue };
        let p = &g.cells[0].input.plan;
        let key = [p.machine.name.clone(), p.workload.name.clone()];
        match rows.iter_mut().find(|r| r.0 == key && r.2 == memory) {
            Some(row) if !row.1.contains(&p.kernel.name) => row.1.push(p.kernel.name.clone()),
            Some(_) => {}
            None => rows.push((key, vec![p.kernel.name.clone()], memory)),
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let row = |([machine, workload], kernels, memory): &([String; 2], Vec<String>, MemoryPrediction)| {
        let total = memory::in_words(memory.total());
        vec![machine.clone(), workload.clone(), kernels.join(", "), total, memory::parts_in_words(memory)]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let head = terminal::strong("peak of memory, each run");
    format!("{head}\n{}", terminal::table(&rows, 2, terminal::width()))
}

/// One row per group of a directory.
fn table(groups: &[Group<'_>], dir: &Path) -> String {
    let row = |g: &Group<'_>| {
        let p = &g.cells[0].input.plan;
        let state = match g.cells.len() - g.recorded {
            0 => "all have a record".to_string(),
            n if g.recorded == 0 => format!("{n} to run"),
            n => format!("{n} to run, {} with a record", g.recorded),
        };
        let each = g.estimate.map(|e| {
            let how = if e.at_least { "at least " } else { "" };
            format!(": {how}{} each", in_words(e.wall_s))
        });
        vec![p.machine.name.clone(), p.workload.name.clone(), p.kernel.name.clone(), state + &each.unwrap_or_default()]
    };
    let rows: Vec<Vec<String>> = groups.iter().filter(|g| g.part.dir == dir).map(row).collect();
    terminal::table(&rows, 2, terminal::width())
}

fn as_value(groups: &[Group<'_>], total: &Total) -> serde_json::Value {
    let run = |g: &Group<'_>, c: &Cell| {
        let p = &c.input.plan;
        let recorded = g.part.dir.join(c.input.id.short()).join("manifest.json").is_file();
        json!({"record": c.input.id.short(), "directory": g.part.dir.display().to_string(), "machine": p.machine.name,
            "workload": p.workload.name, "kernel": p.kernel.name, "seed": p.seed, "recorded": recorded,
            "wall_s": g.estimate.map(|e| e.wall_s), "memory_bytes": g.memory.map(|m| m.total()),
            "memory_parts": g.memory.map(|m| m.parts().into_iter().collect::<std::collections::BTreeMap<_, _>>())})
    };
    let runs: Vec<_> = groups.iter().flat_map(|g| g.cells.iter().map(|c| run(g, c))).collect();
    json!({"runs": runs, "to_do": total.runs - total.recorded, "recorded": total.recorded,
        "wall_s": total.known.then_some(total.wall_s), "at_least": total.at_least,
        "memory_bytes": total.known.then_some(total.bytes), "jobs": total.jobs,
        "memory_limit_bytes": total.limit.as_ref().map(|l| l.bytes)})
}
