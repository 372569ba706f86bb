//! File to [`WorkloadSpec`]: the top level (parameters, requirements, policies, barriers, channels, scores).

use super::ast::{Family, ParamSpec, PolicySpec, Require, ScoreSpec, WorkloadSpec};
use super::context::{declared, is_name_byte, new_name, word, Context, NAME};
use super::{PolicyMode, BEST, LATENCY_UNITS, PERCENTILES};
use crate::access::{PatternList, PATTERNS};
use crate::spec::{clip, is_hidden, Doc, SpecError, Spot, Table};
use numalab_nouns::record::{TIMES, WAKE_UPS};

/// Parses a workload file; `file` is used in messages.
///
/// # Errors
/// Anything that is wrong on every machine: syntax, unknown keys and names, and scores, barriers, channels, policies or
/// parameters that nothing uses.
pub fn parse(file: &str, text: &str) -> Result<WorkloadSpec, SpecError> {
    parse_with(file, text, PATTERNS)
}

/// As [`parse`], with `patterns` instead of the access patterns that numalab has; the first one is the default.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(file: &str, text: &str, patterns: &'static PatternList) -> Result<WorkloadSpec, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let name = root.str("name")?;
    if name.value.is_empty() || name.value.len() > NAME_MAX || !name.value.bytes().all(is_name_byte) {
        let expected = format!("1 to {NAME_MAX} {NAME}");
        return Err(name.error(format!("the name is `{}`", clip(&name.value)), expected));
    }
    let prose = |key: &str| {
        let text = root.str(key)?;
        let trimmed = text.value.trim().to_string();
        if trimmed.is_empty() {
            return Err(text.error(format!("`{key}` is empty"), "a few words"));
        }
        Ok(trimmed)
    };
    let (title, about, source) = (root.title()?, prose("about")?, prose("source")?);
    let aliases = aliases(&root)?;
    let histograms_file = root.opt_str("histograms")?;
    if let Some(file) = histograms_file.as_ref().filter(|f| f.value.trim().is_empty()) {
        return Err(file.error("`histograms` is empty", "a file beside this one, as `numalab fit --exact` writes it"));
    }
    let mut cx = Context::new(patterns);
    let params = params(&root, &mut cx)?;
    let requires = requires(&root, &cx)?;
    let limit = cx.opt_formula(&root, "limit", &cx.global())?;
    cx.policies = policies(&root, &cx)?;
    cx.barriers = families(&root, "barrier", &cx)?;
    cx.channels = families(&root, "channel", &cx)?;
    cx.scores = scores(&root, &cx)?;
    let processes = super::parse_process::processes(&root, &cx)?;
    root.finish()?;
    cx.refuse_unused(&params)?;
    Ok(WorkloadSpec {
        file: file.to_string(),
        name: name.value,
        title,
        aliases,
        about,
        source,
        limit,
        params,
        requires,
        policies: cx.policies,
        barriers: cx.barriers,
        channels: cx.channels,
        scores: cx.scores,
        processes,
        histograms_file,
        histograms: None,
    })
}

/// Reads `aliases`, other words for a workload or an experiment that suggestions are searched by.
///
/// # Errors
/// No list of strings, an empty string, or one longer than 64 bytes.
pub(crate) fn aliases(root: &Table) -> Result<Vec<String>, SpecError> {
    let list = root.strs("aliases")?;
    if let Some(bad) = list.iter().find(|a| a.value.trim().is_empty() || a.value.len() > NAME_MAX) {
        return Err(bad.error(format!("the alias is `{}`", clip(&bad.value)), format!("1 to {NAME_MAX} bytes")));
    }
    Ok(list.into_iter().map(|a| a.value).collect())
}

/// Longest name of a workload, bytes; the name becomes part of file names.
const NAME_MAX: usize = 64;

fn params(root: &Table, cx: &mut Context) -> Result<Vec<ParamSpec>, SpecError> {
    let Some(table) = root.opt_table("params")? else { return Ok(Vec::new()) };
    let mut out: Vec<ParamSpec> = Vec::new();
    for key in table.keys() {
        new_name(&key, &cx.global())?;
        let (text, about) = match table.opt_formula(&key.value) {
            Ok(text) => (text, String::new()),
            Err(plain) => {
                let Ok(Some(t)) = table.opt_table(&key.value) else { return Err(plain) };
                let text = t.opt_formula("value")?.ok_or_else(|| t.missing("value", "a number or an expression"))?;
                let about = t.str("about")?.value;
                t.finish()?;
                (Some(text), about)
            }
        };
        let Some(text) = text else { continue };
        let default = cx.formula(&key.value, text, &cx.global())?;
        cx.add_param(&key.value);
        out.push(ParamSpec { name: key.value, about, default });
    }
    Ok(out)
}

fn requires(root: &Table, cx: &Context) -> Result<Vec<Require>, SpecError> {
    let mut out = Vec::new();
    for t in root.tables("require")? {
        out.push(Require { that: cx.need_formula(&t, "that", &cx.global())?, because: t.str("because")?.value });
        t.finish()?;
    }
    Ok(out)
}

fn policies(root: &Table, cx: &Context) -> Result<Vec<PolicySpec>, SpecError> {
    let mut out: Vec<PolicySpec> = Vec::new();
    for t in root.tables("policy")? {
        let name = declared(&t, "policy", out.iter().map(|p| &p.name))?;
        let mode =
            word(&t, "mode", &PolicyMode::WORDS)?.ok_or_else(|| t.missing("mode", "a mode of set_mempolicy(2)"))?;
        let scope = cx.thread_scope();
        cx.per_thread.set(false);
        let takes_nodes = !matches!(mode, PolicyMode::Default | PolicyMode::Local);
        let all = takes_nodes && t.opt_formulas("nodes")?.is_some_and(|l| l.len() == 1 && l[0].value == "all");
        let nodes = if takes_nodes && !all { cx.opt_list(&t, "nodes", &scope)? } else { None };
        if takes_nodes && !all && nodes.is_none() {
            return Err(t.missing("nodes", "a list of nodes, or \"all\""));
        }
        let weights = if mode == PolicyMode::WeightedInterleave {
            let texts = t.opt_formulas("weights")?.ok_or_else(|| t.missing("weights", "one weight per node"))?;
            texts.into_iter().map(|w| cx.formula("weights", w, &scope)).collect::<Result<_, _>>()?
        } else {
            Vec::new()
        };
        let flagged = matches!(mode, PolicyMode::Bind | PolicyMode::PreferredMany);
        let numa_balancing = flagged && t.opt_bool("numa_balancing")?.is_some_and(|b| b.value);
        t.finish()?;
        let per_thread = cx.per_thread.get();
        out.push(PolicySpec { name, mode, nodes, weights, numa_balancing, per_thread });
    }
    Ok(out)
}

fn families(root: &Table, key: &str, cx: &Context) -> Result<Vec<Family>, SpecError> {
    let mut out: Vec<Family> = Vec::new();
    for t in root.tables(key)? {
        let name = declared(&t, key, out.iter().map(|f| &f.name))?;
        let over = cx.opt_list(&t, "over", &cx.global())?;
        let spin = key == "barrier" && t.opt_bool("spin")?.is_some_and(|b| b.value);
        let kinds = [("pipe", false), ("futex", true)];
        let futex = key == "channel" && word(&t, "kind", &kinds)?.unwrap_or(false);
        t.finish()?;
        out.push(Family { name, over, spin, futex });
    }
    Ok(out)
}

/// Most characters of a unit.
const UNIT_CHARS_MAX: usize = 40;

fn scores(root: &Table, cx: &Context) -> Result<Vec<ScoreSpec>, SpecError> {
    let mut out: Vec<ScoreSpec> = Vec::new();
    for t in root.tables("score")? {
        let name = declared(&t, "score", out.iter().map(|s| &s.family.name))?;
        // Tables call the times of a run without their unit, so a score may have neither form of the name.
        let is_time = TIMES.contains(&name.value.strip_suffix("_s").unwrap_or(&name.value));
        if is_time || WAKE_UPS.iter().any(|(taken, _)| name.value == *taken) {
            return Err(name.error(format!("`{}` is a figure of every run", name.value), "another name"));
        }
        let over = cx.opt_list(&t, "over", &cx.global())?;
        let unit = t.str("unit")?;
        if let Some(c) = unit.value.chars().find(|c| is_hidden(*c)).or(unit.value.chars().nth(UNIT_CHARS_MAX)) {
            let what =
                format!("the unit has {} characters, one of them U+{:04X}", unit.value.chars().count(), c as u32);
            return Err(unit.error(what, format!("at most {UNIT_CHARS_MAX} visible characters on one line")));
        }
        let better = word(&t, "better", &[("higher", true), ("lower", false)])?;
        let higher_is_better = better.ok_or_else(|| t.missing("better", "\"higher\" or \"lower\""))?;
        let per_second = t.opt_bool("per_second")?.is_some_and(|b| b.value);
        let best = t.opt_bool("best")?;
        if let Some(best) = best.as_ref().filter(|b| b.value && !per_second) {
            let why = "`best` is the best rate of the timed steps, and this score is not a rate";
            return Err(best.error(why.to_string(), "`per_second = true` beside it"));
        }
        let best = best.is_some_and(|b| b.value);
        let latency = t.opt_bool("latency")?;
        if let Some(latency) = latency.as_ref().filter(|l| l.value) {
            check_latency(latency, &unit, higher_is_better || per_second)?;
        }
        let latency = latency.is_some_and(|l| l.value);
        t.finish()?;
        out.push(ScoreSpec {
            family: Family { name, over, spin: false, futex: false },
            unit: unit.value,
            higher_is_better,
            per_second,
            best,
            latency,
        });
    }
    refuse_names_of_figures(&out)?;
    Ok(out)
}

/// Refuses a latency that does not count time, or of which more is better.
fn check_latency(latency: &Spot<bool>, unit: &Spot<String>, other: bool) -> Result<(), SpecError> {
    if other {
        return Err(latency.error("a latency is a time, of which less is better", "`better = \"lower\"`, and no rate"));
    }
    if LATENCY_UNITS.iter().any(|(word, _)| *word == unit.value) {
        return Ok(());
    }
    let words: Vec<&str> = LATENCY_UNITS.iter().map(|(word, _)| *word).collect();
    Err(unit.error(format!("the unit of a latency is {:?}", clip(&unit.value)), format!("one of {}", words.join(", "))))
}

/// Refuses a score whose name is that of a figure of another score, and a latency whose figures are those of every run.
fn refuse_names_of_figures(scores: &[ScoreSpec]) -> Result<(), SpecError> {
    for name in scores.iter().map(|s| &s.family.name) {
        let taken = |s: &&ScoreSpec| s.best && name.value.strip_suffix(BEST) == Some(s.family.name.value.as_str());
        if let Some(score) = scores.iter().find(taken) {
            let owner = &score.family.name.value;
            return Err(name.error(format!("`{}` is the best interval of `{owner}`", name.value), "another name"));
        }
        let stems = PERCENTILES.iter().filter_map(|(end, _)| name.value.strip_suffix(end));
        let mut owners = stems.filter(|stem| scores.iter().any(|s| s.latency && s.family.name.value == *stem));
        if let Some(owner) = owners.next() {
            return Err(name.error(format!("`{}` is a percentile of `{owner}`", name.value), "another name"));
        }
    }
    for name in scores.iter().filter(|s| s.latency).map(|s| &s.family.name) {
        let figure = |end: &str| format!("{}{end}", name.value);
        let taken = PERCENTILES.iter().map(|(end, _)| figure(end)).find(|f| WAKE_UPS.iter().any(|(w, _)| w == f));
        if let Some(taken) = taken {
            return Err(name.error(format!("`{taken}` is a figure of every run"), "another name"));
        }
    }
    Ok(())
}
