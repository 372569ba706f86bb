//! `numalab explain`: why a run did what it did, in sentences; where two runs parted; what a huge-page fault tries.

mod ladder;

use crate::context::Context;
use crate::failure::{Done, Failure};
use crate::logs::{self, DECISIONS};
use crate::records::{self, Pick};
use numalab_model::record::events::Events;
use numalab_model::record::{Outcome, Record, BALANCING_COUNTERS};
use numalab_report::explain::{diff, node, page, task, vma};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The run comes first: what follows `--vma` is the name of a mapping.
const USAGE: &str = "numalab explain <RUN> <--vma [NAME]|--page [PAGE]|--task [NAME]|--node [N]> [OPTIONS]
       numalab explain diff <A> <B>
       numalab explain ladder --machine <MACHINE> [OPTIONS]";

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, override_usage = USAGE)]
pub struct Args {
    #[command(subcommand)]
    two: Option<Two>,
    #[command(flatten)]
    run: Option<Pick>,
    #[command(flatten)]
    subject: Subject,
}

/// What else can be explained.
#[derive(Debug, clap::Subcommand)]
enum Two {
    /// Say where two runs first parted
    Diff {
        /// A run: a record's directory
        a: PathBuf,
        /// Another run
        b: PathBuf,
    },
    /// Say what a huge-page fault tries, in order, with what an access then costs
    Ladder(ladder::Args),
}

/// What to explain.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Subject {
    /// Why a mapping (PROCESS/NAME) was scanned or passed over; without a name all are listed
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    vma: Option<String>,
    /// Why a page (PROCESS/NAME+OFFSET or PROCESS:0xADDRESS) moved or stayed; without a name those that moved most
    #[arg(long, value_name = "PAGE", num_args = 0..=1, default_missing_value = "")]
    page: Option<String>,
    /// Why a task (PROCESS/tTHREAD) changed node or stayed; without a name all are listed
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    task: Option<String>,
    /// What came to a node and left it; without a number all nodes
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "")]
    node: Option<String>,
}

/// Explains a run that was made with `--explain`.
///
/// # Errors
/// No such run, no decision log beside it, or an unknown subject.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    match &args.two {
        Some(Two::Diff { a, b }) => return parted(a, b),
        Some(Two::Ladder(args)) => return ladder::run(context, args),
        None => {}
    }
    let Some(pick) = &args.run else {
        return Err(Failure::usage("command line: no run; expected a record's directory"));
    };
    let record = records::find(pick)?;
    logs::refuse_unlogged(&record)?;
    let why = logs::read_why(&record.path)?;
    let s = &args.subject;
    let text = match (&s.vma, &s.page, &s.task, &s.node) {
        (Some(name), ..) => vma::explain(&why, name)?,
        (_, Some(name), ..) => page::explain(&why, name)?,
        (_, _, Some(name), _) => task::explain(&why, name)?,
        (.., Some(name)) => node::explain(&why, name)?,
        _ => return Err(Failure::usage("command line: nothing to explain; expected --vma, --page, --task or --node")),
    };
    Ok(Done::text(text))
}

/// Where two runs parted, what differs between them, and what came of it.
fn parted(a: &Path, b: &Path) -> Result<Done, Failure> {
    let records = [records::at(a)?, records::at(b)?];
    let names = names(&records);
    let mut text = differences(&records, &names);
    if !comparable(&records) {
        text.push_str(
            "Steps of another machine, workload or seed are not compared: decision by decision, they tell nothing.\n",
        );
        return Ok(Done::text(text + &results(&records, &names)));
    }
    let mut logs = Vec::new();
    for r in &records {
        logs::refuse_unlogged(r)?;
        let path = logs::path_of(&r.path, DECISIONS);
        if !path.exists() {
            return Err(logs::absent(&r.path, "decision log", "--explain"));
        }
        // Where two runs part is often long before the end, which has the digest.
        Events::check(&path)?;
        logs.push((Events::open(&path)?, logs::read_why(&r.path)?));
    }
    let mut sides = logs.iter_mut().zip(&names);
    if let (Some(((da, wa), na)), Some(((db, wb), nb))) = (sides.next(), sides.next()) {
        let side = |name: &String, decisions, why| diff::Side { name: name.clone(), decisions, why };
        text.push_str(&diff::explain(side(na, da, wa), side(nb, db, wb))?);
    }
    text.push_str(&samples(&records));
    text.push_str(&results(&records, &names));
    Ok(Done::text(text))
}

/// Whether two runs differ in their kernels alone, so that one is the other up to a decision.
fn comparable(records: &[Record; 2]) -> bool {
    let [a, b] = [0, 1].map(|i: usize| &records[i].manifest.plan);
    (&a.machine.sha256, &a.workload.sha256, a.seed) == (&b.machine.sha256, &b.workload.sha256, b.seed)
}

/// Kernels, with seeds where those do not tell the runs apart.
fn names(records: &[Record; 2]) -> [String; 2] {
    let plan = |r: &Record| r.manifest.plan.clone();
    let (a, b) = (plan(&records[0]), plan(&records[1]));
    if a.kernel.name != b.kernel.name {
        return [a.kernel.name, b.kernel.name];
    }
    if a.seed != b.seed {
        return [a, b].map(|p| format!("{} seed {}", p.kernel.name, p.seed));
    }
    [a, b].map(|p| format!("{} on {}", p.workload.name, p.machine.name))
}

/// What was different from the start.
fn differences(records: &[Record; 2], names: &[String; 2]) -> String {
    let [a, b] = [0, 1].map(|i: usize| &records[i].manifest.plan);
    let mut list: Vec<String> = Vec::new();
    let (m, w) = ((&a.machine, &b.machine), (&a.workload, &b.workload));
    for (what, x, y, same) in [
        ("machine", &m.0.name, &m.1.name, m.0.sha256 == m.1.sha256),
        ("workload", &w.0.name, &w.1.name, w.0.sha256 == w.1.sha256),
    ] {
        if x != y {
            list.push(format!("{what}: {x} / {y}"));
        } else if !same {
            list.push(format!("{what}: two of the name {x}"));
        }
    }
    if a.seed != b.seed {
        list.push(format!("seed: {} / {}", a.seed, b.seed));
    }
    for r in &a.kernel.roles {
        let other = b.kernel.roles.iter().find(|o| o.role == r.role).map_or("", |o| o.implementation.as_str());
        if other != r.implementation {
            list.push(format!("{}: {} / {other}", r.role, r.implementation));
        }
    }
    for t in &a.kernel.tunables {
        let other = b.kernel.tunables.iter().find(|o| o.name == t.name).map_or("", |o| o.value.as_str());
        if other != t.value {
            list.push(format!("{}: {} / {other}", t.name, t.value));
        }
    }
    if list.is_empty() {
        return "The runs were asked for the same.\n".into();
    }
    format!("What differs between {} and {}: {}.\n", names[0], names[1], list.join("; "))
}

/// When the counters of the two runs were first seen to differ: samples are part of every record and cover all of it.
fn samples(records: &[Record; 2]) -> String {
    let of = |r: &Record| r.outcome.series.iter().find(|s| s.name == "numa_activity").cloned();
    let [Some(a), Some(b)] = [0, 1].map(|i: usize| of(&records[i])) else { return String::new() };
    for (i, time) in a.time_ns.iter().enumerate().take(b.time_ns.len()) {
        for (c, name) in a.columns.iter().enumerate() {
            let value =
                |s: &numalab_model::record::Series| s.values.get(c).and_then(|v| v.get(i)).copied().unwrap_or(0.0);
            if b.time_ns[i] != *time || value(&a) != value(&b) {
                let at = *time as f64 / 1e9;
                return format!("Their samples first differ at {at:.3} s: {name} {} / {}.\n", value(&a), value(&b));
            }
        }
    }
    String::new()
}

/// What came of it: the times and the counters of NUMA balancing.
fn results(records: &[Record; 2], names: &[String; 2]) -> String {
    let scalar = |o: &Outcome, n: &str| o.scalars.iter().find(|s| s.name == n).map(|s| s.value);
    let counter = |o: &Outcome, n: &str| o.counters.iter().find(|c| c.0 == n).map(|c| c.1 as f64);
    let mut out = format!("In the end ({} / {}):\n", names[0], names[1]);
    for name in ["elapsed_s", "system_s"].into_iter().chain(BALANCING_COUNTERS) {
        let of = |r: &Record| scalar(&r.outcome, name).or_else(|| counter(&r.outcome, name));
        if let (Some(x), Some(y)) = (of(&records[0]), of(&records[1])) {
            let _ = writeln!(
                out,
                "  {name}: {} / {}",
                numalab_report::format::readable(x),
                numalab_report::format::readable(y)
            );
        }
    }
    out
}
