//! `numalab explain diff`: where two runs diverge.

use crate::failure::{Done, Failure};
use crate::logs::{self, DECISIONS};
use crate::records;
use numalab_model::counters::BALANCING;
use numalab_model::record::events::Events;
use numalab_model::record::{Outcome, Record};
use numalab_report::explain::diff::{explain, Side};
use std::fmt::Write as _;
use std::path::Path;

/// Prints in what two runs were asked to differ, their first different decision, and their results.
///
/// # Errors
/// A missing run or decision log, or a damaged log.
pub fn run(a: &Path, b: &Path) -> Result<Done, Failure> {
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
        // The first difference is often found long before the end of a log, where its digest is.
        Events::check(&path)?;
        logs.push((Events::open(&path)?, logs::read_why(&r.path)?));
    }
    let mut sides = logs.iter_mut().zip(&names);
    if let (Some(((da, wa), na)), Some(((db, wb), nb))) = (sides.next(), sides.next()) {
        let side = |name: &String, decisions, why| Side { name: name.clone(), decisions, why };
        text.push_str(&explain(side(na, da, wa), side(nb, db, wb))?);
    }
    text.push_str(&samples(&records));
    text.push_str(&results(&records, &names));
    Ok(Done::text(text))
}

/// Whether two runs differ in nothing but their kernels. Only then do their decisions agree up to a first difference.
fn comparable(records: &[Record; 2]) -> bool {
    let [a, b] = [0, 1].map(|i: usize| &records[i].manifest.plan);
    (&a.machine.sha256, &a.workload.sha256, a.seed) == (&b.machine.sha256, &b.workload.sha256, b.seed)
}

/// Names of the two runs: their kernels; with the seed, or with workload and machine, if the kernel is the same.
fn names(records: &[Record; 2]) -> [String; 2] {
    let plan = |r: &Record| r.manifest.plan.clone();
    let (a, b) = (plan(&records[0]), plan(&records[1]));
    if a.kernel.name != b.kernel.name {
        return [a.kernel.name.clone(), b.kernel.name.clone()];
    }
    if a.seed != b.seed {
        return [a, b].map(|p| format!("{} seed {}", p.kernel.name, p.seed));
    }
    [a, b].map(|p| format!("{} on {}", p.workload.name, p.machine.name))
}

/// The differences between the two plans.
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

/// The first sample in which counters of the two runs differ. Samples are part of every record and cover the whole run.
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

/// Times of the two runs, and their counters of NUMA balancing.
fn results(records: &[Record; 2], names: &[String; 2]) -> String {
    let scalar = |o: &Outcome, n: &str| o.scalars.iter().find(|s| s.name == n).map(|s| s.value);
    let counter = |o: &Outcome, n: &str| o.counters.iter().find(|c| c.0 == n).map(|c| c.1 as f64);
    let mut out = format!("In the end ({} / {}):\n", names[0], names[1]);
    for name in ["elapsed_s", "system_s"].into_iter().chain(BALANCING) {
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
