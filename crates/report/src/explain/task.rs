//! Why a task changed node, or did not.

use super::names::Names;
use super::words::{count, cut, reasons_text, seconds, share, times, unknown};
use crate::format::readable;
use numalab_model::record::events::MOVE_WORDS;
use numalab_model::record::why::{MoveWhy, PreferredWhy, TaskWhy, WhyFile};
use numalab_model::record::Series;
use numalab_model::spec::SpecError;

/// Describes the task `PROCESS/tTHREAD`, or lists all tasks if `name` is empty. `series` are those of the record: they
/// tell its stalls.
///
/// # Errors
/// No task has that name.
pub fn explain(file: &WhyFile, name: &str, series: &[Series]) -> Result<String, SpecError> {
    let names = Names::new(file);
    let all: Vec<String> = (0..file.why.tasks.len()).map(|t| names.task(t as u32)).collect();
    if name.is_empty() {
        let own = file.why.tasks.iter().zip(&all).filter(|(t, _)| names.is_own(t));
        return Ok(cut(&own.map(|(t, n)| line(&names, t, n)).collect::<Vec<_>>()));
    }
    match all.iter().position(|n| n == name) {
        Some(i) => Ok(one(&names, &file.why.tasks[i], name) + &stalls(name, series)),
        None => Err(unknown("--task", name, "task", all.iter().map(String::as_str))),
    }
}

fn line(names: &Names<'_>, t: &TaskWhy, name: &str) -> String {
    let last = t.preferred.recent().last().or(t.preferred.first.last()).and_then(|p| p.to);
    format!(
        "{name}: {} of node, prefers {}, {}, {} local, {}",
        count(t.moves.count, "change"),
        names.preferred(last),
        count(t.faults, "hint fault"),
        share(t.local, t.faults),
        count(t.scans.count, "scan")
    )
}

fn one(names: &Names<'_>, t: &TaskWhy, name: &str) -> String {
    let ended = t.ended_ns.map_or("alive at the end".into(), |ns| format!("ended at {}", seconds(ns)));
    let born = names.cpu(t.born_cpu);
    let mut out = format!("{name}: born at {} on {born}, {ended}.\n", seconds(t.born_ns));
    out.push_str(&format!(
        "It took {}, {} of them local, and ran {}.\n",
        count(t.faults, "hint fault"),
        share(t.local, t.faults),
        count(t.scans.count, "scan")
    ));
    if let Some(ns) = t.grouped_ns {
        out.push_str(&format!("It belongs to a group of tasks that share memory since {}.\n", seconds(ns)));
    }
    nodes(&mut out, names, t);
    preferred(&mut out, names, t);
    if !t.placed.is_empty() {
        out.push_str("What NUMA placement did with it:\n");
        out.push_str(&reasons_text(&t.placed, "placed"));
    }
    if !t.by_why.is_empty() {
        out.push_str("All its changes of CPU, inside a node too:\n");
        out.push_str(&reasons_text(&t.by_why, ""));
    }
    out
}

/// How long the task could not go on with its program. Empty if the record does not tell.
fn stalls(name: &str, series: &[Series]) -> String {
    let figure = |of: &str, figure: &str| {
        let s = series.iter().find(|s| s.name == of)?;
        let column = if figure.is_empty() { name.to_string() } else { format!("{name}/{figure}") };
        let at = s.columns.iter().position(|c| *c == column)?;
        s.values.get(at)?.last().copied()
    };
    let ms = |ns: Option<f64>| format!("{} ms", readable(ns.unwrap_or(0.0) / 1e6));
    let mut out = String::new();
    for (of, what) in [("task_numa_work", "in task_numa_work"), ("task_waits", "asleep behind a lock or a moving page")]
    {
        let Some(calls) = figure(of, "calls") else { continue };
        let of = |f: &str| ms(figure(of, f));
        out.push_str(&format!(
            "  {what} {}: half within {}, 99 of 100 within {}, the longest {}, {} together\n",
            count(calls as u64, "time"),
            of("p50_ns"),
            of("p99_ns"),
            of("max_ns"),
            of("total_ns")
        ));
    }
    if let Some(n) = figure("task_interrupts", "") {
        out.push_str(&format!("  interrupted for TLB flushes {}\n", count(n as u64, "time")));
    }
    if out.is_empty() {
        return out;
    }
    format!("Where it could not go on:\n{out}")
}

fn nodes(out: &mut String, names: &Names<'_>, t: &TaskWhy) {
    if t.moves.count == 0 {
        out.push_str("It never changed node.\n");
        let node = names.node_of_cpu(t.born_cpu);
        let wants = t.preferred.recent().last().or(t.preferred.first.last()).and_then(|p| p.to);
        if wants.is_some() && wants != node {
            let stick = t.placed.iter().find(|p| p.0 == "stick").map_or(0, |p| p.1.count);
            let (wants, stick) = (names.preferred(wants), count(stick, "time"));
            out.push_str(&format!("It prefers {wants}, but placement found no better CPU there {stick}.\n"));
        }
        return;
    }
    out.push_str(&format!("It changed node {}:\n", count(t.moves.count, "time")));
    for (word, tally) in &t.nodes_by_why {
        out.push_str(&format!("  by {word}: {}\n", times(tally)));
    }
    let show = |out: &mut String, m: &MoveWhy| {
        let why = MOVE_WORDS.get(usize::from(m.why)).unwrap_or(&"");
        let towards = match m.preferred {
            None => "it prefers no node",
            p if p == names.node_of_cpu(m.to) => "to the node it prefers",
            p if p == names.node_of_cpu(m.from) => "away from the node it prefers",
            _ => "between nodes it does not prefer",
        };
        out.push_str(&format!(
            "  {:>10}  {} → {} by {why}, {towards}\n",
            seconds(m.time_ns),
            names.cpu(m.from),
            names.cpu(m.to)
        ));
    };
    t.moves.first.iter().for_each(|m| show(out, m));
    if t.moves.dropped() > 0 {
        out.push_str(&format!("  … {} not kept …\n", count(t.moves.dropped(), "change")));
    }
    t.moves.recent().iter().for_each(|m| show(out, m));
}

fn preferred(out: &mut String, names: &Names<'_>, t: &TaskWhy) {
    if t.preferred.count == 0 {
        out.push_str("It never preferred a node.\n");
        return;
    }
    out.push_str(&format!("The node it prefers changed {}:\n", count(t.preferred.count, "time")));
    let show = |out: &mut String, p: &PreferredWhy| {
        let (from, to) = (names.preferred(p.from), names.preferred(p.to));
        let (faults, local) = p.faults;
        let (faults, local) = (count(faults, "hint fault"), share(local, faults));
        out.push_str(&format!("  {:>10}  {from} → {to} after {faults}, {local} local\n", seconds(p.time_ns)));
    };
    t.preferred.first.iter().for_each(|p| show(out, p));
    if t.preferred.dropped() > 0 {
        out.push_str(&format!("  … {} not kept …\n", count(t.preferred.dropped(), "change")));
    }
    t.preferred.recent().iter().for_each(|p| show(out, p));
}
