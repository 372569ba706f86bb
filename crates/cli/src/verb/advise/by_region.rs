//! `advise --by-region`: what a change of each region would gain, simulated one by one beside the program as it is.

use super::columns::Way;
use super::fitted::{params, Made, Sized};
use crate::backend::{BackendKind, GuestArgs, Sim};
use crate::context::{named, Context};
use crate::failure::Failure;
use crate::output_file;
use crate::service::carry_out::{carry_out, RunOptions};
use numalab_accesses::fit::{Change, Region};
use numalab_model::experiment::{Axes, Experiment, Named};
use numalab_model::record::Outcome;
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Runs of every change, with different seeds.
const RUNS: u32 = 2;
/// Most regions that are looked at, the largest first.
const MOST_REGIONS: usize = 6;
/// The score of a fitted workload.
const SCORE: &str = "visited";
/// Gain below which a change is not worth a line, percent.
const LEAST_PERCENT: f64 = 1.0;

/// A change and what it gains.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// The change.
    pub change: Change,
    /// Name of the process.
    pub process: String,
    /// The region.
    pub region: Region,
    /// With balancing: smallest and largest gain of the seeds over the program as it is, percent.
    pub percent: (f64, f64),
    /// The same without balancing, which mends much of what a program does wrong, given time.
    pub percent_off: (f64, f64),
}

impl Gain {
    /// The larger one of the middles of its ranges, percent.
    fn largest(&self) -> f64 {
        middle(self.percent).max(middle(self.percent_off))
    }

    /// As a sentence.
    pub fn text(&self) -> String {
        let range = |of: (f64, f64)| format!("{:+.1} % ({:+.1} to {:+.1})", middle(of), of.0, of.1);
        let (on, off) = (range(self.percent), range(self.percent_off));
        format!("{on}, without balancing {off}: {}", self.change.advice(&self.region))
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({
            "change": self.change.word(),
            "process": self.process,
            "region": self.region.name,
            "site": self.region.site,
            "gain_percent": middle(self.percent),
            "gain_low_percent": self.percent.0,
            "gain_high_percent": self.percent.1,
            "gain_off_percent": middle(self.percent_off),
            "gain_off_low_percent": self.percent_off.0,
            "gain_off_high_percent": self.percent_off.1,
            "text": self.change.advice(&self.region),
        })
    }
}

/// The middle of a range.
fn middle((low, high): (f64, f64)) -> f64 {
    (low + high) / 2.0
}

/// Simulates every change of the largest regions, with balancing as the kernel does it and without. The largest gains
/// come first.
///
/// # Errors
/// A workload cannot be written or simulated.
pub fn gains(context: &Context, made: &Made, sized: &Sized<'_>, dir: &Path) -> Result<Vec<Gain>, Failure> {
    let fit = &made.fit;
    let mut places = fit.places();
    let bytes = |(p, r): &(usize, usize)| {
        let region = &fit.processes[*p].regions[*r];
        // Lines that threads write by turns are few bytes and may be all that matters.
        (region.lines.is_some(), region.bytes * region.members.unwrap_or(1) as u64)
    };
    places.sort_by_key(|place| std::cmp::Reverse(bytes(place)));
    places.truncate(MOST_REGIONS);
    let mut workloads = vec![("as-it-is".to_string(), made.file.display().to_string())];
    let mut changes = Vec::new();
    let mut texts = BTreeSet::new();
    for place in places {
        for change in Change::ALL {
            let Some(changed) = fit.changed(place, change) else { continue };
            let name = format!(
                "{}-{}-{}",
                change.word(),
                fit.processes[place.0].name,
                fit.processes[place.0].regions[place.1].name
            );
            let text = changed.to_toml("a change of the fitted workload");
            // What keeps threads on nodes is the same for all regions that they use.
            if !texts.insert(text.clone()) {
                continue;
            }
            let file = dir.join(format!("{name}.toml"));
            output_file::write(&file, &text)?;
            workloads.push((name, file.display().to_string()));
            changes.push((place, change));
        }
    }
    let scores = simulate(context, &workloads, sized, &dir.join("changes"))?;
    let gain = |name: &str, column: &Way| -> (f64, f64) {
        let of = |name: &str| scores.get(&(name.to_string(), column.name().to_string())).cloned().unwrap_or_default();
        let (own, base) = (of(name), of(&workloads[0].0));
        let each: Vec<f64> = own.iter().zip(&base).map(|(a, b)| (a / b - 1.0) * 100.0).collect();
        let low = each.iter().copied().fold(f64::INFINITY, f64::min);
        (low, each.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let mut out = Vec::new();
    for ((name, _), ((p, r), change)) in workloads[1..].iter().zip(changes) {
        let (percent, percent_off) = (gain(name, &Way::On), gain(name, &Way::Off));
        let process = &fit.processes[p];
        if [percent.0, percent.1, percent_off.0, percent_off.1].iter().all(|g| g.is_finite()) {
            let (process, region) = (process.name.clone(), process.regions[r].clone());
            out.push(Gain { change, process, region, percent, percent_off });
        }
    }
    out.sort_by(|a, b| b.largest().total_cmp(&a.largest()));
    Ok(out)
}

/// The score of every workload in every column, seed by seed.
fn simulate(
    context: &Context,
    workloads: &[(String, String)],
    sized: &Sized<'_>,
    dir: &Path,
) -> Result<BTreeMap<(String, String), Vec<f64>>, Failure> {
    let mut all = Vec::new();
    for (name, _) in workloads {
        all.extend(params(name, sized)?);
    }
    let of: Vec<Named> =
        workloads.iter().map(|(name, file)| Named { name: named("advise", name), of: named("advise", file) }).collect();
    let columns = [Way::On, Way::Off].iter().map(|w| w.column(sized.kernel)).collect::<Result<Vec<_>, _>>()?;
    let experiment = Experiment {
        title: "What a change of each region gains".into(),
        name: "advise_changes".into(),
        about: String::new(),
        machines: vec![named("--machine", sized.machine)],
        kernels: Vec::new(),
        workloads: of.iter().map(|w| w.name.clone()).collect(),
        baseline: Some(named("advise", Way::On.name())),
        iterations: RUNS,
        seed: 1,
        sets: Vec::new(),
        params: all,
        axes: Axes { columns, workloads: of, until_settled: Some(true), ..Axes::default() },
    };
    experiment.check()?;
    let guest = GuestArgs::default();
    let with = RunOptions {
        backend: BackendKind::Sim,
        guest: &guest,
        program: None,
        sim: Sim::default(),
        jobs: sized.jobs,
        out: Some(dir),
    };
    let (_, finished) = carry_out(context, &experiment, with)?;
    let mut out = BTreeMap::<(String, String), Vec<f64>>::new();
    for f in finished {
        let plan = &f.record.manifest.plan;
        let column = (plan.workload.name.clone(), plan.kernel.name.clone());
        out.entry(column).or_default().extend(score(&f.record.outcome));
    }
    Ok(out)
}

/// What the program does a second, once it has settled; over the whole run if it has not.
fn score(outcome: &Outcome) -> Option<f64> {
    let settled = outcome.settled.iter().flat_map(|s| &s.rates).find(|r| r.name == SCORE);
    if let Some(rate) = settled.filter(|r| r.per_second > 0.0) {
        return Some(rate.per_second);
    }
    outcome.scalars.iter().find(|s| s.name == SCORE).map(|s| s.value).filter(|v| *v > 0.0)
}

/// The gains as sentences; what helps nothing is left out.
pub fn sentences(gains: &[Gain]) -> Vec<String> {
    let out: Vec<String> =
        gains.iter().filter(|g| g.percent.0.max(g.percent_off.0) > LEAST_PERCENT).map(Gain::text).collect();
    match out.is_empty() {
        true => vec!["no change of a single region gains a percent".into()],
        false => out,
    }
}
