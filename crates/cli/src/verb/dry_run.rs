//! What a command would run: which runs have a record, and about how much time and memory the others need.
//!
//! Approach: one run of every machine, workload and kernel is simulated for about half a second. It gives the rate of
//! wall time to model time, and the memory that the model holds. How long a run lasts is known if the trial came to its
//! end, or from records of the same machine and workload. Otherwise only a lower bound is said. Invariant: nothing is
//! written.

use crate::failure::{Done, Failure};
use crate::progress::in_words;
use crate::terminal;
use numalab_model::experiment::Cell;
use numalab_model::plan::PlanInput;
use numalab_model::record::{Status, Store};
use numalab_model::workload::Workload;
use numalab_sim::SimConfig;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A trial ends when it has taken this wall time, s.
const TRIAL_S: f64 = 0.5;
/// Model time of a trial at first, ns. It grows until the trial takes [`TRIAL_S`].
const FIRST_NS: u64 = 100_000_000;
/// Growth of a trial's model time from one attempt to the next.
const GROWTH: u64 = 4;
/// Memory of the command besides the state of the model, bytes.
const COMMAND_BYTES: u64 = 30 << 20;

/// Runs that differ only in the seed.
struct Group<'a> {
    cells: Vec<&'a Cell>,
    dir: &'a Path,
    recorded: usize,
    estimate: Option<Estimate>,
}

/// What one run of a group needs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    /// Wall time, s.
    wall_s: f64,
    /// Whether the run needs at least this time, and nobody knows how much more.
    at_least: bool,
    /// State of the model, bytes.
    bytes: u64,
}

/// What would be done for the runs of directories, at most `jobs` at a time.
///
/// # Errors
/// The text cannot be written as JSON.
pub fn forecast(work: &[(PathBuf, Vec<Cell>)], jobs: usize, simulated: bool, as_json: bool) -> Result<Done, Failure> {
    let mut groups: Vec<Group<'_>> = work.iter().flat_map(|(dir, cells)| grouped(dir, cells)).collect();
    if simulated {
        for group in groups.iter_mut().filter(|g| g.recorded < g.cells.len()) {
            group.estimate = estimate(group);
        }
    }
    let total = Total::new(&groups, jobs);
    if as_json {
        return Done::json(&as_value(&groups, &total));
    }
    let mut out = String::new();
    for dir in work.iter().map(|w| &w.0) {
        out.push_str(&format!("{}\n{}", terminal::strong(&dir.display().to_string()), table(&groups, dir)));
    }
    out.push_str(&terminal::wrapped(&total.text(jobs), terminal::width()));
    Ok(Done::text(out))
}

/// The groups of a directory's runs, in order.
fn grouped<'a>(dir: &'a Path, cells: &'a [Cell]) -> Vec<Group<'a>> {
    let mut out: Vec<Group<'a>> = Vec::new();
    let key = |c: &Cell| {
        let p = &c.input.plan;
        (p.machine.name.clone(), p.workload.name.clone(), p.kernel.name.clone())
    };
    for cell in cells {
        let recorded = usize::from(dir.join(cell.input.id.short()).join("manifest.json").is_file());
        match out.iter_mut().find(|g| key(g.cells[0]) == key(cell)) {
            Some(group) => {
                group.cells.push(cell);
                group.recorded += recorded;
            }
            None => out.push(Group { cells: vec![cell], dir, recorded, estimate: None }),
        }
    }
    out
}

/// What a run of the group needs; `None` if the simulator cannot carry it out.
fn estimate(group: &Group<'_>) -> Option<Estimate> {
    let input = &group.cells[0].input;
    let config = SimConfig::of(&input.kernel).ok()?.with_machine_background(!input.on_quiet_machine());
    let mut limit_ns = FIRST_NS;
    loop {
        let workload = Workload { limit_ns: limit_ns.min(input.workload.limit_ns), ..(*input.workload).clone() };
        let start = Instant::now();
        let (outcome, footprint) = numalab_sim::measure(&input.machine, &workload, &config, input.seed, false).ok()?;
        let wall_s = start.elapsed().as_secs_f64();
        let ended = outcome.status != Status::Timeout || workload.limit_ns == input.workload.limit_ns;
        if ended {
            return Some(Estimate { wall_s, at_least: false, bytes: footprint.state_bytes });
        }
        if wall_s >= TRIAL_S {
            let model_s = workload.limit_ns as f64 / 1e9;
            let whole = recorded_s(group.dir, input);
            let wall_s = whole.map_or(wall_s, |whole| wall_s * (whole / model_s).max(1.0));
            return Some(Estimate { wall_s, at_least: whole.is_none(), bytes: footprint.state_bytes });
        }
        limit_ns = limit_ns.saturating_mul(GROWTH);
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
    wall_s: f64,
    at_least: bool,
    bytes: u64,
    known: bool,
}

impl Total {
    fn new(groups: &[Group<'_>], jobs: usize) -> Self {
        let runs = groups.iter().map(|g| g.cells.len()).sum();
        let recorded = groups.iter().map(|g| g.recorded).sum();
        let to_do = |g: &Group<'_>| g.cells.len() - g.recorded;
        let (mut work, mut longest, mut at_least, mut known) = (0.0, 0.0f64, false, true);
        let mut states: Vec<u64> = Vec::new();
        for g in groups.iter().filter(|g| to_do(g) > 0) {
            let Some(e) = g.estimate else {
                known = false;
                continue;
            };
            work += e.wall_s * to_do(g) as f64;
            longest = longest.max(e.wall_s);
            at_least |= e.at_least;
            states.extend(std::iter::repeat_n(e.bytes, to_do(g)));
        }
        states.sort_unstable_by(|a, b| b.cmp(a));
        let bytes = COMMAND_BYTES + states.iter().take(jobs).sum::<u64>();
        Self { runs, recorded, wall_s: (work / jobs.max(1) as f64).max(longest), at_least, bytes, known }
    }

    fn text(&self, jobs: usize) -> String {
        let Self { runs, recorded, .. } = *self;
        let to_do = runs - recorded;
        let s = if runs == 1 { "" } else { "s" };
        let head = format!("{runs} run{s}: {recorded} with a record, {to_do} to carry out, {jobs} at a time.");
        if to_do == 0 {
            return format!("{head} Nothing is left to do.\n");
        }
        if !self.known {
            return format!("{head} Time and memory are known for simulated runs only.\n");
        }
        let how = if self.at_least { "At least" } else { "About" };
        let why = if self.at_least {
            " (some runs are bounded by work, which a trial did not come to the end of)"
        } else {
            ""
        };
        format!("{head} {how} {}{why}, about {} MiB of memory.\n", in_words(self.wall_s), self.bytes >> 20)
    }
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
            format!(": {how}{} and {} MiB each", in_words(e.wall_s), (e.bytes >> 20).max(1))
        });
        vec![p.machine.name.clone(), p.workload.name.clone(), p.kernel.name.clone(), state + &each.unwrap_or_default()]
    };
    let rows: Vec<Vec<String>> = groups.iter().filter(|g| g.dir == dir).map(row).collect();
    terminal::table(&rows, 2, terminal::width())
}

fn as_value(groups: &[Group<'_>], total: &Total) -> serde_json::Value {
    let run = |g: &Group<'_>, c: &Cell| {
        let p = &c.input.plan;
        let recorded = g.dir.join(c.input.id.short()).join("manifest.json").is_file();
        json!({"record": c.input.id.short(), "directory": g.dir.display().to_string(), "machine": p.machine.name,
            "workload": p.workload.name, "kernel": p.kernel.name, "seed": p.seed, "recorded": recorded,
            "wall_s": g.estimate.map(|e| e.wall_s), "memory_bytes": g.estimate.map(|e| e.bytes)})
    };
    let runs: Vec<_> = groups.iter().flat_map(|g| g.cells.iter().map(|c| run(g, c))).collect();
    json!({"runs": runs, "to_do": total.runs - total.recorded, "recorded": total.recorded,
        "wall_s": total.known.then_some(total.wall_s), "at_least": total.at_least,
        "memory_bytes": total.known.then_some(total.bytes)})
}
