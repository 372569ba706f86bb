//! `[[process]]` tables: forking, regions, threads, groups of threads.

use super::ast::{Affinity, AffinityUnit, CpusetSpec, Family, Group, ProcessSpec, RegionId, RegionSpec};
use super::context::{declared, find, word, Context};
use super::names::THREADS;
use super::parse_step::{steps, Place};
use super::scope::Scope;
use super::{ForkPoint, HugeAdvice, RegionKind};
use crate::spec::{SpecError, Spot, Table};

/// Reads all processes; there must be at least one.
pub(super) fn processes(root: &Table, cx: &Context) -> Result<Vec<ProcessSpec>, SpecError> {
    let mut out: Vec<ProcessSpec> = Vec::new();
    for t in root.tables("process")? {
        let one = process(&t, cx, &out)?;
        t.finish()?;
        out.push(one);
    }
    if out.is_empty() {
        return Err(root.missing("process", "at least one [[process]] table"));
    }
    Ok(out)
}

fn process(t: &Table, cx: &Context, before: &[ProcessSpec]) -> Result<ProcessSpec, SpecError> {
    let name = declared(t, "process", before.iter().map(|p| &p.name))?;
    let count = cx.opt_formula(t, "count", &cx.global())?;
    let scope = cx.process_scope();
    let forked = forking(t, cx, &name, count.is_some(), before)?;
    let policy = cx.opt_policy(t, "policy")?;
    let cpuset = cpuset(t, cx, &scope)?;
    let cpu_weight = cx.opt_formula(t, "cpu_weight", &cx.global())?;
    let grouped = t.has("group");
    let region_scope = if grouped { scope.clone() } else { scope.with(&[THREADS]) };
    let mut visible = inherited(&forked, before);
    refuse_inherited_pins(&name, &visible, before)?;
    let mut regions: Vec<RegionSpec> = Vec::new();
    for r in t.tables("region")? {
        let region = region(&r, cx, &region_scope, visible.iter().map(|(_, f)| &f.name))?;
        r.finish()?;
        visible.push((RegionId { process: before.len(), region: regions.len() }, region.family.clone()));
        regions.push(region);
    }
    let initial = word(t, "initial", &[("works", true), ("joins", false)])?;
    let place = Place { visible, thread: false, depth: 0 };
    let prologue = steps(t.tables("prologue")?, cx, &scope, &place)?;
    let groups = groups(t, cx, &scope, Place { thread: true, ..place.clone() })?;
    Ok(ProcessSpec {
        name,
        count,
        parent: forked.parent,
        forked_from_first: forked.from_first,
        fork: forked.point,
        policy,
        cpuset,
        cpu_weight,
        regions,
        visible: place.visible.iter().map(|(id, _)| *id).collect(),
        prologue,
        initial_works: initial.unwrap_or(true),
        groups,
    })
}

/// How a process is started: by exec, or forked from another one.
struct Forked {
    parent: Option<(usize, Option<crate::expr::Formula>)>,
    from_first: bool,
    point: ForkPoint,
}

fn forking(
    t: &Table,
    cx: &Context,
    name: &Spot<String>,
    counted: bool,
    before: &[ProcessSpec],
) -> Result<Forked, SpecError> {
    let points = [("before", ForkPoint::BeforePrologue), ("after", ForkPoint::AfterPrologue)];
    let point = word(t, "fork", &points)?;
    let Some(parent) = t.opt_text("parent")? else {
        return match point {
            None => Ok(Forked { parent: None, from_first: false, point: ForkPoint::BeforePrologue }),
            Some(ForkPoint::BeforePrologue) if counted => {
                Ok(Forked { parent: None, from_first: true, point: ForkPoint::BeforePrologue })
            }
            Some(ForkPoint::BeforePrologue) => Err(t.missing("count", "`count` or `parent`: who is forked from whom")),
            Some(ForkPoint::AfterPrologue) => Err(t.missing("parent", "the process it is forked from")),
        };
    };
    let names: Vec<&str> = before.iter().map(|p| p.name.value.as_str()).collect();
    if parent.value == name.value {
        let expected = "an earlier process; to fork instances from the first, give `fork = \"before\"` without parent";
        return Err(parent.error(format!("process `{}` is its own parent", name.value), expected));
    }
    let index = find("process", &parent, &parent.value, &names)?;
    let which = cx.opt_formula(t, "parent_index", &cx.process_scope())?;
    let point = point.unwrap_or(ForkPoint::AfterPrologue);
    Ok(Forked { parent: Some((index, which)), from_first: false, point })
}

/// Regions that a process inherits: all of the parent's if it is forked after the parent's prologue, otherwise those
/// that the parent inherited.
fn inherited(forked: &Forked, before: &[ProcessSpec]) -> Vec<(RegionId, Family)> {
    let Some((parent, _)) = &forked.parent else { return Vec::new() };
    let ids = before[*parent].visible.iter().copied();
    ids.filter(|id| forked.point == ForkPoint::AfterPrologue || id.process != *parent)
        .map(|id| (id, before[id.process].regions[id.region].family.clone()))
        .collect()
}

/// Refuses a fork that would share pinned pages, for kernels disagree on who gets the copy (since 5.12 the child, at
/// once); or hugetlb pages, whose copies need pages of the pool.
fn refuse_inherited_pins(
    name: &Spot<String>,
    visible: &[(RegionId, Family)],
    before: &[ProcessSpec],
) -> Result<(), SpecError> {
    for (id, family) in visible {
        if let Some(pinned) = before[id.process].regions[id.region].pinned.as_ref().filter(|p| p.value) {
            let what = format!("region `{}` is pinned, and process `{}` inherits it", family.name.value, name.value);
            let expected = "a pinned region in a process that nothing is forked from after its prologue";
            return Err(pinned.error(what, expected));
        }
        if before[id.process].regions[id.region].kind == RegionKind::Hugetlb {
            let what = format!("process `{}` inherits `{}`, which has hugetlb pages", name.value, family.name.value);
            return Err(name.error(what, "a process with a region of its own: copies of such pages are not modelled"));
        }
    }
    Ok(())
}

fn region<'a>(
    t: &Table,
    cx: &Context,
    scope: &Scope,
    taken: impl IntoIterator<Item = &'a Spot<String>>,
) -> Result<RegionSpec, SpecError> {
    const KINDS: [(&str, RegionKind); 6] = [
        ("anon", RegionKind::PrivateAnon),
        ("shared", RegionKind::SharedAnon),
        ("data", RegionKind::CowData),
        ("file", RegionKind::FileRead),
        ("file_shared", RegionKind::FileShared),
        ("hugetlb", RegionKind::Hugetlb),
    ];
    const ADVICE: [(&str, HugeAdvice); 3] =
        [("default", HugeAdvice::Default), ("huge", HugeAdvice::Huge), ("nohuge", HugeAdvice::NoHuge)];
    let name = declared(t, "region", taken)?;
    let over = cx.opt_list(t, "over", scope)?;
    let kind = word(t, "kind", &KINDS)?.unwrap_or(RegionKind::PrivateAnon);
    let pinned = t.opt_bool("pinned")?;
    if let (RegionKind::FileRead | RegionKind::FileShared, Some(p)) = (kind, pinned.as_ref().filter(|p| p.value)) {
        let expected = "`anon`, `shared` or `data`: the kernel pins no pages of shared files for long";
        return Err(p.error("the region is a file and pinned", expected));
    }
    let pool = cx.opt_formula(t, "pool", scope)?;
    if kind == RegionKind::Hugetlb {
        refuse_beside_hugetlb(t)?;
    } else if let Some(pool) = &pool {
        return Err(pool
            .spot()
            .error("the region has a `pool`, and its pages are ordinary ones", "`kind = \"hugetlb\"`"));
    }
    Ok(RegionSpec {
        family: Family { name, over, spin: false, futex: false },
        when: cx.opt_condition(t, "when", scope)?,
        kind,
        size: cx.need_formula(t, "size", scope)?,
        misalign: cx.opt_formula(t, "misalign", scope)?,
        advice: word(t, "advice", &ADVICE)?.unwrap_or(HugeAdvice::Default),
        policy: cx.opt_policy(t, "policy")?,
        huge_policy: cx.opt_policy(t, "huge_policy")?,
        second_level_fault: cx.opt_formula(t, "second_level_fault", scope)?,
        pinned,
        pool,
    })
}

/// Refuses what means nothing to hugetlb pages: they are huge and aligned in any case, and stay where they are.
fn refuse_beside_hugetlb(t: &Table) -> Result<(), SpecError> {
    for key in ["misalign", "advice", "huge_policy", "pinned"] {
        if t.has(key) {
            let what = format!("the region has hugetlb pages and `{key}`");
            return Err(t.error(what, "a region without it: these pages are aligned, huge, and never move"));
        }
    }
    Ok(())
}

/// Groups of threads: those under `[[process.group]]`, or one group of the process's own `threads`, `affinity` and
/// `phase`.
fn groups(t: &Table, cx: &Context, scope: &Scope, place: Place) -> Result<Vec<Group>, SpecError> {
    if !t.has("group") {
        return Ok(vec![group(t, cx, scope, &place)?]);
    }
    let mut out = Vec::new();
    for g in t.tables("group")? {
        g.str("name")?;
        out.push(group(&g, cx, scope, &place)?);
        g.finish()?;
    }
    if out.is_empty() {
        return Err(t.error("`group` is an empty list", "at least one [[process.group]] table"));
    }
    Ok(out)
}

fn group(t: &Table, cx: &Context, scope: &Scope, place: &Place) -> Result<Group, SpecError> {
    let threads = cx.opt_formula(t, "threads", scope)?;
    let thread_scope = cx.thread_scope();
    let affinity = match t.opt_table("affinity")? {
        None => None,
        Some(a) => {
            let one = affinity(&a, cx, &thread_scope)?;
            a.finish()?;
            Some(one)
        }
    };
    cx.per_thread.set(false);
    let phases = steps(t.tables("phase")?, cx, &thread_scope, place)?;
    Ok(Group { threads, affinity, phases, per_thread: cx.per_thread.get() })
}

/// The cpuset of a process, if it has one: CPUs as in an affinity, `mems`, or both.
fn cpuset(t: &Table, cx: &Context, scope: &Scope) -> Result<Option<CpusetSpec>, SpecError> {
    let Some(c) = t.opt_table("cpuset")? else { return Ok(None) };
    let (cpus, mems) = (units(&c, "cpuset", cx, scope)?, cx.opt_list(&c, "mems", scope)?);
    let empty = c.error("cpuset is empty", "mems, one of cpus, cores, llcs, nodes, sockets, or both");
    c.finish()?;
    if cpus.is_none() && mems.is_none() {
        return Err(empty);
    }
    Ok(Some(CpusetSpec { cpus, mems }))
}

fn affinity(t: &Table, cx: &Context, scope: &Scope) -> Result<Affinity, SpecError> {
    units(t, "affinity", cx, scope)?
        .ok_or_else(|| t.error("affinity is empty", "one of cpus, cores, llcs, nodes, sockets"))
}

/// The list of CPUs or of larger units in a table, if there is one.
fn units(t: &Table, what: &str, cx: &Context, scope: &Scope) -> Result<Option<Affinity>, SpecError> {
    const UNITS: [(&str, AffinityUnit); 5] = [
        ("cpus", AffinityUnit::Cpus),
        ("cores", AffinityUnit::Cores),
        ("llcs", AffinityUnit::Llcs),
        ("nodes", AffinityUnit::Nodes),
        ("sockets", AffinityUnit::Sockets),
    ];
    let mut found = None;
    cx.per_thread.set(false);
    for (key, unit) in UNITS {
        if let Some(list) = cx.opt_list(t, key, scope)? {
            if found.is_some() {
                return Err(list
                    .spot
                    .error(format!("{what} is given twice"), "one of cpus, cores, llcs, nodes, sockets"));
            }
            found = Some(Affinity { unit, list, per_thread: cx.per_thread.get() });
        }
    }
    Ok(found)
}
