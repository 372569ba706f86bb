//! `advise --machine M -- COMMAND`: the command is recorded here, under emulation or in a guest. A workload is fitted
//! to its accesses, and the ways to run it are simulated there.

use super::args::Args;
use super::by_region::{self, Gain};
use super::columns::Way;
use super::decide::Advice;
use super::fitted::{params, Made, Sized};
use super::output;
use super::target::{self, Target};
use crate::backend::{BackendKind, GuestArgs, Sim};
use crate::context::{named, Context};
use crate::failure::{is_quiet, note, Done, Exit, Failure};
use crate::options;
use crate::output_file;
use crate::records::{self, Series};
use crate::service::carry_out::{carry_out, exit, RunOptions};
use crate::service::page::write_page;
use crate::service::{accesses, guest_accesses};
use crate::terminal;
use numalab_accesses::fit::{Fit, Scaled};
use numalab_accesses::record;
use numalab_accesses::recorder::{Recorded, Settings};
use numalab_model::experiment::{Axes, Experiment, Named, Prediction, Simulated};
use numalab_model::machine::size;
use numalab_report::data::Comparison;
use numalab_report::text::answer::{layout, Line};
use numalab_report::verdict::{self, Decision};
use serde_json::json;
use std::path::Path;

/// Time that the fitted workload should run in the model, s: several scans of the address space. A run ends before if
/// it has settled.
const MODEL_S: f64 = 60.0;
/// Runs of each way, with different seeds.
const RUNS: u32 = 2;

/// Records the command, fits a workload, and gives the advice for the machine.
///
/// # Errors
/// The command cannot be recorded, or uses no memory to speak of; a mistake in the request.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    check(args)?;
    let target = Target::load(context, &args.machine)?;
    let kernel = target::kernel(args.kernel.as_deref(), &args.machine)?;
    if target.memory_nodes() < 2 {
        return output::nothing_to_balance(&target.machine.name, args.json);
    }
    let program = args.command.first().map(String::as_str).unwrap_or_default();
    let name = name_of(program);
    let dir = options::directory(args.out.as_deref(), &format!("advise_{name}_{}", target.machine.name));
    let recorded = record(args, &dir.join("accesses"))?;
    let made = fitted(&dir, &name)?;
    let fit = &made.fit;
    let scaled = size_of(args, fit, &target)?;
    let repeat = repeat(fit, &scaled);
    let ways = ways(&target, &scaled);
    let sized = Sized { scaled: &scaled, repeat, machine: &args.machine, kernel: &kernel, jobs: args.jobs };
    let experiment = experiment((&made, &name), &target, (&sized, &ways), !args.whole)?;
    let runs = dir.join("runs");
    let guest = GuestArgs::default();
    let with = RunOptions {
        backend: BackendKind::Sim,
        guest: &guest,
        program: None,
        sim: Sim::default(),
        jobs: args.jobs,
        out: Some(&runs),
    };
    let (store, finished) = carry_out(context, &experiment, with)?;
    let loaded = records::load(context, &store, None, Series::Keep)?;
    loaded.remarks().iter().for_each(|r| note(r));
    write_page(context, &store, &loaded)?;
    let decision = verdict::decide(&loaded.comparison);
    let gains = match args.by_region {
        true => Some(by_region::gains(context, &made, &sized, &dir)?),
        false => None,
    };
    let given = Given {
        advice: Advice::of(&loaded.comparison, &decision, &ways),
        comparison: &loaded.comparison,
        decision: &decision,
        recorded: &recorded,
        made: &made,
        scaled: &scaled,
        repeat,
        machine: &target.machine.name,
        kernel: &kernel.value,
        runs: &runs,
        gains: gains.as_deref(),
    };
    let text = if args.json { given.json()? } else { given.text() };
    Ok(Done { text, exit: exit(&finished).max(found(&recorded)) })
}

/// Refuses options of a guest where the command runs on this machine.
fn check(args: &Args) -> Result<(), Failure> {
    args.guest.check()?;
    match args.guest_kernel.is_some() && !args.guest.is_guest() {
        true => Err(guest_accesses::without_guest("--guest-kernel")),
        false => Ok(()),
    }
}

/// Records the command on this machine or in a guest.
fn record(args: &Args, dir: &Path) -> Result<Recorded, Failure> {
    let settings = Settings::default();
    match args.guest.is_guest() {
        true => {
            let guest = (&args.guest, args.guest_kernel.as_deref());
            guest_accesses::record(dir, &args.command, guest, &settings, &|| false)
        }
        false => accesses::record(dir, &args.command, &settings, &|| false),
    }
}

/// The last part of a program's path, as part of a name.
fn name_of(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain: String = name.chars().map(|c| if fits(c) { c } else { '_' }).take(40).collect();
    if plain.is_empty() {
        "program".into()
    } else {
        plain
    }
}

/// A program that failed is a finding: what it did before is what the advice is about.
fn found(recorded: &Recorded) -> Exit {
    accesses::exit(&recorded.manifest.ending)
}

fn fitted(dir: &Path, name: &str) -> Result<Made, Failure> {
    let record = record::read(&dir.join("accesses")).map_err(|e| Failure::environment(e.to_string()))?;
    let fit = numalab_accesses::fit::fit(&record).map_err(|e| Failure::usage(format!("{name}: {e}")))?;
    let file = dir.join(format!("{name}.toml"));
    output_file::write(&file, &fit.to_toml(&format!("record {} of {name}", dir.join("accesses").display())))?;
    Ok(Made { fit, file })
}

/// The size that is simulated. It must fit on the machine.
fn size_of(args: &Args, fit: &Fit, target: &Target) -> Result<Scaled, Failure> {
    let scaled = fit.scaled(args.memory, args.threads);
    let all = target.machine.memory_bytes();
    if scaled.memory_bytes > all {
        let (needs, has) = (size::short(scaled.memory_bytes), size::short(all));
        let what = format!("the program has {needs}, and {} has {has}", target.machine.name);
        return Err(Failure::usage(format!("{what}; expected a smaller --memory, or a larger machine")));
    }
    Ok(scaled)
}

/// How often the loops are repeated, so that the run is about [`MODEL_S`] long. Passes over more memory take longer.
fn repeat(fit: &Fit, scaled: &Scaled) -> u64 {
    let of_thread = |bytes: u64, threads: u32| bytes as f64 / f64::from(threads.max(1));
    let longer = of_thread(scaled.memory_bytes, scaled.threads) / of_thread(fit.memory_bytes(), fit.thread_count());
    (MODEL_S / fit.seconds(longer).max(1e-6)).ceil().clamp(1.0, 1e7) as u64
}

/// The ways that are compared. A program that does not fit on a node cannot be bound to one.
fn ways(target: &Target, scaled: &Scaled) -> Vec<Way> {
    let fits = target.fits_first_node(scaled.memory_bytes, scaled.threads);
    let bind = fits.then(|| Way::Bind("--cpunodebind=0 --membind=0".into()));
    [Way::On, Way::Off, Way::Interleave].into_iter().chain(bind).collect()
}

fn experiment(
    (made, name): (&Made, &str),
    target: &Target,
    (sized, ways): (&Sized<'_>, &[Way]),
    until_settled: bool,
) -> Result<Experiment, Failure> {
    let scaled = sized.scaled;
    let workload = format!("{name}-{}-{}t", size::exact(scaled.memory_bytes).replace(' ', ""), scaled.threads);
    let simulated = Simulated {
        workload: workload.clone(),
        memory_bytes: scaled.memory_bytes,
        threads: scaled.threads,
        time_ms: (MODEL_S * 1000.0) as u64,
        settled_after_ms: None,
        until_settled: false,
    };
    let prediction = Prediction {
        memory_bytes: scaled.memory_bytes,
        threads: scaled.threads,
        simulated: vec![simulated],
        horizon_ms: None,
    };
    let file = made.file.display().to_string();
    let of = vec![Named { name: named("advise", &workload), of: named("advise", &file) }];
    let columns = ways.iter().map(|w| w.column(sized.kernel)).collect::<Result<Vec<_>, _>>()?;
    let experiment = Experiment {
        title: format!("Should {name} run with NUMA balancing on {}?", target.machine.name),
        name: format!("advise_{name}_{}", target.machine.name),
        about: String::new(),
        machines: vec![named("--machine", sized.machine)],
        kernels: Vec::new(),
        workloads: of.iter().map(|w| w.name.clone()).collect(),
        baseline: Some(named("advise", Way::On.name())),
        iterations: RUNS,
        seed: 1,
        sets: Vec::new(),
        params: params(&workload, sized)?,
        axes: Axes {
            columns,
            workloads: of,
            prediction: Some(prediction),
            until_settled: Some(until_settled),
            ..Axes::default()
        },
    };
    experiment.check()?;
    Ok(experiment)
}

/// An advice with all that is said about it.
struct Given<'a> {
    advice: Advice,
    comparison: &'a Comparison,
    decision: &'a Decision,
    recorded: &'a Recorded,
    made: &'a Made,
    scaled: &'a Scaled,
    repeat: u64,
    machine: &'a str,
    kernel: &'a str,
    runs: &'a Path,
    /// What changes of regions gain, if that was asked for.
    gains: Option<&'a [Gain]>,
}

impl Given<'_> {
    /// What of the answer was measured.
    fn measured(&self) -> Vec<String> {
        let mut out = self.made.fit.measured.clone();
        out.push(format!("the recording ended when {}", accesses::ended(&self.recorded.manifest.ending)));
        out
    }

    /// What of it was assumed.
    fn assumed(&self) -> Vec<String> {
        let mut out = self.made.fit.assumed.clone();
        out.extend(self.scaled.rules.iter().cloned());
        out.push(format!(
            "the recorded loops go on: they are repeated {} times, or until the run has settled",
            self.repeat
        ));
        out
    }

    fn json(&self) -> Result<String, Failure> {
        let (commands, undo) = self.advice.commands();
        let decision = verdict::as_json(self.comparison);
        let value = json!({
            "advice": self.advice.word(),
            "text": self.advice.text(self.decision),
            "prediction": true,
            "recorded": true,
            "machine": self.machine,
            "kernel": self.kernel,
            "workload": self.made.file.display().to_string(),
            "memory_bytes": self.scaled.memory_bytes,
            "threads": self.scaled.threads,
            "measured": self.measured(),
            "assumed": self.assumed(),
            "by_region": self.gains.map(|g| g.iter().map(Gain::json).collect::<Vec<_>>()),
            "remarks": self.recorded.remarks,
            "how_sure": self.decision.how_sure,
            "commands": commands,
            "undo": undo,
            "directory": self.runs.display().to_string(),
            "decision": decision,
        });
        Ok(Done::json(&value)?.text)
    }

    fn text(&self) -> String {
        let advice = self.advice.text(self.decision);
        if is_quiet() {
            return format!("{advice}\n");
        }
        let size = format!("{}, {} threads", size::short(self.scaled.memory_bytes), self.scaled.threads);
        let head = format!("{} on {} under {}: {size}.", self.recorded.manifest.name, self.machine, self.kernel);
        let until = self.advice.until_then(self.comparison, self.decision).map_or(String::new(), |t| format!(" {t}"));
        let mut lines: Vec<Line> = vec![
            ("Predicted", head),
            ("Advice", format!("{advice}{until} A prediction of the simulator, for a workload fitted to the program.")),
        ];
        let gains = self.decision.agreement.iter().flat_map(|a| &a.ways).filter_map(|w| {
            let cell = w.cells.iter().rfind(|c| c.decides)?;
            Some(format!("{} {:+.1} %", self.comparison.kernels[w.kernel].name, cell.gain_percent?))
        });
        let gains: Vec<String> = gains.collect();
        if !gains.is_empty() {
            lines.push(("How much", format!("Gains over balancing on: {}.", gains.join(", "))));
        }
        lines.push(("How sure", self.decision.how_sure.clone()));
        let by_region = self.gains.map(by_region::sentences).unwrap_or_default();
        for (label, sentences) in [("By region", by_region), ("Measured", self.measured()), ("Assumed", self.assumed())]
        {
            let sentence = |(i, text): (usize, String)| (if i == 0 { label } else { "" }, format!("{text}."));
            lines.extend(sentences.into_iter().enumerate().map(sentence));
        }
        let mut out = layout(&lines, terminal::width(), &terminal::strong);
        let (commands, undo) = self.advice.commands();
        for (head, commands) in [("Do it", commands), ("Undo it", undo)] {
            if !commands.is_empty() {
                out.push_str(&format!("{}\n", terminal::strong(head)));
                commands.iter().for_each(|c| out.push_str(&format!("  {c}\n")));
            }
        }
        let page = self.runs.join("report.html").display().to_string();
        let files = [("Workload", self.made.file.display().to_string()), ("Page", page)];
        out + &layout(&files, terminal::width(), &terminal::strong)
    }
}
