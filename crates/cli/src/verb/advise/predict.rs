//! `advise --like`: a prediction. A workload of the catalog stands for the program ([`super::likes`]). Each way to run
//! it is a column of one experiment ([`super::columns`]), and each size over each time is a workload. What all of them
//! say together becomes one advice ([`super::decide`]).

use super::args::Args;
use super::columns::Way;
use super::decide::Advice;
use super::extras::EXTRAS;
use super::likes::{Like, Size};
use super::output::{self, Given};
use super::own_workload;
use super::target::{self, Target};
use crate::backend::{BackendKind, GuestArgs, Sim};
use crate::context::{named, Context};
use crate::failure::{note, Done, Failure};
use crate::options;
use crate::records::{self, Series};
use crate::service::carry_out::{carry_out, exit, RunOptions};
use crate::service::page::write_page;
use numalab_model::experiment::{Axes, Experiment, Instances, Named, Param, Prediction, Simulated};
use numalab_model::kernel::Setting;
use numalab_model::machine::size;
use numalab_model::spec::{SpecError, Spot};
use numalab_report::verdict;
use std::path::Path;

/// Runs of every way in every size and time, with different seeds. Fewer sizes that have to agree are made up for by
/// runs.
const RUNS_OF_SEVERAL: u32 = 2;
/// The same with a single size.
const RUNS_OF_ONE: u32 = 3;

/// Gives the advice for a kind of program.
///
/// # Errors
/// A mistake in the request, or this machine cannot carry out the runs.
pub fn run(context: &Context, args: &Args, like: &str) -> Result<Done, Failure> {
    let target = Target::load(context, &args.machine)?;
    let kernel = target::kernel(args.kernel.as_deref(), &args.machine)?;
    if target.memory_nodes() < 2 {
        return output::nothing_to_balance(&target.machine.name, args.json);
    }
    let (mut like, asked) = program(context, args, like, &target)?;
    let ways = ways(args, &like, &target, asked)?;
    let quick = args.quick && !like.is_file();
    if like.is_file() {
        let name = format!("advise_{}_{}_once", like.name, target.machine.name);
        let once = args.out.as_ref().map_or_else(|| options::directory(None, &name), |out| out.join("once"));
        own_workload::time(context, &mut like, (&target, &args.machine), &kernel, &once)?;
    }
    let horizon_ms = args.horizon.map(|s| (s * 1000.0).round() as u64);
    let prediction = prediction(&like, asked, (quick, horizon_ms));
    let mut experiment = experiment(&like, &target, &args.machine, (&kernel, &ways), (prediction, quick))?;
    experiment.axes.until_settled = Some(!args.whole);
    if args.whole {
        experiment.name += "_whole";
    }
    let dir = options::directory(args.out.as_deref(), &experiment.name);
    let guest = GuestArgs::default();
    let with = RunOptions {
        backend: BackendKind::Sim,
        guest: &guest,
        program: None,
        sim: Sim::default(),
        jobs: args.jobs,
        out: Some(&dir),
    };
    let (store, finished) = carry_out(context, &experiment, with)?;
    let loaded = records::load(context, &store, None, Series::Keep)?;
    loaded.remarks().iter().for_each(|r| note(r));
    write_page(context, &store, &loaded)?;
    let decision = verdict::decide(&loaded.comparison);
    let given = Given {
        advice: Advice::of(&loaded.comparison, &decision, &ways),
        comparison: &loaded.comparison,
        decision: &decision,
        like: &like,
        asked,
        quick,
        kernel: &kernel.value,
        machine: &target.machine.name,
        machine_asked: &args.machine,
        bind_left_out: !ways.iter().any(|w| matches!(w, Way::Bind(_))),
        dir: &dir,
        runs: experiment.iterations,
    };
    let text = if args.json { given.json()? } else { given.text() };
    Ok(Done { text, exit: exit(&finished) })
}

/// The kind of program that `--like` means, with what `--param` sets, and how large it is.
///
/// # Errors
/// There is no such kind or file, or it does not fit.
fn program(context: &Context, args: &Args, like: &str, target: &Target) -> Result<(Like, Size), Failure> {
    if own_workload::is_file(like) {
        return own_workload::load(context, args, like, target);
    }
    let mut found = Like::find(like)?;
    for text in &args.param {
        let s = Setting::from_argument("--param", text)?;
        found.choose(&s.name.value, &s.value);
    }
    Ok((found, size_of(args, target)?))
}

/// How large the program is, by the options and the machine.
fn size_of(args: &Args, target: &Target) -> Result<Size, Failure> {
    let all = target.machine.memory_bytes();
    let memory_bytes = args.memory.unwrap_or(all / 2);
    if memory_bytes > all || memory_bytes < 1 << 20 {
        let (asked, has) = (size::short(memory_bytes), size::short(all));
        let what = format!("command line: `--memory` is {asked}, and {} has {has}", target.machine.name);
        return Err(Failure::usage(format!("{what}; expected 1 MiB to {has}")));
    }
    let cpus = u32::try_from(target.machine.cpu_count()).unwrap_or(u32::MAX);
    Ok(Size { memory_bytes, threads: args.threads.unwrap_or(cpus) })
}

/// The ways that are compared. A program that does not fit on a node cannot be bound to one.
///
/// # Errors
/// `--ways` names one that is not known.
fn ways(args: &Args, like: &Like, target: &Target, size: Size) -> Result<Vec<Way>, Failure> {
    let fits = target.fits_first_node(size.memory_bytes, size.threads);
    let bind = like.bind.clone().filter(|_| fits).map(Way::Bind);
    if args.ways.is_empty() {
        return Ok([Way::On, Way::Off, Way::Interleave].into_iter().chain(bind).collect());
    }
    let names = || ["off", "interleave", "bind"].into_iter().chain(EXTRAS.iter().map(|e| e.word));
    let mut out = vec![Way::On];
    for word in &args.ways {
        let extra = EXTRAS.iter().find(|e| e.word == word).map(|e| Way::Extra(*e));
        let way = match word.as_str() {
            "off" => Some(Way::Off),
            "interleave" => Some(Way::Interleave),
            "bind" if bind.is_none() => continue,
            "bind" => bind.clone(),
            _ => extra,
        };
        let unknown = || {
            let list = names().collect::<Vec<_>>().join(", ");
            SpecError::plain("command line", format!("`--ways` has {word:?}"), format!("some of {list}"))
                .near(word, names())
        };
        let way = way.ok_or_else(unknown)?;
        if let Some(instances) = way.instances()? {
            share(&instances, like, target, size).map_err(|e| Failure::usage(format!("`--ways` has {word:?}: {e}")))?;
        }
        if !out.contains(&way) {
            out.push(way);
        }
    }
    Ok(out)
}

/// The size of one of several instances that take the place of one large program.
///
/// # Errors
/// The machine or the program has no such choice, or an instance does not fit on its nodes; as text.
fn share(instances: &Instances, like: &Like, target: &Target, size: Size) -> Result<Size, String> {
    if let Some(why) = like.one_instance() {
        return Err(format!("{why}; expected another way"));
    }
    let nodes = instances.nodes(&target.machine).map_err(|e| format!("{}; expected {}", e.what, e.expected))?;
    let count = nodes.len();
    let whole = like.whole_instances();
    let memory_bytes = if whole { size.memory_bytes } else { size.memory_bytes / count as u64 };
    let own = nodes.iter().filter(|list| !list.is_empty());
    let room = |list: &Vec<u32>| list.iter().map(|n| target.machine.nodes[*n as usize].memory_bytes).sum::<u64>();
    let on_node = count.div_ceil(target.memory_nodes()).max(1) as u64;
    match own.map(room).min().filter(|room| memory_bytes * on_node > *room) {
        Some(room) => {
            let (needs, has) = (size::short(memory_bytes * on_node), size::short(room));
            Err(format!("the instances on a node need {needs}, and it has {has}; expected a smaller --memory"))
        }
        None => Ok(Size { memory_bytes, threads: (size.threads / count as u32).max(1) }),
    }
}

/// What is simulated of a program: every size over every time. A program that runs for less than the longest of them is
/// simulated over its own time.
fn prediction(like: &Like, asked: Size, (quick, horizon_ms): (bool, Option<u64>)) -> Prediction {
    let mut simulated = Vec::new();
    let times_ms = like.times_ms(quick);
    let longest_ms = times_ms.iter().copied().max().unwrap_or(0);
    let short = horizon_ms.filter(|h| *h <= longest_ms);
    let times_ms = short.as_ref().map_or(times_ms, std::slice::from_ref);
    let horizon_ms = horizon_ms.filter(|_| short.is_none());
    for size in like.simulated(asked, quick) {
        for &time_ms in times_ms {
            let of = if like.is_file() { &like.name } else { &like.workload };
            let workload = format!("{of}-{}-{}", size.label(), label_of(time_ms));
            let Size { memory_bytes, threads } = size;
            simulated.push(Simulated {
                workload,
                memory_bytes,
                threads,
                time_ms,
                settled_after_ms: None,
                until_settled: false,
            });
        }
    }
    Prediction { memory_bytes: asked.memory_bytes, threads: asked.threads, simulated, horizon_ms }
}

/// A time as part of a name: "6s", "500ms".
fn label_of(time_ms: u64) -> String {
    match time_ms % 1000 {
        0 => format!("{}s", time_ms / 1000),
        _ => format!("{time_ms}ms"),
    }
}

/// The experiment. The name holds all that is simulated, so that every other simulation has a directory of its own.
fn experiment(
    like: &Like,
    target: &Target,
    machine: &str,
    (kernel, ways): (&Spot<String>, &[Way]),
    (prediction, quick): (Prediction, bool),
) -> Result<Experiment, Failure> {
    let mut params = Vec::new();
    for s in &prediction.simulated {
        let size = Size { memory_bytes: s.memory_bytes, threads: s.threads };
        for (name, value) in like.params(size, s.time_ms, quick) {
            let setting = Setting::from_argument("--param", &format!("{name}={value}"))?;
            params.push(Param { workload: Some(s.workload.clone()), setting });
        }
    }
    let mut columns = ways.iter().map(|w| w.column(kernel)).collect::<Result<Vec<_>, _>>()?;
    for column in &mut columns {
        let Some(instances) = &column.instances else { continue };
        for s in &prediction.simulated {
            let size = Size { memory_bytes: s.memory_bytes, threads: s.threads };
            let own = share(instances, like, target, size).map_err(Failure::usage)?;
            for (name, value) in like.params(own, s.time_ms, quick) {
                let text = format!("{}.{name}={value}", s.workload);
                column.params.push(Setting::from_argument("--ways", &text)?);
            }
        }
    }
    let workloads: Vec<Named> = prediction
        .simulated
        .iter()
        .map(|s| Named { name: named("--like", &s.workload), of: named("--like", &like.workload) })
        .collect();
    let one_size = prediction.simulated.len() <= like.times_ms(quick).len();
    let experiment = Experiment {
        title: format!("Should {} run with NUMA balancing on {}?", like.name, target.machine.name),
        name: name(like, target, kernel, ways, (&prediction, quick)),
        about: String::new(),
        machines: vec![named("--machine", machine)],
        kernels: Vec::new(),
        workloads: workloads.iter().map(|w| w.name.clone()).collect(),
        baseline: Some(named("advise", Way::On.name())),
        iterations: if one_size { RUNS_OF_ONE } else { RUNS_OF_SEVERAL },
        seed: 1,
        sets: Vec::new(),
        params,
        axes: Axes { columns, workloads, prediction: Some(prediction), ..Axes::default() },
    };
    experiment.check()?;
    Ok(experiment)
}

/// Name of the experiment: program, machine, kernel, and the sizes and times that are simulated.
fn name(
    like: &Like,
    target: &Target,
    kernel: &Spot<String>,
    ways: &[Way],
    (prediction, quick): (&Prediction, bool),
) -> String {
    let stem = |name: &str| Path::new(name).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let kernel = kernel.value.strip_suffix(".toml").map_or_else(|| kernel.value.clone(), stem);
    let mut parts = vec!["advise".to_string(), like.name.clone(), target.machine.name.clone(), kernel];
    for s in &prediction.simulated {
        let size = Size { memory_bytes: s.memory_bytes, threads: s.threads }.label();
        for part in [size, label_of(s.time_ms)] {
            if !parts[4..].contains(&part) {
                parts.push(part);
            }
        }
    }
    // Records of another set of ways would stay in the list of runs.
    let usual = |w: &&Way| matches!(w, Way::On | Way::Off | Way::Interleave);
    parts.extend(ways.iter().filter(|w| !usual(w)).map(|w| w.name().to_string()));
    let left_out = |w: &Way| !ways.contains(w);
    parts.extend([Way::Off, Way::Interleave].iter().filter(|w| left_out(w)).map(|w| format!("no-{}", w.name())));
    parts.extend(like.chosen().iter().cloned());
    parts.extend((!quick && !like.is_file()).then(|| "full".to_string()));
    parts.extend(prediction.horizon_ms.map(|ms| format!("for-{}", label_of(ms))));
    parts.join("_")
}
