//! `advise --like`: a prediction. A workload of the catalog stands for the program ([`super::likes`]), each way to run it is a
//! column of one experiment ([`super::columns`]), and the decision of the comparison becomes one advice ([`super::decide`]).

use super::columns::Way;
use super::decide::Advice;
use super::likes::{Like, Size};
use super::output::{self, Given};
use super::target::{self, Target};
use super::Args;
use crate::backend::{BackendKind, GuestArgs, Sim};
use crate::context::{named, Context};
use crate::failure::{note, Done, Failure};
use crate::options;
use crate::records::{self, Series};
use crate::verb::report;
use crate::verb::run::{self, RunOptions};
use numalab_model::experiment::{Axes, Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::machine::size;
use numalab_model::spec::Spot;
use numalab_report::verdict;
use std::path::Path;

/// Runs of every way, with different seeds.
const RUNS: u32 = 3;

/// Gives the advice for a kind of program.
///
/// # Errors
/// A mistake in the request, or this machine cannot carry out the runs.
pub fn run(context: &Context, args: &Args, like: &str) -> Result<Done, Failure> {
    let like = Like::find(like)?;
    let target = Target::load(context, &args.machine)?;
    let kernel = target::kernel(args.kernel.as_deref(), &args.machine)?;
    if target.memory_nodes() < 2 {
        return output::nothing_to_balance(&target.machine.name, args.json);
    }
    let size = size_of(args, &target)?;
    let ways = ways(&like, &target, size);
    let experiment = experiment(&like, &target, &args.machine, (&kernel, &ways), size)?;
    let dir = options::directory(args.out.as_deref(), &experiment.name);
    let guest = GuestArgs::default();
    let with =
        RunOptions { backend: BackendKind::Sim, guest: &guest, sim: Sim::default(), jobs: None, out: Some(&dir) };
    let (store, finished) = run::carry_out(context, &experiment, with)?;
    let loaded = records::load(context, &store, None, Series::Keep)?;
    loaded.remarks().iter().for_each(|r| note(r));
    report::write_page(context, &store, &loaded)?;
    let decision = verdict::decide(&loaded.comparison);
    let given = Given {
        advice: Advice::of(&loaded.comparison, &decision, &ways),
        comparison: &loaded.comparison,
        decision: &decision,
        like: &like,
        size,
        kernel: &kernel.value,
        machine: &target.machine.name,
        bind_left_out: !ways.iter().any(|w| matches!(w, Way::Bind(_))),
        dir: &dir,
        runs: RUNS,
    };
    let text = if args.json { given.json()? } else { given.text() };
    Ok(Done { text, exit: run::exit(&finished) })
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
    Ok(Size { memory_bytes, threads: args.threads.unwrap_or(cpus), quick: !args.full_size })
}

/// The ways that are compared. A program that does not fit on a node cannot be bound to one.
fn ways(like: &Like, target: &Target, size: Size) -> Vec<Way> {
    let fits = target.fits_first_node(size.memory_bytes, size.threads);
    let bind = like.bind.clone().filter(|_| fits).map(Way::Bind);
    [Way::On, Way::Off, Way::Interleave].into_iter().chain(bind).collect()
}

/// The experiment. The name holds all that was asked, so that every question has a directory of its own.
fn experiment(
    like: &Like,
    target: &Target,
    machine: &str,
    (kernel, ways): (&Spot<String>, &[Way]),
    size: Size,
) -> Result<Experiment, Failure> {
    let stem = |name: &str| Path::new(name).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let kernel_name = kernel.value.strip_suffix(".toml").map_or_else(|| kernel.value.clone(), stem);
    let memory = size::exact(size.memory_bytes).replace(' ', "");
    let full = if size.quick { "" } else { "_full" };
    let name = format!("advise_{}_{}_{kernel_name}_{memory}_{}t{full}", like.name, target.machine.name, size.threads);
    let mut params = Vec::new();
    for (name, value) in like.params(size) {
        let setting = Setting::from_argument("--param", &format!("{name}={value}"))?;
        params.push(Param { workload: None, setting });
    }
    let columns = ways.iter().map(|w| w.column(kernel)).collect::<Result<Vec<_>, _>>()?;
    let experiment = Experiment {
        title: format!("Should {} run with NUMA balancing on {}?", like.name, target.machine.name),
        name,
        about: String::new(),
        machines: vec![named("--machine", machine)],
        kernels: Vec::new(),
        workloads: vec![named("--like", &like.workload)],
        baseline: Some(named("advise", Way::On.name())),
        iterations: RUNS,
        seed: 1,
        sets: Vec::new(),
        params,
        axes: Axes { columns, ..Axes::default() },
    };
    experiment.check()?;
    Ok(experiment)
}
