//! Why a task changed node, or did not.

use super::names::Names;
use super::words::{count, cut, reasons_text, seconds, share, times, unknown};
use numalab_model::record::events::MOVE_WORDS;
use numalab_model::record::why::{MoveWhy, PreferredWhy, TaskWhy, WhyFile};
use numalab_model::spec::SpecError;

/// Describes the task `PROCESS/tTHREAD`, or lists all tasks if `name` is empty.
///
/// # Errors
/// No task has that name.
pub fn explain(file: &WhyFile, name: &str) -> Result<String, SpecError> {
    let names = Names::new(file);
    let all: Vec<String> = (0..file.why.tasks.len()).map(|t| names.task(t as u32)).collect();
    if name.is_empty() {
        return Ok(cut(&file.why.tasks.iter().zip(&all).map(|(t, n)| line(&names, t, n)).collect::<Vec<_>>()));
    }
    match all.iter().position(|n| n == name) {
        Some(i) => Ok(one(&names, &file.why.tasks[i], name)),
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
