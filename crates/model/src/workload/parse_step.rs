//! Steps of a prologue or phase: each has one verb, with modifiers around it.

use super::ast::{AccessSpec, DirectIoSpec, Family, RegionId, Slice, SpanSpec, Step, StepBound, Verb};
use super::context::{new_name, word, Context, Kind};
use super::pattern::PatternSpec;
use super::scope::Scope;
use super::IoDirection;
use crate::access::AccessPattern;
use crate::expr::Formula;
use crate::spec::{SpecError, Spot, Table};

/// Deepest nesting of steps.
const MAX_DEPTH: usize = 16;

/// The place of a list of steps in the file.
#[derive(Clone)]
pub(super) struct Place {
    /// Regions that the steps can name.
    pub visible: Vec<(RegionId, Family)>,
    /// Whether the steps are in a phase of a thread; otherwise they are in a prologue.
    pub thread: bool,
    /// Depth of nesting.
    pub depth: usize,
}

/// The verbs; a step has exactly one of them.
const VERBS: [&str; 12] = [
    "access",
    "compute",
    "sleep",
    "barrier",
    "signal",
    "wait",
    "discard",
    "direct_io",
    "move_pages",
    "read",
    "score",
    "steps",
];

/// Reads a list of steps.
pub(super) fn steps(list: Vec<Table>, cx: &Context, scope: &Scope, place: &Place) -> Result<Vec<Step>, SpecError> {
    let mut out = Vec::new();
    for t in list {
        if place.depth >= MAX_DEPTH {
            return Err(t.error("steps nest too deeply", format!("at most {MAX_DEPTH} levels")));
        }
        out.push(step(&t, cx, scope, place)?);
        t.finish()?;
    }
    Ok(out)
}

fn step(t: &Table, cx: &Context, scope: &Scope, place: &Place) -> Result<Step, SpecError> {
    t.opt_str("name")?;
    let mut scope = scope.clone();
    let each = match t.opt_text("for")? {
        None => None,
        Some(name) => {
            let list = cx.opt_list(t, "in", &scope)?.ok_or_else(|| t.missing("in", "a list such as \"0..7\""))?;
            new_name(&name, &scope)?;
            scope = scope.with(&[&name.value]);
            Some((name.value, list))
        }
    };
    let mut lets = Vec::new();
    if let Some(table) = t.opt_table("let")? {
        scope = scope.with(&[]);
        for name in table.keys() {
            let value = cx.need_formula(&table, &name.value, &scope)?;
            new_name(&name, &scope)?;
            scope.add(&name.value);
            lets.push((name.value, value));
        }
    }
    let when = cx.opt_condition(t, "when", &scope)?;
    let policy = cx.opt_policy(t, "policy")?;
    let timed = match t.opt_text("timed")? {
        None => None,
        Some(text) => Some(cx.clock(text, &scope)?),
    };
    let request = match t.opt_text("request")? {
        None => None,
        Some(text) => Some(cx.request(text, &scope)?),
    };
    let bound = match (cx.opt_formula(t, "count", &scope)?, cx.opt_formula(t, "time", &scope)?) {
        (None, None) => StepBound::Once,
        (Some(n), None) => StepBound::Count(n),
        (None, Some(time)) => StepBound::Time(time),
        (Some(_), Some(time)) => {
            return Err(time.spot().error("the step has both `count` and `time`", "one of them"));
        }
    };
    let here = t.error("", "");
    let spot = Spot { value: (), file: here.file, line: here.line, column: here.column };
    let verb = verb(t, cx, &scope, place)?;
    Ok(Step { spot, each, lets, when, policy, timed, request, bound, verb })
}

fn verb(t: &Table, cx: &Context, scope: &Scope, place: &Place) -> Result<Verb, SpecError> {
    let given: Vec<&str> = VERBS.into_iter().filter(|v| t.has(v)).collect();
    let [verb] = given[..] else {
        let what = match given.len() {
            0 => "the step does nothing".to_string(),
            _ => format!("the step has {}", given.join(" and ")),
        };
        return Err(t.error(what, format!("exactly one of {}", VERBS.join(", "))));
    };
    let named = |kind| {
        let text = t.opt_text(verb)?.ok_or_else(|| t.missing(verb, "a name"))?;
        cx.reference(kind, text, scope)
    };
    Ok(match verb {
        "access" => Verb::Access(Box::new(access(t, cx, scope, place)?)),
        "compute" => Verb::Compute(cx.need_formula(t, verb, scope)?),
        "sleep" => Verb::Sleep {
            mean: cx.need_formula(t, verb, scope)?,
            exponential: t.opt_bool("exponential")?.is_some_and(|b| b.value),
        },
        "barrier" => Verb::Barrier(named(Kind::Barrier)?),
        "signal" => Verb::Signal(named(Kind::Channel)?),
        "wait" => Verb::Wait(named(Kind::Channel)?),
        "discard" => Verb::Discard(span(t, verb, cx, scope, place)?),
        "direct_io" => Verb::DirectIo(Box::new(direct_io(t, cx, scope, place)?)),
        "move_pages" => {
            let to = cx.opt_list(t, "to", scope)?;
            let to = to.ok_or_else(|| t.missing("to", "the node, or a list such as [1, 0]"))?;
            Verb::MovePages { span: span(t, verb, cx, scope, place)?, to }
        }
        "read" => {
            let spot = t.opt_text("into")?.ok_or_else(|| t.missing("into", "the name of a region, the buffer"))?;
            let (region, at) = region(&spot, cx, scope, place)?;
            Verb::Read {
                span: span(t, verb, cx, scope, place)?,
                into: SpanSpec { region, at, slice: Slice::Whole, spot },
                bytes: cx.opt_formula(t, "bytes", scope)?,
            }
        }
        "score" => Verb::Score { score: named(Kind::Score)?, amount: cx.opt_formula(t, "amount", scope)? },
        _ => {
            let inner = Place { depth: place.depth + 1, ..place.clone() };
            let list = steps(t.tables(verb)?, cx, scope, &inner)?;
            if list.is_empty() {
                return Err(t.error("`steps` is empty", "at least one step"));
            }
            Verb::Steps(list)
        }
    })
}

fn span(t: &Table, verb: &str, cx: &Context, scope: &Scope, place: &Place) -> Result<SpanSpec, SpecError> {
    let spot = t.opt_text(verb)?.ok_or_else(|| t.missing(verb, "the name of a region"))?;
    let (region, at) = region(&spot, cx, scope, place)?;
    let slice = word(t, "slice", &[("whole", false), ("thread", true)])?;
    let (offset, len) = (cx.opt_formula(t, "offset", scope)?, cx.opt_formula(t, "len", scope)?);
    let slice = match (slice, offset.is_some() || len.is_some()) {
        (Some(_), true) => {
            return Err(spot.error("the step has both `slice` and `offset` or `len`", "one way of saying it"))
        }
        (Some(true), _) if !place.thread => {
            return Err(spot.error("`slice = \"thread\"` in a prologue", "`whole`, or `offset` and `len`"));
        }
        (Some(true), _) => {
            cx.per_thread.set(true);
            Slice::Thread
        }
        (None, true) => Slice::Explicit { offset, len },
        (Some(false) | None, false) => Slice::Whole,
    };
    Ok(SpanSpec { region, at, slice, spot })
}

/// The region that `text` names: `name` or `name[expression]`.
fn region(
    text: &Spot<String>,
    cx: &Context,
    scope: &Scope,
    place: &Place,
) -> Result<(RegionId, Option<Formula>), SpecError> {
    let families: Vec<&Family> = place.visible.iter().map(|(_, f)| f).collect();
    let (index, at) = cx.member("region", text, &families, scope)?;
    Ok((place.visible[index].0, at))
}

fn access(t: &Table, cx: &Context, scope: &Scope, place: &Place) -> Result<AccessSpec, SpecError> {
    let span = span(t, "access", cx, scope, place)?;
    let words: Vec<(&str, &dyn AccessPattern)> = cx.patterns.iter().map(|p| (p.word(), *p)).collect();
    let default = words.first().map(|(_, of)| *of);
    let of = word(t, "pattern", &words)?.or(default).ok_or_else(|| t.missing("pattern", "an access pattern"))?;
    let pattern = PatternSpec::read(of, |key| cx.need_formula(t, key, scope))?;
    let counts = match t.opt_text("counts")? {
        None => None,
        Some(text) => Some((cx.reference(Kind::Score, text, scope)?, cx.opt_formula(t, "unit_bytes", scope)?)),
    };
    Ok(AccessSpec {
        span,
        pattern,
        write: cx.opt_condition(t, "write", scope)?,
        cost: cx.opt_formula(t, "cost", scope)?,
        counts,
    })
}

fn direct_io(t: &Table, cx: &Context, scope: &Scope, place: &Place) -> Result<DirectIoSpec, SpecError> {
    let directions = [("read", IoDirection::Read), ("write", IoDirection::Write)];
    Ok(DirectIoSpec {
        span: span(t, "direct_io", cx, scope, place)?,
        direction: word(t, "io", &directions)?.unwrap_or(IoDirection::Read),
        random: word(t, "order", &[("sequential", false), ("random", true)])?.unwrap_or(false),
        bytes: cx.opt_formula(t, "bytes", scope)?,
        ios: cx.opt_formula(t, "ios", scope)?,
        latency: cx.need_formula(t, "latency", scope)?,
    })
}
