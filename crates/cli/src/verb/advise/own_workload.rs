//! `advise --like FILE.toml`: a workload of the user's own, such as one that `numalab fit` wrote, in place of a kind of
//! program.

use super::args::Args;
use super::columns::Way;
use super::likes::{Like, Size};
use super::target::Target;
use crate::backend::{BackendKind, GuestArgs, Sim};
use crate::context::{named, Context};
use crate::failure::{note, Failure};
use crate::service::carry_out::{carry_out, RunOptions};
use crate::sources;
use numalab_model::catalog::is_path;
use numalab_model::experiment::{Axes, Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::record::Status;
use numalab_model::spec::Spot;
use numalab_model::workload::{Workload, WorkloadSpec};
use std::path::Path;

/// Times over which a workload with a parameter `duration` is simulated, ms.
const TIMES_MS: [u64; 2] = [6_000, 60_000];
/// Time that a workload with a parameter `repeat` should run in the model, s. A run ends before if it has settled.
const MODEL_S: f64 = 60.0;
/// Most repetitions.
const MOST_REPEATS: f64 = 1e7;
/// Parameters that are all of the memory, or all of the busy threads.
const MEMORY: [&str; 2] = ["memory", "pool"];
const THREADS: [&str; 3] = ["threads", "workers", "connections"];

/// Whether `--like` names a file.
pub fn is_file(like: &str) -> bool {
    is_path(like)
}

/// A workload file as a kind of program, and its size on the machine.
///
/// # Errors
/// The file is no workload, it does not fit the machine, or it has no parameter for a size that was asked for.
pub fn load(context: &Context, args: &Args, file: &str, target: &Target) -> Result<(Like, Size), Failure> {
    let spec = sources::workload(context, &named("--like", file))?;
    let mut chosen = Vec::new();
    for text in &args.param {
        let s = Setting::from_argument("--param", text)?;
        chosen.push((s.name.value, s.value));
    }
    let mut params = chosen.clone();
    let own = size_of(&spec.resolve(&target.machine, 1, &params)?);
    if let Some(asked) = args.memory {
        let by = asked as f64 / own.memory_bytes.max(1) as f64;
        scale(&spec, "--memory", (&MEMORY, "memory_"), &mut params, |value| format!("floor(({value}) * {by})"))?;
    }
    if let Some(asked) = args.threads {
        let by = f64::from(asked) / f64::from(own.threads.max(1));
        let scaled = |value: &str| format!("max(1, round(({value}) * {by}))");
        scale(&spec, "--threads", (&THREADS, "threads_"), &mut params, scaled)?;
    }
    let size = size_of(&spec.resolve(&target.machine, 1, &params)?);
    let mut like = Like::of_file(spec.name(), file, params, &TIMES_MS);
    chosen.iter().for_each(|(name, value)| like.choose(name, value));
    Ok((like, size))
}

/// Memory that the processes map themselves, and their threads.
fn size_of(w: &Workload) -> Size {
    let bytes = w.processes.iter().flat_map(|p| &p.regions).map(|r| r.size_bytes).sum();
    let threads: usize = w.processes.iter().map(|p| p.threads.len()).sum();
    Size { memory_bytes: bytes, threads: u32::try_from(threads).unwrap_or(u32::MAX) }
}

/// Scales the parameters that hold a size: one of `names`, or all that begin as `several`, but for what `--param` sets.
fn scale(
    spec: &WorkloadSpec,
    option: &str,
    (names, several): (&[&str], &str),
    params: &mut Vec<(String, String)>,
    scaled: impl Fn(&str) -> String,
) -> Result<(), Failure> {
    let all = spec.params();
    let one = all.iter().filter(|p| names.contains(&p.name.as_str())).take(1);
    let mut found: Vec<_> = one.collect();
    if found.is_empty() {
        found = all.iter().filter(|p| p.name.starts_with(several)).collect();
    }
    if found.is_empty() {
        let has: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
        let has = if has.is_empty() { "none".to_string() } else { has.join(", ") };
        return Err(Failure::usage(format!(
            "command line: `{option}`: {} has no parameter {} or {several}*; expected --param NAME=VALUE with one of \
             its own: {has}",
            spec.name(),
            names.join(", ")
        )));
    }
    for p in found {
        if !params.iter().any(|(name, _)| *name == p.name) {
            params.push((p.name.clone(), scaled(p.default_text())));
        }
    }
    Ok(())
}

/// Gives a workload without a parameter `duration` its time: how long it takes with balancing on, or, if it has a
/// parameter `repeat`, as often as about a minute needs.
///
/// # Errors
/// The workload cannot be simulated, or does not come to its end.
pub fn time(
    context: &Context,
    like: &mut Like,
    (target, machine): (&Target, &str),
    kernel: &Spot<String>,
    dir: &Path,
) -> Result<(), Failure> {
    let spec = sources::workload(context, &named("--like", &like.workload))?;
    let has = |name: &str| spec.params().iter().any(|p| p.name == name);
    if has("duration") {
        if !like.sets("duration") {
            like.param("duration", "{time}");
        }
        return Ok(());
    }
    note(&format!("numalab: {} has no parameter `duration`: one run tells how long it takes", like.name));
    let once_s = elapsed_s(context, like, (target, machine), kernel, dir)?;
    let mut repeats = 1.0;
    if has("repeat") && !like.sets("repeat") {
        repeats = (MODEL_S / once_s.max(1e-6)).ceil().clamp(1.0, MOST_REPEATS);
        like.param("repeat", &format!("{repeats}"));
    }
    like.lasts_ms(((once_s * repeats * 1000.0).round() as u64).max(1));
    Ok(())
}

/// How long one run takes with balancing on, s.
fn elapsed_s(
    context: &Context,
    like: &Like,
    (target, machine): (&Target, &str),
    kernel: &Spot<String>,
    dir: &Path,
) -> Result<f64, Failure> {
    let one = |(key, value): &(String, String)| {
        let setting = Setting::from_argument("--param", &format!("{key}={value}"))?;
        Ok(Param { workload: None, setting })
    };
    let experiment = Experiment {
        title: format!("How long does {} take on {}?", like.name, target.machine.name),
        name: format!("advise_{}_once", like.name),
        about: String::new(),
        machines: vec![named("--machine", machine)],
        kernels: Vec::new(),
        workloads: vec![named("--like", &like.workload)],
        baseline: None,
        iterations: 1,
        seed: 1,
        sets: Vec::new(),
        params: like.own_params().iter().map(one).collect::<Result<_, Failure>>()?,
        axes: Axes { columns: vec![Way::On.column(kernel)?], until_settled: Some(true), ..Axes::default() },
    };
    experiment.check()?;
    let guest = GuestArgs::default();
    let with = RunOptions {
        backend: BackendKind::Sim,
        guest: &guest,
        sim: Sim::default(),
        jobs: None,
        out: Some(dir),
        program: None,
    };
    let (_, finished) = carry_out(context, &experiment, with)?;
    let run = finished.first().filter(|f| f.record.outcome.status == Status::Completed);
    let elapsed = run.and_then(|f| f.record.outcome.scalars.iter().find(|s| s.name == "elapsed_s")).map(|s| s.value);
    elapsed.ok_or_else(|| Failure::usage(format!("{}: its run did not come to an end", like.workload)))
}
