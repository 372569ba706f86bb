//! The sentences of a decision.

use super::call::Call;
use super::choice::{Choice, Standing, WorkloadDecision};
use super::finding::{measurements, Finding};
use super::headline::headline;
use super::sentence::{change, growth, p_text};
use crate::data::{Comparison, Workload};

/// Most workloads that the answer names for one choice.
const MAX_WORKLOADS: usize = 4;
/// Most other kernels that the sentence of a workload names.
const MAX_OTHERS: usize = 4;
/// Most workloads whose cost a sentence names.
const MAX_COSTS: usize = 2;

/// The answer in one sentence.
pub(super) fn answer(c: &Comparison, workloads: &[WorkloadDecision], all: &[Finding]) -> String {
    let Some(first) = workloads.first().filter(|_| !c.nothing_ran()) else {
        return headline(c, all).into_iter().next().map(|h| h.1).unwrap_or_default();
    };
    let mut groups: Vec<(&Choice, Vec<&str>)> = Vec::new();
    for w in workloads {
        let name = c.workloads[w.workload].name.as_str();
        match groups.iter_mut().find(|(choice, _)| **choice == w.choice) {
            Some((_, names)) => names.push(name),
            None => groups.push((&w.choice, vec![name])),
        }
    }
    if let [(choice, names)] = groups.as_slice() {
        return same_everywhere(c, choice, names, first);
    }
    let parts: Vec<String> = groups.iter().map(|(choice, names)| part(c, choice, &some(names))).collect();
    format!("It depends on the workload: {}.", parts.join("; "))
}

/// The answer where it is the same for every workload.
fn same_everywhere(c: &Comparison, choice: &Choice, names: &[&str], first: &WorkloadDecision) -> String {
    let (base, on) = (c.baseline_name(), some(names));
    let ran = || c.others().filter(|k| c.kernels[*k].failed.is_none());
    let only_bounds = ran().all(|k| c.kernels[k].is_bound);
    let real = || ran().filter(|k| only_bounds || !c.kernels[*k].is_bound);
    let others: Vec<&str> = real().map(|k| c.kernels[k].name.as_str()).collect();
    match choice {
        Choice::Take(take) if take.contains(&c.baseline) => {
            let lost: Vec<&str> = real().filter(|k| !take.contains(k)).map(|k| c.kernels[k].name.as_str()).collect();
            let also: Vec<&str> =
                take.iter().filter(|k| **k != c.baseline).map(|k| c.kernels[*k].name.as_str()).collect();
            let verb = if lost.len() == 1 { "is" } else { "are" };
            let also = match also.as_slice() {
                [] => String::new(),
                list => format!("; {} does not clearly differ from it", join(list, "or")),
            };
            format!("Keep {base}: {} {verb} worse on {on}{also}.", join(&lost, "and"))
        }
        Choice::Take(take) => {
            let taken: Vec<&str> = take.iter().map(|k| c.kernels[*k].name.as_str()).collect();
            let beaten = if others.len() > taken.len() { "is the best".into() } else { format!("beats {base}") };
            match taken.as_slice() {
                [one] => format!("Take {one}: it {beaten} on {on}."),
                several => format!(
                    "Take {}: each beats {base} on {on}, and no clear difference is between them.",
                    join(several, "or")
                ),
            }
        }
        Choice::Even => format!("Take either: {} {} not clearly differ on {on}.", both(base, &others), "do"),
        Choice::Mixed => {
            format!("It depends on what counts: some measurements of {on} got better and others worse.")
        }
        Choice::CannotTell => match (names, first.standings.as_slice()) {
            ([_], [only]) if only.measurements == 1 => only.finding.text.clone(),
            _ => format!("Cannot tell {} from {base} on {on}.", join(&others, "or")),
        },
    }
}

/// The part of the answer about some workloads: "take 6.12 for numa02".
fn part(c: &Comparison, choice: &Choice, on: &str) -> String {
    match choice {
        Choice::Take(take) => {
            let verb = if take.contains(&c.baseline) { "keep" } else { "take" };
            // The baseline comes first: "keep off or x".
            let mut names: Vec<&str> = take.iter().map(|k| c.kernels[*k].name.as_str()).collect();
            names.sort_by_key(|n| *n != c.baseline_name());
            format!("{verb} {} for {on}", join(&names, "or"))
        }
        Choice::Even => format!("no clear difference on {on}"),
        Choice::Mixed => format!("{on} has better and worse measurements"),
        Choice::CannotTell => format!("cannot tell on {on}"),
    }
}

/// How much, in one sentence without the name of the workload.
pub(super) fn of_workload(c: &Comparison, w: &Workload, choice: &Choice, standings: &[Standing]) -> String {
    let name = |k: usize| c.kernels[k].name.as_str();
    let (shown, said) = match choice {
        Choice::Take(take) if !take.contains(&c.baseline) => {
            let Some(s) = best(standings.iter().filter(|s| take.contains(&s.kernel))) else { return String::new() };
            (s, format!("{} wins: {}", name(s.kernel), figures(c, w, s)))
        }
        Choice::Take(take) => {
            let Some(s) = best(standings.iter().filter(|s| !take.contains(&s.kernel))) else { return String::new() };
            let wins = if take.len() == 1 { format!("{} wins; ", c.baseline_name()) } else { String::new() };
            (s, format!("{wins}{} loses: {}", name(s.kernel), figures(c, w, s)))
        }
        Choice::Even | Choice::Mixed | Choice::CannotTell => {
            let Some(s) = standings.first() else { return String::new() };
            (s, undecided(c, w, s))
        }
    };
    let others: Vec<String> = standings.iter().filter(|s| s.kernel != shown.kernel).map(|s| other(c, s)).collect();
    let more = if others.len() > MAX_OTHERS { ", …" } else { "" };
    let rest = others.into_iter().take(MAX_OTHERS).collect::<Vec<_>>().join(", ");
    if rest.is_empty() {
        format!("{said}.")
    } else {
        format!("{said}; {rest}{more}.")
    }
}

/// The standing with the largest gain, the first of equals.
fn best<'a>(list: impl Iterator<Item = &'a Standing>) -> Option<&'a Standing> {
    list.reduce(|a, b| if b.gain > a.gain { b } else { a })
}

/// The figures of the measurement that decides: "elapsed 14.39 → 10.40 s, 27.7 % lower".
fn figures(c: &Comparison, w: &Workload, s: &Standing) -> String {
    let m = measurements(w).into_iter().find(|m| m.name == s.finding.metric);
    let text = m.map(|m| change(m, s.finding.change_percent, (c.baseline, s.kernel))).unwrap_or_default();
    if s.measurements > 1 {
        format!("{text} (the largest change of {} measurements)", s.measurements)
    } else {
        text
    }
}

/// How a kernel stands on a workload without a winner.
fn undecided(c: &Comparison, w: &Workload, s: &Standing) -> String {
    let (name, base) = (&c.kernels[s.kernel].name, c.baseline_name());
    match s.call {
        Some(_) if s.measurements == 1 => short(&s.finding.text).to_string(),
        Some(Call::CannotTell) => format!("cannot tell {name} from {base}"),
        Some(_) => format!("no clear difference between {name} and {base}"),
        None => format!("{name} gets some better and some worse: {}", figures(c, w, s)),
    }
}

/// How another kernel stands, in a few words: "on 20.1 % lower".
fn other(c: &Comparison, s: &Standing) -> String {
    let kernel = &c.kernels[s.kernel];
    let name = if kernel.is_bound { format!("{} (the bound)", kernel.name) } else { kernel.name.clone() };
    match s.call {
        Some(Call::Better | Call::Worse) | None => {
            let size = s.finding.change_percent.map(growth).unwrap_or_else(|| "changed".into());
            format!("{name} {size}")
        }
        Some(Call::Even) => format!("{name} no clear difference"),
        Some(Call::CannotTell) => format!("{name} cannot tell"),
    }
}

/// How sure the answer is.
pub(super) fn how_sure(c: &Comparison, workloads: &[WorkloadDecision]) -> String {
    let all: Vec<&Standing> = workloads.iter().flat_map(|w| &w.standings).collect();
    let clear: Vec<&&Standing> = all.iter().filter(|s| matches!(s.call, Some(Call::Better | Call::Worse))).collect();
    let worst = clear.iter().filter_map(|s| s.sure.p).fold(None, |a: Option<f64>, p| Some(a.map_or(p, |a| a.max(p))));
    let mut parts = Vec::new();
    if let Some(p) = worst {
        let what = match (clear.len(), all.len()) {
            (1, 1) => "The difference is clear".to_string(),
            (2, 2) => "Both differences are clear".to_string(),
            (n, all) if n == all => format!("All {n} differences are clear"),
            (n, all) => format!("{n} of {all} differences {} clear", if n == 1 { "is" } else { "are" }),
        };
        let at_worst = if clear.len() > 1 { " or less" } else { "" };
        // A probability below the smallest that is named needs no bound.
        let p = p_text(p);
        let at_worst = if p.starts_with("p <") { "" } else { at_worst };
        parts.push(format!("{what} ({p}{at_worst}, {}){}.", runs(&clear), beyond_model(&clear)));
    } else if !all.is_empty() {
        let runs = runs(&all.iter().collect::<Vec<_>>());
        let seen = all.iter().filter_map(|s| s.sure.detectable_percent).fold(0.0, f64::max);
        let few = all.iter().any(|s| s.sure.runs.0 < 2 || s.sure.runs.1 < 2);
        let hidden = all.iter().find_map(|s| s.finding.model_error.filter(|e| e.hides(s.finding.change_percent)));
        if let Some(error) = hidden.filter(|_| !few && all.iter().any(|s| s.call == Some(Call::CannotTell))) {
            parts.push(format!("{runs}. The change is below what this model can tell ({}).", error.text()));
        } else if few {
            parts.push(format!("Not at all: {runs}. Repeat with --iterations 3 or more."));
        } else if seen >= 0.01 {
            parts.push(format!("{runs} would show a change of {seen:.2} %."));
        } else {
            parts.push(format!("{runs}."));
        }
    }
    let mark = |mark: &str| c.kernels.iter().any(|k| k.mark == mark);
    if mark("sim") {
        parts.push("Predictions of the simulator, not measurements.".into());
    } else if mark("vm-modelled") {
        parts.push("Real kernels in virtual time; times compare with each other only.".into());
    } else if mark("vm") || mark("vm-counters") {
        parts.push("Real kernels under emulation; their times are not real.".into());
    }
    parts.join(" ")
}

/// That clear differences are larger than the model's own error, with that error: the largest of several kinds. Empty
/// unless the figures are simulated.
fn beyond_model(clear: &[&&Standing]) -> String {
    let errors = clear.iter().filter_map(|s| s.finding.model_error);
    let largest = errors.reduce(|a, b| if b.half > a.half { b } else { a });
    largest.map_or(String::new(), |e| format!(" and larger than the model's own error ({})", e.text()))
}

/// The number of runs of standings: "3 runs a side", "3 to 5 runs a side".
fn runs(list: &[&&Standing]) -> String {
    let all = || list.iter().flat_map(|s| [s.sure.runs.0, s.sure.runs.1]);
    match (all().min().unwrap_or(0), all().max().unwrap_or(0)) {
        (1, 1) => "1 run a side".into(),
        (a, b) if a == b => format!("{a} runs a side"),
        (a, b) => format!("{a} to {b} runs a side"),
    }
}

/// What each kernel cost: "6.12 on numa02: system time 0.258 → 2.19 s, 768 MiB moved; on …".
pub(super) fn costs(c: &Comparison, workloads: &[WorkloadDecision]) -> Vec<String> {
    let mut out = Vec::new();
    for k in c.others() {
        let mut parts = Vec::new();
        for w in workloads {
            let own = w.standings.iter().find(|s| s.kernel == k).map_or(&[][..], |s| &s.costs);
            if !own.is_empty() {
                let list: Vec<String> = own.iter().map(super::costs::Cost::text).collect();
                parts.push((c.workloads[w.workload].name.as_str(), list.join(", ")));
            }
        }
        let name = &c.kernels[k].name;
        let more = parts.len().saturating_sub(MAX_COSTS);
        let said: Vec<String> = match parts.as_slice() {
            [] => continue,
            [(_, only)] if workloads.len() == 1 => vec![format!(": {only}")],
            several => several.iter().take(MAX_COSTS).map(|(w, text)| format!(" on {w}: {text}")).collect(),
        };
        let more = if more > 0 { format!("; and {more} more workloads") } else { String::new() };
        out.push(format!("{name}{}{more}.", said.join(";")));
    }
    out
}

/// The sentence without the figures of its test.
fn short(sentence: &str) -> &str {
    let cut = [". The difference is ", " (p "].iter().filter_map(|mark| sentence.find(mark)).min();
    cut.map_or(sentence, |at| &sentence[..at]).trim_end_matches('.')
}

/// "a", "a and b", "a, b and c".
pub(super) fn join(names: &[&str], word: &str) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_string(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// The first names, and how many more.
fn some(names: &[&str]) -> String {
    match names.len() {
        n if n > MAX_WORKLOADS + 1 => format!("{} and {} more", names[..MAX_WORKLOADS].join(", "), n - MAX_WORKLOADS),
        _ => join(names, "and"),
    }
}

/// The baseline and the others.
fn both(base: &str, others: &[&str]) -> String {
    let mut all = vec![base];
    all.extend(others);
    join(&all, "and")
}
