//! `numalab validate`: the simulator compared with real kernels, counter by counter.
//!
//! Problem: a simulator must be checked against the real system. Approach: the same plans run in guests and in the
//! simulator. The guests use timing `modelled`, in which time is virtual and repeatable. The simulator uses a machine
//! whose speeds were measured in such a guest ([`calibrate`]). The kernel's counters, its decisions and the final
//! placement of pages are compared. Invariant: only times of single operations are calibrated, never a count. Nothing
//! in the simulator depends on the comparison.
//!
//! In such a guest the CPUs take turns. So a second set of guests, with timing `counters`, judges what threads do to
//! each other, by figures that do not depend on the clock ([`shares`]).

mod args;
mod bench;
mod calibrate;
#[cfg(test)]
mod captured;
mod compare;
mod compared;
mod markdown;
mod measured;
mod notes;
mod placement;
mod places;
mod row;
mod shares;
mod shares_page;
mod table;

use crate::backend::{self, TimingArg};
use crate::context::Context;
use crate::failure::{note, Done, Exit, Failure};
use crate::options;
use crate::output_file;
use args::experiment_of;
use bench::{setting, Bench};
use compared::{Compared, ThpCompared};
use measured::timeouts;

pub use args::Args;
use args::Thp;

/// Runs both sides and prints the comparison. Runs that reached their limit of time are named.
///
/// # Errors
/// A mistake in the request, a host that cannot run guests, a guest that failed, or a file that cannot be read or
/// written.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let counters_only = args.guest.timing == Some(TimingArg::Counters);
    if let Some(path) = &args.markdown {
        output_file::target_for(path, if counters_only { shares_page::INTRO } else { markdown::INTRO })?;
    }
    let notes = args.notes.as_deref().map(notes::Notes::read).transpose()?.unwrap_or_default();
    let benches = args.image.iter().map(|image| Bench::new(context, args, image)).collect::<Result<Vec<_>, _>>()?;
    // Every experiment is checked before the first guest runs.
    places::check_folder(&options::directory(args.out.as_deref(), "validate"))?;
    for bench in &benches {
        let experiment = experiment_of(context, args, bench.image)?;
        backend::check_guests(context, &experiment, &bench.guest, None)?;
        let sides = [("kernel", experiment.name.as_str()), ("model", bench::SIMULATED)];
        let of = |t: &Thp| sides.map(|(side, name)| (format!("thp-{}/{side}", t.word()), name));
        places::check_places(&bench.out, args.thp.iter().flat_map(of))?;
        places::check_places(&bench.out, calibrate::places())?;
    }
    let mut report = Vec::new();
    for bench in &benches {
        report.push(one_image(context, args, bench)?);
    }
    if let Some(path) = &args.markdown {
        let page = if counters_only { shares_page::page(&report) } else { markdown::page(&report, &notes) };
        output_file::write(path, &page)?;
    }
    let timeouts: Vec<&String> = report.iter().flat_map(|image| &image.timeouts).collect();
    timeouts.iter().for_each(|run| note(&format!("numalab: {run} reached its limit of time and is not compared")));
    let exit = if timeouts.is_empty() { Exit::OK } else { Exit::TIMEOUT };
    if args.json {
        return Ok(Done { exit, ..Done::json(&report)? });
    }
    let records = format!("\nrecords: {}\n", options::directory(args.out.as_deref(), "validate").display());
    Ok(Done { text: report.iter().map(table::text).collect::<String>() + &records, exit })
}

/// Calibrates and compares one image.
fn one_image(context: &Context, args: &Args, bench: &Bench<'_>) -> Result<Compared, Failure> {
    let mut experiment = experiment_of(context, args, bench.image)?;
    let huge = args.thp.iter().any(|t| *t != Thp::Never);
    let calibration = calibrate::run(bench, &experiment.machines, huge)?;
    let mut compared = Compared {
        image: bench.image.into(),
        release: calibration.release,
        kernel: bench.model.name.clone(),
        machine: experiment.machines[0].value.clone(),
        calibration: calibration.figures,
        thp: Vec::new(),
        timeouts: Vec::new(),
    };
    for thp in &args.thp {
        let word = thp.word();
        experiment.sets = vec![setting("system.thp", word)?];
        let kernel = bench.guests(&experiment, &format!("thp-{word}/kernel"))?;
        let model = bench.simulate(&kernel, &calibration.machine, &format!("thp-{word}/model"), &bench.logs)?;
        let by_turns = bench.simulate_by_turns(&kernel, &calibration.machine, &format!("thp-{word}/model-by-turns"))?;
        compared.timeouts.extend(timeouts(word, kernel.iter().chain(&model)));
        let workloads = compare::compare(&kernel, &model, by_turns.as_deref());
        compared.thp.push(ThpCompared { thp: word, workloads });
    }
    Ok(compared)
}
